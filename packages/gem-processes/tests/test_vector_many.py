"""Thousands of environments in one trainer: they play, and nothing is left of them."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from gem.core import Env, Info
from gem.vector import VectorEnv
from gem.vector.sync import SyncVectorEnv
from gem.vector.thread import ThreadVectorEnv
from gem_processes.auto_mode.auto import auto_vector_env
from gem_processes.process_mode.vector_env import ProcessVectorEnv

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is left is read from /proc")

MODES: dict[str, Any] = {
    "sync": SyncVectorEnv,
    "thread": ThreadVectorEnv,
    "process": ProcessVectorEnv,
    "auto": auto_vector_env,
}


class Sums(Env[str, int]):
    """Adds up the actions; an episode has three turns. Every eighth step waits, so that threads are wanted."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.total = self.turn = 0
        return f"begin {self.rng.random()}", {}

    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        if action % 8 == 0:
            time.sleep(0.001)
        self.total += action
        self.turn += 1
        return f"sum {self.total}", float(action), self.turn >= 3, False, {"total": self.total}

    def sample_random_action(self) -> int:
        return 1


def living() -> tuple[set[int], set[int], int]:
    """Return the children of this process, its threads, and the number of its descriptors."""
    children = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            children.add(int(stat.parent.name))
    threads = {thread.native_id or 0 for thread in threading.enumerate()}
    return children, threads, len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def play(mode: str, count: int) -> None:
    """Make environments, play an episode and a half in each, in lock-step and as results come, and close them."""
    with MODES[mode]([Sums] * count, seeds=range(count)) as envs:
        play_in(envs, count)
    del envs
    gc.collect()


def play_in(envs: VectorEnv, count: int) -> None:
    """Play an episode and a half in every environment."""
    observations, _ = envs.reset()
    assert len(set(observations)) == count
    for turn in range(1, 4):
        results = envs.step(range(count))
        expected = [turn * index for index in range(count)]
        assert [info.get("final_info", info)["total"] for info in results[4]] == expected
        assert results[2].tolist() == [turn == 3] * count
    envs.send(range(count))
    left = set(range(count))
    while left:
        ready = envs.recv()
        assert ready.observations == [f"sum {index}" for index in ready.indices]
        left.difference_update(ready.indices)


@pytest.mark.slow(reason="worker processes start twice and import this file")
@pytest.mark.parametrize("count", [64, pytest.param(4096, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("mode", MODES)
def test_many_environments_play_and_leave_nothing(mode: str, count: int) -> None:
    """No process, thread or descriptor, also after a second time."""
    play(mode, 2)  # modules and their files come once
    children, threads, descriptors = living()
    for _ in range(2 if count > 64 else 1):
        play(mode, count)
        deadline = time.monotonic() + 60
        now = living()
        # What other tests left to their threads may hold something for a moment; a leak stays.
        while not (now[0] <= children and now[1] <= threads and now[2] <= descriptors) and time.monotonic() < deadline:
            time.sleep(0.01)
            now = living()
        assert now[0] <= children
        assert now[1] <= threads
        assert now[2] <= descriptors
