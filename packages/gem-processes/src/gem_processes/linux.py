"""Linux system calls that Python does not provide, through ctypes.

The numbers are those of ``sched.h``, ``sys/mount.h``, ``linux/prctl.h`` and ``linux/capability.h``. This module can be
imported on Linux alone.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Container

from gem_processes.syscall_numbers import numbers_on

__all__ = [
    "CLONE_FS",
    "CLONE_NEWCGROUP",
    "CLONE_NEWIPC",
    "CLONE_NEWNET",
    "CLONE_NEWNS",
    "CLONE_NEWPID",
    "CLONE_NEWUSER",
    "CLONE_NEWUTS",
    "Init",
    "adopt_orphans",
    "attach_mount",
    "bind",
    "bound_capabilities",
    "close_from",
    "copy_of_mount",
    "detach",
    "die_with_parent",
    "drop_capabilities",
    "enable_loopback",
    "has_ipv6",
    "make_dumpable",
    "make_opaque",
    "make_private",
    "mount",
    "mount_processes",
    "mount_tmpfs",
    "no_new_privileges",
    "pivot_root",
    "read_only",
    "seccomp",
    "setns",
    "unshare",
]

CLONE_FS = 0x00000200
CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_MNT_DETACH = 2
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH = 1, 4
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_CHILD_SUBREAPER = 1, 4, 22, 36
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 24, 38, 47, 4
_CAPABILITIES = 41
"""CAP_CHOWN is 0; the last capability of Linux, CAP_CHECKPOINT_RESTORE, is 40."""
_SECCOMP_MODE_FILTER = 2
_CLONE_VM, _CLONE_FILES = 0x100, 0x400
_STACK, _CONTEXT, _ALIGNMENT = 16384, 8192, 64
"""Bytes; a context is at most 4,560 bytes long (aarch64)."""

_NUMBERS = numbers_on()

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
_prctl = _libc.prctl
_prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
_mount = _libc.mount
_mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


class _ContextHead(ctypes.Structure):
    """The beginning of ``ucontext_t`` of glibc, the same on x86_64 and aarch64."""

    _fields_ = [
        ("flags", ctypes.c_ulong),
        ("following", ctypes.c_void_p),
        ("stack", ctypes.c_void_p),
        ("stack_flags", ctypes.c_int),
        ("size", ctypes.c_size_t),
    ]


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def _checked(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _call(name: str, *arguments: object) -> int:
    """Make a system call that has no function in some C libraries."""
    result: int = _syscall(_NUMBERS.get(name, -1), *arguments)
    return result


def unshare(flags: int) -> None:
    """Move this process (for ``CLONE_NEWPID`` its later children) into new namespaces."""
    _checked(_libc.unshare(flags), "unshare")


def setns(descriptor: int, kind: int) -> None:
    """Enter the namespace of a descriptor."""
    _checked(_libc.setns(descriptor, kind), "setns")


def make_private() -> None:
    """Hide the mounts of this process from all other processes."""
    _checked(_mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "mount --make-rprivate /")


def mount(kind: str, where: str, options: str, flags: int = 0, source: str | None = None) -> None:
    """Mount a file system, which needs no device unless ``source`` names one."""
    done = _mount(os.fsencode(source or kind), os.fsencode(where), kind.encode(), flags, os.fsencode(options))
    _checked(done, f"mounting {kind} at {where}")


def mount_tmpfs(where: str, options: str) -> None:
    """Mount an empty file system in memory, without devices and set-user-id programs."""
    mount("tmpfs", where, options, _MS_NOSUID | _MS_NODEV)


def mount_processes(where: str, *, only_own: bool = False) -> None:
    """Mount the proc file system of this process namespace, read-only.

    Args:
        where: the folder.
        only_own: show nothing but processes, and of these only the ones that the reader could trace.
    """
    options = "subset=pid,hidepid=2" if only_own else ""
    mount("proc", where, options, _MS_RDONLY | _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def bind(source: str, target: str) -> None:
    """Bind a file or folder to a second path, with the mounts below it."""
    done = _mount(os.fsencode(source), os.fsencode(target), None, _MS_BIND | _MS_REC, None)
    _checked(done, f"bind mount of {source}")


def read_only(path: str, *, recursive: bool = True, devices: bool = False) -> None:
    """Make a mount read-only and without set-user-id programs, and without devices unless they are allowed."""
    wanted = _MountAttributes(_ATTR_RDONLY | _ATTR_NOSUID | (0 if devices else _ATTR_NODEV), 0, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    done = _call("mount_setattr", _AT_FDCWD, os.fsencode(path), flags, ctypes.byref(wanted), ctypes.sizeof(wanted))
    _checked(done, f"read-only mount at {path}")


def copy_of_mount(path: str) -> int:
    """Return a descriptor of a copy of a file or folder as a mount, read-only and without set-user-id programs.

    It belongs to no mount namespace, so that :func:`attach_mount` can attach it in another one. Mounts below the path
    are not in it.
    """
    tree = _call("open_tree", _AT_FDCWD, os.fsencode(path), _OPEN_TREE_CLONE | os.O_CLOEXEC)
    _checked(tree, f"open_tree of {path}")
    wanted = _MountAttributes(_ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV, 0, 0, 0)
    done = _call("mount_setattr", tree, b"", _AT_EMPTY_PATH, ctypes.byref(wanted), ctypes.sizeof(wanted))
    try:
        _checked(done, f"read-only mount of {path}")
    except OSError:
        os.close(tree)
        raise
    return tree


def attach_mount(descriptor: int, target: str) -> None:
    """Attach a mount of :func:`copy_of_mount` to a path of this process's mount namespace."""
    done = _call("move_mount", descriptor, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH)
    _checked(done, f"mount at {target}")


