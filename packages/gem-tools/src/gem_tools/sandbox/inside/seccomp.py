"""Filters of system calls, assembled by hand: what executed code may not ask the kernel for.

The lists hold what reaches other processes, other users' data or rarely tested corners of the kernel: debugging,
namespaces and mounts, keys, BPF, io_uring, the clock, sockets. Memory that no limit counts (``memfd_create``) and
memory shared beyond an execution (System V) is refused too. Everything else passes.
"""

from __future__ import annotations

import errno
import struct

from .syscalls import MACHINE

__all__ = ["of_execution", "of_template"]

# name: (x86_64, aarch64); None where an architecture does not have the call.
_TEMPLATE_REFUSES: dict[str, tuple[int | None, int | None]] = {
    "accept": (43, 202),
    "accept4": (288, 242),
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bind": (49, 200),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "connect": (42, 203),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "listen": (50, 201),
    "lookup_dcookie": (212, 18),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "modify_ldt": (154, None),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "settimeofday": (164, 170),
    "shmat": (30, 196),
    "shmget": (29, 194),
    "socket": (41, 198),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}

# A template needs these to confine each execution.
_EXECUTION_REFUSES: dict[str, tuple[int | None, int | None]] = {
    "mount": (165, 40),
    "setns": (308, 268),
    "unshare": (272, 97),
}

_COLUMN = {"x86_64": 0, "aarch64": 1}
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_NEW_NAMESPACES = 0x7E020080
"""Every ``CLONE_NEW…`` flag."""
_X32 = 0x40000000

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_OF_NUMBER, _OF_ARCHITECTURE, _OF_FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000


def of_template() -> bytes:
    """Return the filter that a template installs once and every execution inherits.

    Raises:
        OSError: on an architecture whose system call numbers are not known here.
    """
    return _program(_TEMPLATE_REFUSES, with_clone=True)


def of_execution() -> bytes:
    """Return the rest, which each execution adds when it is confined."""
    return _program(_EXECUTION_REFUSES, with_clone=False)


def _program(refused: dict[str, tuple[int | None, int | None]], *, with_clone: bool) -> bytes:
    if MACHINE not in _COLUMN:
        raise OSError(errno.ENOSYS, f"no system call filter for the architecture {MACHINE}")
    numbers = [number for both in refused.values() if (number := both[_COLUMN[MACHINE]]) is not None]
    lines = [
        (_LOAD, 0, 0, _OF_ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, _ARCHITECTURE[MACHINE]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _OF_NUMBER),
        (_JUMP_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _KILL),
    ]
    if with_clone:
        # The C library falls back on clone, whose flags a filter can see.
        lines += [(_JUMP_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    lines += [(_JUMP_EQUAL, len(numbers) - 1 - index, 0, number) for index, number in enumerate(numbers)]
    # The last comparison falls through to the refusal when it matches, so jump over it when it does not.
    lines[-1] = (_JUMP_EQUAL, 0, 1, numbers[-1])
    lines.append((_RETURN, 0, 0, _ERRNO | errno.EPERM))
    if with_clone:
        lines += [
            (_JUMP_EQUAL, 0, 3, _CLONE[MACHINE]),
            (_LOAD, 0, 0, _OF_FIRST_ARGUMENT),
            (_JUMP_ANY_BIT, 0, 1, _NEW_NAMESPACES),
            (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        ]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
