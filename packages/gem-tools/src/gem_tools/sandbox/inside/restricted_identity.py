"""The user of an execution where the fork server is root: a number that no other process has.

Signals, limits of processes and most kernel quotas then go by a user of the execution's own. Where the interpreter
lies in a folder of root's alone (``/root``), executions keep root's access to files, without its privileges, within
Landlock.
"""

from __future__ import annotations

import contextlib
import ctypes
import enum
import os
import signal
from collections.abc import Sequence

from gem_processes import linux
from gem_processes.syscall_numbers import numbers_on

__all__ = ["Identity", "Users", "become"]

_UNUSED = (0x70000000, 0x7FFF0000)
"""Numbers that systemd's table of users ("Users, Groups, UIDs and GIDs on systemd systems") leaves unused."""
_DYNAMIC = (61184, 65520)
"""Its numbers for services without a lasting user, for a container that has only 65,536 users."""

_PR_SET_KEEPCAPS = 8
_CAP_SETGID, _CAP_SETUID = 6, 7
_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
# Looked up once here, not in each execution.
_prctl, _setfsgid, _setfsuid, _syscall = _libc.prctl, _libc.setfsgid, _libc.setfsuid, _libc.syscall
_CAPSET = numbers_on().get("capset", -1)


class Identity(enum.Enum):
    """What an execution shares with the trainer's user."""

    OWN = "own"
    """Nothing: a user of its own."""
    ROOTS_FILES = "root's files"
    """A user of its own, but root's access to files."""
    SHARED = "shared"
    """Everything: the trainer's user."""


class Users:
    """The users of executions.

    Args:
        needed: folders that an execution must be able to read.
    """

    def __init__(self, needed: Sequence[str]) -> None:
        self.identity = Identity.SHARED
        self._range = _UNUSED
        self._taken: set[int] = set()
        if os.geteuid() != 0:
            return
        for identity in (Identity.OWN, Identity.ROOTS_FILES):
            for numbers in (_UNUSED, _DYNAMIC):
                if _works(identity, numbers[0], needed):
                    self.identity, self._range = identity, numbers
                    return

    def take(self) -> int:
        """Return a user for an execution; the trainer's own where there are no others."""
        if self.identity is Identity.SHARED:
            return os.getuid()
        first, end = self._range
        user = 0
        while not user or user in self._taken:
            # By chance, because another fork server on this machine takes from the same numbers.
            user = first + int.from_bytes(os.urandom(4), "little") % (end - first)
        self._taken.add(user)
        return user

    def give_back(self, user: int) -> None:
        """Let another execution have a user."""
        self._taken.discard(user)


def become(identity: Identity, user: int) -> None:
    """Become the user of an execution for ever, without capabilities.

    Raises:
        OSError: if the process may not.
    """
    if identity is not Identity.SHARED:
        os.setgroups([])
        if identity is Identity.ROOTS_FILES:
            _prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        if identity is Identity.ROOTS_FILES:
            _raise_capabilities(1 << _CAP_SETGID | 1 << _CAP_SETUID)
            _setfsgid(0)
            _setfsuid(0)
    linux.drop_capabilities()
    linux.make_dumpable()


def _raise_capabilities(wanted: int) -> None:
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)(wanted, wanted, 0, 0, 0, 0)
    if _syscall(_CAPSET, header, data) < 0:
        raise OSError(ctypes.get_errno(), "capset")


def _works(identity: Identity, user: int, needed: Sequence[str]) -> bool:
    """Return whether a process can become a user and read these folders, and whether this process can then kill it."""
    answered, answer = os.pipe()
    waiting, release = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(release)
        with contextlib.suppress(OSError):
            become(identity, user)
            for path in needed:
                os.listdir(path)
            os.write(answer, b"1")
        os.close(answer)
        os.read(waiting, 1)
        os._exit(0)
    os.close(answer)
    os.close(waiting)
    works = os.read(answered, 1) == b"1"
    os.close(answered)
    try:
        os.kill(pid, signal.SIGKILL)
    except PermissionError:
        works = False
    os.close(release)
    os.waitpid(pid, 0)
    return works
