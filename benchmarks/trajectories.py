r"""Measures recording: size on file and CPU time of an episode under each history wrapper.

    python benchmarks/trajectories.py
    python benchmarks/trajectories.py --many 1000000

An episode has 800 turns with actions of 2 kB and short answers. The CPU time is that of
:class:`gem.trajectory.TrajectoryBuilder` and of the encoding, without the environment and its wrapper. Beside it stand
the size of all observations as they are, which schema 1 stored, and the CPU time of encoding them with :mod:`json`; and
above the table the size of the conversation alone, one JSON list of its messages. Every episode is read back and
compared with what the environment returned.

The last line has the short episodes of a rollout: 5 turns, each with 20 token ids and log-probabilities. Times are the
least of several rounds, as other work on the machine shares its caches and its memory.

``--many`` records so many turns in one file, in episodes of 20 turns, and nothing else: CPU microseconds of a turn, and
the size of the file in times the UTF-8 bytes of what agent and environment say, each text once.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gem
from gem.policies import Act
from gem.wrappers import apply_wrappers
from gem_rollout.trajectory import TrajectoryBuilder, TrajectoryWriter, read_trajectories

BYTES = 3_000_000
SECONDS = 0.050
SHORT_SECONDS = 0.000_15
"""The goals: bytes and CPU seconds of a long episode, CPU seconds of a short one."""
MANY_MICROSECONDS = 40
MANY_SIZE = 1.2
"""The goals of many turns in one file: CPU microseconds of a turn, and bytes of the file for each byte of text."""
MANY_TURNS = 20


class _Conversation(gem.Env[Any, Any]):
    """Answers every action with a short line."""

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self._done = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._done = 0
        return "Solve the task in as many turns as you like. " * 20, {"difficulty": 3}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._done += 1
        return f"Turn {self._done}: not solved yet.", 0.0, False, self._done >= self.turns, {"turn": self._done}


class _ChatML:
    """A prompt extends the one before; with ``thinking``, earlier turns lose their reasoning, so that it does not."""

    def __init__(self, thinking: bool) -> None:
        self.thinking = thinking

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        texts = [f"<|im_start|>{m['role']}\n{self._content(m)}<|im_end|>\n" for m in conversation]
        return "".join(texts) + "<|im_start|>assistant\n" + ("<think>\n" if self.thinking else "")

    def _content(self, message: dict[str, Any]) -> str:
        text = str(message["content"])
        return text.split("</think>\n")[-1] if self.thinking else text


WRAPPERS: dict[str, Callable[[gem.Env[Any, Any]], gem.Env[Any, Any]]] = {
    "none": lambda env: env,
    "concat": gem.wrapper("concat"),
    "concat_with_action": gem.wrapper("concat_with_action"),
    "concat_with_action, 10 turns": gem.wrapper("concat_with_action", max_history_length=10),
    "concat_chat": gem.wrapper("concat_chat", tokenizer=_ChatML(thinking=False)),
    "concat_chat, reasoning dropped": gem.wrapper("concat_chat", tokenizer=_ChatML(thinking=True)),
    "concat_chat_on_reset": gem.wrapper("concat_chat_on_reset", tokenizer=_ChatML(thinking=False)),
    "messages": gem.wrapper("messages"),
    "sliding_window, text": gem.wrapper("sliding_window", turns=20, form="text"),
    "sliding_window, messages": gem.wrapper("sliding_window", turns=20, form="messages"),
    "token_budget, text": gem.wrapper("token_budget", max_tokens=32_000, form="text"),
    "token_budget, messages": gem.wrapper("token_budget", max_tokens=32_000, form="messages"),
    "summarize, text": gem.wrapper("summarize", summarizer=lambda messages: "So far: nothing. " * 50),
    "summarize, messages": gem.wrapper("summarize", summarizer=lambda messages: "So far. " * 90, form="messages"),
}


def _action(rng: random.Random, size: int = 1960) -> str:
    words = " ".join(rng.choice(("move", "left", "so", "the", "answer", "42", "is")) for _ in range(600))[:size]
    return f"<think>\n{words}\n</think>\n\\boxed{{{rng.randrange(1000)}}}\n"


def played(wrapper: str, turns: int) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Play the episode, which is always the same; yield each action, None for the reset, and what it returned."""
    rng = random.Random(7)
    env = apply_wrappers(_Conversation(turns), WRAPPERS[wrapper])
    yield None, env.reset(seed=7)
    for _ in range(turns):
        action = _action(rng)
        yield action, env.step(action)


