"""By night: ten thousand sessions that leave nothing behind."""

from __future__ import annotations

import os
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gem

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.nightly, pytest.mark.xdist_group("environment server by night")]


def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    """Poll until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def tree(pid: int) -> list[int]:
    """Return a process and its children."""
    found = [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]
    return [pid, *found]


def resident(pid: int) -> int:
    """Return the resident memory of a process and its children in bytes."""
    pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in tree(pid))
    return pages * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid: int) -> int:
    """Return the number of open descriptors of a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_ten_thousand_sessions_leave_nothing_behind(serve: Any, faulty_specs: dict[str, str]) -> None:
    """Opened, used and dropped again and again: descriptors return to what they were, and memory ceases to grow.

    An allocator has to find its size, which takes some rounds. A leak of 200 bytes a session would grow for ever.
    """
    options = ("--workers", "2", "--max-sessions", "10000", "--max-connections", "1000", "--reconnect-timeout", "0.5")
    after: list[int] = []
    with serve("faulty", *options, **faulty_specs) as server:
        before = descriptors(server.process.pid)
        for _ in range(8):
            url = server.env("faulty:Counting-v0")
            with gem.make_vec(url, num_envs=10_000, mode="server", mode_kwargs={"connections": 500}) as envs:
                envs.reset(seed=0)
                assert set(envs.step(["x"] * 10_000)[0]) == {"1: x"}
            until(lambda: descriptors(server.process.pid) <= before)
            until(lambda: metric(server.url, "gem_sessions") == 0)
            after.append(resident(server.process.pid))
            if len(after) > 2 and after[-1] < after[-2] + 200 * 10_000:
                break
        else:
            pytest.fail(f"memory after each time: {after}")


def metric(url: str, name: str) -> float:
    """Return a metric without labels."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as response:
        return next(
            float(line.split()[1]) for line in response.read().decode().splitlines() if line.startswith(f"{name} ")
        )
