"""The other end of the spawner, which starts all containers of the namespace engine: :class:`Spawner`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from gem.errors import ForkServerError
from gem.processes.fork_server import ForkServer, bare_python
from gem_terminal.engines.descriptors import ready
from gem_terminal.engines.namespace.seccomp import container_filter
from gem_terminal.errors import EngineError

__all__ = ["Process", "Spawner"]

_ANSWERS_IN = 30.0
"""Seconds in which the spawner answers, or counts as gone."""
_LONGEST_REQUEST = 256 << 10
"""Bytes; the kernel executes no command with much more."""


class Process:
    """A process that the spawner has started.

    Args:
        status: the pipe that its number, and later its exit status, come through.
    """

    def __init__(self, status: int) -> None:
        self.status = status
        """Can be read from once the process has ended; -1 after it was waited for, or closed."""
        self.exit_code: int | None = None
        first = self._line(_ANSWERS_IN)
        if not first or first.startswith("!"):
            self.close()
            if first is None:
                raise TimeoutError(f"did not answer in {_ANSWERS_IN:g} seconds, and was ended")
            if not first:
                raise ConnectionError("has ended")
            raise EngineError(f"the container has gone: {first[2:]}")
        self.pid = int(first)

    def wait(self, seconds: float | None) -> int | None:
        """Return the exit code, negative for a signal, or None if it goes on."""
        if self.exit_code is None and self.status >= 0:
            line = self._line(seconds)
            if line is not None:
                self.close()
                self.exit_code = int(line) if line else -9
        return self.exit_code

    def close(self) -> None:
        """Take no more interest in it."""
        if self.status >= 0:
            os.close(self.status)
            self.status = -1

    def _line(self, seconds: float | None) -> str | None:
        """Return the next line, empty if the spawner has gone, or None if none comes."""
        if not ready([self.status], seconds):
            return None
        line = b""
        while (byte := os.read(self.status, 1)) not in (b"", b"\n"):
            line += byte
        return line.decode()


class Spawner:
    """Starts the fork server and speaks to it. Safe to use from several threads.

    Args:
        rootless: whether this is an ordinary user, who is root in a user namespace.

    Raises:
        EngineError: if it cannot start.
    """

    def __init__(self, rootless: bool) -> None:
        self.rootless = rootless
        command = [*bare_python("gem_terminal.engines.namespace.spawner"), container_filter().hex()]
        if rootless:
            command = ["unshare", "--user", "--map-root-user", *command]
        try:
            self.server = ForkServer(command, {}, starts_in=_ANSWERS_IN, answers_in=_ANSWERS_IN)
        except ForkServerError as error:
            raise EngineError(f"the spawner of the namespace engine cannot start: {error}") from error

    @property
    def is_alive(self) -> bool:
        """Whether it goes on, as far as is known."""
        return self.server.is_alive

    def start(
        self, command: Iterable[str], ends: tuple[int, int, int], target: int | None = None, **request: Any
    ) -> Process:
        """Start a process whose ends are these descriptors, which this process keeps as well.

        Args:
            command: what is started.
            ends: what it reads, writes, and writes errors to.
            target: a descriptor of the first process of the container that it is started in (pidfd_open(2)); None for
                none, which is how a container begins.
            request: more of it; see the spawner.

        Raises:
            EngineError: if the spawner or the container has gone, or the request is too large.
        """
        asked = {
            "command": list(command), "pid": None, "build": None, "cgroups": [], "user": None, "environment": {},
            "workdir": None, "terminal": False, "unpack": False, "pack": False, "kill": False, "rlimits": {}, **request,
        }  # fmt: skip
        body = json.dumps(asked).encode()
        if len(body) > _LONGEST_REQUEST:
            raise EngineError(
                f"the command {next(iter(asked['command']), '')!r} and its environment are larger than what the "
                "namespace engine takes; put what is large into a file"
            )
        reader, writer = os.pipe()
        try:
            self.server.request(body, [*ends, writer] if target is None else [*ends, writer, target])
        except OSError as error:
            os.close(reader)
            self.server.kill()
            raise EngineError(f"the spawner of the namespace engine has ended: {error}") from error
        finally:
            os.close(writer)
        try:
            return Process(reader)
        except (TimeoutError, ConnectionError) as error:
            # One that does not answer must be gone for certain, so that the next caller has a new one.
            self.server.kill()
            raise EngineError(f"the spawner of the namespace engine {error}") from error

    def close(self) -> None:
        """End it, and every container with it."""
        self.server.close(patience=_ANSWERS_IN)

    def disown(self) -> None:
        """Close a forked child's copy of the channel; the process is its parent's."""
        self.server.disown()