def pivot_root(new: str, old: str) -> None:
    """Make ``new`` the root of the file system; the old one is then at ``old``."""
    _checked(_call("pivot_root", new.encode(), old.encode()), "pivot_root")


def detach(path: str) -> None:
    """Unmount a whole tree."""
    _checked(_libc.umount2(path.encode(), _MNT_DETACH), f"unmounting {path}")


def drop_capabilities() -> None:
    """Drop every capability in this user namespace."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _checked(_call("capset", header, (ctypes.c_uint32 * 6)()), "capset")


def die_with_parent() -> None:
    """Request a kill signal for the end of the parent (the thread that started this process)."""
    _checked(_prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0), "PR_SET_PDEATHSIG")


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parents end."""
    _checked(_prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "PR_SET_CHILD_SUBREAPER")


def bound_capabilities(kept: Container[int]) -> None:
    """Drop all capabilities except these for all programs executed from now on."""
    for capability in range(_CAPABILITIES):
        if capability not in kept:
            _prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # an old kernel does not have all of them
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)


def make_dumpable() -> None:
    """Restore the ownership of the process's files in /proc after a change of user."""
    _checked(_prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "PR_SET_DUMPABLE")


def make_opaque() -> None:
    """Keep processes without privileges out of this process's memory and its files in /proc."""
    _checked(_prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "PR_SET_DUMPABLE")


def enable_loopback() -> None:
    """Enable 127.0.0.1, and ::1 if :func:`has_ipv6`, in the network namespace of this process."""
    import fcntl
    import socket
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        fcntl.ioctl(link, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))


def has_ipv6(processes: int) -> bool:
    """Return whether the loopback of this process's network namespace may have ::1.

    Args:
        processes: a descriptor of ``/proc``.
    """
    try:
        file = os.open("sys/net/ipv6/conf/lo/disable_ipv6", os.O_RDONLY, dir_fd=processes)
    except OSError:  # the kernel has no IPv6
        return False
    try:
        return os.read(file, 2) == b"0\n"
    finally:
        os.close(file)


def no_new_privileges() -> None:
    """Disable privilege gains through executed files, for this process and its descendants."""
    _checked(_prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS")


def seccomp(program: bytes) -> None:
    """Install a filter, a sequence of BPF instructions of 8 bytes each."""
    held = _FilterProgram(len(program) // 8, program)
    _checked(
        _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(held), 0, 0),
        "PR_SET_SECCOMP",
    )


class Init:
    """The first process of a new process namespace: it waits, and reaps what other processes there leave behind.

    It is a child of this process and shares its memory and descriptors, so that its start costs no copy. Its signals
    are blocked, and it runs two functions of the C library: ``signal``, to have the kernel reap its children, and
    ``pause``. The object holds its stack and must live until the process has been reaped.

    Raises:
        OSError: if the process cannot be started.
        AttributeError: if the C library cannot change contexts (musl).
    """

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(3 * _STACK + 2 * _CONTEXT + _ALIGNMENT)
        first = -(-ctypes.addressof(self._memory) // _ALIGNMENT) * _ALIGNMENT
        stacks = [first + number * _STACK for number in range(3)]
        ignore, wait = (first + 3 * _STACK + number * _CONTEXT for number in range(2))
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            for context, stack, following in ((ignore, stacks[0], wait), (wait, stacks[1], None)):
                _checked(_libc.getcontext(ctypes.c_void_p(context)), "getcontext")
                head = _ContextHead.from_address(context)
                head.following, head.stack, head.size = following, stack, _STACK
            ignored = signal.SIGCHLD, ctypes.c_long(signal.SIG_IGN)
            _libc.makecontext(ctypes.c_void_p(ignore), _libc.signal, len(ignored), *ignored)
            _libc.makecontext(ctypes.c_void_p(wait), _libc.pause, 0)
            function = ctypes.cast(_libc.setcontext, ctypes.c_void_p)
            flags = _CLONE_VM | CLONE_FS | _CLONE_FILES | signal.SIGCHLD
            self.pid: int = _libc.clone(function, ctypes.c_void_p(stacks[2] + _STACK), flags, ctypes.c_void_p(ignore))
            """Its process id in the namespace of this process."""
            _checked(self.pid, "clone")
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def close_from(first: int) -> None:
    """Close every descriptor from this one on."""
    if _call("close_range", first, ctypes.c_uint(0xFFFFFFFF), 0) < 0:
        os.closerange(first, os.sysconf("SC_OPEN_MAX"))
