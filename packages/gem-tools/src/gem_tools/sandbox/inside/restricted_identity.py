"""The user of an execution where the fork server is root: a number that no other process has.

Signals, limits of processes and most kernel quotas then go by a user of the execution's own. Where the interpreter
lies in a folder of root's alone (``/root``), the executions and the programs that they start also keep the capability
to pass through such folders (capabilities(7)); Landlock limits what they read and write all the same.
"""

from __future__ import annotations

import contextlib
import ctypes
import enum
import os
import signal
import sys
from collections.abc import Sequence

from gem_processes import linux
from gem_processes.syscall_numbers import numbers_on

__all__ = ["Identity", "Users", "become", "reads_others"]

_UNUSED = (0x70000000, 0x7FFF0000)
"""Numbers that systemd's table of users ("Users, Groups, UIDs and GIDs on systemd systems") leaves unused."""
_DYNAMIC = (61184, 65520)
"""Its numbers for services without a lasting user, for a container that has only 65,536 users."""

_PR_SET_KEEPCAPS, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 8, 28, 47, 2
_NO_SETUID_FIXUP = 1 << 2
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH, _CAP_SYS_PTRACE = 1, 2, 19
_VERSION_3 = 0x20080522

_TELLS = ("-I", "-S", "-c", "import os, sys; os.write(int(sys.argv[1]), b'1'); os.read(int(sys.argv[2]), 1)")
"""Arguments of an interpreter that says that it has started, and waits."""

_libc = ctypes.CDLL(None, use_errno=True)
# Looked up once here, not in each execution.
_prctl, _syscall = _libc.prctl, _libc.syscall
_CAPSET = numbers_on().get("capset", -1)


class Identity(enum.Enum):
    """What an execution shares with the trainer's user."""

    OWN = "own"
    """Nothing: a user of its own."""
    READS_ALL = "reads all"
    """A user of its own that may read everybody's files."""
    OPENS_ALL = "opens all"
    """A user of its own that may read, write and execute everybody's files; of a container's root, which lacks the
    capability of the former."""
    SHARED = "shared"
    """Everything: the trainer's user."""

    @property
    def capability(self) -> int | None:
        """The capability of all its processes."""
        return {Identity.READS_ALL: _CAP_DAC_READ_SEARCH, Identity.OPENS_ALL: _CAP_DAC_OVERRIDE}.get(self)


class Users:
    """The users of executions.

    Args:
        needed: folders that an execution must be able to read.
        scratch: the folder of all scratch folders.
    """

    def __init__(self, needed: Sequence[str], scratch: str) -> None:
        self.identity = Identity.SHARED
        self._range = _UNUSED
        self._taken: set[int] = set()
        if os.geteuid() != 0:
            return
        for identity in (Identity.OWN, Identity.READS_ALL, Identity.OPENS_ALL):
            for numbers in (_UNUSED, _DYNAMIC):
                if _administers(numbers[0], scratch) and _works(identity, numbers[0], needed):
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
    """Become the user of an execution for ever, without capabilities but that of the identity.

    Raises:
        OSError: if the process may not.
    """
    capability = identity.capability
    if identity is not Identity.SHARED:
        os.setgroups([])
        if capability is not None:
            # access(2) then answers by what the process may do; without the right to set this, by the user alone.
            _prctl(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP, 0, 0, 0)
            _prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    if capability is None:
        linux.drop_capabilities()
    else:
        _keep_capability(capability)
    linux.make_dumpable()


def reads_others() -> bool:
    """Return whether this process may read the memory maps of other users' processes."""
    with open("/proc/self/status", "rb") as file:
        effective = next(line for line in file if line.startswith(b"CapEff:"))
    return bool(int(effective.split()[1], 16) >> _CAP_SYS_PTRACE & 1)


def _keep_capability(capability: int) -> None:
    """Drop every capability but one, which all programs keep that this process executes."""
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)(*[1 << capability] * 3, 0, 0, 0)  # effective, permitted, inheritable
    if _syscall(_CAPSET, header, data) < 0:
        raise OSError(ctypes.get_errno(), "capset")
    if _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "PR_CAP_AMBIENT_RAISE")


def _administers(user: int, scratch: str) -> bool:
    """Return whether this process can make folders for a user, use them and remove them."""
    folder = f"{scratch}/{os.urandom(8).hex()}"
    os.mkdir(folder, 0o700)
    works = False
    with contextlib.suppress(OSError):
        os.chown(folder, user, user)
        os.mkdir(f"{folder}/inside")
        os.rmdir(f"{folder}/inside")
        os.chmod(folder, 0o700)
        works = True
    os.rmdir(folder)
    return works


def _works(identity: Identity, user: int, needed: Sequence[str]) -> bool:
    """Return whether a process can become a user, read these folders and start the interpreter anew.

    This process must also be able to kill it.
    """
    answered, answer = os.pipe()
    waiting, release = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(release)
        for descriptor in (answer, waiting):
            os.set_inheritable(descriptor, True)
        with contextlib.suppress(OSError):
            become(identity, user)
            for path in needed:
                os.listdir(path)
            with open(os.devnull, "w") as silence:
                os.dup2(silence.fileno(), 2)  # an interpreter that cannot find its library says so
            os.execv(sys.executable, [sys.executable, *_TELLS, str(answer), str(waiting)])  # noqa: S606
        os._exit(1)
    os.close(answer)
    os.close(waiting)
    works = os.read(answered, 1) == b"1"
    try:
        os.kill(pid, signal.SIGKILL)
    except PermissionError:
        works = False
    os.close(answered)
    os.close(release)
    os.waitpid(pid, 0)
    return works
