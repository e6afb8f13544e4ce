"""The processes of sandboxes, as ``/proc`` shows them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from gem_tools.sandbox.inside.restricted_processes import descendants

__all__ = ["threads", "wait_for_a_rest"]


def threads(processes: set[int]) -> list[tuple[str, int]]:
    """Return state and processor time, in ticks, of each thread."""
    found = []
    for process in processes:
        try:
            for thread in Path(f"/proc/{process}/task").iterdir():
                fields = (thread / "stat").read_text().rpartition(")")[2].split()
                found.append((fields[0], int(fields[11]) + int(fields[12])))
        except OSError:  # it has ended
            continue
    return found


def wait_for_a_rest() -> None:
    """Wait until a session of this process has been stopped, at most a minute."""
    until = time.monotonic() + 60
    while all(state != "T" for state, _ in threads(set(descendants([os.getpid()])))):
        assert time.monotonic() < until, "no session rests"
