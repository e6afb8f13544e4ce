"""Executions in a jail: a :class:`JailLauncher` has a warm fork server that forks and confines each of them."""

from __future__ import annotations

import json
import math
import os
import socket
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gem.errors import ForkServerError
from gem_processes.fork_server import ForkServer, bare_python
from gem_tools.sandbox.errors import SandboxError
from gem_tools.sandbox.inside import wire
from gem_tools.sandbox.launcher import Launcher
from gem_tools.sandbox.limits import Limits
from gem_tools.sandbox.running import Running
from gem_tools.sandbox.system import ENVIRONMENT, allowed_modules, hidden_folders, import_path, shown_folders

if TYPE_CHECKING:
    from gem_tools.sandbox.cgroups import ExecutionCgroups

__all__ = ["JailLauncher"]

_STARTS_IN = 120.0
_ANSWERS_IN = 60.0


class JailLauncher(Launcher):
    """Forks executions from a server with imported modules; the server starts on first use.

    Args:
        modules: the modules to import in the server.
        libraries: the installed libraries that programs may import; None for all.
    """

    tier = "jail"
    module = "gem_tools.sandbox.inside.server"
    """The module that the server runs."""
    may_use_cgroups = True
    """Whether executions get control groups where these can be had."""

    def __init__(self, modules: Sequence[str] = (), libraries: tuple[str, ...] | None = None) -> None:
        self.modules = tuple(modules)
        self.libraries = libraries
        self._lock = threading.Lock()
        self._generation = 0
        self._server: ForkServer | None = None
        self._cgroups: ExecutionCgroups | None = None

    def start(self, limits: Limits, descriptors: Sequence[int], *, session: bool = False) -> Running:
        first, second = descriptors
        given = (first, first, second) if session else (first, second)
        generation, server = self._started()
        try:
            return _asked(server, limits, given, session=session)
        except OSError:  # the server has died since
            self.discard(generation)
        try:
            return _asked(self._started()[1], limits, given, session=session)
        except OSError as error:
            raise SandboxError(f"no execution can be started: {error}") from error

    def check(self) -> None:
        self._started()

    @property
    def memory_limited_by(self) -> str:
        self.check()
        return "watchdog" if self._cgroups is None else "cgroup"

    @property
    def generation(self) -> int:
        return self._generation

    def discard(self, generation: int) -> None:
        with self._lock:
            if self._generation == generation:
                self._end(patience=0.0)

    def twin(self) -> JailLauncher:
        return type(self)(self.modules, self.libraries)

    def close(self) -> None:
        """End the server and all its executions."""
        with self._lock:
            self._end(patience=2.0)

    def more_arguments(self) -> dict[str, object]:
        """Return what the module of a subclass gets in addition."""
        return {}

    def disown(self) -> None:
        """Forget the server in a forked child. The parent's server continues."""
        self._lock = threading.Lock()
        if self._server is not None:
            self._server.disown()
            self._server = None
        if self._cgroups is not None:
            self._cgroups.disown()
            self._cgroups = None

    def _started(self) -> tuple[int, ForkServer]:
        with self._lock:
            if self._server is None:
                self._server = self._launch()
                self._generation += 1
            return self._generation, self._server

    def _launch(self) -> ForkServer:
        self._cgroups = self._made_cgroups()
        try:
            return self._launch_with(self._cgroups)
        except SandboxError:
            if self._cgroups is None:
                raise
            self._remove_cgroups()  # the server has tried them
        return self._launch_with(None)

    def _made_cgroups(self) -> ExecutionCgroups | None:
        if not self.may_use_cgroups or sys.platform != "linux":
            return None
        from gem_tools.sandbox.cgroups import ExecutionCgroups

        return ExecutionCgroups.make()

    def _launch_with(self, groups: ExecutionCgroups | None) -> ForkServer:
        arguments = {
            "trainer": os.getpid(),
            "shown": shown_folders(),
            "hidden": hidden_folders(self.libraries != ()),
            "path": import_path(self.libraries is None),
            "allowed": allowed_modules(self.libraries or ()),
            "modules": list(self.modules),
            "cgroups": None if groups is None else str(groups.folder),
        }
        command = [*bare_python(self.module), json.dumps({**arguments, **self.more_arguments()})]
        try:
            return ForkServer(command, ENVIRONMENT, starts_in=_STARTS_IN, answers_in=_ANSWERS_IN)
        except ForkServerError as error:
            raise SandboxError(str(error)) from None

    def _end(self, patience: float) -> None:
        if self._server is not None:
            self._server.close(patience)
            self._server = None
        self._remove_cgroups()

    def _remove_cgroups(self) -> None:
        if self._cgroups is not None:
            self._cgroups.close()
            self._cgroups = None


def _asked(server: ForkServer, limits: Limits, given: Sequence[int], *, session: bool) -> Running:
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    for stream in (out_write, err_write):
        os.fchmod(stream, 0o666)  # the program may have another user, and opens /dev/stdout
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = wire.ExecutionRequest(
        limits.memory,
        limits.processes,
        limits.disk,
        limits.open_files,
        math.inf if session else limits.seconds,
        math.inf if limits.cpu_seconds is None else limits.cpu_seconds,
    )
    program, stdin, *channel = given
    running = Running(ours, out_read, err_read, limits)
    try:
        server.request(wire.pack_request(request), [theirs.fileno(), program, stdin, out_write, err_write, *channel])
    except BaseException:
        running.close()
        raise
    finally:
        theirs.close()
        os.close(out_write)
        os.close(err_write)
    return running
