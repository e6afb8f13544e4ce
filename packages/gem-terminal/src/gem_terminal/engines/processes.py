"""The processes of a container on this machine, seen from outside: :func:`others_than` and :func:`kill`."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

__all__ = ["kill", "others_than", "stat_of", "unlinked"]


def others_than(first: int, waited_for: bytes = b"") -> list[int]:
    """Return the processes in the namespace of processes that one of them began.

    Args:
        first: its first process, which is not counted.
        waited_for: the command line, as ``proc(5)`` has it, of a child that the first one starts in order to wait,
            and again whenever that was killed; it is not counted either. It is in the session of the first, which
            nothing that is started from outside can enter.

    Raises:
        OSError: if the first has ended, or may not be looked at.
    """
    namespace = Path(f"/proc/{first}/ns/pid").readlink()
    return [
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if int(folder.name) != first
        and _is_in(folder, namespace)
        and not (waited_for and _is_waited_for(folder, first, waited_for))
    ]


def kill(pids: Iterable[int]) -> None:
    """Kill processes, stopped before that, so that none of them answers to the end of another.

    What they have started since they were listed is not among them: whoever wants all gone counts again.

    Raises:
        PermissionError: if this user may not.
    """
    all_of_them = list(pids)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in all_of_them:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def unlinked(firsts: Mapping[str, int]) -> dict[str, int]:
    """Return how many bytes of files on disk the processes of containers hold open that have no name any more.

    Those that are only mapped are not seen.

    Args:
        firsts: the first process of each container, by a name for it.
    """
    names: dict[Path, str] = {}
    for name, first in firsts.items():
        with suppress(OSError):
            names[Path(f"/proc/{first}/ns/pid").readlink()] = name
    found: dict[str, dict[tuple[int, int], int]] = {name: {} for name in firsts}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            whose = names.get((process / "ns/pid").readlink())
            if whose is not None:
                found[whose].update(_open_without_name(process))
    return {name: sum(files.values()) for name, files in found.items()}


def stat_of(process: Path) -> list[str]:
    """Return the fields of ``stat`` as proc(5) has them, from the third on: the second, a name, may hold anything.

    Raises:
        OSError: if the process has ended.
    """
    return (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def _open_without_name(process: Path) -> Iterator[tuple[tuple[int, int], int]]:
    """Files on disk, by device and number, and how many bytes they take."""
    for descriptor in (process / "fd").iterdir():
        with suppress(OSError):  # closed at this moment
            status, where = descriptor.stat(), str(descriptor.readlink())
            in_memory = where.startswith(("/memfd:", "/dev/shm/"))  # noqa: S108
            if stat.S_ISREG(status.st_mode) and not status.st_nlink and not in_memory:
                yield (status.st_dev, status.st_ino), status.st_blocks * 512


def _is_in(process: Path, namespace: Path) -> bool:
    try:
        return (process / "ns/pid").readlink() == namespace
    except OSError:  # its first thread has ended, and others may go on
        try:
            return any((thread / "ns/pid").readlink() == namespace for thread in (process / "task").iterdir())
        except OSError:
            return False


def _is_waited_for(process: Path, parent: int, command: bytes) -> bool:
    try:
        # Parent and session are the fields 4 and 6.
        its, session = stat_of(process), stat_of(Path(f"/proc/{parent}"))[3]
        return (its[1], its[3]) == (str(parent), session) and (process / "cmdline").read_bytes() == command
    except OSError:  # it has ended
        return True
