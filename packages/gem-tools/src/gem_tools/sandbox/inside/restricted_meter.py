"""Measures executions beside a fork server without namespaces, in its keeper: :class:`RestrictedMeter`.

To read the mappings of a process, the kernel waits for a lock that this process may hold while it waits for a processor
itself. On a busy machine that takes up to a second, in which a server that measures would start and end nothing else.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from gem_tools.sandbox.inside import restricted_processes, trees, wire
from gem_tools.sandbox.inside.watchdog import Watchdog

__all__ = ["LOOK", "MeteredExecution", "RestrictedMeter", "receive", "watch"]

LOOK = 0.1
"""Seconds between two measurements of an execution, and from its start to the first."""
_SHARE = 20
"""A measurement takes at most this fraction of the meter's time for one execution."""
_BYTES_PER_FILE = 1 << 16
_LEAST_FILES = 1024
"""A scratch folder may hold this many files, and one more for each so many bytes of its size."""
_LONGEST = 1 << 16
_VERDICT = struct.Struct("=iii")


@dataclass
class MeteredExecution:
    """An execution and its limits."""

    pid: int
    """Its first process."""
    mark: int
    """See :mod:`.restricted_processes`."""
    memory: float
    """Bytes, those of the fork server's own pages included."""
    disk: int
    threads: int
    scratch: str
    """Its scratch folder."""
    counts_shared: bool
    """Whether shared memory that no process maps can be counted."""
    measure_at: float = 0.0
    """The time of the next measurement on the monotonic clock, in seconds."""


def watch(channel: socket.socket, execution: MeteredExecution) -> None:
    """Have an execution measured until its end.

    Args:
        channel: the fork server's end of the channel.
        execution: the execution.
    """
    channel.send(json.dumps(asdict(execution)).encode())


def receive(channel: socket.socket) -> tuple[int, int, int]:
    """Return process, mark and the exceeded limit of an execution; zeros after the end of the meter."""
    data = channel.recv(_VERDICT.size)
    pid, mark, reason = _VERDICT.unpack(data) if data else (0, 0, 0)
    return pid, mark, reason


class RestrictedMeter(Watchdog[MeteredExecution]):
    """Measures the executions of a fork server until one of some processes ends.

    Args:
        channel: the meter's end of the channel.
        ends: descriptors of the processes (``pidfd``).
        server: the process id of the fork server.
    """

    def __init__(self, channel: socket.socket, ends: Sequence[int], server: int) -> None:
        super().__init__(channel, ends)
        self._server = server
        self._folder = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)

    def _add(self) -> bool:
        data = self._channel.recv(_LONGEST)
        if data:
            self._runs.append(MeteredExecution(**json.loads(data)))
        return bool(data)

    def _measure(self, run: MeteredExecution) -> None:
        started = time.monotonic()
        children = restricted_processes.children(self._server)
        is_over = run.pid not in children
        reason = None if is_over else self._exceeded(run, children)
        if reason is not None:
            self._tell(_VERDICT.pack(run.pid, run.mark, reason))
        if is_over or reason is not None:
            self._runs.remove(run)
            return
        now = time.monotonic()
        run.measure_at = now + max(LOOK, _SHARE * (now - started))

    def _exceeded(self, run: MeteredExecution, children: Sequence[int]) -> int | None:
        """Return the limit that all processes of an execution together exceed.

        Args:
            run: the execution.
            children: the children of the fork server, among them those that it has adopted.
        """
        first = {other.pid for other in self._runs}
        adopted = [process for process in children if process not in first]
        own = [process for process in adopted if restricted_processes.mark_of(process) == run.mark]
        family = restricted_processes.descendants([run.pid, *own])
        folder = self._folder if run.counts_shared else None
        used = restricted_processes.measure(family, run.memory, folder)
        if used.threads > run.threads:
            return wire.OUT_OF_PROCESSES
        if used.memory > run.memory:
            return wire.OUT_OF_MEMORY
        most_files = _LEAST_FILES + run.disk // _BYTES_PER_FILE
        size, files = trees.tree_usage(run.scratch, run.disk, most_files)
        if size > run.disk or files > most_files:
            return wire.OUT_OF_DISK
        return None