def record(wrapper: str, turns: int, path: Path) -> float:
    """Record the episode in a file; return the CPU time of that."""
    builder = TrajectoryBuilder(None, 7)
    seconds = 0.0
    for action, result in played(wrapper, turns):
        begin = time.process_time()
        if action is None:
            builder.begin(*result)
        else:
            builder.add(action, *result)
        seconds += time.process_time() - begin
    begin = time.process_time()
    trajectory = builder.finish()
    with TrajectoryWriter(path) as writer:
        writer.write(trajectory)
    return seconds + time.process_time() - begin


def read_back(wrapper: str, turns: int, path: Path) -> tuple[float, float, int]:
    """Read the episode and compare it with the environment's.

    Returns:
        The CPU times of reading it and of encoding its observations whole, and the size of the latter.
    """
    read_seconds = whole_seconds = 0.0
    size = 0
    begin = time.process_time()
    (trajectory,) = read_trajectories(path)
    read_seconds += time.process_time() - begin
    for turn, (_, result) in enumerate(played(wrapper, turns)):
        begin = time.process_time()
        shown = trajectory.transitions[turn].observation if turn < turns else trajectory.final_observation
        middle = time.process_time()
        size += len(json.dumps(shown))
        read_seconds, whole_seconds = read_seconds + middle - begin, whole_seconds + time.process_time() - middle
        assert shown == result[0], f"{wrapper}: turn {turn} is read back differently"
    return read_seconds, whole_seconds, size


def conversation(turns: int) -> int:
    """Return the size of the conversation, each message once."""
    rng = random.Random(7)
    env = _Conversation(turns)
    messages = [{"role": "user", "content": env.reset(seed=7)[0]}]
    for _ in range(turns):
        action = _action(rng)
        messages += [{"role": "assistant", "content": action}, {"role": "user", "content": env.step(action)[0]}]
    return len(json.dumps(messages))


def short_episode(episodes: int) -> float:
    """Return the CPU time of recording and encoding an episode of 5 turns with token ids and log-probabilities."""
    rng = random.Random(7)
    acts = [
        Act(
            "\\boxed{4}",
            token_ids=[rng.randrange(150_000) for _ in range(20)],
            logprobs=[-3 * rng.random() for _ in range(20)],
            usage={"prompt_tokens": 90, "completion_tokens": 20},
            finish_reason="stop",
            model="model",
            version=3,
        )
        for _ in range(5)
    ]
    spec = gem.spec("game:GuessTheNumber-v0-easy")
    with TemporaryDirectory() as folder, TrajectoryWriter(Path(folder) / "short.jsonl") as writer:
        begin = time.process_time()
        for seed in range(episodes):
            builder = TrajectoryBuilder(spec, seed)
            builder.begin("Guess a number between 1 and 10. Answer in \\boxed{}.", {})
            for turn, act in enumerate(acts):
                builder.add(
                    act,
                    "Your guess is too low. Try again.",
                    0.0,
                    turn == 4,
                    False,
                    {"success": turn == 4},
                    act_seconds=0.2,
                    step_seconds=0.00001,
                )
            writer.write(builder.finish())
        return (time.process_time() - begin) / episodes


