"""Thread mode against a plain ``ThreadPoolExecutor``, at every length of a step, and against the ideal schedule.

Run with gem-core installed::

    python benchmarks/thread_mode.py steps [--rounds 7] [--envs 4,16,64,256] [--lengths 0,2e-6,…] [--kinds waits,…]
    python benchmarks/thread_mode.py blocking
    python benchmarks/thread_mode.py stragglers

``steps``: lock-step rounds of environments that wait (``time.sleep``) or compute (a loop of pure Python) for a given
time. The peer runs the same environments, behind the same autoreset and fault handling, in a pool of one thread for
each, and stacks the same arrays; both sides take turns. ``blocking``: 64 environments that wait 50 ms, thread mode
beside sync mode. ``stragglers``: ``send`` and ``recv`` where 5 % of the steps, drawn at random, take 100 times as long.
There the ideal schedule has no overhead at all: each environment begins its next step in the moment in which its last
one ends, so that n environments with steps of mean duration d make n / d steps a second.
"""

from __future__ import annotations

import argparse
import random
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

from gem.core import Env, Info
from gem.vector import VectorEnv
from gem.vector.results import stack
from gem.vector.sync import SyncVectorEnv
from gem.vector.thread import ThreadVectorEnv

LENGTHS = (0.0, 2e-6, 20e-6, 50e-6, 200e-6, 1e-3, 5e-3, 50e-3)
SIZES = (4, 16, 64, 256)
LONGEST_BATCH = 1.0  # seconds; cells in which one step of all environments computes longer are left out
SPAN = 0.15  # seconds that one side should take in one round


