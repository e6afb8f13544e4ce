"""The processes of a local container, seen from outside: :func:`others_than` and :func:`kill`."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

__all__ = ["has_ended", "kill", "others_than", "stat_of", "unlinked"]

_PF_EXITING = 0x4


def others_than(first: int, waited_for: bytes = b"") -> list[int]:
    """Return the processes in the process namespace of a container's first process that have a thread that runs.

    One that has ended does nothing any more, though its parent may bury it late: a first process that has just begun
    misses the signal of an orphan's end.

    Args:
        first: the first process, which is left out.
        waited_for: the command line, in the format of ``proc(5)``, of the helper that the first process waits for
            and restarts after a kill; it is left out too. The helper is in the session of the first process, which
            no process from outside can join.

    Raises:
        OSError: if the first process has ended or must not be inspected.
    """
    namespace = Path(f"/proc/{first}/ns/pid").readlink()
    return [
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if int(folder.name) != first
        and _is_in(folder, namespace)
        and _runs(folder)
        and not (waited_for and _is_waited_for(folder, first, waited_for))
    ]


def has_ended(pid: int) -> bool:
    """Return whether a process has ended or is ending.

    The first process of a container is ending while the kernel kills the others, so they are gone before it is. Its
    flags say so (``PF_EXITING`` of the kernel's ``sched.h``; field 9 of ``stat`` in ``proc(5)``).
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return True
    return fields[0] in (b"Z", b"X") or bool(int(fields[6]) & _PF_EXITING)


def kill(pids: Iterable[int]) -> None:
    """Stop and then kill processes, so that none of them can react to the end of another.

    The list misses processes that started after it was made; a caller that must kill all lists them again.

    Raises:
        PermissionError: if this user must not kill them.
    """
    all_of_them = list(pids)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in all_of_them:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def unlinked(firsts: Mapping[str, int]) -> dict[str, int]:
    """Return the size in bytes of the deleted files that the processes of containers still hold open.

    Files that are only mapped are not counted.

    Args:
        firsts: the first process of each container, by the container's name.
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
    """Return the fields of ``stat`` in proc(5) from the third on; the second, a name, may contain any character.

    Raises:
        OSError: if the process has ended.
    """
    return (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def _open_without_name(process: Path) -> Iterator[tuple[tuple[int, int], int]]:
    """Return the size of open deleted files by device and inode."""
    for descriptor in (process / "fd").iterdir():
        with suppress(OSError):  # closed at this moment
            status, where = descriptor.stat(), str(descriptor.readlink())
            in_memory = where.startswith(("/memfd:", "/dev/shm/"))  # noqa: S108
            if stat.S_ISREG(status.st_mode) and not status.st_nlink and not in_memory:
                yield (status.st_dev, status.st_ino), status.st_blocks * 512


def _is_in(process: Path, namespace: Path) -> bool:
    try:
        return (process / "ns/pid").readlink() == namespace
    except OSError:  # its first thread has ended, but others may run
        try:
            return any((thread / "ns/pid").readlink() == namespace for thread in (process / "task").iterdir())
        except OSError:
            return False


def _runs(process: Path) -> bool:
    try:
        return any(stat_of(thread)[0] not in ("Z", "X") for thread in (process / "task").iterdir())
    except OSError:  # it has ended
        return False


def _is_waited_for(process: Path, parent: int, command: bytes) -> bool:
    try:
        # The parent and the session are the fields 4 and 6.
        its, session = stat_of(process), stat_of(Path(f"/proc/{parent}"))[3]
        return (its[1], its[3]) == (str(parent), session) and (process / "cmdline").read_bytes() == command
    except OSError:  # it has ended
        return True
