"""Measures what an evaluation costs beside the model: CPU, memory, and the throughput of many episodes at once.

    python benchmarks/evaluation.py overhead
    python benchmarks/evaluation.py memory
    python benchmarks/evaluation.py concurrency
    python benchmarks/evaluation.py workers
    python benchmarks/evaluation.py peers --inspect PYTHON --verifiers PYTHON --nemo-gym PYTHON
    python benchmarks/evaluation.py reach --inspect PYTHON --verifiers PYTHON --nemo-gym PYTHON

The model is `gem fake-model` in a process of its own; only this process's CPU is counted, all threads included. Sides
of a comparison alternate in rounds of one run.

overhead: episodes of five turns of GuessTheNumber, whose server answers 20 tokens with their ids and log-probabilities
at once. gem-eval plays them with `evaluate`, which writes a run folder. The bare loop calls `reset`, `step` and
aiohttp, keeps the messages and records nothing: as aiohttp's documentation writes it, with orjson in place of aiohttp's
JSON, and with orjson and neither token ids nor log-probabilities.

memory: the resident memory of one evaluation of many episodes of one turn.

concurrency: 512 episodes at once. The ideal schedule has the same latencies, which follow from the ids of the replies;
each of the 512 places plays the next episode, and nothing but the model takes time.

workers: light episodes, played by their reference policy, in one process and in worker processes, whose CPU counts as
well. What the processes cost until they play is in it.

peers: the same episodes with Inspect AI, verifiers and NeMo Gym, each in a virtual environment of its own that also
holds gem-core and gem-envs-games (and openai for Inspect AI). Its options name their interpreters.

reach: how many episodes at once each side plays before a model that takes a second for each answer. The number doubles
until the episodes take more than twice the ideal time, which is a second a turn, or until the side fails; the row is of
the last number before.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import resource
import statistics
import subprocess
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
from gem_eval.fake_model import FakeModelProcess, Latency
from gem_eval.runs import RunFolder
from gem_eval.runs.evaluation import evaluate_sync
from gem_eval.runs.progress import EvaluationProgress

ENV_ID = "game:GuessTheNumber-v0-easy"
TURNS = 5
# Five turns of binary search find one number in 32,258.
SPEC = replace(gem.spec(ENV_ID), kwargs={"min_number": 1, "max_number": 1_000_000, "max_turns": TURNS})
SERVER = ["--policy", ENV_ID, "--dialect", "vllm", "--tokens", "20"]
WANTED = {"logprobs": True, "top_logprobs": 0, "return_token_ids": True}


async def play_bare(url: str, episodes: int, concurrency: int, wanted: dict[str, Any], own_json: bool) -> int:
    """Play episodes with as little as possible, and return the number of turns.

    Args:
        url: of the server.
        episodes: their number.
        concurrency: how many are played at once.
        wanted: further fields of each request.
        own_json: whether orjson encodes and decodes; otherwise aiohttp does, as its documentation shows.
    """
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
                    request = {"model": "fake-model", "messages": messages, **wanted}
                    body: dict[str, Any] = {"data": orjson.dumps(request)} if own_json else {"json": request}
                    async with session.post(f"{url}/chat/completions", **body) as reply:
                        found = orjson.loads(await reply.read()) if own_json else await reply.json()
                    answer = found["choices"][0]["message"]["content"]
                    observation, _, terminated, truncated, _ = env.step(answer)
                    messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": observation}]
                    turns += 1
                    ended = terminated or truncated

        await asyncio.gather(*(play() for _ in range(concurrency)))
    return turns


def evaluated(
    url: str, folder: Path, episodes: int, concurrency: int, turns: int = TURNS, observer: Any = None
) -> RunFolder:
    """Evaluate and record the same episodes with gem-eval."""
    config = {
        "model": "fake-model",
        "base_url": url,
        "environments": [{"id": ENV_ID, "kwargs": {**SPEC.kwargs, "max_turns": turns}}],
        "wrappers": ["messages"],
        "episodes": episodes,
        "concurrency": concurrency,
        "sampling": {"logprobs": True},
        "client": {"concurrency": concurrency},
    }
    return evaluate_sync(config, out=folder, observer=observer)


def overhead(episodes: int, rounds: int, concurrency: int) -> None:
    """Print the CPU of both sides."""
    with FakeModelProcess(SERVER) as server, tempfile.TemporaryDirectory() as scratch:
        number = 0

        def play_evaluated() -> int:
            nonlocal number
            number += 1
            run = evaluated(server.url, Path(scratch, str(number)), episodes, concurrency)
            return TURNS * episodes if run.episodes_path.exists() else 0

        sides: dict[str, Callable[[], int]] = {
            "gem-eval": play_evaluated,
            "bare loop, same requests": lambda: asyncio.run(
                play_bare(server.url, episodes, concurrency, WANTED, own_json=False)
            ),
            "the same with orjson": lambda: asyncio.run(
                play_bare(server.url, episodes, concurrency, WANTED, own_json=True)
            ),
            "the same, text alone": lambda: asyncio.run(
                play_bare(server.url, episodes, concurrency, {}, own_json=True)
            ),
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


def memory(episodes: int, concurrency: int) -> None:
    """Print the resident memory as a run of episodes of one turn grows."""
    marks = sorted({episodes // 10, episodes // 2, episodes})
    sizes: dict[int, float] = {}

    def observe(progress: EvaluationProgress) -> None:
        for mark in marks:
            if progress.finished >= mark and mark not in sizes:
                sizes[mark] = resident()

    with FakeModelProcess(SERVER) as server, tempfile.TemporaryDirectory() as scratch:
        evaluated(server.url, Path(scratch, "first"), 1000, concurrency, turns=1)
        sizes[0] = resident()
        evaluated(server.url, Path(scratch, "run"), episodes, concurrency, turns=1, observer=observe)
    print("| episodes | resident, MB |\n|---|---|")
    for mark, size in sizes.items():
        print(f"| {mark:,} | {size:.1f} |")


def resident() -> float:
    """Return the memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def concurrency(episodes: int, at_once: int, seconds: float) -> None:
    """Print the share of the ideal throughput with many episodes at once."""
    print("| model | ideal, s | measured, s | share | CPU, s |\n|---|---|---|---|---|")
    for name, latency in {
        f"{seconds:g} s": Latency(seconds),
        f"{seconds:g} s, 10 % of the answers 20 s": Latency(seconds, straggler_share=0.1, straggler_seconds=20.0),
    }.items():
        options = [f"--latency={latency.seconds}", f"--stragglers={latency.straggler_share}"]
        with FakeModelProcess([*SERVER, *options]) as server, tempfile.TemporaryDirectory() as scratch:
            cpu_begin = time.process_time()
            run = evaluated(server.url, Path(scratch, "run"), episodes, at_once)
            cpu = time.process_time() - cpu_begin
            rows = run.rows()
            began = min(row.started_at for row in rows)
            measured = max(row.started_at + row.seconds for row in rows) - began
            ideal = ideal_seconds(run, latency, at_once)
        print(f"| {name} | {ideal:.1f} | {measured:.1f} | {ideal / measured:.1%} | {cpu:.1f} |", flush=True)


