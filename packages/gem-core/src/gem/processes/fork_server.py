"""The client's side of a fork server: :class:`ForkServer`.

A fork server is a process with one thread that has imported what its children need, and forks one of them for each
request, within milliseconds. :class:`gem.processes.fork_loop.ForkLoop` is its own side.
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
from gem.processes import messages

__all__ = ["ForkServer", "bare_python", "end_process", "exit_in_words", "warm_python"]

_FLAGS = ("-I", "-S", "-B", "-X", "utf8")
"""An interpreter that reads nothing from the environment, runs no ``.pth`` files and writes no bytecode."""
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
_SHARED = ("gem", "gem.processes")
_ENDS_IN = 5.0
"""Seconds that a killed process takes to go, unless the kernel holds it."""


def bare_python(module: str) -> list[str]:
    """Return a command that calls ``main`` of a module in an interpreter with the standard library and nothing else.

    The packages above the module, ``gem`` and ``gem.processes`` are there as empty ones: of their modules those can be
    imported that import the standard library and each other alone.
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
        command: starts it; the descriptor of its end of the channel is appended.
        environment: its environment variables.
        starts_in: seconds in which it must be ready.
        answers_in: seconds in which it must take a request; one that does not is killed.

    Raises:
        ForkServerError: if it does not become ready; the error says why, and ``exception`` names the class of what it
            raised, None if it died instead.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], *, starts_in: float, answers_in: float = 30.0
    ) -> None:
        self._lock = threading.RLock()  # the garbage collector may close the server in a thread that has the lock
        self._control, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603  # a command of ours
                    [*command, str(theirs.fileno())],
                    env=dict(environment),
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=os.path.abspath(os.sep),  # noqa: PTH100
                    start_new_session=True,  # Ctrl-C at the terminal is for this process alone
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
        """Its process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it goes on, as far as is known."""
        return self._process.poll() is None

    def request(self, body: bytes, descriptors: Iterable[int]) -> None:
        """Ask for a process.

        Args:
            body: what the process must know.
            descriptors: what it is given; the caller keeps its own copies.

        Raises:
            OSError: if the server has gone, or was killed because it took no request.
        """
        with self._lock:
            try:
                messages.send(self._control, messages.REQUEST, 0, body, list(descriptors))
            except TimeoutError:  # a part may have been sent
                self.kill()
                raise

    def kill(self) -> None:
        """End it at once."""
        end_process(self._process, patience=0.0)

    def close(self, patience: float = 2.0) -> None:
        """End it and all of its children. Calling it again does nothing.

        Args:
            patience: seconds after which it is killed.
        """
        with suppress(OSError):  # it is closed, or the server has gone
            self._control.shutdown(socket.SHUT_RDWR)  # ends a request under way
        with self._lock:
            self._control.close()
        end_process(self._process, patience)

    def disown(self) -> None:
        """Close a forked child's copy of the channel; the server is its parent's."""
        self._control.close()
        self._process.returncode = 0  # not a child of this process

    def abandon(self) -> None:
        """Leave its end to the end of this process."""
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
    """Wait so many seconds for the end of a process, and kill it if it goes on."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(patience)
    if process.poll() is None:
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_IN)


def exit_in_words(status: int | None) -> str:
    """Return how a process ended, ``"was killed by SIGSEGV"``, from its return code; None if that is unknown."""
    if status is None:
        return "died"
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
