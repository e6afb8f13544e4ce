"""Measures what an evaluation costs beside the model: CPU, memory, and the throughput of many episodes at once.

    python benchmarks/evaluation.py overhead
    python benchmarks/evaluation.py memory
    python benchmarks/evaluation.py concurrency
    python benchmarks/evaluation.py peers --inspect DIR --verifiers DIR

The model is `gem fake-model` in a process of its own; only this process's CPU is counted, all threads included. Sides of
a comparison alternate in rounds of one run.

overhead: episodes of five turns of GuessTheNumber, whose server answers 20 tokens with their ids and log-probabilities at
once. gem-eval plays them with its engine, client and run folder. The bare loop calls `reset`, `step` and aiohttp, keeps
the messages and records nothing; once with the same requests, and once without token ids and log-probabilities.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import orjson

import gem
from gem.rollout import RolloutEngine, plan_episodes
from gem_eval.clients import ModelPolicy, Sampling, open_client
from gem_eval.fake_model import FakeModelProcess
from gem_eval.runs import RunConfig, RunEnvironment, RunFolder

ENV_ID = "game:GuessTheNumber-v0-easy"
TURNS = 5
# Five turns of binary search find one number in 32,258.
SPEC = replace(gem.spec(ENV_ID), kwargs={"min_number": 1, "max_number": 1_000_000, "max_turns": TURNS})
SERVER = ["--policy", ENV_ID, "--dialect", "vllm", "--tokens", "20"]
WANTED = {"logprobs": True, "top_logprobs": 0, "return_token_ids": True}


async def play_bare(url: str, episodes: int, concurrency: int, wanted: dict[str, Any]) -> int:
    """Play episodes with as little as possible, and return the number of turns."""
    numbers = iter(range(episodes))
    turns = 0
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers={"Content-Type": "application/json"}) as session:

        async def play() -> None:
            nonlocal turns
            env = gem.make(SPEC)
            for seed in numbers:
                observation, _ = env.reset(seed=seed)
                messages = [{"role": "user", "content": observation}]
                ended = False
                while not ended:
                    body = orjson.dumps({"model": "fake-model", "messages": messages, **wanted})
                    async with session.post(f"{url}/chat/completions", data=body) as reply:
                        answer = orjson.loads(await reply.read())["choices"][0]["message"]["content"]
                    observation, _, terminated, truncated, _ = env.step(answer)
                    messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": observation}]
                    turns += 1
                    ended = terminated or truncated

        await asyncio.gather(*(play() for _ in range(concurrency)))
    return turns


async def play_evaluated(url: str, episodes: int, concurrency: int, folder: Path) -> int:
    """Play and record the same episodes with gem-eval, and return the number of turns."""
    client = open_client(url, "fake-model", concurrency=concurrency, api_key="")
    sampling = Sampling(logprobs=True)
    environment = RunEnvironment(
        label=ENV_ID, id=ENV_ID, spec=SPEC, digest=None, episodes=episodes, group=1, seed=0, wrappers=("messages",)
    )
    plan = plan_episodes({ENV_ID: SPEC}, episodes)
    engine = RolloutEngine(
        plan, lambda env: ModelPolicy(client, sampling), concurrency=concurrency, wrappers="messages"
    )
    turns = 0
    with RunFolder.create(folder, RunConfig((environment,), "fake-model")) as run:
        async with engine:
            async for trajectory in engine:
                assert trajectory.failure is None, trajectory.failure
                run.append(trajectory)
                turns += len(trajectory)
    await client.close()
    return turns


def overhead(episodes: int, rounds: int, concurrency: int) -> None:
    """Print the CPU of both sides."""
    with FakeModelProcess(SERVER) as server, tempfile.TemporaryDirectory() as scratch:
        number = 0

        def evaluated() -> int:
            nonlocal number
            number += 1
            return asyncio.run(play_evaluated(server.url, episodes, concurrency, Path(scratch, str(number))))

        sides: dict[str, Callable[[], int]] = {
            "gem-eval": evaluated,
            "bare loop, same requests": lambda: asyncio.run(play_bare(server.url, episodes, concurrency, WANTED)),
            "bare loop, text alone": lambda: asyncio.run(play_bare(server.url, episodes, concurrency, {})),
        }
        cpu: dict[str, list[float]] = {name: [] for name in sides}
        for round_number in range(rounds + 1):
            for name, play in sides.items():
                begin = time.process_time()
                turns = play()
                seconds = time.process_time() - begin
                assert turns >= TURNS * episodes * 0.99, turns
                if round_number:  # the first loads libraries
                    cpu[name].append(seconds / episodes * 1000)
        size = sum(path.stat().st_size for path in Path(scratch, "1").iterdir()) / episodes
    print("| | CPU ms an episode | gem-eval is times dearer |\n|---|---|---|")
    for name, values in cpu.items():
        ratios = [ours / theirs for ours, theirs in zip(cpu["gem-eval"], values, strict=True)]
        compared = "" if name == "gem-eval" else spread(ratios)
        print(f"| {name} | {spread(values)} | {compared} |")
    print(f"\n{episodes} episodes, {concurrency} at once, {rounds} rounds; {size:,.0f} bytes an episode on disk.")


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} … {max(values):.2f})"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("overhead")
    command.add_argument("--episodes", type=int, default=1000)
    command.add_argument("--rounds", type=int, default=7)
    command.add_argument("--concurrency", type=int, default=64)
    options = vars(parser.parse_args(arguments))
    {"overhead": overhead}[options.pop("command")](**options)


if __name__ == "__main__":
    main(sys.argv[1:])
