"""The workers of process mode, seen from the trainer: :class:`EnvWorkerPool`."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gem.errors import VectorError
from gem_processes import after_fork_in_child
from gem_processes.fork_server import ForkServer, exit_in_words, warm_python
from gem_processes.process_mode.call_page import CallPage
from gem_processes.process_mode.packets import PacketChannel, packet_sockets
from gem_processes.process_mode.packing import pack
from gem_processes.process_mode.server import PATIENCE
from gem_processes.process_mode.text_deltas import TextJoiner
from gem_processes.process_mode.timed_group import INTERRUPT
from gem_processes.process_mode.worker import EnvWorkerSettings
from gem_processes.workers import return_code

__all__ = ["EnvWorkerPool", "WorkerHandle"]

_STARTS_IN = 300.0
"""The time limit in seconds for importing the environments' modules on a machine under load."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerHandle:
    """A worker process, and the environments that it has.

    Args:
        channel: to the worker.
        fate: readable when the worker has ended; the fork server then sends its return code.
        page: shows the running call.
        numbers: the environments.
    """

    def __init__(self, channel: PacketChannel, fate: socket.socket, page: CallPage, numbers: Sequence[int]) -> None:
        self.channel = channel
        self.fate = fate
        self.page = page
        self.numbers = list(numbers)
        self.lock = threading.RLock()
        """Guards the receiving end of the channel."""
        self.last: dict[int, Any] = {}
        """The last result of each environment."""
        self.texts = TextJoiner()
        self.overdue_since: float | None = None
        self.hung: int | None = None
        """The environment for whose call the worker was killed."""

    @property
    def span(self) -> slice | None:
        """The environments as a slice, if they follow each other."""
        first = self.numbers[0] if self.numbers else 0
        return slice(first, first + len(self.numbers)) if self.numbers == list(_range(first, self.numbers)) else None

    @property
    def has_ended(self) -> bool:
        """Whether the fork server has reported the end of the process."""
        if self.fate.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self.fate, select.POLLIN)
        return bool(poll.poll(0))

    def signal(self, number: int) -> None:
        """Send a signal to the process, if it runs: its id is not used again before its end is reported."""
        if self.page.process and not self.has_ended:
            with suppress(ProcessLookupError):
                os.kill(self.page.process, number)

    def interrupt(self) -> None:
        """End the call that is marked as overdue, if it runs Python code."""
        self.signal(INTERRUPT)

    def kill(self) -> None:
        """Kill the process; the fork server ends its children."""
        self.signal(signal.SIGKILL)

    def how_it_ended(self) -> str:
        """Describe the end of the process, ``"was killed by SIGKILL"``; one that goes on is killed."""
        self.channel.close()
        self.kill()
        return exit_in_words(return_code(self.fate))

    def close(self) -> None:
        """Close this side of the connections."""
        self.channel.close()
        self.fate.close()
        with suppress(BufferError):
            self.page.close()


class EnvWorkerPool:
    """A fork server and its workers. They end when this object is closed or this process ends, in whichever way.

    Args:
        settings: of all workers.
    """

    def __init__(self, settings: EnvWorkerSettings) -> None:
        self._settings = settings
        self._server: ForkServer | None = None
        self.modules: dict[str, str] = {}
        """Modules and their files, for the fork server to import before it forks."""
        self.workers: list[WorkerHandle] = []
        self._closed = False
        after_fork_in_child(self._disown)

    def start(self, numbers: Sequence[int]) -> WorkerHandle:
        """Start a worker for environments, and add it to ``workers``.

        Raises:
            VectorError: if the system grants no process.
            ForkServerError: if the fork server does not start.
        """
        ours, theirs = packet_sockets()
        fate, told = socket.socketpair()
        page = CallPage()
        with theirs, told:
            try:
                self._request(theirs.fileno(), told.fileno(), page.descriptor)
            except BaseException:
                ours.close()
                fate.close()
                page.close()
                raise
        worker = WorkerHandle(PacketChannel(ours, blocking=False), fate, page, numbers)
        self.workers.append(worker)
        return worker

    def close(self) -> None:
        """End all processes; workers have two seconds to close environments that are still open."""
        if self._closed:
            return
        self._closed = True
        for worker in self.workers:
            worker.close()
        if self._server is not None:
            self._server.close(patience=2 * PATIENCE)

    def _request(self, *descriptors: int) -> None:
        """Have a worker forked, by another fork server where the last one has ended."""
        body = pack(self._settings)
        if self._server is not None:
            if self._server.is_alive:
                with suppress(OSError):  # it is about to end, as its workers show who have ended with it
                    self._server.request(body, descriptors)
                    return
            self._server.close(patience=0.0)
        try:
            self._server = self._start_server()
            self._server.request(body, descriptors)
        except OSError as error:
            raise VectorError(f"no worker process can be started: {error}") from error

    def _start_server(self) -> ForkServer:
        settings = {"folder": str(Path.cwd()), "modules": self.modules}
        # An environment computes in one thread, as its neighbours use the other processors.
        environment = {**dict.fromkeys(_THREADS, "1"), **os.environ}
        command = [*warm_python("gem_processes.process_mode.server"), json.dumps(settings)]
        return ForkServer(command, environment, starts_in=_STARTS_IN, quiet=False)

    def _disown(self) -> None:
        """Let a forked copy of this process leave the workers alone."""
        self._closed = True
        for worker in self.workers:
            worker.close()
        if self._server is not None:
            self._server.disown()


def _range(first: int, numbers: Sequence[int]) -> range:
    return range(first, first + len(numbers))
