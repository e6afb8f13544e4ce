"""Runs untrusted code without network, without access to any of the user's files, and with limits on resources.

On Linux the code runs in a jail (:mod:`gem_tools.sandbox.inside.confined`): namespaces of its own and a file system
that holds the system's programs, the interpreter and the shown folders, all read-only. Only a scratch folder in memory
is writable. There is no network except 127.0.0.1, and no socket that leads outside. Memory, files and processes are
limited together, for root as well. At the time limit every process dies. Elsewhere only the resource limits of each
process apply, and :attr:`Finished.isolation` is ``"none"``, which protects from accidents but not from malice.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from gem_hub_client.errors import HubError
from gem_processes.fork_server import bare_python
from gem_processes.rlimits import lower_limits
from gem_tools.sandbox.system import ENVIRONMENT

__all__ = ["Bounds", "Finished", "Isolation", "isolation", "run", "works"]

Isolation = Literal["jail", "none"]

_TAIL = 4000
"""The number of bytes of output that are kept."""
_PATIENCE = 60.0
"""Seconds for the jail itself to begin and to end."""
_USER = {"USER": "gem", "LOGNAME": "gem", "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True)
class Bounds:
    """The resource limits of a run."""

    seconds: float = 1800.0
    """The wall-clock time of the whole run, and the CPU time of each process."""
    memory: int = 8 * 2**30
    """The memory of all processes and files together, and the address space of each process, in bytes."""
    processes: int = 512
    """Simultaneous processes and threads."""
    disk: int = 2**30
    """The size of all files together in bytes."""


@dataclass(frozen=True)
class Finished:
    """The result of a run."""

    code: int | None
    """The exit code, negative for a signal; None if the run was stopped."""
    output: str
    """The end of the output."""
    isolation: Isolation
    stopped: Literal["", "time", "memory"] = ""
    """The limit that stopped the run; empty if it ended by itself."""
    files: dict[str, bytes] = field(default_factory=dict)
    """The wanted files, as far as the run left them as plain files of an admitted size."""


@cache
def isolation() -> Isolation:
    """Return the strongest isolation that works on this machine."""
    return "jail" if works("jail") else "none"


def works(way: Isolation) -> bool:
    """Return whether an isolation works on this machine; on some, only root may create namespaces."""
    if way == "none":
        return True
    if not sys.platform.startswith("linux"):
        return False
    with suppress(OSError, HubError):
        finished = run([_python(), "-I", "-S", "-c", "print('in')"], [], {}, Bounds(seconds=60), way)
        return (finished.code, finished.output) == (0, "in")
    return False


def run(
    command: Sequence[str],
    shown: Iterable[str | Path],
    wanted: Mapping[str, int],
    bounds: Bounds,
    way: Isolation | None = None,
) -> Finished:
    """Run a program until its end or a limit, in an empty folder, with an environment without anything of the caller's.

    Args:
        command: the program as an absolute path, and its arguments.
        shown: files and folders that it may read beside the system's and the interpreter's.
        wanted: the files to return from its folder, by name, each with its largest size in bytes.
        bounds: its resource limits.
        way: its isolation; the strongest available by default.

    Raises:
        HubError: if the jail cannot be made.
    """
    way = way or isolation()
    with tempfile.TemporaryFile() as output:
        if way == "jail":
            finished = _run_in_jail(command, shown, wanted, bounds, output)
        else:
            finished = _run_plainly(command, wanted, bounds, output)
        output.seek(max(0, output.seek(0, os.SEEK_END) - _TAIL))
        said = output.read().decode("utf-8", "replace").strip()
    return Finished(finished.code, said, way, finished.stopped, finished.files)


def _run_in_jail(
    command: Sequence[str], shown: Iterable[str | Path], wanted: Mapping[str, int], bounds: Bounds, output: Any
) -> Finished:
    order = {
        "command": list(command),
        "environment": {**ENVIRONMENT, **_USER, "PATH": f"{Path(command[0]).parent}:{ENVIRONMENT['PATH']}"},
        "shown": _visible([*map(str, shown), *_interpreter()]),
        "memory": bounds.memory,
        "disk": bounds.disk,
        "processes": bounds.processes,
        "seconds": bounds.seconds,
    }
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            process = subprocess.Popen(  # noqa: S603  # the program is ours, and what it runs is kept apart
                [*bare_python("gem_tools.sandbox.inside.confined"), json.dumps(order), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={},  # /proc shows a process's first environment, whatever it does later
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        try:
            home = _begun(ours)
            try:
                finished = _ended(ours, bounds.seconds)
                if finished.stopped != "time":
                    process.wait(_PATIENCE)  # the kernel has then ended everything in the jail
                return Finished(finished.code, "", "jail", finished.stopped, _read_files(home, wanted))
            finally:
                os.close(home)
        finally:
            _end(process)


def _begun(channel: socket.socket) -> int:
    """Return the descriptor of the program's folder once the program has begun."""
    channel.settimeout(_PATIENCE)
    try:
        message, descriptors, _, _ = socket.recv_fds(channel, 4096, 1)
    except (TimeoutError, OSError) as error:
        raise HubError(f"the sandbox did not begin: {error}") from error
    word, _, rest = message.decode("utf-8", "replace").partition(" ")
    if word != "begun" or not descriptors:
        raise HubError(f"the sandbox cannot be made here: {rest or 'it ended without a word'}")
    return descriptors[0]