class Waits(Env[Any, Any]):
    """Waits in each step for the seconds that the action says."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        return "begin", {}

    def step(self, action: float) -> tuple[str, float, bool, bool, Info]:
        if action:
            time.sleep(action)
        return "done", 0.0, False, False, {}


class Computes(Waits):
    """Computes in each step for the seconds that the action says, by the count of a calibrated loop."""

    rounds_per_second = 0.0

    def step(self, action: float) -> tuple[str, float, bool, bool, Info]:
        for _ in range(int(action * self.rounds_per_second)):
            pass
        return "done", 0.0, False, False, {}


class PoolVectorEnv(SyncVectorEnv):
    """The peer: the runners of sync mode in a plain pool."""

    def __init__(self, makers: list[Callable[[], Env[Any, Any]]]) -> None:
        super().__init__(makers)
        self._pool = ThreadPoolExecutor(self.num_envs)

    def step(self, actions: Any) -> Any:
        return stack(list(self._pool.map(_step, self._runners, actions)))

    def _shut_down(self) -> None:
        self._pool.shutdown()
        super()._shut_down()


def _step(runner: Any, action: Any) -> Any:
    return runner.step(action)


def calibrate() -> None:
    """Find how many rounds of the loop take a CPU second; the fastest of several tries, as other work disturbs."""
    fastest = min(_loop_seconds() for _ in range(9))
    Computes.rounds_per_second = 200_000 / fastest


def _loop_seconds() -> float:
    begin = time.process_time()
    for _ in range(200_000):
        pass
    return time.process_time() - begin


def seconds_of(envs: VectorEnv, actions: list[float], repeats: int) -> tuple[float, float]:
    """Return the wall-clock and CPU seconds of some steps of all environments."""
    cpu, begin = time.process_time(), time.perf_counter()
    for _ in range(repeats):
        envs.step(actions)
    return time.perf_counter() - begin, time.process_time() - cpu


def spread(values: list[float], unit: float = 1.0) -> str:
    """Return the median and the range."""
    low, middle, high = min(values) * unit, statistics.median(values) * unit, max(values) * unit
    return f"{middle:.3g} ({low:.3g} … {high:.3g})"


def steps(kinds: list[str], sizes: list[int], lengths: list[float], rounds: int) -> None:
    """Print one row for each kind of work, number of environments and length of a step."""
    calibrate()
    print("| work | step | envs | thread mode, µs a step | pool, µs a step | pool / thread mode | the same, CPU |")
    print("|---|---|---|---|---|---|---|")
    for kind in kinds:
        env = {"waits": Waits, "computes": Computes}[kind]
        for length in lengths:
            for size in sizes:
                if kind == "waits" or length * size <= LONGEST_BATCH:
                    print(row(kind, env, length, size, rounds), flush=True)


def row(kind: str, env: type[Env[Any, Any]], length: float, size: int, rounds: int) -> str:
    """Measure both sides in turns; return the row of the table."""
    actions = [length] * size
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    with ThreadVectorEnv([env] * size) as threads, PoolVectorEnv([env] * size) as pool:
        for envs in (threads, pool):
            envs.reset()
            seconds_of(envs, actions, 3)
        repeats = max(2, min(3000, int(SPAN / max(seconds_of(pool, actions, 2)[0] / 2, 1e-6))))
        for number in range(rounds):
            sides = ((threads, ours), (pool, theirs))
            for envs, measured in sides if number % 2 else reversed(sides):
                measured.append(seconds_of(envs, actions, repeats))
    unit = 1e6 / repeats / size
    wall = [b[0] / a[0] for a, b in zip(ours, theirs, strict=True)]
    cpu = [b[1] / max(a[1], 1e-9) for a, b in zip(ours, theirs, strict=True)]
    cells = [spread([a[0] for a in ours], unit), spread([b[0] for b in theirs], unit), spread(wall), spread(cpu)]
    return f"| {kind} | {1e6 * length:g} µs | {size} | " + " | ".join(cells) + " |"


def blocking(rounds: int) -> None:
    """Print how many times as fast as sync mode 64 environments of 50 ms are."""
    actions = [0.05] * 64
    ratios = []
    with ThreadVectorEnv([Waits] * 64) as threads, SyncVectorEnv([Waits] * 64) as sync:
        for envs in (threads, sync):
            envs.reset()
        seconds_of(threads, actions, 2)
        for _ in range(rounds):
            ours = seconds_of(threads, actions, 10)[0] / 10
            ratios.append(seconds_of(sync, actions, 1)[0] / ours)
    print(f"64 environments of 50 ms, times sync mode: {spread(ratios)}")


def stragglers(rounds: int, seconds: float = 4.0) -> None:
    """Print the share of the ideal throughput for some lengths of the ordinary step, and those of the references."""
    sides: dict[str, Callable[[float, int, float, random.Random], float]] = {
        "sleeping threads": share_of_sleeping_threads,
        "driven threads": share_of_driven_threads,
        "pool": share_of_pool,
        "thread mode": share_of_thread_mode,
    }
    print(f"| environments | step | {' | '.join(sides)} | thread mode / driven threads |\n|{'---|' * 7}")
    with ThreadVectorEnv([Waits]) as first:  # NumPy comes with the first result
        first.reset()
        first.step([0.0])
    for length, size in ((1e-3, 16), (1e-3, 64), (5e-3, 64), (10e-3, 64), (10e-3, 256)):
        shares: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(rounds):
            for name in [*sides][number % 4 :] + [*sides][: number % 4]:
                shares[name].append(sides[name](length, size, seconds, random.Random(number)))
        ratios = [a / b for a, b in zip(shares["thread mode"], shares["driven threads"], strict=True)]
        cells = " | ".join(spread(values) for values in (*shares.values(), ratios))
        print(f"| {size} | {1e3 * length:g} ms, 5 % of {100e3 * length:g} ms | {cells} |", flush=True)


def share_of_sleeping_threads(length: float, size: int, seconds: float, chance: random.Random) -> float:
    """Return the share of threads that do nothing but sleep, at the cost of timers and the interpreter's lock alone."""
    filled = [0.0] * size
    begin = time.perf_counter()

    def sleep_on(index: int, own: random.Random) -> None:
        while (left := seconds - (time.perf_counter() - begin)) > 0:
            current = straggling(length, own)
            time.sleep(min(current, left))
            filled[index] += min(current, left)

    threads = [threading.Thread(target=sleep_on, args=(i, random.Random(chance.random()))) for i in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(filled) / (seconds * size)


def share_of_driven_threads(length: float, size: int, seconds: float, chance: random.Random) -> float:
    """Return the share of threads that a caller drives with nothing but a lock each: no handoff can cost less."""
    finished: deque[int] = deque()
    ready = threading.Lock()
    ready.acquire()
    wake = [threading.Lock() for _ in range(size)]
    given = [0.0] * size

    def run(index: int) -> None:
        while True:
            wake[index].acquire()
            if given[index] < 0.0:
                return
            time.sleep(given[index])
            finished.append(index)
            with suppress(RuntimeError):  # released already
                ready.release()

    def send(actions: dict[int, float]) -> None:
        for index, current in actions.items():
            given[index] = current
            wake[index].release()

    def wait() -> list[int]:
        while not finished:
            ready.acquire()
        return [finished.popleft() for _ in range(len(finished))]

    for lock in wake:
        lock.acquire()
    threads = [threading.Thread(target=run, args=(index,)) for index in range(size)]
    for thread in threads:
        thread.start()
    share = _share_of_ideal(length, size, seconds, chance, send, wait)
    send(dict.fromkeys(range(size), -1.0))
    for thread in threads:
        thread.join()
    return share


def share_of_pool(length: float, size: int, seconds: float, chance: random.Random) -> float:
    """Return the share of a plain pool, whose results come in a queue from which the caller begins the next steps."""
    results: SimpleQueue[int] = SimpleQueue()

    def step(index: int, current: float) -> None:
        time.sleep(current)
        results.put(index)

    with ThreadPoolExecutor(size) as pool:

        def send(actions: dict[int, float]) -> None:
            for index, current in actions.items():
                pool.submit(step, index, current)

        def ready() -> list[int]:
            found = [results.get()]
            while not results.empty():
                found.append(results.get())
            return found

        return _share_of_ideal(length, size, seconds, chance, send, ready)


def share_of_thread_mode(length: float, size: int, seconds: float, chance: random.Random) -> float:
    """Return the share of thread mode."""
    with ThreadVectorEnv([Waits] * size) as envs:
        envs.reset()
        return _share_of_ideal(length, size, seconds, chance, envs.send, lambda: envs.recv().indices)


def straggling(length: float, chance: random.Random) -> float:
    """Return the seconds of a step."""
    return 100 * length if chance.random() < 0.05 else length


def _share_of_ideal(
    length: float,
    size: int,
    seconds: float,
    chance: random.Random,
    send: Callable[[dict[int, float]], None],
    ready: Callable[[], list[int]],
) -> float:
    """Return the share of the environments' time that their steps, as long as they should take, fill."""
    filled = 0.0
    begin = time.perf_counter()
    current: dict[int, float] = {}
    sent: dict[int, float] = {}
    indices = list(range(size))
    while (now := time.perf_counter()) - begin < seconds:
        actions = {index: straggling(length, chance) for index in indices}
        current.update(actions)
        sent.update(dict.fromkeys(actions, now))
        send(actions)
        indices = ready()
        filled += sum(current[index] for index in indices)
    # Most environments are in one of the long steps at the end; what they have done of it counts.
    waiting = set(range(size)) - set(indices)
    filled += sum(min(current[index], now - sent[index]) for index in waiting)
    while waiting:
        waiting.difference_update(ready())
    return filled / ((now - begin) * size)


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=["steps", "blocking", "stragglers"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--envs", default=",".join(map(str, SIZES)))
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)), help="in seconds")
    parser.add_argument("--kinds", default="waits,computes")
    given = parser.parse_args()
    run: dict[str, Callable[[], None]] = {
        "steps": partial(
            steps,
            given.kinds.split(","),
            [int(size) for size in given.envs.split(",")],
            [float(length) for length in given.lengths.split(",")],
            given.rounds,
        ),
        "blocking": partial(blocking, given.rounds),
        "stragglers": partial(stragglers, given.rounds),
    }
    run[given.measure]()


if __name__ == "__main__":
    main()
