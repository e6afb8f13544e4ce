"""The trainer's end of a template process: :class:`Warm`."""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from gem_tools.sandbox.errors import SandboxError
from gem_tools.sandbox.inside import wire
from gem_tools.sandbox.limits import Limits
from gem_tools.sandbox.running import Running
from gem_tools.sandbox.system import ENVIRONMENT, FLAGS, hidden_folders, import_path, shown_folders

__all__ = ["Warm"]

_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from inside.template import main; main(sys.argv[2], int(sys.argv[3]))"
)
_STARTUP_SECONDS = 120.0
_GOODBYE_SECONDS = 2.0


class Warm:
    """A template process with some modules already imported; starts on first use.

    Args:
        modules: to be imported in it.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        self.modules = tuple(modules)
        self._lock = threading.Lock()
        self._generation = 0
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, limits: Limits, descriptors: Sequence[int], *, session: bool = False) -> Running:
        """Start an execution.

        Args:
            limits: of it. A session's own time is unlimited; its calls are timed one by one.
            descriptors: program and standard input; for a session standard input alone, and the channel.
            session: whether it is one.

        Raises:
            SandboxError: if the template cannot be started.
        """
        first, second = descriptors
        given = (first, first, second) if session else (first, second)
        generation, control = self._started()
        try:
            return self._asked(control, limits, given, session=session)
        except OSError:  # the template has died since; let there be another
            self.discard(generation)
            return self._asked(self._started()[1], limits, given, session=session)

    def _asked(self, control: socket.socket, limits: Limits, given: Sequence[int], *, session: bool) -> Running:
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = wire.pack_request(
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
            socket.send_fds(control, [request], [theirs.fileno(), program, stdin, out_write, err_write, *channel])
        except BaseException:
            running.close()
            raise
        finally:
            theirs.close()
            os.close(out_write)
            os.close(err_write)
        return running

    def check(self) -> None:
        """Start it if it does not run yet; raise ``SandboxError`` if it cannot be had."""
        self._started()

    @property
    def generation(self) -> int:
        """Counts the processes that there have been."""
        return self._generation

    def discard(self, generation: int) -> None:
        """Kill the process unless there is a newer one; the next execution starts another."""
        with self._lock:
            if self._generation == generation:
                self._end(grace=0.0)

    def close(self) -> None:
        """End the process, and every execution in it."""
        with self._lock:
            self._end(grace=_GOODBYE_SECONDS)

    def forget(self) -> None:
        """Let go of it in a process that has been forked from the trainer; the trainer's own goes on."""
        self._lock = threading.Lock()
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.returncode = 0  # not a child of this process
        self._control = self._process = None

    def _started(self) -> tuple[int, socket.socket]:
        with self._lock:
            if self._control is None:
                self._control = self._launch()
                self._generation += 1
            return self._generation, self._control

    def _launch(self) -> socket.socket:
        arguments = {
            "trainer": os.getpid(),
            "shown": shown_folders(),
            "hidden": hidden_folders(),
            "path": import_path(),
            "warm": list(self.modules),
        }
        command = [sys.executable, *FLAGS, "-c", _START, str(Path(__file__).parent)]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(_STARTUP_SECONDS)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter
                [*command, json.dumps(arguments), str(theirs.fileno())],
                env=ENVIRONMENT,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            answer = ours.recv(2000)
        except OSError as error:
            answer = str(error).encode()
        if answer != b"ready":
            ours.close()
            self._end(grace=0.0)
            raise SandboxError(answer.decode(errors="replace") or "the template process died while it started")
        ours.settimeout(None)
        return ours

    def _end(self, grace: float) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(grace)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
