"""Measures resets and steps of the games in turns of a reference loop, to notice a change that slows them.

    python benchmarks/results.py run game_speed --versions gem-core,gem-envs-games -- benchmarks/game_speed.py

The loop, :class:`Reference`, alternates with the game every few milliseconds of CPU time, so what else the machine does
slows both. ``tests/test_game_speed.py`` compares a night's figures with the kept ones.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import re
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from time import thread_time_ns
from typing import Any

from worker import MOVES, actions

import gem

KEPT = Path(__file__).with_name("results") / "game_speed.json"
IDS = tuple(f"game:{game}-v0-{variant}" for game in MOVES for variant in ("easy", "hard"))
MOST = 1.08
"""The largest share of its kept figure that the least of several new figures may be.

Neighbours of the process only ever add to a figure, and the least of four lies some hundredths below the median that is
kept, so a change is noticed that costs a tenth.
"""

ROUNDS = 60
_EPISODES = 32
_RESETS = 512
_SLOW_RESETS = {"Crosswords": 32, "Sokoban": 4, "Sudoku": 8, "WordSearch": 8}
_REFERENCE_EPISODES = 100
_GUESSES = [f"I guess \\boxed{{{guess}}}" for guess in range(1, 11)]


class Reference:
    """A guessing game of the usual parts: an expression, formatted text, a set, a dict, a random number.

    It is the unit of every kept figure: after a change here each of them must be measured anew.
    """

    box = re.compile(r"\\boxed\{(\d+)\}")

    def __init__(self) -> None:
        self.rng = random.Random(0)

    def begin(self) -> None:
        self.number = 1 + int(self.rng.random() * 50)
        self.guessed: set[int] = set()
        self.turn = 0

    def step(self, action: str) -> tuple[str, float, bool, dict[str, Any]]:
        match = self.box.search(action)
        assert match is not None
        guess = int(match[1])
        self.turn += 1
        self.guessed.add(guess)
        hint = "higher" if guess < self.number else "lower"
        info = {"turn": self.turn, "guessed": len(self.guessed)}
        return f"Turn {self.turn} of 50. The number is {hint} than {guess}.\nGuess again.", 0.0, False, info

    def play(self) -> int:
        """Play the episodes of one round; return the number of turns."""
        for _ in range(_REFERENCE_EPISODES):
            self.begin()
            for guess in _GUESSES:
                self.step(guess)
        return _REFERENCE_EPISODES * len(_GUESSES)


def reset_cost(env_id: str, rounds: int = ROUNDS) -> float:
    """Return the cost of an unseeded reset, always after the same seed."""
    env = gem.make(env_id)
    count = _SLOW_RESETS.get(env_id.partition(":")[2].partition("-")[0], _RESETS)

    def work() -> int:
        for _ in range(count):
            env.reset()
        return count

    return relative_cost(lambda: env.reset(seed=0), work, rounds)


def step_cost(env_id: str, rounds: int = ROUNDS) -> float:
    """Return the cost of a step in whole episodes of random well-formed moves, always the same ones."""
    envs = [gem.make(env_id) for _ in range(_EPISODES)]
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
    states = [env.get_state() for env in envs]
    moves = [actions(env_id, 200, seed) for seed in range(_EPISODES)]

    def begin() -> None:
        for env, state in zip(envs, states, strict=True):
            env.set_state(state)

    def work() -> int:
        count = 0
        for env, own in zip(envs, moves, strict=True):
            step = env.step
            for move in own:
                count += 1
                _, _, terminated, truncated, _ = step(move)
                if terminated or truncated:
                    break
        return count

    return relative_cost(begin, work, rounds)


def relative_cost(begin: Callable[[], object], work: Callable[[], int], rounds: int) -> float:
    """Return the median over the rounds of the cost of a piece of work, in turns of the reference beside it.

    Args:
        begin: brings every round to the same beginning; its time does not count.
        work: does the work and returns how many pieces it was.
        rounds: how often; one more goes before, to fill caches.
    """
    reference = Reference()
    ratios = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds + 1):
            begin()
            before, cost, after = _cost(reference.play), _cost(work), _cost(reference.play)
            ratios.append(2 * cost / (before + after))
    finally:
        gc.enable()
    return statistics.median(ratios[1:])


def _cost(work: Callable[[], int]) -> float:
    """Return the CPU time of a piece of the work, in nanoseconds."""
    started = thread_time_ns()
    count = work()
    return (thread_time_ns() - started) / count


def kept() -> dict[str, dict[str, float]]:
    """Return the kept cost of ``reset`` and ``step`` of each game."""
    head, *rows = json.loads(KEPT.read_text(encoding="utf-8"))["tables"]["1"]
    return {row[0]: dict(zip(head[1:], map(float, row[1:]), strict=True)) for row in rows}


def slower(before: Mapping[str, float], now: Mapping[str, float]) -> list[str]:
    """Return a sentence for each figure that is more than :data:`MOST` times the one before."""
    return [
        f"{what} costs {cost / before[what]:.2f} times as much as before: {cost:.3g} turns of the reference, "
        f"not {before[what]:.3g}"
        for what, cost in now.items()
        if cost > MOST * before[what]
    ]


def main() -> None:
    """Print the table of costs as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", default=IDS, help="of games; all of them by default")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    print("| turns of the reference | reset | step |", "|---|---|---|", sep="\n")
    for env_id in options.ids:
        reset, step = reset_cost(env_id, options.rounds), step_cost(env_id, options.rounds)
        print(f"| {env_id} | {reset:.4g} | {step:.4g} |", flush=True)


if __name__ == "__main__":
    main()
