"""The rollout engine: its own cost, how much of the ideal throughput it keeps, and its memory.

Run with gem-core and gem-envs-games installed::

    python benchmarks/rollouts.py cost [EPISODES]
    python benchmarks/rollouts.py throughput [EPISODES]
    python benchmarks/rollouts.py memory [EPISODES]
    python benchmarks/rollouts.py late [EPISODES [TURNS [PROCESSES …]]]

``cost``: CPU milliseconds of a five-turn episode with policies that cost nothing, all threads together, beside a bare
loop over ``reset`` and ``step``. ``throughput``: 512 episodes at a time with a policy that waits a second for each
action, without and with 10 % of the episodes waiting 20 s once, against the ideal schedule of the same latencies (each
place in the batch takes the next episode the moment it is free). ``memory``: peak resident memory while many episodes
are played. ``late``: all episodes at once, with a policy that waits 3 s in the median (log-normal, at most 12 s): CPU
microseconds of a turn, making the environments included, how late each wait is over, and memory. It prints a table with
a row for each number of engine processes, among which the episodes are divided; all begin together. With 0 one process
waits as the policy does, once for each turn, without engine and environments.
"""

from __future__ import annotations

import asyncio
import heapq
import multiprocessing
import random
import resource
import sys
import time
from array import array
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.policies import Policy
from gem_rollout import RolloutEngine, plan_episodes

GUESS = "game:GuessTheNumber-v0-easy"
CONCURRENCY, TURNS, SECOND = 512, 3, 1.0
STRAGGLER, SHARE = 20.0, 10  # seconds of the one slow action, in every tenth episode


class Waits(Env[str, str]):
    """A fixed number of turns that cost nothing."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.turn = 0
        return "begin", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.turn += 1
        return "go on", 0.0, self.turn == TURNS, False, {}


class Wrong(Policy[Any, str]):
    """Guesses what is never right, so that every episode has all its turns."""

    async def act(self, observation: Any, info: Info) -> str:
        return "\\boxed{0}"


class WrongInThread(Policy[Any, str]):
    """The same as a plain function."""

    def act(self, observation: Any, info: Info) -> str:
        return "\\boxed{0}"


class Model(Policy[Any, str]):
    """Waits like a served model; some episodes have one slow action."""

    def __init__(self, stragglers: bool) -> None:
        self.stragglers = stragglers

    def seed_episode(self, seed: int, repetition: int) -> None:
        self.pauses = pauses(seed, self.stragglers)

    async def act(self, observation: Any, info: Info) -> str:
        await asyncio.sleep(next(self.pauses))
        return "go"


def pauses(seed: int, stragglers: bool) -> Iterator[float]:
    """Yield the latencies of an episode's actions in seconds."""
    slow = stragglers and seed % SHARE == 0
    return iter([STRAGGLER if slow else SECOND, *[SECOND] * (TURNS - 1)])


def ideal(episodes: int, stragglers: bool) -> float:
    """Return the seconds that the latencies alone take, episodes starting in order as places become free."""
    places = [0.0] * CONCURRENCY
    for seed in range(episodes):
        heapq.heappush(places, heapq.heappop(places) + sum(pauses(seed, stragglers)))
    return max(places)


async def play(env: str | EnvSpec, episodes: int, make_policy: Any, concurrency: int) -> int:
    """Play the episodes and return the number of turns."""
    turns = 0
    async with RolloutEngine(plan_episodes(env, episodes), make_policy, concurrency=concurrency) as engine:
        async for trajectory in engine:
            assert trajectory.failure is None, trajectory.failure
            turns += len(trajectory)
    return turns


def cost(episodes: int) -> None:
    """Print CPU milliseconds of an episode."""
    env = gem.make(GUESS)
    begin = time.process_time()
    turns = 0
    for seed in range(episodes):
        env.reset(seed=seed)
        over = False
        while not over:
            _, _, terminated, truncated, _ = env.step("\\boxed{0}")
            over, turns = terminated or truncated, turns + 1
    print(f"bare reset and step: {1e3 * (time.process_time() - begin) / episodes:.3f} ms, {turns / episodes:.1f} turns")
    for concurrency in (8, 64, 512):
        for kind in (Wrong, WrongInThread):
            begin = time.process_time()
            turns = asyncio.run(play(GUESS, episodes, lambda env, kind=kind: kind(), concurrency))
            spent = 1e3 * (time.process_time() - begin) / episodes
            print(f"{kind.__name__}, {concurrency} at a time: {spent:.3f} ms, {turns / episodes:.1f} turns")


