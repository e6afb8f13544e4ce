"""Fork servers whose children are workers: :class:`WorkerLoop`, and the one of a pool.

A server ends with all its workers when the client's end of the channel closes or the client's process ends. The server
of a pool has imported the function, and never calls it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import struct
import sys
import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_processes import messages
from gem_processes.fork_loop import Child, ForkLoop, described, serve
from gem_processes.worker import NO_ROOM, become_worker, prepare

if TYPE_CHECKING:
    import resource

__all__ = ["RETURN_CODE", "WorkerLoop", "main"]

RETURN_CODE = struct.Struct("!i")
"""The message to the client about the end of a worker."""

_CHILDREN = Path("/proc/thread-self/children")


def main() -> None:
    """Run the server; arguments: the settings as JSON, and the descriptor of the channel."""
    settings, control = json.loads(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def prepared() -> Callable[[], None]:
        function = prepare(settings["function"], settings["warm_up"])
        loop = _PoolLoop(control, function, settings["memory"])
        gc.collect()
        gc.disable()
        gc.freeze()
        return loop.run_to_the_end

    serve(control, prepared)


class _Worker(Child):
    """A worker; a message or a close at the other end of ``interest`` ends it.

    Args:
        pid: its process id.
        interest: the socket to the client.
        patience: seconds that it has to end by itself before it is killed.
    """

    def __init__(self, pid: int, interest: socket.socket, patience: float) -> None:
        super().__init__(pid, interest)
        self._patience = patience

    def look(self, now: float) -> None:
        _kill(self.pid)

    def end(self) -> None:
        if self._patience:
            self.look_at = time.monotonic() + self._patience
        else:
            _kill(self.pid)

    def ended(self, returncode: int, usage: resource.struct_rusage) -> None:
        assert self.interest is not None
        with suppress(OSError):  # the client has closed its end
            self.interest.send(RETURN_CODE.pack(returncode))
        self.interest.close()


class WorkerLoop(ForkLoop):
    """Forks a worker for each request; its descriptors are the worker's channel, the socket of the client's interest,
    and those that the worker needs beside them.

    Args:
        control: the channel to the client.
        patience: seconds that workers have to end by themselves when the client has gone or wants them to end.
    """

    def __init__(self, control: socket.socket, patience: float = 0.0) -> None:
        super().__init__(control)
        self._patience = patience
        self._die_with_parent: Callable[[], None] = lambda: None
        if sys.platform == "linux":
            from gem_processes import linux

            self._die_with_parent = linux.die_with_parent
            linux.adopt_orphans()  # processes that leave a worker's group become children of this process

    @abstractmethod
    def work(self, body: bytes, channel: socket.socket, descriptors: list[int]) -> None:
        """Be a worker, in a process that was just forked; must not return."""

    def run_to_the_end(self) -> None:
        """Serve requests, and leave no process behind."""
        try:
            self.run()
            self._await_children(self._patience)
        finally:
            for worker in self.children:
                _kill(worker)
            self._await_children(1.0)

    def start(self, body: bytes, descriptors: list[int]) -> Child | None:
        channel, interest = (socket.socket(fileno=descriptor) for descriptor in descriptors[:2])
        server = os.getpid()
        try:
            worker = os.fork()
        except OSError as error:
            with channel, interest, suppress(OSError):
                messages.send(channel, messages.ERROR, NO_ROOM, described(error))
            return None
        if worker == 0:
            self._die_with_parent()
            if os.getppid() != server:
                os._exit(1)
            self.become_child()
            interest.close()
            self.work(body, channel, descriptors[2:])
            os._exit(1)
        channel.close()
        for descriptor in descriptors[2:]:
            os.close(descriptor)
        return _Worker(worker, interest, self._patience)

    def settle(self) -> None:
        """End orphans that left their worker's group."""
        with suppress(OSError, ValueError):
            for stray in {int(child) for child in _CHILDREN.read_text().split()} - self.children:
                _kill(stray)

    def _await_children(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self.children and time.monotonic() < deadline:
            self.reap()
            time.sleep(0.001)


class _PoolLoop(WorkerLoop):
    def __init__(self, control: socket.socket, function: Callable[..., Any], memory: int) -> None:
        super().__init__(control)
        self._function = function
        self._memory = memory

    def work(self, body: bytes, channel: socket.socket, descriptors: list[int]) -> None:
        become_worker(channel, self._function, self._memory)


def _kill(process: int) -> None:
    """Kill a worker and its group. It is not reaped yet, so its process id is not reused."""
    for kill in (os.killpg, os.kill):  # the group does not exist before the worker has created it
        with suppress(ProcessLookupError, PermissionError):
            kill(process, signal.SIGKILL)
