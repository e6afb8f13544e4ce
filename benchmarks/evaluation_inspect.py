"""Plays the episodes of evaluation.py with Inspect AI, in an environment of its own; evaluation.py calls it.

    PYTHON benchmarks/evaluation_inspect.py URL EPISODES CONCURRENCY realtime|quiet

Prints the CPU seconds of the evaluation, without imports, as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import replace

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig, get_model
from inspect_ai.solver import Generate, TaskState, solver

import gem

SPEC = replace(
    gem.spec("game:GuessTheNumber-v0-easy"), kwargs={"min_number": 1, "max_number": 1_000_000, "max_turns": 5}
)


@solver
def play():  # Inspect's decorator knows
    """Play an episode: the observations are the user's messages."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        env = gem.make(SPEC)
        observation, _ = env.reset(seed=int(state.sample_id))
        state.messages = [ChatMessageUser(content=observation)]
        ended = False
        while not ended:
            state = await generate(state)
            observation, _, terminated, truncated, _ = env.step(state.output.completion)
            state.messages.append(ChatMessageUser(content=observation))
            ended = terminated or truncated
        return state

    return solve


def main(url: str, episodes: int, concurrency: int, log: str) -> None:
    """Evaluate and print the seconds."""
    samples = [Sample(input="play", id=number) for number in range(episodes)]
    task = Task(dataset=MemoryDataset(samples), solver=play(), config=GenerateConfig(logprobs=True))
    with tempfile.TemporaryDirectory() as folder:
        model = get_model("openai-api/fake/fake-model", base_url=url, api_key="none")
        began, begin = time.perf_counter(), time.process_time()
        (result,) = evaluate(
            task,
            model=model,
            max_connections=concurrency,
            max_samples=concurrency,
            display="none",
            log_dir=folder,
            log_realtime=log == "realtime",
        )
        measured = {"cpu_seconds": time.process_time() - begin, "seconds": time.perf_counter() - began}
        assert result.status == "success", result.error
    json.dump(measured, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
