"""Measures the memory of whole executions from outside of the jail: :class:`JailWatchdog`.

The kernel limits the address space of each process. An execution can have many, and the kernel holds memory for it that
no limit of a process counts: pages of shared mappings that no process maps at the moment, and the contents of pipes and
sockets. The watchdog adds all of these up ten times a second and tells the fork server which executions have too much.
"""

from __future__ import annotations

import math
import os
import re
import select
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

__all__ = ["SOCKET_MEMORY", "JailWatchdog", "Measured", "Watchdog", "receive", "shared_memory", "used_memory", "watch"]

_PERIOD = 0.1
"""Seconds between two measurements of an execution."""
_SHARE = 0.05
"""The largest share of its time that the watchdog spends on one execution."""
_ORDER = struct.Struct("=iQ")
_PAGE = os.sysconf("SC_PAGE_SIZE")
SOCKET_MEMORY = 256 << 10
"""The memory that a full socket holds, with Linux's defaults for ``net.core.wmem_default`` and ``rmem_default``."""
_PIPE_MEMORY = 64 << 10
"""The memory that a full pipe holds."""
_EPOLL = "anon_inode:[eventpoll]"
_EPOLL_MEMORY = 64 << 10
"""The memory that an instance of epoll holds for 256 descriptors, the default of ``open_files``, and some more."""
_MOST_PIPES = 128
"""With 1,024 pipes, the kernel gives all further ones of the same user less memory (``fs.pipe-user-pages-soft``)."""
_MOST_MAPPINGS = 1 << 20
"""The longest list of a process's mappings in bytes, for some 10,000 of them; each takes memory of the kernel."""
_PARTS = re.compile(rb"^Pss(|_Shmem): +(\d+) kB$", re.MULTILINE)
_SHARED = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ (\d+) +/dev/zero \(deleted\)$", re.MULTILINE)
"""A shared mapping without a file, in ``/proc/<pid>/maps``."""


def watch(channel: socket.socket, pid: int, memory: int, folder: int) -> None:
    """Have an execution measured until its end.

    Args:
        channel: the fork server's end of the channel.
        pid: the execution's program, in the fork server's namespace.
        memory: its limit in bytes.
        folder: a descriptor of the ``/proc`` of its process namespace.
    """
    socket.send_fds(channel, [_ORDER.pack(pid, memory)], [folder])


def receive(channel: socket.socket) -> int:
    """Return the program of an execution that has too much memory, in the fork server's namespace."""
    data = channel.recv(_ORDER.size)
    return int(_ORDER.unpack(data)[0]) if data else 0


class Measured(Protocol):
    """An execution that a watchdog measures."""

    measure_at: float
    """The time of the next measurement on the monotonic clock, in seconds."""


_Run = TypeVar("_Run", bound=Measured)


class Watchdog(Generic[_Run]):
    """Measures executions until one of some processes ends; a subclass says how.

    Args:
        channel: the watchdog's end of the channel.
        ends: descriptors of the processes (``pidfd``).
    """

    def __init__(self, channel: socket.socket, ends: Sequence[int]) -> None:
        self._channel = channel
        self._ends = ends
        self._runs: list[_Run] = []

    def run(self) -> None:
        """Measure until the end."""
        poll = select.poll()
        for descriptor in (*self._ends, self._channel.fileno()):
            poll.register(descriptor, select.POLLIN)
        while True:
            soonest = min((run.measure_at for run in self._runs), default=math.inf)
            left = None if soonest == math.inf else max(0.0, soonest - time.monotonic()) * 1000 + 1
            ready = {descriptor for descriptor, _ in poll.poll(left)}
            if not ready.isdisjoint(self._ends):
                return
            if self._channel.fileno() in ready and not self._add():
                return
            for run in [run for run in self._runs if run.measure_at <= time.monotonic()]:
                self._measure(run)

    def _tell(self, verdict: bytes) -> None:
        with suppress(OSError):  # the fork server has just ended
            self._channel.send(verdict)

    def _add(self) -> bool:
        """Take an execution from the channel; return whether the channel is open."""
        raise NotImplementedError

    def _measure(self, run: _Run) -> None:
        """Measure an execution, and tell the fork server if it has too much."""
        raise NotImplementedError


class _JailedRun:
    def __init__(self, pid: int, limit: int, folder: int) -> None:
        self.pid = pid
        self.limit = limit
        self.folder = folder
        self.measure_at = 0.0


