"""The client of the spawner, which starts all containers of the namespace engine: :class:`Spawner`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from gem.errors import ForkServerError
from gem_processes.fork_server import ForkServer, bare_python
from gem_terminal.engines.descriptors import ready
from gem_terminal.engines.namespace.seccomp import container_filter
from gem_terminal.errors import EngineError

__all__ = ["Process", "Spawner"]

_ANSWERS_IN = 30.0
"""Seconds without an answer after which the spawner counts as gone."""
_LONGEST_REQUEST = 256 << 10
"""The size limit of a request in bytes; the kernel accepts hardly more for a command."""


class Process:
    """A process that the spawner started.

    Args:
        status: the pipe that delivers its process id and later its exit status.
    """

    def __init__(self, status: int) -> None:
        self.status = status
        """Readable after the process has ended; -1 after a successful wait or after close."""
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
        """Return the exit code, negative for a signal, or None if the process still runs."""
        if self.exit_code is None and self.status >= 0:
            line = self._line(seconds)
            if line is not None:
                self.close()
                self.exit_code = int(line) if line else -9
        return self.exit_code

    def close(self) -> None:
        """Close the status pipe without waiting for the process."""
        if self.status >= 0:
            os.close(self.status)
            self.status = -1

    def _line(self, seconds: float | None) -> str | None:
        """Return the next line, empty if the spawner has gone, or None after the time limit."""
        if not ready([self.status], seconds):
            return None
        line = b""
        while (byte := os.read(self.status, 1)) not in (b"", b"\n"):
            line += byte
        return line.decode()


class Spawner:
    """Starts the fork server and sends requests to it. Safe to use from several threads.

    Args:
        rootless: whether an ordinary user runs the engine, who is root in a user namespace.

    Raises:
        EngineError: if the fork server cannot start.
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
        """Whether the spawner runs, as far as this process knows."""
        return self.server.is_alive

    def start(
        self, command: Iterable[str], ends: tuple[int, int, int], target: int | None = None, **request: Any
    ) -> Process:
        """Start a process with these descriptors, which the caller keeps open as well.

        Args:
            command: the command line.
            ends: its stdin, stdout and stderr.
            target: a descriptor of the first process of its container (pidfd_open(2)); for a process that starts a
                container, None or a descriptor of the files that it begins with; for a helper outside of all
                containers, its descriptor 3.
            request: further fields of the request; see the spawner.

        Raises:
            EngineError: if the spawner or the container has gone, or the request is too large.
        """
        asked = {
            "command": list(command), "pid": None, "build": None, "cgroups": [], "user": None, "environment": {},
            "workdir": None, "terminal": False, "unpack": False, "pack": False, "kill": False, "rlimits": {},
            "refused": [], "listens": 0, "shows": "", "joins": None, "send": None, "files": None, **request,
        }  # fmt: skip
        body = json.dumps(asked).encode()
        if len(body) > _LONGEST_REQUEST:
            raise EngineError(
                f"the command {next(iter(asked['command']), '')!r} and its environment exceed the size limit of the "
                "namespace engine; put large arguments into a file"
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
            # A spawner that does not answer must end for certain, so that the next caller gets a new one.
            self.server.kill()
            raise EngineError(f"the spawner of the namespace engine {error}") from error

    def close(self) -> None:
        """End the spawner, and every container with it."""
        self.server.close(patience=_ANSWERS_IN)

    def disown(self) -> None:
        """Close a forked child's copy of the channel. The process belongs to the parent."""
        self.server.disown()
