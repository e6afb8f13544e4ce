"""Limits of containers, enforced through control groups of version 1 or 2 that this user may write to."""

from __future__ import annotations

import errno
import os
import secrets
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gem_terminal.engines.base import Container
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.errors import EngineError
from gem_terminal.task import ResourceLimits

__all__ = ["Cgroup", "CounterFiles", "LimitCounts", "controllers", "describe_reached_limits", "groups", "reap_cgroups"]

_ROOT = Path("/sys/fs/cgroup")
_OURS = "gem-terminal"
_PERIOD = 100_000
"""The period of the processor quota in microseconds."""
_LEAST_QUOTA = 1_000
"""The smallest quota in microseconds that the kernel accepts."""

_DIGITS = 8
"""The number of digits of the machine's identity in names of groups."""
_EMPTIES_IN = 2.0
"""Seconds that a group may need to notice the end of its last process."""


_COUNTED = {
    "memory": ("memory.oom_control",),
    "pids": ("pids.events", "pids.current"),
    "": ("memory.events", "pids.events", "pids.current"),
}
"""The counter files by controller; in version 2, one folder holds the files of all controllers."""


@dataclass(frozen=True)
class LimitCounts:
    """The counters of a container's control groups."""

    killed: int = 0
    """Processes that the kernel killed because the memory ran out."""
    refused: int = 0
    """Processes that the kernel refused to start because there were too many."""
    processes: int = 0
    """Processes that exist now."""

    @classmethod
    def parse(cls, lines: Iterable[str]) -> LimitCounts:
        """Parse lines that begin with the name of their file."""
        found = {}
        for line in lines:
            name, _, value = line.rpartition(" ")
            found[name] = int(value) if value.isdigit() else 0
        killed = found.get("memory.oom_control oom_kill", 0) or found.get("memory.events oom_kill", 0)
        return cls(killed, found.get("pids.events max", 0), found.get("pids.current", 0))

    def changes_since(self, before: LimitCounts, limits: ResourceLimits) -> list[str]:
        """Describe the changes since earlier counts."""
        if self.killed < before.killed or self.refused < before.refused:  # the container was restarted
            before = LimitCounts()
        said = []
        if number := self.killed - before.killed:
            what = "a process was" if number == 1 else f"{number} processes were"
            said.append(f"{what} killed, because the memory of {limits.memory >> 20} MiB ran out")
        if self.refused > before.refused:
            said.append(f"the limit of {limits.processes} processes was reached")
        return said


def describe_reached_limits(
    container: Container, before: LimitCounts, counts: LimitCounts, limits: ResourceLimits
) -> list[str]:
    """Describe the limits reached between two counts. Kills all processes if they leave no room for another one."""
    said = counts.changes_since(before, limits)
    if counts.refused > before.refused and counts.processes * 4 >= limits.processes * 3:
        container.kill_all()
        said.append("every process was killed, because they left no room for another")
    return said


class CounterFiles:
    """The counter files of one container. Every command reads them, so a read must be cheap.

    Args:
        folders: pairs of a controller and the folder of its control group.
    """

    def __init__(self, folders: Iterable[tuple[str, str]]) -> None:
        files = [(name, f"{folder}/{name}") for controller, folder in folders for name in _COUNTED.get(controller, ())]
        self._files = [(name, path) for name, path in files if Path(path).exists()]

    def counts(self) -> LimitCounts | None:
        """Return the current counts; None if nothing is readable, for example after the end of the container."""
        lines = []
        for name, path in self._files:
            try:
                file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                lines += [f"{name} {line}" for line in os.read(file, 4096).decode("ascii").splitlines()]
            except OSError:
                continue
            finally:
                os.close(file)
        return LimitCounts.parse(lines) if lines else None

    @classmethod
    def of_process(cls, pid: int, name: str) -> CounterFiles:
        """Return the counter files of a local process's container; none for a process of another machine.

        Args:
            pid: the process id; 0 if unknown.
            name: a part of the names of its control groups, which guards against a reused process id.
        """
        try:
            lines = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines() if pid else []
        except OSError:
            lines = []
        folders = []
        for line in lines:
            _, controllers_there, path = line.split(":", 2)
            if name in path:
                folders += [(each, f"{_ROOT}/{each}{path}") for each in controllers_there.split(",")]
        return cls(folders)