def throughput(episodes: int) -> None:
    """Print the share of the ideal throughput."""
    spec = EnvSpec(id="bench:Waits-v0", entry_point=Waits)
    for stragglers in (False, True):
        least = ideal(episodes, stragglers)
        begin, cpu = time.perf_counter(), time.process_time()
        asyncio.run(play(spec, episodes, lambda env, slow=stragglers: Model(slow), CONCURRENCY))
        spent, cpu = time.perf_counter() - begin, time.process_time() - cpu
        name = "10 % stragglers of 20 s" if stragglers else "no stragglers"
        print(f"{name}: {spent:.2f} s, ideal {least:.2f} s: {least / spent:.1%} of the ideal; {cpu:.1f} CPU s")


def memory(episodes: int) -> None:
    """Print the peak memory after each fifth of the episodes."""

    async def run() -> None:
        plan = plan_episodes(GUESS, episodes)
        done = 0
        async with RolloutEngine(iter(plan), lambda env: Wrong(), concurrency=64) as engine:
            async for _ in engine:
                done += 1
                if done % (episodes // 5) == 0:
                    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                    print(f"{done} episodes: {peak:.1f} MiB at most")

    asyncio.run(run())


class Lingers(Policy[Any, str]):
    """Waits with a heavy tail, and notes how late each wait is over."""

    def __init__(self, late: array[float]) -> None:
        self.late = late

    def seed_episode(self, seed: int, repetition: int) -> None:
        self.chance = random.Random(seed)

    async def act(self, observation: Any, info: Info) -> str:
        loop = asyncio.get_running_loop()
        seconds = min(12.0, 3.0 * self.chance.lognormvariate(0.0, 0.8))
        due = loop.time() + seconds
        await asyncio.sleep(seconds)
        self.late.append(loop.time() - due)
        return "\\boxed{0}"


async def wait_alone(episodes: int, turns: int, late: array[float]) -> int:
    """Wait as the policies of so many episodes do; return the number of waits."""

    async def wait(seed: int) -> None:
        policy = Lingers(late)
        policy.seed_episode(seed, 0)
        for _ in range(turns):
            await policy.act(None, {})

    await asyncio.gather(*map(wait, range(episodes)))
    return episodes * turns


def play_share(episodes: int, turns: int, in_engine: bool, together: Barrier, results: Connection) -> None:
    """Play an engine process's share, and send its CPU seconds, its MiB and how late each answer was."""
    spec = replace(gem.spec(GUESS), kwargs={"min_number": 1, "max_number": 1_000_000, "max_turns": turns})
    late = array("d")
    together.wait()
    cpu = time.process_time()
    asked = (
        play(spec, episodes, lambda env: Lingers(late), episodes) if in_engine else wait_alone(episodes, turns, late)
    )
    assert asyncio.run(asked) == episodes * turns == len(late)
    cpu = time.process_time() - cpu
    results.send((cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, late))


def late(episodes: int, turns: int = 5, *numbers: int) -> None:
    """Print the cost of a turn and the lateness of answers where all episodes are played at once."""
    print("| episodes at once, turns each | engine processes | s | CPU µs a turn | late, median and p99, s | MiB |")
    print("|---|---|---|---|---|---|")
    context = multiprocessing.get_context("spawn")
    for number in numbers or (0, 1, 2):
        count = number or 1
        together = context.Barrier(count + 1)
        pipes = [context.Pipe(duplex=False) for _ in range(count)]
        shares = [episodes // count + (place < episodes % count) for place in range(count)]
        processes = [
            context.Process(target=play_share, args=(share, turns, number > 0, together, sender))
            for share, (_, sender) in zip(shares, pipes, strict=True)
        ]
        for process in processes:
            process.start()
        together.wait()
        begin = time.perf_counter()
        parts = [receiver.recv() for receiver, _ in pipes]
        spent = time.perf_counter() - begin
        for process in processes:
            process.join()
        waits = sorted(wait for _, _, waited in parts for wait in waited)
        median, last = (waits[int(share * (len(waits) - 1))] for share in (0.5, 0.99))
        cpu, memory = (sum(part[place] for part in parts) for place in (0, 1))
        print(
            f"| {episodes:,}, {turns} | {number or 'none'} | {spent:.0f} | {1e6 * cpu / len(waits):.0f} | "
            f"{median:.2f}, {last:.2f} | {memory:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    measures: dict[str, tuple[Any, int]] = {
        "cost": (cost, 4000),
        "throughput": (throughput, 2048),
        "memory": (memory, 100_000),
        "late": (late, 65_536),
    }
    if len(sys.argv) < 2 or sys.argv[1] not in measures:
        sys.exit(__doc__)
    measure, default = measures[sys.argv[1]]
    measure(*(map(int, sys.argv[2:]) if len(sys.argv) > 2 else [default]))