def _ended(channel: socket.socket, seconds: float) -> Finished:
    channel.settimeout(seconds)
    try:
        word, _, rest = channel.recv(4096).decode("utf-8", "replace").partition(" ")
    except TimeoutError:
        return Finished(None, "", "jail", "time")
    if word == "memory":
        return Finished(None, "", "jail", "memory")
    if word == "ended":
        return Finished(int(rest), "", "jail")
    raise HubError(f"the sandbox failed: {rest or 'it ended without a word'}")


def _read_files(folder: int, wanted: Mapping[str, int]) -> dict[str, bytes]:
    """Return files that untrusted code made: no link, no endless pipe, not too large."""

    def opened(name: str, flags: int) -> int:  # what an opener returns is closed even where it is a folder
        return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)

    found = {}
    for name, most in wanted.items():
        with suppress(OSError):
            with open(name, "rb", opener=opened) as file:
                status = os.fstat(file.fileno())
                content = file.read(most + 1) if stat.S_ISREG(status.st_mode) else None
            if content is not None and len(content) <= most:
                found[name] = content
    return found


def _run_plainly(command: Sequence[str], wanted: Mapping[str, int], bounds: Bounds, output: Any) -> Finished:
    limits = {
        "RLIMIT_CPU": int(bounds.seconds) + 1,
        "RLIMIT_AS": bounds.memory,
        "RLIMIT_FSIZE": bounds.disk,
        "RLIMIT_CORE": 0,
    }
    with tempfile.TemporaryDirectory(prefix="gem-hub-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "tmp").mkdir()
        system = {"PATH": os.pathsep.join([str(Path(command[0]).parent), os.environ.get("SYSTEMROOT", "")])}
        if os.name != "nt":
            system = {"PATH": f"{Path(command[0]).parent}:{ENVIRONMENT['PATH']}", "LANG": ENVIRONMENT["LANG"]}
        process = subprocess.Popen(  # noqa: S603  # as above
            list(command),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**system, **_USER, "HOME": name, "TMPDIR": str(folder / "tmp")},
            preexec_fn=None if os.name == "nt" else lambda: lower_limits(limits),
            start_new_session=True,
        )
        try:
            finished = Finished(process.wait(bounds.seconds), "", "none")
        except subprocess.TimeoutExpired:
            finished = Finished(None, "", "none", "time")
        finally:
            _end(process)
        found = {}
        for wish, most in wanted.items():
            with suppress(OSError):
                path = folder / wish
                status = path.lstat()
                if stat.S_ISREG(status.st_mode) and status.st_size <= most:
                    found[wish] = path.read_bytes()
        return Finished(finished.code, "", "none", finished.stopped, found)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the remaining processes of a session; what the first one started in a jail dies with it."""
    with suppress(ProcessLookupError, PermissionError, AttributeError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _python() -> str:
    """Return the path of the interpreter itself, without a virtual environment."""
    return os.path.realpath(sys.executable)


def _interpreter() -> list[str]:
    """Return the folders of the interpreter that virtual environments of this Python have."""
    programs = [_python(), getattr(sys, "_base_executable", None) or _python()]
    prefixes = dict.fromkeys((sys.base_prefix, sys.base_exec_prefix))
    folders = [Path(prefix, name) for prefix in prefixes for name in ("bin", "lib", "lib64")]
    return [str(path) for path in (*(Path(program).parent for program in programs), *folders)]


def _visible(paths: Iterable[str]) -> list[str]:
    """Return the existing paths with the links on the way to them, and what these lead to, each by its own path."""
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.exists():
            found[path.resolve()] = None
            place = Path("/")
            for part in path.absolute().parts[1:]:
                place /= part
                if place.is_symlink():
                    found[place] = None
                    place = place.resolve()
    # A link has to be made before anything that is reached through it.
    return [str(path) for path in sorted(found, key=lambda path: (not path.is_symlink(), path))]