@cache
def controllers() -> tuple[str, ...]:
    """Return the controllers among ``memory``, ``pids`` and ``cpu`` that this user can use on this machine."""
    if (_ROOT / "cgroup.controllers").is_file():
        try:
            (_ROOT / _OURS).mkdir(exist_ok=True)
            for folder in (_ROOT, _ROOT / _OURS):
                (folder / "cgroup.subtree_control").write_text("+memory +pids +cpu")
        except OSError:
            return ()
        return ("memory", "pids", "cpu")
    return tuple(name for name in ("memory", "pids", "cpu") if _can_write(_ROOT / name))


class Cgroup:
    """The control groups of one container, named after the process that owns it.

    Raises:
        EngineError: if the groups cannot be created or reject the limits.
    """

    def __init__(self, limits: ResourceLimits) -> None:
        owner = ContainerOwner.this_process()
        self.name = f"{owner.pid}-{owner.began}-{owner.machine[:_DIGITS]}-{secrets.token_hex(6)}"
        unified = self._unified = (_ROOT / "cgroup.controllers").is_file()
        known = controllers()
        self._folders = [_ROOT / _OURS / self.name] if unified and known else [
            _ROOT / name / _OURS / self.name for name in known
        ]  # fmt: skip
        quota = max(int(limits.cpus * _PERIOD), _LEAST_QUOTA)
        settings = (
            {
                "memory.max": limits.memory,
                "memory.swap.max": 0,
                "pids.max": limits.processes,
                "cpu.max": f"{quota} {_PERIOD}",
            }
            if unified
            else {
                "memory.limit_in_bytes": limits.memory,
                "memory.memsw.limit_in_bytes": limits.memory,
                "pids.max": limits.processes,
                "cpu.cfs_period_us": _PERIOD,
                "cpu.cfs_quota_us": quota,
            }
        )
        try:
            for folder in self._folders:
                folder.mkdir(parents=True)
                for name, value in settings.items():
                    if (folder / name).exists():
                        _set(folder / name, value)
        except OSError as error:
            self.remove()
            raise EngineError(f"the limits of a container cannot be set: {error}") from error
        self._counting = CounterFiles(zip(("",) if unified else known, map(str, self._folders), strict=False))

    @property
    def tasks(self) -> list[str]:
        """The files that a single-threaded process writes ``0`` to in order to join.

        With version 1, the process enters only its one thread. To move a whole process, the kernel stops all others,
        which takes milliseconds (``cgroup_procs_write_start`` in Linux).
        """
        return [str(folder / ("cgroup.procs" if self._unified else "tasks")) for folder in self._folders]

    def counts(self) -> LimitCounts:
        """Return the current counts of the container."""
        return self._counting.counts() or LimitCounts()

    def remove(self) -> None:
        """Remove the groups. All their processes must have been killed. A second call does nothing."""
        for folder in self._folders:
            _remove(folder)
        self._folders = []


def groups() -> list[tuple[Path, ContainerOwner]]:
    """Return the folder and the owner of each container's group, one for each controller.

    Groups of processes in other process namespaces are left out.
    """
    ours = ContainerOwner.this_process()
    found = []
    for folder in [*_ROOT.glob(f"{_OURS}/*-*-*-*"), *_ROOT.glob(f"*/{_OURS}/*-*-*-*")]:
        pid, began, mark, *_ = folder.name.split("-")
        if pid.isdigit() and mark == ours.machine[:_DIGITS]:
            found.append((folder, ContainerOwner(ours.host, int(pid), began)))
    return found


def reap_cgroups() -> int:
    """Remove the groups of ended processes; return the number of their containers."""
    names = set()
    for folder, owner in groups():
        if not owner.is_alive():
            _kill(folder)
            _remove(folder)
            names.add(folder.name)
    return len(names)


def _set(file: Path, value: object) -> None:
    try:
        file.write_text(str(value))
    except OSError as error:
        # Version 1 rejects a quota above the quota of the parent group, which limits the container anyway.
        if file.name != "cpu.cfs_quota_us" or error.errno != errno.EINVAL:
            raise


def _kill(folder: Path) -> None:
    with suppress(OSError):  # the group has just been removed, or the process has ended
        for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split():
            os.kill(int(pid), signal.SIGKILL)


def _remove(folder: Path) -> None:
    deadline = time.monotonic() + _EMPTIES_IN
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:  # a process cannot be killed; the reaper tries again
                return
            time.sleep(0.001)


def _can_write(folder: Path) -> bool:
    try:
        (folder / _OURS).mkdir(exist_ok=True)
    except OSError:
        return False
    return os.access(folder / _OURS, os.W_OK)