def record_many(wrapper: str, turns: int, size: int) -> tuple[float, float]:
    """Record so many turns with actions of that size in one file.

    Returns:
        The CPU seconds of a turn, without environment and wrapper, and the bytes of the file for each byte of text.
    """
    rng = random.Random(7)
    env = apply_wrappers(_Conversation(MANY_TURNS), WRAPPERS[wrapper])
    bare = _Conversation(MANY_TURNS)
    acts = [_action(rng, size) for _ in range(997)]  # another text for each turn of an episode, and for each episode
    episodes = turns // MANY_TURNS
    seconds, spoken, at = 0.0, 0, 0
    with TemporaryDirectory() as folder, TrajectoryWriter(path := Path(folder) / "many.jsonl") as writer:
        for seed in range(episodes):
            spoken += len(bare.reset(seed=seed)[0].encode())
            results: list[tuple[Any, ...]] = [env.reset(seed=seed)]
            said = [acts[(at + turn) % len(acts)] for turn in range(MANY_TURNS)]
            at += MANY_TURNS
            for action in said:
                results.append(env.step(action))
                spoken += len(action.encode()) + len(bare.step(action)[0].encode())
            begin = time.process_time()
            builder = TrajectoryBuilder(None, seed)
            builder.begin(*results[0])
            for action, result in zip(said, results[1:], strict=True):
                builder.add(action, *result)
            writer.write(builder.finish())
            seconds += time.process_time() - begin
        begin = time.process_time()
        writer.close()
        seconds += time.process_time() - begin
        return seconds / (episodes * MANY_TURNS), path.stat().st_size / spoken


def print_many(turns: int) -> None:
    """Print the table of ``--many``."""
    print(f"{turns:,} turns in episodes of {MANY_TURNS}, each row in one file\n")
    print("| wrapper | bytes of an action | CPU µs a turn | times the text's bytes | goals met |")
    print("|---|---|---|---|---|")
    for wrapper in ("none", "concat_with_action", "messages"):
        for size in (200, 2000):
            seconds, times = record_many(wrapper, turns, size)
            met = seconds * 1e6 < MANY_MICROSECONDS and times < MANY_SIZE
            print(
                f"| {wrapper} | {size:,} | {seconds * 1e6:.1f} | {times:.3f} | {'yes' if met else 'no'} |", flush=True
            )


def main() -> None:
    """Print the table and the line below it, or that of ``--many``."""
    parser = argparse.ArgumentParser(description="Measures the recording of episodes.")
    parser.add_argument("--turns", type=int, default=800)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--many", type=int, metavar="TURNS", help="Record so many turns in one file instead.")
    options = parser.parse_args()
    if options.many:
        print_many(options.many)
        return
    print(f"{options.turns} turns; the conversation alone: {conversation(options.turns) / 1e6:.2f} MB\n")
    print("| wrapper | MB | CPU ms | to read, CPU ms | whole, MB | CPU ms | goal met |")
    print("|---|---|---|---|---|---|---|")
    for wrapper in WRAPPERS:
        with TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{number}.jsonl" for number in range(options.rounds)]
            times = [record(wrapper, options.turns, path) for path in paths]
            size = paths[-1].stat().st_size
            read_seconds, whole_seconds, whole_size = read_back(wrapper, options.turns, paths[-1])
        print(
            f"| {wrapper} | {size / 1e6:.2f} | {min(times) * 1e3:.1f} | "
            f"{read_seconds * 1e3:.1f} | {whole_size / 1e6:,.1f} | "
            f"{whole_seconds * 1e3:,.0f} | "
            f"{'yes' if size < BYTES and min(times) < SECONDS else 'no'} |"
        )
    short = min(short_episode(2000) for _ in range(options.rounds))
    print(f"\n5 turns, 20 token ids and log-probabilities each: {short * 1e3:.3f} ms CPU", end="; ")
    print(f"goal {SHORT_SECONDS * 1e3} ms, {'met' if short < SHORT_SECONDS else 'not met'}")


if __name__ == "__main__":
    main()
