"""The processes of executions that share a process namespace with the trainer: who they are, and what they use.

A process whose parent ends becomes a child of the fork server (``PR_SET_CHILD_SUBREAPER``), whatever its session or
group. The mark of its execution is a limit that every descendant inherits and none can change
(:data:`~gem_tools.sandbox.inside.restricted_calls.MARK`).
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from gem_tools.sandbox.inside.watchdog import shared_memory

__all__ = [
    "Usage",
    "children",
    "descendants",
    "end_all_children",
    "kill",
    "mark_of",
    "measure",
    "threads_of_user",
]


class Usage(NamedTuple):
    """What processes use together."""

    threads: int
    """Their threads, at least one each."""
    memory: float
    """Bytes that only they hold: anonymous and shared memory, mapped or not, not files. Infinite if one of them cannot
    be read."""


def children(process: int) -> list[int]:
    """Return the children of a process that are not reaped yet."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            found += map(int, _read(f"/proc/{process}/task/{thread}/children").split())
    except FileNotFoundError:
        return _children_by_parents(process) if os.path.exists(f"/proc/{process}") else []
    except (OSError, ValueError):  # it has just ended
        return []
    return found


def _read(path: str) -> bytes:
    """Return the content of a file, in half the time of ``open``; a session's call looks at four of them."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return b"".join(iter(lambda: os.read(descriptor, 1 << 14), b""))
    finally:
        os.close(descriptor)


def _children_by_parents(process: int) -> list[int]:
    """Return the children on a kernel without ``CONFIG_PROC_CHILDREN``."""
    found = []
    for name in os.listdir("/proc"):
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
            if int(file.read().rpartition(b")")[2].split()[1]) == process:
                found.append(int(name))
    return found


def descendants(processes: Iterable[int]) -> list[int]:
    """Return these processes and all their descendants."""
    found = list(processes)
    for process in found:  # grows meanwhile
        found += children(process)
    return found


def mark_of(process: int) -> int:
    """Return the mark of the execution that a process belongs to; -1 for one without, or one that has ended."""
    try:
        with open(f"/proc/{process}/limits", "rb") as file:
            lines = file.read().splitlines()
        return next(int(line.split()[4]) for line in lines if line.startswith(b"Max file locks"))
    except (OSError, ValueError, StopIteration):
        return -1


def kill(processes: Iterable[int], mark: int | None = None, number: int = signal.SIGKILL) -> None:
    """Kill those of some processes that belong to an execution.

    Args:
        processes: their ids.
        mark: that of the execution; None for any.
        number: the signal.
    """
    for process in processes:
        try:
            held = os.pidfd_open(process)
        except OSError:  # it has ended
            continue
        # Only now: the number may have passed to another process before it was held.
        if (found := mark_of(process)) >= 0 and mark in (found, None):
            with suppress(OSError):
                signal.pidfd_send_signal(held, number)
        os.close(held)


def measure(processes: Iterable[int], enough: float, folder: int | None = None) -> Usage:
    """Measure processes.

    Args:
        processes: their ids.
        enough: the memory in bytes above which pages that several of them share are counted exactly.
        folder: a descriptor of ``/proc``, to count shared memory that no process maps at the moment.
    """
    threads = anonymous = shared = 0
    names = list(processes)
    for process in names:
        status = _fields(f"/proc/{process}/status")
        threads += status.get(b"Threads", 0)
        anonymous += 1024 * status.get(b"RssAnon", 0)
        shared += 1024 * status.get(b"RssShmem", 0)
    try:
        unmapped = 0.0 if folder is None else shared_memory(folder, list(map(str, names)))
    except PermissionError:  # a process that ends is no longer readable either
        unmapped = math.inf if all(_fields(f"/proc/{process}/status").get(b"RssAnon") for process in names) else 0.0
    if anonymous + max(shared, unmapped) > enough:
        exact = [_proportional(process) for process in names]
        anonymous, shared = (sum(parts) for parts in zip(*exact, strict=True)) if exact else (0, 0)
    return Usage(threads, anonymous + max(shared, unmapped))


def _proportional(process: int) -> tuple[int, int]:
    """Return the anonymous and the shared memory of a process, each page divided by the processes that share it."""
    parts = _fields(f"/proc/{process}/smaps_rollup")
    if not parts:  # another user's process, without the right to trace it
        parts = _fields(f"/proc/{process}/status")
        return 1024 * parts.get(b"RssAnon", 0), 1024 * parts.get(b"RssShmem", 0)
    return 1024 * parts.get(b"Pss_Anon", parts.get(b"Pss", 0)), 1024 * parts.get(b"Pss_Shmem", 0)


def _fields(path: str) -> dict[bytes, int]:
    """Return the numbers of a file with lines such as ``Threads: 1`` or ``RssAnon: 8 kB``."""
    found = {}
    with suppress(OSError), open(path, "rb") as file:
        for line in file.read().splitlines():
            name, _, value = line.partition(b":")
            number = value.split(maxsplit=1)[:1]
            if number and number[0].isdigit():
                found[name] = int(number[0])
    return found


def threads_of_user(user: int) -> int:
    """Return the number of threads of a user's processes."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:  # it has ended meanwhile
            continue
    return count


def end_all_children() -> None:
    """Kill and reap all descendants of this process, which must be a subreaper, until there are none."""
    while True:
        own = children(os.getpid())
        for process in own:
            # Not yet reaped, so that the number is still that of the child.
            os.kill(process, signal.SIGKILL)
        kill(descendants(own))
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
