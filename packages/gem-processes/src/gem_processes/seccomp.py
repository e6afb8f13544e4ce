"""Filters of system calls (seccomp): :func:`allow_program` builds one from the names of allowed calls.

A filter decides on every call as follows:

* A call of the list is allowed; an :class:`ArgumentRule` can restrict it to some values of an argument.
* A call without effect returns 0, and the kernel does nothing.
* Any other call of :data:`~gem_processes.syscall_numbers.NUMBERS` fails with EPERM.
* A number that the table does not have fails with ENOSYS, as on a kernel without the call, so that a new kernel adds
  nothing to a filter.

Every filter also handles calls with the numbers of another architecture, which it could not recognise, and clone3,
whose flags a filter cannot see: it fails with ENOSYS, so that libraries fall back to clone. The instructions are those
of Linux's ``linux/bpf_common.h``, the actions those of ``linux/seccomp.h``.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable
from typing import NamedTuple

from gem_processes.syscall_numbers import MACHINE, MACHINES, NUMBERS, numbers_on

__all__ = [
    "ADMINISTRATION",
    "NO_NEW_NAMESPACES",
    "ORDINARY",
    "ORDINARY_RULES",
    "WITHOUT_EFFECT",
    "ArgumentRule",
    "allow_program",
    "restrict_program",
]

ADMINISTRATION = frozenset((
    "acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "delete_module", "fanotify_init", "finit_module",
    "fsconfig", "fsmount", "fsopen", "fspick", "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup",
    "ioperm", "iopl", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "mount_setattr", "move_mount",
    "open_by_handle_at", "open_tree", "open_tree_attr", "perf_event_open", "pivot_root", "quotactl", "quotactl_fd",
    "reboot", "request_key", "setdomainname", "sethostname", "settimeofday", "swapoff", "swapon", "syslog", "umount2",
    "userfaultfd", "vhangup",
))  # fmt: skip
"""Calls that no confined program needs: they administer the machine, or use rarely tested parts of the kernel."""

_FILES = (
    "access", "chdir", "chmod", "chown", "close", "close_range", "copy_file_range", "creat", "dup", "dup2", "dup3",
    "faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown",
    "fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr", "fsetxattr", "fstat",
    "fstatfs", "fsync", "ftruncate", "futimesat", "getcwd", "getdents", "getdents64", "getxattr", "ioctl", "lchown",
    "lgetxattr", "link", "linkat", "listxattr", "llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "mkdir",
    "mkdirat", "mknod", "mknodat", "newfstatat", "open", "openat", "openat2", "pipe", "pipe2", "pread64", "preadv",
    "preadv2", "pwrite64", "pwritev", "pwritev2", "read", "readlink", "readlinkat", "readv", "removexattr", "rename",
    "renameat", "renameat2", "rmdir", "sendfile", "setxattr", "splice", "stat", "statfs", "statx", "symlink",
    "symlinkat", "sync_file_range", "truncate", "umask", "unlink", "unlinkat", "utime", "utimensat", "utimes", "write",
    "writev",
)  # fmt: skip
_EVENTS = (
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd", "eventfd2",
    "poll", "ppoll", "pselect6", "select", "signalfd", "signalfd4", "timerfd_create", "timerfd_gettime",
    "timerfd_settime",
)  # fmt: skip
_MEMORY = (
    "brk", "madvise", "membarrier", "mlock", "mlock2", "mlockall", "mmap", "mprotect", "mremap", "msync", "munlock",
    "munlockall", "munmap",
)  # fmt: skip
_PROCESSES = (
    "arch_prctl", "clone", "execve", "execveat", "exit", "exit_group", "fork", "futex", "futex_requeue", "futex_wait",
    "futex_waitv", "futex_wake", "get_robust_list", "getcpu", "getpgid", "getpgrp", "getpid", "getppid", "getpriority",
    "getsid", "gettid", "kill", "pidfd_open", "pidfd_send_signal", "prctl", "restart_syscall", "rseq",
    "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getparam", "sched_getscheduler",
    "sched_yield", "set_robust_list", "set_tid_address", "setpgid", "setsid", "tgkill", "tkill", "vfork", "wait4",
    "waitid",
)  # fmt: skip
_SIGNALS_AND_CLOCKS = (
    "alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday", "nanosleep", "pause",
    "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigtimedwait", "rt_tgsigqueueinfo", "setitimer", "sigaltstack", "time", "timer_create", "timer_delete",
    "timer_getoverrun", "timer_gettime", "timer_settime", "times",
)  # fmt: skip
_USERS_AND_LIMITS = (
    "capget", "capset", "getegid", "geteuid", "getgid", "getgroups", "getrandom", "getresgid", "getresuid",
    "getrlimit", "getrusage", "getuid", "prlimit64", "setfsgid", "setfsuid", "setgid", "setgroups", "setregid",
    "setresgid", "setresuid", "setreuid", "setrlimit", "setuid", "sysinfo", "uname",
)  # fmt: skip
_SOCKET_PAIRS = (
    "getpeername", "getsockname", "getsockopt", "recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto",
    "setsockopt", "shutdown", "socketpair",
)  # fmt: skip

ORDINARY = frozenset(
    (*_FILES, *_EVENTS, *_MEMORY, *_PROCESSES, *_SIGNALS_AND_CLOCKS, *_USERS_AND_LIMITS, *_SOCKET_PAIRS)
)
"""The calls that ordinary programs need: interpreters, numerical libraries, threads, subprocesses, compilers.

