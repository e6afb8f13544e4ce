"""Control groups for the executions of a fork server, where this user may make some: :class:`ExecutionCgroups`.

The kernel then limits the memory of an execution as a whole, its own memory for pipes, sockets and mappings included.
Only version 2 serves, with the controllers ``memory`` and ``pids``, and only a folder that was delegated to this
process: its own, or the one above if this process lies in a subgroup (``DelegateSubgroup=`` of systemd, or a container
whose entry point made one). A group with processes cannot give controllers to groups below it, and this process is
never moved. Rules: ``Documentation/admin-guide/cgroup-v2.rst`` of Linux, and ``CGROUP_DELEGATION`` of systemd.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from gem_tools.sandbox.inside.cgroups import CONTROLLERS, SERVER
from gem_tools.sandbox.inside.jail import USERS

__all__ = ["ExecutionCgroups"]

_PREFIX = "gem-tools-"
_MANAGED = (".slice", ".scope", ".service")
"""The ends of names of systemd's groups, which belong to systemd unless it says that they are delegated."""
_DELEGATED = ("user.delegate", "trusted.delegate")
"""The attributes with which systemd says so."""
_ENDS_IN = 2.0
"""Seconds that killed processes may need to leave their groups."""


class ExecutionCgroups:
    """A folder of control groups: one for the fork server, which makes the others for its executions.

    Args:
        parent: the folder to make it in.

    Raises:
        OSError: if it cannot be made there.
    """

    def __init__(self, parent: Path) -> None:
        _pass_on_controllers(parent)
        self.folder = parent / f"{_PREFIX}{secrets.token_hex(6)}"
        self.folder.mkdir()
        self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _pass_on_controllers(self.folder)
            (self.folder / SERVER).mkdir()
            if os.geteuid() == 0:
                self._give_to_jail()
        except BaseException:
            self.close()
            raise

    @classmethod
    def make(cls) -> ExecutionCgroups | None:
        """Return a new folder, or None if this process was delegated none."""
        for parent in delegated_folders(Path("/proc/self/cgroup"), Path("/proc/self/mountinfo")):
            with suppress(OSError):
                _remove_abandoned(parent)
                return cls(parent)
        return None

    def close(self) -> None:
        """End all processes in the folder and remove it."""
        _remove(self.folder)
        os.close(self._lock)

    def disown(self) -> None:
        """Forget the folder in a forked child."""
        os.close(self._lock)

    def _give_to_jail(self) -> None:
        """Let the fork server make groups, and move processes between them, after it has left root's user."""
        for user in USERS:
            try:
                for path in (self.folder, self.folder / "cgroup.procs"):
                    os.chown(path, user, user)
            except OSError:  # a container has only a few users; the jail then takes the next one as well
                continue
            return


def delegated_folders(membership: Path, mounts: Path) -> list[Path]:
    """Return the folders in which this process may make control groups.

    Args:
        membership: the file in the format of ``/proc/self/cgroup``.
        mounts: the file in the format of ``/proc/self/mountinfo``.
    """
    try:
        path = next((line[3:] for line in membership.read_text().splitlines() if line.startswith("0::")), None)
        mounted = [line.split() for line in mounts.read_text().splitlines() if " - cgroup2 " in line]
    except OSError:
        return []
    for _, _, _, root, top, *_ in mounted:
        prefix = root.rstrip("/")
        if path is not None and ".." not in path and (path == root or path.startswith(f"{prefix}/")):
            own = Path(f"{top}/{path[len(prefix) :].strip('/')}")
            folders = [own] if own == Path(top) else [own, own.parent]
            return [folder for folder in folders if _is_delegated(folder)]
    return []


def _is_delegated(folder: Path) -> bool:
    if not all(os.access(path, os.W_OK) for path in (folder, folder / "cgroup.procs")):
        return False
    if not CONTROLLERS.issubset(_read(folder / "cgroup.controllers").split()):
        return False
    return not folder.name.endswith(_MANAGED) or any(_attribute(folder, name) == b"1" for name in _DELEGATED)


def _attribute(folder: Path, name: str) -> bytes:
    try:
        return os.getxattr(folder, name)
    except OSError:
        return b""


def _pass_on_controllers(folder: Path) -> None:
    """Let the groups in a folder have limits; an error unless no process lies in the folder itself."""
    file = folder / "cgroup.subtree_control"
    if not CONTROLLERS.issubset(_read(file).split()):
        _write(file, " ".join(f"+{name}" for name in sorted(CONTROLLERS)))


def _remove_abandoned(parent: Path) -> None:
    """Remove the folders whose owners were killed: nobody holds their locks any more."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(folder)
            finally:
                os.close(lock)


def _remove(folder: Path) -> None:
    with suppress(OSError):  # Linux before 5.14 cannot; the processes end with their fork server
        _write(folder / "cgroup.kill", "1")
    deadline = time.monotonic() + _ENDS_IN
    while folder.exists() and time.monotonic() < deadline:
        for path in (*(path for path in folder.glob("*") if path.is_dir()), folder):
            with suppress(OSError):
                path.rmdir()
        time.sleep(0.005)


def _write(file: Path, text: str) -> None:
    with file.open("r+") as opened:  # creates nothing
        opened.write(text)


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
