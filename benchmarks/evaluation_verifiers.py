"""Plays the episodes of evaluation.py with verifiers, in an environment of its own; evaluation.py calls it.

    PYTHON benchmarks/evaluation_verifiers.py URL EPISODES CONCURRENCY

The harness plays in this process, the cheapest way there is: its model calls go to the interception server of
verifiers, which forwards them. Prints the CPU seconds of the evaluation, without imports, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import aiohttp
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig
from verifiers.v1.configs.harness import HarnessConfig
from verifiers.v1.configs.taskset import TasksetConfig
from verifiers.v1.harness import Harness
from verifiers.v1.runtimes import ProgramResult
from verifiers.v1.task import Task, TaskData
from verifiers.v1.taskset import Taskset

import gem

SPEC = replace(
    gem.spec("game:GuessTheNumber-v0-easy"), kwargs={"min_number": 1, "max_number": 1_000_000, "max_turns": 5}
)
EPISODES = int(os.environ.get("EPISODES", "100"))


class GuessTask(Task):
    """A game; its seed is its index."""


class GuessTaskset(Taskset[GuessTask, TasksetConfig]):
    """As many games as there are episodes."""

    def load(self) -> Iterator[GuessTask]:
        for _ in range(EPISODES):
            yield GuessTask(TaskData(prompt="play"), self.config.task)


class InProcess(Harness[HarnessConfig]):
    """Plays the game in this process."""

    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: TaskData,
    ) -> ProgramResult:
        env = gem.make(SPEC)
        observation, _ = env.reset(seed=data.idx)
        messages = [{"role": "user", "content": observation}]
        headers = {"Authorization": f"Bearer {secret}"}
        ended = False
        while not ended:
            body = {"model": ctx.model, "messages": messages}
            async with session().post(f"{endpoint}/chat/completions", json=body, headers=headers) as reply:
                reply.raise_for_status()
                answer = (await reply.json())["choices"][0]["message"]["content"]
            observation, _, terminated, truncated, _ = env.step(answer)
            messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": observation}]
            ended = terminated or truncated
        return ProgramResult(0, "", "")


_SESSIONS: list[aiohttp.ClientSession] = []


def session() -> aiohttp.ClientSession:
    """Return the one session of this process."""
    if not _SESSIONS:
        _SESSIONS.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
    return _SESSIONS[0]


__all__ = ["GuessTaskset", "InProcess"]


async def main(url: str, concurrency: int) -> None:
    """Evaluate and print the seconds."""
    with tempfile.TemporaryDirectory() as folder:
        config = EvalConfig.model_validate(
            {
                "env": {
                    "taskset": {"id": "evaluation_verifiers"},
                    "agent": {"harness": {"id": "evaluation_verifiers"}, "runtime": {"type": "subprocess"}},
                },
                "model": "fake-model",
                "client": {"base_url": url, "api_key_var": "NO_KEY"},
                "max_concurrent": concurrency,
                "output_dir": folder,
                "rich": None,
                "push": False,
            }
        )
        began, begin = time.perf_counter(), time.process_time()
        episodes = await run_eval(config)
        measured = {"cpu_seconds": time.process_time() - begin, "seconds": time.perf_counter() - began}
        await session().close()
    turns = [len(trace.branches[-1].messages) if trace.branches else 0 for one in episodes for trace in one.traces]
    assert len(episodes) == EPISODES, len(episodes)
    assert min(turns) >= 10, [trace.errors for one in episodes for trace in one.traces][:1]
    json.dump(measured, sys.stdout)


if __name__ == "__main__":
    os.environ["NO_KEY"] = "none"
    os.environ["EPISODES"] = sys.argv[2]
    EPISODES = int(sys.argv[2])
    sys.modules["evaluation_verifiers"] = sys.modules["__main__"]
    asyncio.run(main(sys.argv[1], int(sys.argv[3])))
