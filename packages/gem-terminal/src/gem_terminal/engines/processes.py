"""The processes of a container on this machine, seen from outside: :func:`others_than` and :func:`kill`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

__all__ = ["kill", "others_than"]


def others_than(first: int, waited_for: bytes = b"") -> list[int]:
    """Return the processes in the namespace of processes that one of them began.

    Args:
        first: its first process, which is not counted.
        waited_for: the command line, as ``proc(5)`` has it, of a child that the first one starts in order to wait,
            and again whenever that was killed; it is not counted either.

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
    """Kill processes, of which none starts another meanwhile, since all are stopped first.

    Raises:
        PermissionError: if this user may not.
    """
    all_of_them = list(pids)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in all_of_them:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


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
        # The name, in parentheses, may hold anything; the parent is field 4 of proc(5).
        fields = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return fields[1] == str(parent) and (process / "cmdline").read_bytes() == command
    except OSError:  # it has ended
        return True
