"""The pool's side of its processes: a template and its forked workers, or spawned ones where there is no fork."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any, TypedDict

from gem.errors import ProcessCallError, ProcessCrashError, ProcessTimeoutError
from gem.processes import messages

__all__ = ["Settings", "Source", "Spawner", "Template", "Worker"]

_START = 300.0
"""Seconds for importing the function on a machine under load."""
_ORDER = 30.0
"""Seconds after which a template that does not fork is taken for dead."""
_BOOT = (
    "import sys; n = int(sys.argv[1]); sys.path[:] = sys.argv[2:n]; sys.argv[1:] = sys.argv[n:]; "
    "from {} import main; main()"
)


class Settings(TypedDict):
    """What a template or a spawned worker has to know."""

    function: str
    warm_up: str | None
    memory: int


class Worker:
    """A process that waits for a call."""

    def __init__(self, channel: socket.socket, source: Source, process: Any) -> None:
        self.channel = channel
        self._source = source
        self._process = process
        """Process id, or what the source knows it by."""

    @property
    def is_ready(self) -> bool:
        """Whether it lives and has said nothing unasked since its last answer."""
        try:
            self.channel.settimeout(0)
            self.channel.recv(1)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def await_start(self) -> None:
        """Wait until calls can be made.

        Raises:
            ProcessCallError: if the function cannot be imported.
            ProcessCrashError: if the process dies instead.
        """
        try:
            self.channel.settimeout(_START)
            frame = messages.receive(self.channel)
        except (OSError, messages.MessageError):
            frame = None
        if frame is None:
            raise ProcessCrashError(f"a worker could not start: it {self.how_it_ended()}")
        _check_start(frame)

    def call(self, body: bytes, seconds: float) -> tuple[Any, bool]:
        """Return what the function returns, and whether the worker can take another call.

        Raises:
            ProcessTimeoutError: after ``seconds``; the worker must be ended.
            ProcessCrashError: if the process dies; the worker must be ended.
            ProcessCallError: if the function raises; ``is_ready`` says whether the worker can take another call.
        """
        # What a large body takes to arrive is no time of the function's: a live worker reads at once.
        try:
            self.channel.settimeout(_ORDER)
            messages.send(self.channel, messages.CALL, int(seconds * 1000), body)
            self.channel.settimeout(seconds)
            frame = messages.receive(self.channel, messages.LARGEST, deadline=time.monotonic() + seconds)
        except TimeoutError:
            raise ProcessTimeoutError(f"the call did not finish within {seconds:g} s") from None
        except (OSError, messages.MessageError):
            frame = None
        if frame is None:
            raise ProcessCrashError(f"the process of the call {self.how_it_ended()}")
        kind, last, answer = frame
        try:
            value = json.loads(answer)
            if kind == messages.ERROR:
                raise ProcessCallError(f"the call raised {value[0]}: {value[1]}", exception=value[0], ends=bool(last))
        except (ValueError, RecursionError, LookupError, TypeError) as error:
            raise ProcessCrashError(f"the answer of the call cannot be read: {error}") from None
        return value, kind == messages.RESULT

    def how_it_ended(self) -> str:
        """In words, ``"was killed by SIGSEGV"``; the process is gone afterwards."""
        return _in_words(self._source.wait(self._process))

    def end(self) -> None:
        """Kill it, whatever it does."""
        self.channel.close()
        self._source.end(self._process)


class Source:
    """Where workers come from."""

    def worker(self) -> Worker:
        """Start a worker; ``await_start`` it before the first call."""
        raise NotImplementedError

    def wait(self, process: Any) -> int | None:
        """Return how a process has ended, or None if nobody knows."""
        raise NotImplementedError

    def end(self, process: Any) -> None:
        """Kill a process."""
        raise NotImplementedError

    def close(self) -> None:
        """End all workers."""
        raise NotImplementedError

    def forget(self) -> None:
        """Let go of descriptors without ending anything: this is a forked copy of their owner."""
        raise NotImplementedError

    def abandon(self) -> None:
        """Leave everything to the end of this process."""
        raise NotImplementedError


class Template(Source):
    """A warm process that forks workers. It and they end when ``close`` is called, or when this process is gone."""

    def __init__(self, settings: Settings) -> None:
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = _python(
                "gem.processes.template", str(theirs.fileno()), json.dumps(settings), pass_fds=(theirs.fileno(),)
            )
        self._control.settimeout(_START)
        try:
            frame = messages.receive(self._control)
            if frame is None:
                raise ProcessCrashError(f"the template {_in_words(self._process.wait(_ORDER))} while it started")
            _check_start(frame)
        except BaseException:
            self.close()
            raise
        self._control.settimeout(_ORDER)

    def worker(self) -> Worker:
        from gem.processes import template

        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                socket.send_fds(self._control, [template.ORDER.pack(template.FORK, 0)], [theirs.fileno()])
                process = self._reply()
        except BaseException:
            ours.close()
            raise
        if not process:
            ours.close()
            raise ProcessCallError("the system has no room for another process")
        return Worker(ours, self, process)

    def wait(self, process: Any) -> int | None:
        from gem.processes import template

        try:
            with self._lock:
                self._control.sendall(template.ORDER.pack(template.WAIT, process))
                return self._reply()
        except OSError:
            return None

    def end(self, process: Any) -> None:
        from gem.processes import template

        with suppress(OSError), self._lock:  # a template that is gone has taken its workers along
            self._control.sendall(template.ORDER.pack(template.END, process))

    def close(self) -> None:
        self._control.close()
        _end(self._process, patience=2.0)

    def forget(self) -> None:
        self._control.close()
        self._process.returncode = 0  # not a child of this process

    def abandon(self) -> None:
        self._control.detach()
        self._process.returncode = 0

    def _reply(self) -> int:
        from gem.processes import template

        reply = b""
        while len(reply) < template.REPLY.size:
            part = self._control.recv(template.REPLY.size - len(reply))
            if not part:
                raise ConnectionResetError("the template is gone")
            reply += part
        number: int = template.REPLY.unpack(reply)[0]
        return number


class Spawner(Source):
    """Workers that are whole new processes, for systems without fork: each takes an import to start."""

    def __init__(self, settings: Settings) -> None:
        self._settings = json.dumps(settings)
        self._running: set[subprocess.Popen[bytes]] = set()

    def worker(self) -> Worker:
        secret = secrets.token_bytes(32)
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(0.5)
            port = server.getsockname()[1]
            process = _python("gem.processes.worker", str(port), self._settings, stdin=subprocess.PIPE)
            assert process.stdin is not None
            self._running.add(process)
            try:
                with suppress(BrokenPipeError), process.stdin as pipe:
                    pipe.write(secret.hex().encode() + b"\n")
                return Worker(_connected(server, process, secret), self, process)
            except BaseException:
                self.end(process)
                raise

    def wait(self, process: Any) -> int | None:
        try:
            status: int | None = process.wait(0.1)
        except subprocess.TimeoutExpired:
            status = None
        self.end(process)
        return status

    def end(self, process: Any) -> None:
        _end(process, patience=0)
        self._running.discard(process)

    def close(self) -> None:
        for process in list(self._running):
            self.end(process)

    def forget(self) -> None:
        for process in self._running:
            process.returncode = 0
        self._running.clear()

    def abandon(self) -> None:
        self.forget()


def _connected(server: socket.socket, process: subprocess.Popen[bytes], secret: bytes) -> socket.socket:
    """Wait for the process that knows the secret."""
    deadline = time.monotonic() + _START
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(TimeoutError):
            channel, _ = server.accept()
            channel.settimeout(5)
            with suppress(OSError):
                if secrets.compare_digest(channel.recv(len(secret), socket.MSG_WAITALL), secret):
                    return channel
            channel.close()
    raise ProcessCrashError(f"a worker could not start: it {_in_words(process.poll())}")


def _python(module: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start Python with the import path of this process, and without its output, input and folder."""
    path = [os.path.abspath(entry) for entry in sys.path]  # noqa: PTH100  # str
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.Popen(  # noqa: S603  # Python itself
        [sys.executable, "-c", _BOOT.format(module), str(len(path) + 2), *path, *arguments],
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options},
        cwd=os.path.abspath(os.sep),  # noqa: PTH100
        env={**os.environ, **single},  # a worker may start no threads
        start_new_session=True,  # Ctrl-C at the terminal is for the trainer alone
    )


def _end(process: subprocess.Popen[bytes], patience: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(patience)
    if process.poll() is None:
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)


def _check_start(frame: tuple[bytes, int, bytes]) -> None:
    kind, _, body = frame
    if kind == messages.ERROR:
        name, message = json.loads(body)
        raise ProcessCallError(f"the function cannot be loaded: {message}", exception=name)


def _in_words(status: int | None) -> str:
    if status is None:
        return "died"
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
