"""The filter of system calls of an execution that shares namespaces with the trainer, and often its user."""

from __future__ import annotations

import os

from gem_processes.seccomp import (
    NO_NEW_NAMESPACES,
    ORDINARY,
    ORDINARY_RULES,
    ArgumentRule,
    allow_program,
)
from gem_processes.syscall_numbers import MACHINE
from gem_tools.sandbox.inside.refused_calls import IGNORED

__all__ = ["MARK", "filter_for"]

MARK = 10
"""RLIMIT_LOCKS, which Linux has not used since 2.4: its value tells the processes of an execution from others."""

_SCOPED_SIGNALS, _TRUNCATION = 6, 3
"""The versions of Landlock that cover them."""

_OWNERS = frozenset((8, 10, 15))
"""F_SETOWN, F_SETSIG and F_SETOWN_EX of ``fcntl``, by which the kernel sends a chosen signal to a chosen process."""
_FCNTL = next(rule.values for rule in ORDINARY_RULES if rule.call == "fcntl")
_LIMITS = tuple(number for number in range(16) if number != MARK)
_O_ACCESS_AND_TRUNCATE = os.O_ACCMODE | os.O_TRUNC

_OF_THIS_PROCESS = (
    ArgumentRule("prlimit64", 0, (0,)),
    ArgumentRule("prlimit64", 1, _LIMITS),
    ArgumentRule("setrlimit", 0, _LIMITS),
)
"""Limits of the trainer's processes could be set by any process of its user."""

_MODES = frozenset(("chmod", "fchmod", "fchmodat", "fchmodat2"))
"""Changes to files of the own user, and to no others."""
_TIMES = frozenset(("futimesat", "utime", "utimensat", "utimes"))
"""Changes to files of the own user, and to those that it may write.

Landlock covers neither of the two. Programs that copy and unpack files rely on their success.
"""
_TOUCHED = ArgumentRule("utimensat", 0, (-100 & 0xFFFFFFFF,), refuses=True, when=(2, 0))
"""No calls with a path (``AT_FDCWD``) and the time of now: ``Path.touch`` creates a file where this call fails."""
_OWNERS_AND_EXTENDED_ATTRIBUTES = frozenset((
    "chown", "fchown", "fchownat", "lchown", "fsetxattr", "lsetxattr", "setxattr", "fremovexattr", "lremovexattr",
    "removexattr",
))  # fmt: skip
_IDENTITY = frozenset((
    "setfsgid", "setfsuid", "setgid", "setgroups", "setregid", "setresgid", "setresuid", "setreuid", "setuid",
))  # fmt: skip


_SHARED_WITHOUT_FILE = 0x21
"""MAP_SHARED and MAP_ANONYMOUS: memory that outlives its mappings while another process has the same."""
_SENDS_DESCRIPTORS = frozenset(("sendmmsg", "sendmsg"))
"""Descriptors under way count against all processes of a user."""


def filter_for(
    version: int,
    process: int,
    *,
    own_user: bool,
    own_files: bool,
    counts_shared_memory: bool,
    machine: str = MACHINE,
) -> bytes:
    """Return the filter of an execution.

    Args:
        version: the version of Landlock that restricts it.
        process: its process id.
        own_user: whether nothing else has its user, no process and no file outside its scratch folder.
        own_files: whether its user may also write no file outside, by the permissions of the files.
        counts_shared_memory: whether shared memory without a file counts against its limit, so that it may have some.
        machine: one of :data:`gem_processes.syscall_numbers.MACHINES`.

    Raises:
        OSError: on a machine with unknown system call numbers.
    """
    refused, rules = {*_IDENTITY}, [*ORDINARY_RULES, NO_NEW_NAMESPACES, *_OF_THIS_PROCESS]
    ignored = IGNORED
    if not counts_shared_memory:
        rules.append(ArgumentRule("mmap", 3, (0, 1, 0x20), mask=_SHARED_WITHOUT_FILE))
    if not own_user:
        refused |= _SENDS_DESCRIPTORS
        ignored |= _MODES
    if not own_files:
        refused |= _OWNERS_AND_EXTENDED_ATTRIBUTES
        ignored |= _TIMES
        rules.append(_TOUCHED)
        if version < _TRUNCATION:
            refused |= {"truncate", "openat2"}
            opened = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_TRUNC)
            rules += [
                ArgumentRule("open", 1, opened, mask=_O_ACCESS_AND_TRUNCATE),
                ArgumentRule("openat", 2, opened, mask=_O_ACCESS_AND_TRUNCATE),
            ]
    if not own_user and version < _SCOPED_SIGNALS:
        refused |= {"pidfd_send_signal", "tkill"}
        own = (process, 0)
        rules += [ArgumentRule(call, 0, own) for call in ("kill", "rt_sigqueueinfo")]
        rules += [ArgumentRule(call, 0, (process,)) for call in ("tgkill", "rt_tgsigqueueinfo")]
        rules.append(ArgumentRule("fcntl", 1, tuple(set(_FCNTL) - _OWNERS)))
    allowed = ORDINARY - refused - ignored
    return allow_program(allowed, rules=rules, without_effect=ignored, machine=machine, kill_foreign=True)
