"""The template: a process that has imported the function and forks a worker whenever the pool asks for one.

It is single-threaded and never calls the function, so that forking it is quick and sound. It ends, with all its
workers, when the pool's end of its control channel closes, however that came to pass.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gem.processes import messages
from gem.processes.worker import become_worker, described, prepare

__all__ = ["END", "FORK", "ORDER", "REPLY", "WAIT", "main"]

ORDER = struct.Struct("!cI")
"""What the pool asks: FORK (with the worker's end of a channel), END or WAIT, and a process id."""
REPLY = struct.Struct("!i")
"""The answer to FORK: process id, or 0 if the system has no room; to WAIT: as ``subprocess.Popen.returncode``."""

FORK = b"F"
END = b"E"
"""Kill a worker; no answer."""
WAIT = b"W"
"""Say how a worker that closed its channel has ended; kill it if it has not."""

_CHILDREN = Path("/proc/thread-self/children")
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 0.1
"""Seconds for a process that has closed its channel to be over."""


def main() -> None:
    """Be the template; arguments: file descriptor of the control channel, and the settings as JSON."""
    descriptor, settings = int(sys.argv[1]), json.loads(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=descriptor)
    try:
        function = prepare(settings["function"], settings["warm_up"])
    except BaseException as error:
        messages.send(control, messages.ERROR, 0, described(error))
        return
    prctl = _prctl()
    prctl(_PR_SET_CHILD_SUBREAPER, 1)  # what escapes from a worker becomes a child of this process
    gc.collect()
    gc.disable()
    gc.freeze()
    messages.send(control, messages.READY, os.getpid())
    template = _Template(control, function, settings["memory"], prctl)
    try:
        template.obey()
    except OSError:  # the pool is gone
        pass
    finally:
        template.end_all()


class _Template:
    def __init__(
        self,
        control: socket.socket,
        function: Callable[..., Any],
        memory: int,
        prctl: Callable[[int, int], object],
    ) -> None:
        self._control = control
        self._function = function
        self._memory = memory
        self._prctl = prctl
        self._workers: set[int] = set()
        self._dying: set[int] = set()

    def obey(self) -> None:
        """Do what the pool asks until its end of the channel closes, or its process is gone."""
        parent = os.getppid()
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while os.getppid() == parent:  # a copy of the pool's end, in a process that it forked, keeps the channel open
            if poll.poll(20 if self._dying else 2000):
                order, descriptors, _, _ = socket.recv_fds(self._control, ORDER.size, 1)
                if len(order) < ORDER.size:
                    return
                what, worker = ORDER.unpack(order)
                self._do(what, worker, descriptors)
            self._reap()

    def end_all(self) -> None:
        """Leave no process behind."""
        for worker in self._workers:
            self._kill(worker)
        self._dying |= self._workers
        deadline = time.monotonic() + 1
        while self._dying and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.001)

    def _do(self, what: bytes, worker: int, descriptors: list[int]) -> None:
        if what == FORK:
            self._control.sendall(REPLY.pack(self._fork(descriptors[0])))
        elif worker in self._workers:
            if what == WAIT:
                self._control.sendall(REPLY.pack(self._how_it_ended(worker)))
            else:
                self._kill(worker)
                self._dying.add(worker)
            self._workers.discard(worker)

    def _fork(self, descriptor: int) -> int:
        template = os.getpid()
        try:
            worker = os.fork()
        except OSError:
            worker = -1
        if worker == 0:
            self._prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != template:
                os._exit(1)
            self._control.close()
            become_worker(socket.socket(fileno=descriptor), self._function, self._memory)
        os.close(descriptor)
        if worker < 0:
            return 0
        self._workers.add(worker)
        return worker

    def _how_it_ended(self, worker: int) -> int:
        deadline = time.monotonic() + _PATIENCE
        while True:
            process, status = os.waitpid(worker, os.WNOHANG)
            if process:
                self._kill_strays()
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > deadline:
                self._kill(worker)
                _, status = os.waitpid(worker, 0)
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.001)

    def _kill(self, worker: int) -> None:
        """End a worker and its group. It is not reaped yet, so that the id is still its own."""
        for kill in (os.killpg, os.kill):  # the group does not exist before the worker has made it
            with suppress(ProcessLookupError, PermissionError):
                kill(worker, signal.SIGKILL)

    def _reap(self) -> None:
        if not self._dying:
            return
        for worker in list(self._dying):
            with suppress(ChildProcessError):
                if os.waitpid(worker, os.WNOHANG)[0] == 0:
                    continue
            self._dying.discard(worker)
        self._kill_strays()

    def _kill_strays(self) -> None:
        """End processes that left their worker's group and have lost their parent."""
        try:
            children = {int(child) for child in _CHILDREN.read_text().split()}
        except (OSError, ValueError):
            return
        for stray in children - self._workers - self._dying:
            self._kill(stray)
            self._dying.add(stray)


def _prctl() -> Callable[[int, int], object]:
    """Linux's call of that name, or a function that does nothing."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            function: Callable[[int, int], object] = ctypes.CDLL(None).prctl
            return function
    return lambda option, value: None