class JailWatchdog(Watchdog[_JailedRun]):
    """Measures the memory of executions in process namespaces; see the module."""

    def _add(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._channel, _ORDER.size, 1)
        if descriptors:
            pid, limit = _ORDER.unpack(data)
            self._runs.append(_JailedRun(pid, limit, descriptors[0]))
        return bool(data)

    def _measure(self, run: _JailedRun) -> None:
        started = time.monotonic()
        try:
            processes = [name for name in os.listdir(run.folder) if name.isdigit() and name != "1"]
        except OSError:  # the namespace has ended
            processes = []
        used = used_memory(run.folder, processes, run.limit)
        if not processes or used > run.limit:
            if processes:
                self._tell(_ORDER.pack(run.pid, 0))
            os.close(run.folder)
            self._runs.remove(run)
            return
        now = time.monotonic()
        run.measure_at = now + max(_PERIOD, (now - started) / _SHARE)


def used_memory(folder: int, processes: Sequence[str], limit: int) -> float:
    """Return the memory of an execution in bytes, or an upper bound that does not exceed the limit.

    Args:
        folder: a descriptor of the ``/proc`` of its process namespace.
        processes: the ids of its processes there.
        limit: the limit in bytes.

    Returns:
        Infinity if a process hides from the watchdog, or the execution has too many pipes or mappings.
    """
    sizes = {name: size for name in processes if (size := _resident(folder, name))}  # an ended process has none
    try:
        held = _held_by_kernel(folder, list(sizes)) + shared_memory(folder, list(sizes))
        if held + sum(sizes.values()) <= limit:
            return held + sum(sizes.values())
        return held + sum(_proportional(folder, name) for name in sizes)
    except PermissionError:
        # A process that ends is no longer readable either.
        return math.inf if all(_resident(folder, name) for name in sizes) else 0.0


def _held_by_kernel(folder: int, processes: Sequence[str]) -> float:
    """Return a bound of the contents of sockets and pipes, and of what epoll watches."""
    sockets = 0
    for name in processes[:1]:
        found = re.search(rb"sockets: used (\d+)", _read(folder, f"{name}/net/sockstat"))
        sockets = int(found[1]) if found else 0
    pipes: set[str] = set()
    watchers = 0
    for name in processes:
        with suppress(FileNotFoundError, ProcessLookupError):
            opened = os.open(f"{name}/fd", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
            try:
                for number in os.listdir(opened):
                    with suppress(FileNotFoundError):
                        target = os.readlink(number, dir_fd=opened)
                        pipes.add(target)
                        watchers += target == _EPOLL
            finally:
                os.close(opened)
    count = sum(name.startswith("pipe:") for name in pipes)
    if count > _MOST_PIPES:
        return math.inf
    return sockets * SOCKET_MEMORY + count * _PIPE_MEMORY + watchers * _EPOLL_MEMORY


def shared_memory(folder: int, processes: Sequence[str]) -> float:
    """Return the size of the shared mappings without a file, whether their pages are mapped or not.

    Args:
        folder: a descriptor of ``/proc``.
        processes: the ids of the processes there.

    Raises:
        PermissionError: if one of the processes cannot be read.
    """
    sizes: dict[bytes, int] = {}
    for name in processes:
        mappings = _read(folder, f"{name}/maps", _MOST_MAPPINGS)
        if len(mappings) >= _MOST_MAPPINGS:
            return math.inf
        own: dict[bytes, int] = {}
        for first, end, number in _SHARED.findall(mappings):
            own[number] = own.get(number, 0) + int(end, 16) - int(first, 16)
        for number, size in own.items():
            sizes[number] = max(size, sizes.get(number, 0))
    return sum(sizes.values())


def _resident(folder: int, process: str) -> int:
    fields = _read(folder, f"{process}/statm").split()
    return int(fields[1]) * _PAGE if fields else 0


def _proportional(folder: int, process: str) -> int:
    """Return the memory of a process, each page divided by the processes that share it, without shared mappings."""
    parts = dict(_PARTS.findall(_read(folder, f"{process}/smaps_rollup")))
    return 1024 * (int(parts.get(b"", 0)) - int(parts.get(b"_Shmem", 0)))


def _read(folder: int, path: str, most: int = 1 << 16) -> bytes:
    """Return a file's content; nothing if its process has ended."""
    parts = []
    with suppress(FileNotFoundError, ProcessLookupError):
        file = os.open(path, os.O_RDONLY, dir_fd=folder)
        try:
            while most > 0 and (part := os.read(file, most)):
                parts.append(part)
                most -= len(part)
        finally:
            os.close(file)
    return b"".join(parts)
