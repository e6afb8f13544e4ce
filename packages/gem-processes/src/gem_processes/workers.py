"""The pool's side of its workers: forked by a fork server, or spawned on systems without fork."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypedDict

from gem.errors import ForkServerError, ProcessCallError, ProcessCrashError, ProcessTimeoutError
from gem_processes import messages
from gem_processes.fork_server import ForkServer, end_process, exit_in_words, warm_python
from gem_processes.worker import NO_ROOM
from gem_processes.worker_server import RETURN_CODE

__all__ = ["ForkedWorkers", "SpawnedWorkers", "WorkerProcess", "WorkerSettings", "WorkerSource", "return_code"]

_STARTS_IN = 300.0
"""The time limit in seconds for importing the function on a machine under load."""
_READS_IN = 30.0
"""The time limit in seconds for a live worker to read a call, and for a live fork server to read a request."""
_ENDS_IN = 0.1
"""Seconds for a process that has closed its channel to be over; then it is killed."""
_REPORTS_IN = 5.0
"""Seconds in which a live fork server reports the end of a killed worker, on a machine under load."""


class WorkerSettings(TypedDict):
    """The settings of a fork server or a spawned worker."""

    function: str
    warm_up: str | None
    memory: int


class WorkerProcess:
    """A process that waits for a call.

    Args:
        channel: the socket for calls and answers.
        wait: returns the return code of the process after it closed its channel, None if unknown.
        end: kills the process.
        disown: closes the descriptors that a forked copy of the owner has beside the channel.
    """

    def __init__(
        self,
        channel: socket.socket,
        wait: Callable[[], int | None],
        end: Callable[[], object],
        disown: Callable[[], object],
    ) -> None:
        self.channel = channel
        self._wait = wait
        self._end = end
        self._disown = disown

    @property
    def is_ready(self) -> bool:
        """Whether the process is alive and has sent nothing unexpected since its last answer."""
        try:
            self.channel.settimeout(0)
            self.channel.recv(1)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def await_start(self) -> None:
        """Wait until the worker accepts calls.

        Raises:
            ProcessCallError: if the function cannot be imported.
            ProcessCrashError: if the process dies instead.
        """
        try:
            self.channel.settimeout(_STARTS_IN)
            message = messages.receive(self.channel)
        except (OSError, messages.MessageError):
            message = None
        if message is None:
            raise ProcessCrashError(f"a worker could not start: it {self.how_it_ended()}")
        _check_start(message)

    def call(self, body: bytes, seconds: float) -> tuple[Any, bool]:
        """Return the function's result, and whether the worker accepts another call.

        Raises:
            ProcessTimeoutError: after ``seconds``; the worker must be ended.
            ProcessCrashError: if the process dies; the worker must be ended.
            ProcessCallError: if the function raises; ``is_ready`` says whether the worker can take another call.
        """
        # The transfer of a large body does not count as the function's time: a live worker reads immediately.
        try:
            self.channel.settimeout(_READS_IN)
            messages.send(self.channel, messages.CALL, int(seconds * 1000), body)
            message = messages.receive(self.channel, messages.LARGEST, deadline=time.monotonic() + seconds)
        except TimeoutError:
            raise ProcessTimeoutError(f"the call did not finish within {seconds:g} s") from None
        except (OSError, messages.MessageError):
            message = None
        if message is None:
            raise ProcessCrashError(f"the process of the call {self.how_it_ended()}")
        try:
            value = json.loads(message.body)
            if message.kind == messages.ERROR:
                ends = bool(message.number)
                raise ProcessCallError(f"the call raised {value[0]}: {value[1]}", exception=value[0], ends=ends)
        except (ValueError, RecursionError, LookupError, TypeError) as error:
            raise ProcessCrashError(f"the answer of the call cannot be read: {error}") from None
        return value, message.kind == messages.RESULT

    def how_it_ended(self) -> str:
        """Describe the end of the process, ``"was killed by SIGSEGV"``; the process is gone afterwards."""
        return exit_in_words(self._wait())

    def end(self) -> None:
        """Kill the process."""
        self.channel.close()
        self._end()

    def disown(self) -> None:
        """Close a forked child's copies of its descriptors; the process is the parent's."""
        self.channel.close()
        self._disown()


class WorkerSource(ABC):
    """A source of workers."""

    @abstractmethod
    def worker(self) -> WorkerProcess:
        """Start a worker; call ``await_start`` before the first call.

        Raises:
            OSError: if the source has ended.
        """

    @abstractmethod
    def close(self) -> None:
        """End all workers."""

    @abstractmethod
    def disown(self) -> None:
        """Close the descriptors of a forked copy without ending any process."""

    @abstractmethod
    def abandon(self) -> None:
        """Let all processes end together with this process."""


class ForkedWorkers(WorkerSource):
    """Workers that a warm fork server forks within milliseconds."""

    def __init__(self, settings: WorkerSettings) -> None:
        command = [*warm_python("gem_processes.worker_server"), json.dumps(settings)]
        try:
            self.server = ForkServer(command, _environment(), starts_in=_STARTS_IN, answers_in=_READS_IN)
        except ForkServerError as error:
            if error.exception is None:
                raise ProcessCrashError(str(error)) from None
            raise _not_loaded(error.exception, str(error)) from None

    def worker(self) -> WorkerProcess:
        channel, theirs = socket.socketpair()
        fate, told = socket.socketpair()
        with theirs, told:
            try:
                self.server.request(b"", [theirs.fileno(), told.fileno()])
            except BaseException:
                channel.close()
                fate.close()
                raise
        return WorkerProcess(channel, partial(return_code, fate), partial(hang_up, fate), fate.close)

    def close(self) -> None:
        self.server.close()

    def disown(self) -> None:
        self.server.disown()

    def abandon(self) -> None:
        self.server.abandon()


class SpawnedWorkers(WorkerSource):
    """Workers in newly spawned processes, for systems without fork: each start takes an import."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = json.dumps(settings)
        self._running: set[subprocess.Popen[bytes]] = set()

    def worker(self) -> WorkerProcess:
        secret = secrets.token_bytes(32)
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(0.5)
            process = subprocess.Popen(  # noqa: S603  # Python itself
                [*warm_python("gem_processes.worker"), str(server.getsockname()[1]), self._settings],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                cwd=os.path.abspath(os.sep),  # noqa: PTH100
            )
            assert process.stdin is not None
            self._running.add(process)
            try:
                with suppress(BrokenPipeError), process.stdin as pipe:
                    pipe.write(secret.hex().encode() + b"\n")
                channel = _connected(server, process, secret)
            except BaseException:
                self._end(process)
                raise
        return WorkerProcess(channel, partial(self._wait, process), partial(self._end, process), lambda: None)

    def close(self) -> None:
        for process in list(self._running):
            self._end(process)

    def disown(self) -> None:
        for process in self._running:
            process.returncode = 0
        self._running.clear()

    def abandon(self) -> None:
        self.disown()

    def _wait(self, process: subprocess.Popen[bytes]) -> int | None:
        try:
            status: int | None = process.wait(_ENDS_IN)
        except subprocess.TimeoutExpired:
            status = None
        self._end(process)
        return status

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        end_process(process, patience=0.0)
        self._running.discard(process)