def workers(episodes: int, processes: int, rounds: int) -> None:
    """Print the CPU and the wall-clock time of one process and of several."""
    columns = ("CPU s, the process that writes", "CPU s, workers", "wall-clock s")
    figures: dict[int, list[tuple[float, ...]]] = {1: [], processes: []}
    config = {"environment": [ENV_ID], "agent": "reference", "episodes": episodes}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(rounds + 1):
            for count, rows in figures.items():
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                wall, cpu = time.perf_counter(), time.process_time()
                evaluate_sync({**config, "workers": count}, out=Path(scratch, f"{number}-{count}"))
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                others = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                row = (time.process_time() - cpu, others, time.perf_counter() - wall)
                if number:  # the first loads libraries
                    rows.append(row)
    print(f"| processes that play | {' | '.join(columns)} |\n|---|---|---|---|")
    for count, rows in figures.items():
        print(f"| {count} | {' | '.join(spread(list(column)) for column in zip(*rows, strict=True))} |")
    ratios = [sum(two[:2]) / sum(one[:2]) for one, two in zip(*figures.values(), strict=True)]
    print(f"\n{episodes} episodes, {rounds} rounds; {spread(ratios)} times the CPU of one process.")


def ideal_seconds(run: RunFolder, latency: Latency, at_once: int) -> float:
    """Return the time of an ideal schedule: each place plays the next episode, and only the model takes time."""
    places = [0.0] * at_once
    for row in sorted(run.rows(), key=lambda row: row.seed):
        identities = [turn.metadata["request_id"] for turn in run.episode(row).transitions]
        heapq.heapreplace(places, places[0] + sum(latency.of(text.rpartition("-")[2]) for text in identities))
    return max(places)


def _version(python: str, distribution: str) -> str:
    """Return the version of a distribution that an interpreter has."""
    code = f"from importlib.metadata import version; print(version({distribution!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


Play = Callable[[str, int, int], tuple[float, float]]
"""Plays episodes at a URL, so many of so many at once; returns the seconds of CPU and by the clock."""


def play_here(url: str, episodes: int, at_once: int) -> tuple[float, float]:
    """Play with gem-eval in this process."""
    with tempfile.TemporaryDirectory() as scratch:
        began, begin = time.perf_counter(), time.process_time()
        run = evaluated(url, Path(scratch, "run"), episodes, at_once)
        seconds = time.process_time() - begin, time.perf_counter() - began
        failed = [row.failure for row in run.rows() if row.failure]
        assert not failed, failed[:1]
    return seconds


