"""By night: ten thousand sessions that leave nothing behind."""

from __future__ import annotations

import os
import time
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
    """Opened, used and dropped three times: memory and descriptors after the third time are those after the second."""
    options = ("--workers", "2", "--max-sessions", "10000", "--max-connections", "1000", "--reconnect-timeout", "0.5")
    after: list[int] = []
    with serve("faulty", *options, **faulty_specs) as server:
        before = descriptors(server.process.pid)
        for _ in range(3):
            url = server.env("faulty:Counting-v0")
            with gem.make_vec(url, num_envs=10_000, mode="server", mode_kwargs={"connections": 500}) as envs:
                envs.reset(seed=0)
                assert set(envs.step(["x"] * 10_000)[0]) == {"1: x"}
            until(lambda: descriptors(server.process.pid) <= before)
            time.sleep(1.0)
            after.append(resident(server.process.pid))
    assert after[2] < after[1] * 1.05 + 2e6, after