They reach no socket but pairs of their own, and none of the kernel's quotas that all processes of a user share
(``inotify``, asynchronous I/O, keys) or memory that no limit counts (``memfd_create``, System V).
"""

WITHOUT_EFFECT = frozenset(("setpriority", "sync", "syncfs"))
"""Calls that ordinary programs make and whose effect would reach other programs, or delay the end of their own."""

_CLONE_NEW = 0x7E020080
"""Every ``CLONE_NEW…`` flag."""
_AF_UNIX = 1
_SOCKET_TYPE = 0xF
"""The bits of a socket's type without its flags (``SOCK_TYPE_MASK``)."""
_SOCK_STREAM, _SOCK_SEQPACKET = 1, 5

_FCNTL = (*range(12), 15, 16, 36, 37, 38, 1030, 1032, 1033, 1034)
"""Duplicates, flags, locks, owners, seals. Not leases, directory notification, or the size of a pipe."""
_IOCTL = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x5452)
"""Is it a terminal, its group and size; available bytes, non-blocking, close-on-exec, signals."""
_PRCTL = (
    *(1, 2, 3), *(7, 8), *(15, 16), 21, *range(23, 31), *range(36, 43), 47, *(52, 53), *range(54, 62), 0x53564D41,
)  # fmt: skip
"""From ``linux/prctl.h``. Not further filters, core scheduling, memory maps, the dispatch of calls, or PR_SET_DUMPABLE,
which hides a process from those that measure it."""
_SOL_SOCKET = 1
_SOCKET_OPTIONS = (2, 9, 13, 16, 20, 21, 66, 67)
"""Reuse, keep-alive, linger, credentials, time limits. Not the sizes of buffers or filters."""


class ArgumentRule(NamedTuple):
    """Restricts a call to some values of an argument, whose lower 32 bits count."""

    call: str
    argument: int
    """The number of the argument, from 0."""
    values: Iterable[int]
    """The allowed values, after ``mask``."""
    mask: int = 0xFFFFFFFF
    error: int = errno.EPERM
    """The error of a call with another value; 0: it returns 0 without effect."""
    refuses: bool = False
    """Whether the values are the refused ones instead."""
    when: tuple[int, int] | None = None
    """The number and the value of another argument of the calls that the rule restricts; None for all calls."""


NO_NEW_NAMESPACES = ArgumentRule("clone", 0, (0,), mask=_CLONE_NEW)
"""clone creates processes and threads, and no namespaces."""

ORDINARY_RULES = (
    ArgumentRule("socketpair", 0, (_AF_UNIX,)),
    # Datagram sockets can take a name in the network namespace, under which others reach them.
    ArgumentRule("socketpair", 1, (_SOCK_STREAM, _SOCK_SEQPACKET), mask=_SOCKET_TYPE),
    ArgumentRule("setsockopt", 1, (_SOL_SOCKET,), error=0),
    ArgumentRule("setsockopt", 2, _SOCKET_OPTIONS, error=0),
    ArgumentRule("fcntl", 1, _FCNTL),
    ArgumentRule("ioctl", 1, _IOCTL, error=errno.ENOTTY),
    ArgumentRule("prctl", 0, _PRCTL, error=errno.EINVAL),
)
"""What :data:`ORDINARY` leaves open: kernel memory beyond the size of a socket's or pipe's buffer, notifications of
other processes' files, devices."""

_LOAD, _JUMP, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _ARGUMENT_SIZE = 0, 4, 16, 8
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_FARTHEST = 255
"""The longest conditional jump."""

_AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
"""The first number of the x32 interface."""

_Instruction = tuple[int, int, int, int]
"""The code, the instructions to skip if the comparison holds and if it does not, and the operand."""
_Code = tuple[_Instruction, ...]


def allow_program(
    allowed: Iterable[str],
    *,
    rules: Iterable[ArgumentRule] = (*ORDINARY_RULES, NO_NEW_NAMESPACES),
    without_effect: Iterable[str] = WITHOUT_EFFECT,
    machine: str = MACHINE,
    kill_foreign: bool = False,
) -> bytes:
    """Return a filter that allows some calls and refuses all others.

    Args:
        allowed: names of calls, for example :data:`ORDINARY`; names that the machine does not have are left out.
        rules: restrictions of calls that are allowed or without effect; several rules of one call must all hold.
        without_effect: calls that return 0 and do nothing.
        machine: one of :data:`gem_processes.syscall_numbers.MACHINES`.
        kill_foreign: whether a call with another architecture's numbers kills the process; otherwise it fails with
            ENOSYS.

    Returns:
        An array of ``struct sock_filter``, the kernel's format.

    Raises:
        OSError: if the machine's numbers are unknown.
        KeyError: if a name is not in :data:`gem_processes.syscall_numbers.NUMBERS`.
    """
    refused: dict[str, _Code] = dict.fromkeys(NUMBERS, _error(errno.EPERM))
    decisions = dict.fromkeys(_known(allowed), _ALLOWED) | dict.fromkeys(_known(without_effect), _error(0))
    return _program({**refused, **_restricted(decisions, rules)}, _error(errno.ENOSYS), machine, kill_foreign)


