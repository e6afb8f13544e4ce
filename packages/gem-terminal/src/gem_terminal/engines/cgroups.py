"""Bounding what a container uses, with control groups of either version, where this user may write to them."""

from __future__ import annotations

import os
import secrets
import time
from functools import cache
from pathlib import Path

from gem_terminal.engines.owners import Owner
from gem_terminal.task import Limits

__all__ = ["Cgroup", "controllers", "reap_cgroups"]

_ROOT = Path("/sys/fs/cgroup")
_OURS = "gem-terminal"
_PERIOD = 100_000
"""Microseconds in which a container gets its share of the processors."""

_EMPTIES_IN = 2.0
"""Seconds that a group may take to notice that its last process has gone."""


@cache
def controllers() -> tuple[str, ...]:
    """Return which of ``memory``, ``pids`` and ``cpu`` can be bounded here."""
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
    """The control groups of one container, named after the process that it belongs to."""

    def __init__(self, limits: Limits) -> None:
        self.name = f"{os.getpid()}-{Owner.this_process().began}-{secrets.token_hex(6)}"
        unified = (_ROOT / "cgroup.controllers").is_file()
        known = controllers()
        self._folders = [_ROOT / _OURS / self.name] if unified and known else [
            _ROOT / name / _OURS / self.name for name in known
        ]  # fmt: skip
        for folder in self._folders:
            folder.mkdir(parents=True)
        quota = int(limits.cpus * _PERIOD)
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
        for folder in self._folders:
            for name, value in settings.items():
                if (folder / name).exists():
                    (folder / name).write_text(str(value))

    @property
    def tasks(self) -> list[str]:
        """The files that a process writes ``0`` to in order to join."""
        return [str(folder / "cgroup.procs") for folder in self._folders]

    def remove(self) -> None:
        """Remove the groups, whose processes have all been killed; calling it again does nothing."""
        for folder in self._folders:
            _remove(folder)
        self._folders = []


def reap_cgroups() -> int:
    """Remove the groups that processes which have gone left behind; return how many containers that were."""
    names = set()
    for folder in [*_ROOT.glob(f"{_OURS}/*-*-*"), *_ROOT.glob(f"*/{_OURS}/*-*-*")]:
        pid, began, _ = folder.name.split("-")
        ours = Owner.this_process()
        if not Owner(ours.host, int(pid), began).is_alive():
            _remove(folder)
            names.add(folder.name)
    return len(names)


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