def sides(inspect: str, verifiers: str, nemo_gym: str) -> dict[str, Play]:
    """Return what plays, by name: gem-eval, and each peer by its script."""
    here = Path(__file__).parent
    of_inspect, of_verifiers = _version(inspect, "inspect-ai"), _version(verifiers, "verifiers")
    scripts = {
        f"Inspect AI {of_inspect}": (inspect, "evaluation_inspect.py", "realtime"),
        f"Inspect AI {of_inspect}, no realtime log": (inspect, "evaluation_inspect.py", "quiet"),
        f"verifiers {of_verifiers}, harness in its process": (verifiers, "evaluation_verifiers.py", "in-process"),
        f"NeMo Gym {_version(nemo_gym, 'nemo-gym')}, servers in one process": (nemo_gym, "evaluation_nemo_gym.py"),
    }

    def playing(python: str, script: str, *variant: str) -> Play:
        def play(url: str, episodes: int, at_once: int) -> tuple[float, float]:
            command = [python, str(here / script), url, str(episodes), str(at_once), *variant]
            result = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(result.stdout.splitlines()[-1])
            return found["cpu_seconds"], found["seconds"]

        return play

    return {"gem-eval": play_here, **{name: playing(*script) for name, script in scripts.items()}}


def peers(inspect: str, verifiers: str, nemo_gym: str, episodes: int, rounds: int, at_once: int) -> None:
    """Print the CPU of gem-eval and its peers for the same episodes at the same endpoint."""
    players = sides(inspect, verifiers, nemo_gym)
    cpu: dict[str, list[float]] = {name: [] for name in players}
    with FakeModelProcess(SERVER) as server:
        for _ in range(rounds):
            for name, play in players.items():
                cpu[name].append(play(server.url, episodes, at_once)[0] / episodes * 1000)
    print("| | CPU ms an episode | times gem-eval's |\n|---|---|---|")
    for name, values in cpu.items():
        ratios = [theirs / ours for ours, theirs in zip(cpu["gem-eval"], values, strict=True)]
        print(f"| {name} | {spread(values)} | {'' if name == 'gem-eval' else spread(ratios)} |")


def reach(inspect: str, verifiers: str, nemo_gym: str, most: int) -> None:
    """Print how many episodes at once each side plays in at most twice the ideal time."""
    print(
        "| | episodes at once | share of the ideal throughput | CPU ms an episode | ended by |\n|---|---|---|---|---|"
    )
    with FakeModelProcess([*SERVER, "--latency=1"]) as server:
        for name, play in sides(inspect, verifiers, nemo_gym).items():
            at_once, row, reason = 32, "none |  | ", f"{most:,} episodes at once, the most that were tried"
            while at_once <= most:
                try:
                    cpu, seconds = play(server.url, at_once, at_once)
                except (subprocess.CalledProcessError, AssertionError) as error:
                    lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines() or [repr(error)]
                    reason = f"an error at {at_once:,}: {lines[-1]:.80}"
                    break
                if seconds > 2 * TURNS:
                    reason = f"{TURNS / seconds:.0%} at {at_once:,}"
                    break
                row = f"{at_once:,} | {TURNS / seconds:.0%} | {cpu / at_once * 1000:.2f}"
                at_once *= 2
            print(f"| {name} | {row} | {reason} |", flush=True)


def spread(values: list[float]) -> str:
    """Return the median and the range."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} … {max(values):.2f})"


def main(arguments: list[str]) -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("overhead")
    command.add_argument("--episodes", type=int, default=1000)
    command.add_argument("--rounds", type=int, default=7)
    command.add_argument("--concurrency", type=int, default=64)
    command = commands.add_parser("memory")
    command.add_argument("--episodes", type=int, default=100_000)
    command.add_argument("--concurrency", type=int, default=64)
    command = commands.add_parser("concurrency")
    command.add_argument("--episodes", type=int, default=2048)
    command.add_argument("--at-once", type=int, default=512)
    command.add_argument("--seconds", type=float, default=1.0)
    command = commands.add_parser("workers")
    command.add_argument("--episodes", type=int, default=20_000)
    command.add_argument("--processes", type=int, default=2)
    command.add_argument("--rounds", type=int, default=5)
    for name in ("peers", "reach"):
        command = commands.add_parser(name)
        for peer in ("--inspect", "--verifiers", "--nemo-gym"):
            command.add_argument(peer, required=True, metavar="PYTHON")
        if name == "reach":
            command.add_argument("--most", type=int, default=16_384)
            continue
        command.add_argument("--episodes", type=int, default=300)
        command.add_argument("--rounds", type=int, default=3)
        command.add_argument("--at-once", type=int, default=64)
    options = vars(parser.parse_args(arguments))
    measures: tuple[Callable[..., None], ...] = (overhead, memory, concurrency, workers, peers, reach)
    parts = {measure.__name__: measure for measure in measures}
    parts[options.pop("command")](**options)


if __name__ == "__main__":
    main(sys.argv[1:])
