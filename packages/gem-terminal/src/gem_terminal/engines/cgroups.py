"""Bounding what a container uses, with control groups of either version, where this user may write to them."""

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

__all__ = ["Cgroup", "CounterFiles", "LimitCounts", "controllers", "groups", "reap_cgroups", "troubles_of"]

_ROOT = Path("/sys/fs/cgroup")
_OURS = "gem-terminal"
_PERIOD = 100_000
"""Microseconds in which a container gets its share of the processors."""
_LEAST_QUOTA = 1_000
"""Microseconds of it that the kernel takes for a share."""

_DIGITS = 8
"""Of a machine, in the names of groups."""
_EMPTIES_IN = 2.0
"""Seconds that a group may take to notice that its last process has gone."""


_COUNTED = {
    "memory": ("memory.oom_control",),
    "pids": ("pids.events", "pids.current"),
    "": ("memory.events", "pids.events", "pids.current"),
}
"""The files that count, by the controller whose folder they are in; version 2 has one folder for all."""


@dataclass(frozen=True)
class LimitCounts:
    """What the control groups of a container have counted so far."""

    killed: int = 0
    """Processes that were killed, since the memory ran out."""
    refused: int = 0
    """Processes that were not started, since there were too many."""
    processes: int = 0
    """Those that there are."""

    @classmethod
    def parsed(cls, lines: Iterable[str]) -> LimitCounts:
        """Read lines that begin with the name of their file."""
        found = {}
        for line in lines:
            name, _, value = line.rpartition(" ")
            found[name] = int(value) if value.isdigit() else 0
        killed = found.get("memory.oom_control oom_kill", 0) or found.get("memory.events oom_kill", 0)
        return cls(killed, found.get("pids.events max", 0), found.get("pids.current", 0))

    def said_since(self, before: LimitCounts, limits: ResourceLimits) -> list[str]:
        """Return in words what was counted since."""
        if self.killed < before.killed or self.refused < before.refused:  # a container that was restarted
            before = LimitCounts()
        said = []
        if number := self.killed - before.killed:
            what = "a process was" if number == 1 else f"{number} processes were"
            said.append(f"{what} killed, since the memory of {limits.memory >> 20} MiB ran out")
        if self.refused > before.refused:
            said.append(f"the limit of {limits.processes} processes was reached")
        return said


def troubles_of(container: Container, before: LimitCounts, counts: LimitCounts, limits: ResourceLimits) -> list[str]:
    """Return what befell a container between two counts, in words; what left no room for anything else is killed."""
    said = counts.said_since(before, limits)
    if counts.refused > before.refused and counts.processes * 4 >= limits.processes * 3:
        container.kill_all()
        said.append("every process was killed, since they left no room for another")
    return said


class CounterFiles:
    """The counter files of one container. They are read after every command, so reading is kept cheap.

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
        return LimitCounts.parsed(lines) if lines else None

    @classmethod
    def of_process(cls, pid: int, name: str) -> CounterFiles:
        """Return the counter files for the container of a process of this machine; none for another machine.

        Args:
            pid: the process id; 0 if unknown.
            name: a part of the names of its control groups, so that no other process is mistaken for it.
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
    """Return those of ``memory``, ``pids`` and ``cpu`` that can be limited on this machine."""
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
    """The control groups of one container, named after the process that it belongs to.

    Raises:
        EngineError: if they cannot be made, or do not take the limits.
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
        """The files that a process of one thread writes ``0`` to in order to join.

        With version 1 it enters its one thread: for a whole process the kernel holds up all others until it is quiet,
        which takes milliseconds (``cgroup_procs_write_start`` in Linux).
        """
        return [str(folder / ("cgroup.procs" if self._unified else "tasks")) for folder in self._folders]

    def counts(self) -> LimitCounts:
        """Return what was counted for the container so far."""
        return self._counting.counts() or LimitCounts()

    def remove(self) -> None:
        """Remove the groups, whose processes have all been killed; calling it again does nothing."""
        for folder in self._folders:
            _remove(folder)
        self._folders = []


def groups() -> list[tuple[Path, ContainerOwner]]:
    """Return the folders of the groups that containers have, one for each controller, and whose they are.

    Those of processes whose numbers mean nothing here are not among them.
    """
    ours = ContainerOwner.this_process()
    found = []
    for folder in [*_ROOT.glob(f"{_OURS}/*-*-*-*"), *_ROOT.glob(f"*/{_OURS}/*-*-*-*")]:
        pid, began, mark, *_ = folder.name.split("-")
        if pid.isdigit() and mark == ours.machine[:_DIGITS]:
            found.append((folder, ContainerOwner(ours.host, int(pid), began)))
    return found


def reap_cgroups() -> int:
    """Remove the groups that processes which have gone left behind; return how many containers that were."""
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
        # Version 1 takes no share that is above that of the group around it, which bounds the container as well.
        if file.name != "cpu.cfs_quota_us" or error.errno != errno.EINVAL:
            raise


def _kill(folder: Path) -> None:
    with suppress(OSError):  # it has just been removed, or what is in it has ended
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
            if time.monotonic() > deadline:  # something of it cannot be killed; the reaper looks again
                return
            time.sleep(0.001)


def _can_write(folder: Path) -> bool:
    try:
        (folder / _OURS).mkdir(exist_ok=True)
    except OSError:
        return False
    return os.access(folder / _OURS, os.W_OK)
