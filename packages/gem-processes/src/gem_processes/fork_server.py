"""The client side of a fork server: :class:`ForkServer`.

A fork server is a process with one thread that has imported its children's modules, and forks a child for each
request within milliseconds. :class:`gem_processes.fork_loop.ForkLoop` is its server side.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module

from gem.errors import ForkServerError
from gem_processes import messages

__all__ = ["ForkServer", "bare_python", "end_process", "exit_in_words", "warm_python"]

_FLAGS = ("-I", "-S", "-B", "-X", "utf8")
"""An interpreter that reads no environment variables, runs no ``.pth`` files and writes no bytecode."""
_BARE = """
import json, sys
for name, path in json.loads(sys.argv[1]).items():
    sys.modules[name] = package = type(sys)(name)
    package.__path__ = path
module = sys.argv[2]
del sys.argv[1:3]
__import__(module, fromlist=["main"]).main()
"""
_WARM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
module = sys.argv[2]
del sys.argv[1:3]
__import__(module, fromlist=["main"]).main()
"""
_SHARED = ("gem", "gem_processes")
_ENDS_IN = 5.0
"""Seconds that a killed process may need to end, unless the kernel holds it."""


def bare_python(module: str) -> list[str]:
    """Return a command that calls ``main`` of a module in an interpreter with only the standard library.

    The parent packages of the module, ``gem`` and ``gem_processes`` are empty packages there. Only their modules that
    import nothing but the standard library and each other can be imported.
    """
    parents = module.split(".")[:-1]
    names = dict.fromkeys((*_SHARED, *(".".join(parents[: end + 1]) for end in range(len(parents)))))
    paths = {name: list(import_module(name).__path__) for name in names}
    return [sys.executable, *_FLAGS, "-c", _BARE, json.dumps(paths), module]


def warm_python(module: str) -> list[str]:
    """Return a command that calls ``main`` of a module in an interpreter with the import path of this process."""
    path = [os.path.abspath(entry) for entry in sys.path]  # noqa: PTH100  # str
    return [sys.executable, "-c", _WARM, json.dumps(path), module]


class ForkServer:
    """A fork server and the channel to it. It ends, with all its children, when this object is closed or this process
    ends, in whichever way. Safe from any thread.

    Args:
        command: the command line; the descriptor of the server's end of the channel is appended.
        environment: its environment variables.
        starts_in: the time limit for its start, in seconds.
        answers_in: the time limit for accepting a request, in seconds; a server that exceeds it is killed.
        quiet: whether it and its children print into the void, and not where this process prints.

    Raises:
        ForkServerError: if it does not become ready; the error gives the reason, and ``exception`` names the class of
            its exception, None if it died instead.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        starts_in: float,
        answers_in: float = 30.0,
        quiet: bool = True,
    ) -> None:
        self._lock = threading.RLock()  # the garbage collector may close the server in a thread that has the lock
        self._control, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603  # GEM's own command
                    [*command, str(theirs.fileno())],
                    env=dict(environment),
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL if quiet else None,
                    stderr=subprocess.DEVNULL if quiet else None,
                    cwd=os.path.abspath(os.sep),  # noqa: PTH100
                    start_new_session=True,  # Ctrl-C at the terminal must reach only this process
                )
        except BaseException:
            self._control.close()
            raise
        try:
            self._await_start(starts_in)
        except BaseException:
            self.close(patience=0.0)
            raise
        self._control.settimeout(answers_in)

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the server runs, as far as this process knows."""
        return self._process.poll() is None

    def request(self, body: bytes, descriptors: Iterable[int]) -> None:
        """Request a process.

        Args:
            body: the settings of the process.
            descriptors: the descriptors of the process; the caller keeps its own copies.

        Raises:
            OSError: if the server has ended, or was killed because it did not accept the request.
        """
        with self._lock:
            try:
                messages.send(self._control, messages.REQUEST, 0, body, list(descriptors))
            except TimeoutError:  # a part of the request may have been sent
                self.kill()
                raise

    def kill(self) -> None:
        """Kill the server immediately."""
        end_process(self._process, patience=0.0)

    def close(self, patience: float = 2.0) -> None:
        """End the server and all of its children. A second call does nothing.

        Args:
            patience: the time in seconds after which it is killed.
        """
        with suppress(OSError):  # it is closed, or the server has gone
            self._control.shutdown(socket.SHUT_RDWR)  # ends a request under way
        with self._lock:
            self._control.close()
        end_process(self._process, patience)

    def disown(self) -> None:
        """Close a forked child's copy of the channel. The server belongs to the parent."""
        self._control.close()
        self._process.returncode = 0  # not a child of this process

    def abandon(self) -> None:
        """Let the server end together with this process."""
        self._control.detach()
        self._process.returncode = 0

    def _await_start(self, starts_in: float) -> None:
        self._control.settimeout(starts_in)
        try:
            message = messages.receive(self._control)
        except TimeoutError:
            raise ForkServerError(f"the fork server was not ready within {starts_in:g} s") from None
        except (OSError, messages.MessageError):
            message = None
        if message is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_ENDS_IN)
            raise ForkServerError(f"the fork server {exit_in_words(self._process.poll())} while it started")
        if message.kind == messages.ERROR:
            name, text = json.loads(message.body)
            raise ForkServerError(text, exception=name)


def end_process(process: subprocess.Popen[bytes], patience: float) -> None:
    """Wait for the end of a process, and kill it after the time limit in seconds."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(patience)
    if process.poll() is None:
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_IN)


def exit_in_words(status: int | None) -> str:
    """Describe the end of a process, for example ``"was killed by SIGSEGV"``; None for an unknown return code."""
    if status is None:
        return "died"
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
