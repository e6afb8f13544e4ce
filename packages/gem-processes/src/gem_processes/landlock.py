"""Landlock: access to files, TCP ports, signals and abstract sockets, given up without a privilege.

A process allows itself what it needs below some files and folders; the kernel then refuses the rest to it and to all
its descendants, in addition to what was refused before. :class:`Ruleset` needs ``no_new_privileges`` of
:mod:`gem_processes.linux`. What a ruleset covers depends on the kernel (:func:`abi`): an older kernel does not refuse
what it does not know.

The numbers are those of ``linux/landlock.h``; the versions are described in Linux's ``userspace-api/landlock.rst``.
This module can be imported on Linux alone.
"""

from __future__ import annotations

import ctypes
import os
import stat

__all__ = [
    "EXECUTE",
    "LIST",
    "MAKE_SOCKET",
    "NEWEST",
    "READ",
    "READ_FILE",
    "REMOVE_DIR",
    "SCRATCH",
    "WRITE_FILE",
    "Ruleset",
    "abi",
]

EXECUTE, WRITE_FILE, READ_FILE, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8
MAKE_SOCKET, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = 1 << 9, 1 << 10, 1 << 11, 1 << 12
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15

READ = READ_FILE | LIST
"""Reading files and listing folders; :data:`LIST` is the second alone."""
_MAKE = REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SYM | _MAKE_FIFO | _REFER
SCRATCH = READ | EXECUTE | WRITE_FILE | _TRUNCATE | _MAKE
"""Everything in a folder but devices and sockets."""
_ALL = (1 << 16) - 1
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEV
"""The accesses that a rule for a file, rather than a folder, may name."""

_SINCE = {_REFER: 2, _TRUNCATE: 3, _IOCTL_DEV: 5}
_TCP_SINCE, _SCOPES_SINCE, _QUIET_SINCE = 4, 6, 7
NEWEST = 7
"""The newest version that this module knows."""

_TCP_BIND_AND_CONNECT = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3
_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
"""The same on every machine."""
_VERSION_FLAG, _PATH_BENEATH, _LOG_SAME_EXEC_OFF = 1, 1, 1

_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long


class _Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "network", "scopes")]


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def abi() -> int:
    """Return the kernel's version of Landlock; 0 if it has none, or if it is switched off."""
    return max(0, int(_syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION_FLAG)))


class Ruleset:
    """What a process keeps when it restricts itself.

    It covers all accesses to files that both the version and this module know, and TCP from version 4. From version 6,
    the process cannot signal less restricted processes or connect to their abstract sockets.

    Args:
        version: at most the kernel's; a lower one behaves like an older kernel.

    Raises:
        OSError: if the kernel refuses; ENOSYS and EOPNOTSUPP mean that it has no Landlock.
    """

    def __init__(self, version: int = NEWEST) -> None:
        self.version = version
        self._files = _known(_ALL, version)
        attributes = _Attributes(
            self._files,
            _TCP_BIND_AND_CONNECT if version >= _TCP_SINCE else 0,
            _ABSTRACT_SOCKETS_AND_SIGNALS if version >= _SCOPES_SINCE else 0,
        )
        # An older kernel refuses a longer structure only if the rest is not zero.
        size = ctypes.c_size_t(ctypes.sizeof(attributes))
        self._descriptor = _checked(_syscall(_CREATE, ctypes.byref(attributes), size, 0), "landlock_create_ruleset")

    def allow(self, descriptor: int, access: int) -> None:
        """Allow accesses to a file, or to everything below a folder; accesses that do not apply are left out.

        Args:
            descriptor: of the file or folder; ``O_PATH`` suffices.
            access: for example :data:`READ`.

        Raises:
            OSError: if the kernel refuses the rule.
        """
        access &= self._files
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= _OF_FILES
        if access:
            rule = _PathRule(access, descriptor)
            done = _syscall(_ADD_RULE, self._descriptor, _PATH_BENEATH, ctypes.byref(rule), 0)
            _checked(done, "landlock_add_rule")

    def allow_path(self, path: str, access: int) -> None:
        """Allow accesses to a path, if it exists; see :meth:`allow`."""
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # what cannot be reached needs no rule
            return
        try:
            self.allow(descriptor, access)
        finally:
            os.close(descriptor)

    def restrict(self) -> None:
        """Restrict this thread and all its future descendants, and close the ruleset.

        Raises:
            OSError: if the kernel refuses, for example without ``no_new_privileges``.
        """
        # Otherwise each refusal is a line in the log of the machine.
        quiet = _LOG_SAME_EXEC_OFF if self.version >= _QUIET_SINCE else 0
        try:
            _checked(_syscall(_RESTRICT, self._descriptor, quiet), "landlock_restrict_self")
        finally:
            os.close(self._descriptor)


def _known(access: int, version: int) -> int:
    """Return the accesses that a version knows."""
    for bit, since in _SINCE.items():
        if version < since:
            access &= ~bit
    return access
