"""Plays short episodes in threads and tells what is left: ``python episodes.py ENGINE CACHE TASK EPISODES``."""

from __future__ import annotations

import gc
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from gem.text import TERMINAL_STATE
from gem_terminal import TerminalEnv
from gem_terminal.engines import Engine
from gem_terminal.engines.owner import ContainerOwner

sys.path.insert(0, str(Path(__file__).parent))
from trainer import engine_of, say

THREADS = 8


def left() -> dict[str, list[str]]:
    """Threads, child processes, descriptors and mounts of this process."""
    gc.collect()
    children: list[str] = []
    for thread in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # one that was joined may be there for another moment
            children += (thread / "children").read_text().split()
    descriptors = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            descriptors.append(str(link.readlink()))
        except FileNotFoundError:  # the one that lists them
            continue
    return {
        "threads": [each.name for each in threading.enumerate()],
        "children": children,
        "descriptors": sorted(name.partition("[")[0] for name in descriptors),
        "mounts": [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if "gem-terminal" in line],
    }


def play(engine: Engine, task: str, numbers: SimpleQueue[int], failures: list[str]) -> None:
    """Play episodes until there are no more: some are finished, most abandoned, some environments not closed."""
    env: TerminalEnv | None = None
    while True:
        try:
            number = numbers.get_nowait()
        except Empty:
            break
        if env is None:
            env = TerminalEnv(path=task, engine=engine)
        env.reset()
        observation = env.step(f"<bash>echo {number}</bash>")[0]
        if observation != f"{number}\n[exit code 0]":
            failures.append(observation)
        if number % 10 == 3:
            observation, reward, *_ = env.step("<finish/>")
            if (observation, reward) != (TERMINAL_STATE, 1.0):
                failures.append(f"{observation} {reward}")
        elif number % 10 == 6:
            env.close()
            env = None
        elif number % 50 == 7:
            env = None  # forgotten
    if env is not None:
        env.close()


def main(name: str, cache: str, task: str, episodes: str) -> None:
    """Play one episode and look around, play them all and look again."""
    engine, failures = engine_of(name, cache), list[str]()

    def play_all(numbers: range, threads: int) -> dict[str, Any]:
        queue = SimpleQueue[int]()
        for number in numbers:
            queue.put(number)
        workers = [threading.Thread(target=play, args=(engine, task, queue, failures)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        TerminalEnv(path=task, engine=engine).close()
        with TerminalEnv(path=task, engine=engine) as last:  # finds what was forgotten, and waits until nothing is left
            last.reset()
        engine.close()
        return left()

    before = play_all(range(1), 1)
    after = play_all(range(int(episodes)), THREADS)
    say({"owner": str(ContainerOwner.this_process()), "failures": failures, "before": before, "after": after})
    sys.stdin.read()
    os._exit(0)  # nothing that would tidy up is run


if __name__ == "__main__":
    main(*sys.argv[1:])
