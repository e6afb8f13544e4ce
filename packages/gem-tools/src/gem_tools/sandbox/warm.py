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

__all__ = ["FLAGS", "Warm", "python_path"]

FLAGS = ("-I", "-S", "-B", "-X", "utf8")
_START = "import sys; sys.path.insert(0, sys.argv[1]); from inside.template import main; main(sys.argv[2], int(sys.argv[3]))"
_STARTUP_SECONDS = 120.0
_GOODBYE_SECONDS = 2.0

_THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")}
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/box/home", "LANG": "C.UTF-8", **_THREADS}


def python_path() -> list[str]:
    """Return the folders from which a program imports: the trainer's standard library and installed packages."""
    installed = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    return list(dict.fromkeys(os.path.realpath(path) for path in installed if os.path.isdir(path)))


def _shown(packages: Sequence[str]) -> list[str]:
    """What a program sees of the file system beside the system's own."""
    prefixes = dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    folders = [os.path.join(prefix, name) for prefix in prefixes for name in ("bin", "lib", "lib64")]
    return sorted({path for path in (*folders, *packages) if os.path.isdir(path) for path in (path, os.path.realpath(path))})


def _hidden(packages: Sequence[str]) -> list[str]:
    """Packages of environments: their data may hold answers."""
    import importlib.metadata

    names = set()
    for distribution in importlib.metadata.distributions():
        try:
            found = distribution.entry_points
            names.update(entry.value.partition(".")[0].partition(":")[0] for entry in found if entry.group == "gem.envs")
        except Exception:  # what cannot be read announces nothing
            continue
    return [path for folder in packages for name in sorted(names) if os.path.isdir(path := os.path.join(folder, name))]


class Warm:
    """A template process with some modules already imported; starts on first use.

    Args:
        modules: to be imported in it.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        self.modules = tuple(modules)
        self._lock = threading.Lock()
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
            BrokenPipeError: if it has died.
        """
        control = self._started()
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
        first, second = descriptors
        order = (first, first, out_write, err_write, second) if session else (first, second, out_write, err_write)
        running = Running(ours, out_read, err_read, limits)
        try:
            socket.send_fds(control, [request], [theirs.fileno(), *order])
        except OSError as error:
            running.close()
            raise BrokenPipeError(f"the template process has died: {error}") from error
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

    def discard(self, control: socket.socket | None = None) -> None:
        """Kill the process; the next execution starts another."""
        with self._lock:
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

    def _started(self) -> socket.socket:
        control = self._control
        if control is not None:
            return control
        with self._lock:
            if self._control is None:
                self._control = self._launch()
            return self._control

    def _launch(self) -> socket.socket:
        packages = python_path()
        arguments = {
            "trainer": os.getpid(),
            "shown": _shown(packages),
            "hidden": _hidden(packages),
            "path": [*_standard_library(), *packages],
            "warm": list(self.modules),
        }
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(_STARTUP_SECONDS)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter
                [sys.executable, *FLAGS, "-c", _START, str(Path(__file__).parent), json.dumps(arguments), str(theirs.fileno())],
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


def _standard_library() -> list[str]:
    base = {os.path.realpath(prefix) for prefix in (sys.base_prefix, sys.base_exec_prefix)}
    import sysconfig

    paths = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    return [
        path
        for path in sys.path
        if os.path.realpath(path) in {os.path.realpath(p) for p in paths}
        or path.endswith(("lib-dynload", ".zip")) and any(os.path.realpath(path).startswith(b) for b in base)
    ]
