"""Measures in the interpreter that runs it: each line of the input asks for a figure, and gets a line of JSON.

The same file runs against this GEM and against the original (`gem-llm`), so it uses only what both publish.
All times are CPU seconds of the process (`time.process_time`), all threads included.

    ["steps", "game:Sudoku-v0-easy", 2.0]       (or resets, seeded_resets, vector)
    ["concat", 20, 800]                         (or concat_dropped)
"""

from __future__ import annotations

import json
import os
import random
import string
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

warnings.simplefilter("ignore")

NUM_ENVS = 64
DIRECTIONS = ("up", "down", "left", "right")


def word(rng: random.Random, length: int) -> str:
    """Return random letters."""
    return "".join(rng.choices(string.ascii_lowercase, k=length))


def cells(rng: random.Random, low: int, high: int, count: int) -> str:
    """Return random numbers, separated by spaces."""
    return " ".join(str(rng.randint(low, high)) for _ in range(count))


# Well-formed moves that need no knowledge of the state. The original's own sample_random_action is missing
# in two games and malformed in three.
MOVES: dict[str, Callable[[random.Random, bool], str]] = {
    "Crosswords": lambda rng, hard: f"{cells(rng, 0, 9, 2)} {rng.choice(string.ascii_uppercase)}",
    "FifteenPuzzle": lambda rng, hard: rng.choice(DIRECTIONS),
    "Game2048": lambda rng, hard: rng.choice(DIRECTIONS),
    "GuessTheNumber": lambda rng, hard: str(rng.randint(1, 50 if hard else 10)),
    "Hangman": lambda rng, hard: rng.choice(string.ascii_lowercase),
    "Mastermind": lambda rng, hard: cells(rng, 1, 8 if hard else 6, 4 if hard else 2),
    "Minesweeper": lambda rng, hard: f"reveal {cells(rng, 0, 7 if hard else 4, 2)}",
    "Sokoban": lambda rng, hard: rng.choice(DIRECTIONS),
    "Sudoku": lambda rng, hard: cells(rng, 1, 9 if hard else 4, 3),
    "TowerofHanoi": lambda rng, hard: " ".join(rng.sample("ABC", 2)),
    "WordSearch": lambda rng, hard: cells(rng, 0, 9, 4),
    "Wordle": lambda rng, hard: word(rng, 5 if hard else 3),
}


def actions(env_id: str, count: int, seed: int) -> list[str]:
    """Return the same moves for both sides."""
    rng = random.Random(seed)
    name = env_id.partition(":")[2].partition("-")[0]
    return [f"\\boxed{{{MOVES[name](rng, env_id.endswith('hard'))}}}" for _ in range(count)]


def steps(env_id: str, budget: float) -> dict[str, float]:
    """Return steps per CPU second over many whole episodes; only the steps are timed."""
    import gem

    envs = []
    begin = time.process_time()
    while len(envs) < NUM_ENVS and (time.process_time() - begin < budget or not envs):
        envs.append(gem.make(env_id))
    spent, count, episode = 0.0, 0, 0
    begin = time.process_time()
    while spent < budget and (time.process_time() - begin < 4 * budget or not count):
        batch = []
        for env in envs:
            env.reset(seed=episode)
            batch.append((env.step, actions(env_id, 200, episode)))
            episode += 1
        started = time.process_time()
        for step, moves in batch:
            for move in moves:
                count += 1
                if step(move)[2]:
                    break
        spent += time.process_time() - started
    return {"per_second": count / spent}


def resets(env_id: str, budget: float, seeded: bool = False) -> dict[str, float]:
    """Return resets per CPU second and the slowest reset, seeded or from the generator's state."""
    import gem

    env = gem.make(env_id)
    env.reset(seed=0)
    spent, count, slowest = 0.0, 0, 0.0
    at_a_stretch = 1
    while spent < budget or count < 2:
        started = time.process_time()
        for seed in range(count, count + at_a_stretch):
            if seeded:
                env.reset(seed=seed)
            else:
                env.reset()
        took = time.process_time() - started
        spent, count, slowest = spent + took, count + at_a_stretch, max(slowest, took / at_a_stretch)
        # The clock itself takes time, so quick resets are timed in hundreds.
        at_a_stretch = 100 if took / at_a_stretch < 1e-4 else 1
    return {"per_second": count / spent, "slowest": slowest}


def seeded_resets(env_id: str, budget: float) -> dict[str, float]:
    """Return the figures of :func:`resets`, each reset with a seed of its own."""
    return resets(env_id, budget, seeded=True)


def vector(env_id: str, budget: float) -> dict[str, float]:
    """Return environment steps per CPU second in a batch of 64 threads, autoresets included."""
    import gem

    envs = gem.make_vec([env_id] * NUM_ENVS, async_mode=True)
    envs.reset(seed=0)
    batches = [actions(env_id, NUM_ENVS, seed) for seed in range(50)]
    count = 0
    started = time.process_time()
    while time.process_time() - started < budget:
        for batch in batches:
            envs.step(batch)
            count += NUM_ENVS
            if time.process_time() - started > 4 * budget:
                break
    return {"per_second": count / (time.process_time() - started)}


def concat(length: int, turns: int, keep: bool = True) -> dict[str, float]:
    """Return the CPU seconds of an episode under concat_with_action, actions of `length` characters; best of five.

    With `keep`, each observation is held until the next one comes, as most loops do, so that each is a copy.
    """
    from gem.wrappers.wrapper_factory import WRAPPER_FACTORY

    from gem.core import Env

    class Echo(Env):  # type: ignore[misc, type-arg]
        def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
            return "Begin.", {}

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            return "Go on.", 0.0, False, False, {}

    env = WRAPPER_FACTORY["concat_with_action"](Echo())
    action = "a" * length
    best = float("inf")
    for _ in range(5):
        observation = env.reset()[0]
        started = time.process_time()
        for _ in range(turns):
            if keep:
                observation = env.step(action)[0]
            else:
                env.step(action)
        best = min(best, time.process_time() - started)
    assert not keep or len(observation) > turns * length
    return {"seconds": best}


def concat_dropped(length: int, turns: int) -> dict[str, float]:
    """Return the figures of :func:`concat` where each observation is released at once."""
    return concat(length, turns, keep=False)


FIGURES: dict[str, Callable[..., dict[str, float]]] = {
    function.__name__: function for function in (steps, resets, seeded_resets, vector, concat, concat_dropped)
}

if __name__ == "__main__":
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # the original prints from library code
        for line in sys.stdin:
            what, *arguments = json.loads(line)
            print(json.dumps(FIGURES[what](*arguments)), file=answers, flush=True)