def return_code(fate: socket.socket) -> int | None:
    """Read how a worker has ended, from the fork server, which kills a worker that goes on."""
    told = b""
    with suppress(OSError):
        try:
            fate.settimeout(_ENDS_IN)
            told = fate.recv(RETURN_CODE.size)
        except TimeoutError:
            fate.send(b"K")
            fate.settimeout(_REPORTS_IN)
            told = fate.recv(RETURN_CODE.size)
    return RETURN_CODE.unpack(told)[0] if len(told) == RETURN_CODE.size else None


def hang_up(fate: socket.socket) -> None:
    """Make the fork server kill a worker, whichever forked copies of this process have the descriptor too."""
    with suppress(OSError):  # it is closed, or the fork server has gone
        fate.shutdown(socket.SHUT_RDWR)
    fate.close()


def _environment() -> dict[str, str]:
    """Return the variables of this process without those that make libraries start threads, which a worker must not."""
    return {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")}


def _connected(server: socket.socket, process: subprocess.Popen[bytes], secret: bytes) -> socket.socket:
    """Wait for a connection from the process that knows the secret."""
    deadline = time.monotonic() + _STARTS_IN
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(TimeoutError):
            channel, _ = server.accept()
            channel.settimeout(5)
            with suppress(OSError):
                if secrets.compare_digest(channel.recv(len(secret), socket.MSG_WAITALL), secret):
                    return channel
            channel.close()
    raise ProcessCrashError(f"a worker could not start: it {exit_in_words(process.poll())}")


def _check_start(message: messages.Message) -> None:
    if message.kind == messages.ERROR:
        name, text = json.loads(message.body)
        if message.number == NO_ROOM:
            raise ProcessCallError(f"the system has no room for another process: {text}")
        raise _not_loaded(name, text)


def _not_loaded(name: str, text: str) -> ProcessCallError:
    return ProcessCallError(f"the function cannot be loaded: {text}", exception=name)
