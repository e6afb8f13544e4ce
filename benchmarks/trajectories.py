r"""Measures recording: size on file and CPU time of an episode under each history wrapper.

    python benchmarks/trajectories.py

An episode has 800 turns with actions of 2 kB and short answers. The CPU time is that of
:class:`gem.trajectory.TrajectoryBuilder` and of the encoding, without the environment and its wrapper. Beside it stand
the size of all observations as they are, which schema 1 stored, and the CPU time of encoding them with :mod:`json`; and
above the table the size of the conversation alone, one JSON list of its messages. Every episode is read back and
compared with what the environment returned.

The second table has the short episodes of a rollout: 5 turns, each with 20 token ids and log-probabilities.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gem
from gem.policies import Act
from gem.trajectory import TrajectoryBuilder, TrajectoryWriter, read_trajectories
from gem.wrappers import apply_wrappers

BYTES = 3_000_000
SECONDS = 0.050
SHORT_SECONDS = 0.000_15
"""The goals: bytes and CPU seconds of a long episode, CPU seconds of a short one."""


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


def _action(rng: random.Random) -> str:
    words = " ".join(rng.choice(("move", "left", "so", "the", "answer", "42", "is")) for _ in range(600))[:1960]
    return f"<think>\n{words}\n</think>\n\\boxed{{{rng.randrange(1000)}}}\n"


def record(wrapper: str, turns: int, path: Path) -> tuple[float, list[Any]]:
    """Record an episode in a file; return the CPU time of that, and the observations."""
    rng = random.Random(7)
    env = apply_wrappers(_Conversation(turns), WRAPPERS[wrapper])
    builder = TrajectoryBuilder(None, 7)
    observation, info = env.reset(seed=7)
    seen = [observation]
    begin = time.process_time()
    builder.begin(observation, info)
    seconds = time.process_time() - begin
    while not builder.over:
        action = _action(rng)
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append(observation)
        begin = time.process_time()
        builder.add(action, observation, reward, terminated, truncated, info)
        seconds += time.process_time() - begin
    begin = time.process_time()
    trajectory = builder.finish()
    with TrajectoryWriter(path) as writer:
        writer.write(trajectory)
    return seconds + time.process_time() - begin, seen


def read_back(path: Path) -> tuple[float, list[Any]]:
    """Return the CPU time of reading an episode, and its observations."""
    begin = time.process_time()
    (trajectory,) = read_trajectories(path)
    seen = [turn.observation for turn in trajectory.transitions]
    return time.process_time() - begin, [*seen, trajectory.final_observation]


def whole(seen: list[Any]) -> tuple[float, int]:
    """Return the CPU time of encoding every observation as it is, and the size."""
    begin = time.process_time()
    size = sum(len(json.dumps(observation)) for observation in seen)
    return time.process_time() - begin, size


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


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Measures the recording of episodes.")
    parser.add_argument("--turns", type=int, default=800)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{options.turns} turns; the conversation alone: {conversation(options.turns) / 1e6:.2f} MB\n")
    print("| wrapper | MB | CPU ms | to read, CPU ms | whole, MB | CPU ms | goal met |")
    print("|---|---|---|---|---|---|---|")
    for wrapper in WRAPPERS:
        with TemporaryDirectory() as folder:
            times, reads = [], []
            for number in range(options.rounds):
                path = Path(folder) / f"{number}.jsonl"
                seconds, seen = record(wrapper, options.turns, path)
                read_seconds, read = read_back(path)
                assert read == seen, f"{wrapper}: read back differently"
                times.append(seconds)
                reads.append(read_seconds)
            size = path.stat().st_size
            whole_seconds, whole_size = whole(seen)
        print(
            f"| {wrapper} | {size / 1e6:.2f} | {statistics.median(times) * 1e3:.1f} | "
            f"{statistics.median(reads) * 1e3:.1f} | {whole_size / 1e6:,.1f} | "
            f"{whole_seconds * 1e3:,.0f} | "
            f"{'yes' if size < BYTES and statistics.median(times) < SECONDS else 'no'} |"
        )
    short = statistics.median(short_episode(2000) for _ in range(options.rounds))
    print(f"\n5 turns, 20 token ids and log-probabilities each: {short * 1e3:.3f} ms CPU", end="; ")
    print(f"goal {SHORT_SECONDS * 1e3} ms, {'met' if short < SHORT_SECONDS else 'not met'}")


if __name__ == "__main__":
    main()
