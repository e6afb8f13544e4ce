"""Running a stranger's code: without network, without a view of the user's files, and with bounds on what it uses.

On Linux the code stands in namespaces of its own, made by ``bwrap`` or, without that, by ``unshare``. There is no
network but 127.0.0.1, everything but one folder is read-only, the user's home is empty, and when time is up every
process dies, whatever it did to get away. Where neither works there are only the bounds, and :attr:`Finished.isolation`
says ``"none"``: that much protects from accidents, not from malice.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

__all__ = ["Bounds", "Finished", "Isolation", "isolation", "run", "works"]

Isolation = Literal["bwrap", "unshare", "none"]

_START = Path(__file__).with_name("sandbox_start.py")
_UNSHARE = "--user --map-root-user --net --mount --ipc --uts --pid --fork --kill-child --mount-proc"
_BWRAP = "--unshare-all --die-with-parent --new-session --cap-drop ALL --ro-bind / / --dev /dev --proc /proc"
_TAIL = 4000
"""Bytes of output that are kept."""


@dataclass(frozen=True)
class Bounds:
    """What a run may use."""

    seconds: float = 1800.0
    """Wall time of the whole run, and CPU time of each process."""
    memory: int = 8 * 2**30
    """Bytes of address space of each process."""
    processes: int = 512
    """At once, threads included; not kept on Linux where the user is root, whom the kernel exempts."""
    file_bytes: int = 2**30
    """Size of each file."""

    def limits(self, isolated: bool) -> dict[str, int]:
        """Return resource limits by name (setrlimit(2))."""
        limits = {"CPU": int(self.seconds) + 1, "AS": self.memory, "FSIZE": self.file_bytes, "CORE": 0}
        # Outside a user namespace it would count everything that the user runs.
        return {**limits, "NPROC": self.processes} if isolated else limits


@dataclass(frozen=True)
class Finished:
    """How a run went."""

    code: int | None
    """Exit code, negative for a signal; None if time ran out."""
    output: str
    """The end of what it printed."""
    isolation: Isolation


@cache
def isolation() -> Isolation:
    """Return the strongest way of keeping code apart that works on this machine."""
    ways: tuple[Isolation, ...] = ("bwrap", "unshare")
    return next((way for way in ways if works(way)), "none")


def works(way: Isolation) -> bool:
    """Tell whether a way of keeping code apart works on this machine; on some, only root may make namespaces."""
    if not sys.platform.startswith("linux") or shutil.which(way) is None:
        return False
    with tempfile.TemporaryDirectory(prefix="gem-hub-") as folder, suppress(OSError, subprocess.TimeoutExpired):
        command = _command([sys.executable, "-I", "-c", "print('in')"], Path(folder), {}, Bounds(), way)
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)  # noqa: S603
        return done.returncode == 0 and done.stdout.strip() == b"in"
    return False


def run(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], bounds: Bounds, way: Isolation | None = None
) -> Finished:
    """Run a program to its end, or until time is up.

    Args:
        command: program and arguments, the program as an absolute path.
        folder: where it starts, and the only place where it may write.
        environment: all its environment variables.
        bounds: what it may use.
        way: how it is kept apart; by default the strongest that works.
    """
    way = way or isolation()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(  # noqa: S603  # the program is ours, and what it runs is kept apart
            _command(command, folder, environment, bounds, way),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(bounds.seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
        output.seek(max(0, output.seek(0, os.SEEK_END) - _TAIL))
        return Finished(code, output.read().decode("utf-8", "replace").strip(), way)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End whatever of a session is still there."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _command(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], bounds: Bounds, way: Isolation
) -> list[str]:
    if os.name == "nt":
        return list(command)  # there are no resource limits to set
    hidden = _hidden(folder)
    order = {
        "command": list(command),
        "environment": dict(environment),
        "folder": str(folder),
        "limits": bounds.limits(way != "none"),
        "mounts": {"writable": str(folder), "hidden": hidden} if way == "unshare" else None,
    }
    start = [sys.executable, "-I", "-S", str(_START), json.dumps(order)]
    if way == "unshare":
        return ["unshare", *_UNSHARE.split(), *start]
    if way == "bwrap":
        hide = [word for path in hidden for word in _hide(path)]
        writable = ["--bind", str(folder), str(folder)]
        return ["bwrap", *_BWRAP.split(), *hide, "--ro-bind", str(_START), str(_START), *writable, "--", *start]
    return start


def _hide(path: str) -> list[str]:
    return ["--tmpfs", path] if Path(path).is_dir() else ["--ro-bind", os.devnull, path]


def _hidden(folder: Path) -> list[str]:
    """Return the parts of the user's home to hide: all of it, or all but the parts that Python itself needs."""
    home = Path.home().resolve()
    needed = {Path(path).resolve() for path in (sys.base_prefix, sys.prefix, sys.executable, _START, folder)}
    if home == Path(home.anchor) or not home.is_dir():
        return []
    if not any(path.is_relative_to(home) for path in needed):
        return [str(home)]
    with suppress(OSError):
        return sorted(
            str(child)
            for child in home.iterdir()
            if not child.is_symlink() and not any(path.is_relative_to(child) for path in needed)
        )
    return []