def restrict_program(
    refused: Iterable[str],
    *,
    rules: Iterable[ArgumentRule] = (NO_NEW_NAMESPACES,),
    machine: str = MACHINE,
    kill_foreign: bool = False,
) -> bytes:
    """Return a filter that takes calls away from a process that already has an :func:`allow_program`.

    The kernel asks both filters, and the stricter answer counts. Alone this filter allows every call that it does not
    name.

    Args:
        refused: names of the calls to refuse with EPERM.
        rules: see :func:`allow_program`.
        machine: see :func:`allow_program`.
        kill_foreign: see :func:`allow_program`.

    Raises:
        OSError: see :func:`allow_program`.
        KeyError: see :func:`allow_program`.
    """
    rules = tuple(rules)
    decisions = dict.fromkeys([rule.call for rule in rules], _ALLOWED)
    decisions |= dict.fromkeys(_known(refused), _error(errno.EPERM))
    return _program(_restricted(decisions, rules), _ALLOWED, machine, kill_foreign)


def _error(number: int) -> _Code:
    return ((_RETURN, 0, 0, _ERRNO | number),)


_ALLOWED: _Code = ((_RETURN, 0, 0, _ALLOW),)


def _known(names: Iterable[str]) -> list[str]:
    names = sorted(names)
    absent = set(names) - NUMBERS.keys()
    if absent:
        raise KeyError(f"the numbers of {' and '.join(sorted(absent))} are not known; add them to NUMBERS")
    return names


def _restricted(decisions: dict[str, _Code], rules: Iterable[ArgumentRule]) -> dict[str, _Code]:
    """Put the tests of the rules before the decisions on calls that are not refused; clone3 is never there."""
    decided = dict(decisions)
    for rule in rules:
        _known([rule.call])
        if decisions.get(rule.call) in (_ALLOWED, _error(0)):
            decided[rule.call] = (*_test(rule), *decided[rule.call])
    return {**decided, "clone3": _error(errno.ENOSYS)}


def _test(rule: ArgumentRule) -> _Code:
    """Return if the rule refuses the call, else go on behind these instructions."""
    values = list(rule.values)
    behind = len(values) - 1 if rule.refuses else len(values)
    comparisons = [(_EQUAL, behind - place, 0, value) for place, value in enumerate(values)]
    if rule.refuses:
        comparisons[-1] = (_EQUAL, 0, 1, values[-1])
    test = (_load(rule.argument), (_AND, 0, 0, rule.mask), *comparisons, *_error(rule.error))
    if rule.when is None:
        return test
    argument, value = rule.when
    return (_load(argument), (_EQUAL, 0, len(test), value), *test)


def _load(argument: int) -> _Instruction:
    return (_LOAD, 0, 0, _FIRST_ARGUMENT + _ARGUMENT_SIZE * argument)


def _program(decisions: dict[str, _Code], otherwise: _Code, machine: str, kill_foreign: bool) -> bytes:
    numbers = numbers_on(machine)
    if not numbers:
        raise OSError(
            errno.ENOSYS, f"system calls can be filtered on {' and '.join(MACHINES)}, and this machine is {machine}"
        )
    foreign: _Code = ((_RETURN, 0, 0, _KILL_PROCESS),) if kill_foreign else _error(errno.ENOSYS)
    decided = {numbers[name]: decision for name, decision in decisions.items() if name in numbers}
    code: _Code = (
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT_ARCHITECTURES[machine]),
        *foreign,
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        *foreign,
        *_search(_ranges(decided, otherwise)),
    )
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _ranges(decided: dict[int, _Code], otherwise: _Code) -> list[tuple[int, _Code]]:
    """Return the first number and the decision of each range of numbers with one decision."""
    ranges: list[tuple[int, _Code]] = []
    for number in range(max(decided) + 2):
        decision = decided.get(number, otherwise)
        if not ranges or ranges[-1][1] != decision:
            ranges.append((number, decision))
    return ranges


def _search(ranges: list[tuple[int, _Code]]) -> _Code:
    """Return a binary search, because the kernel evaluates a new filter for every number."""
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    lower, upper = _search(ranges[:middle]), _search(ranges[middle:])
    first = ranges[middle][0]
    if len(lower) <= _FARTHEST:
        return ((_AT_LEAST, len(lower), 0, first), *lower, *upper)
    return ((_AT_LEAST, 0, 1, first), (_JUMP, 0, 0, len(lower)), *lower, *upper)
