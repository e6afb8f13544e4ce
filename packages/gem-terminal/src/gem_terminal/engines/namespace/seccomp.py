"""The system calls that a process of the namespace engine is refused: :func:`program`.

What Docker's default profile refuses a process without capabilities, as a list of what is denied: mounting, namespaces,
kernel keys, tracing the kernel, loading code into it, and sockets to the machine that runs this one, which no network
namespace holds back. The numbers are those of ``asm/unistd_64.h`` and ``asm-generic/unistd.h`` of Linux, the
instructions those of ``linux/bpf_common.h``, and the actions those of ``linux/seccomp.h``.
"""

from __future__ import annotations

import errno
import platform
import struct

from gem_terminal.errors import EngineError

__all__ = ["program"]

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000

_NEW_NAMESPACES = 0x7E020000
"""The flags of clone(2) that make a namespace."""
_AF_VSOCK = 40
_X32 = 0x40000000
"""Numbers from here on are those of the x32 interface, which none of the denied ones would match."""

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_DENIED = {
    # name: (x86_64, aarch64); None where there is no such call
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_kernel_syms": (177, None),
    "get_mempolicy": (239, 236),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "query_module": (178, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, None),
    "_sysctl": (156, None),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "ustat": (136, None),
    "vhangup": (153, 58),
}
_CLONE, _CLONE3, _SOCKET = (56, 220), (435, 435), (41, 198)


def program(machine: str | None = None) -> bytes:
    """Return the filter as the kernel takes it, an array of ``struct sock_filter``.

    Args:
        machine: as ``platform.machine()`` names it; None for this one.

    Raises:
        EngineError: if the system calls of this machine are not known here.
    """
    machine = machine or platform.machine()
    if machine not in _ARCHITECTURES:
        raise EngineError(
            f"the namespace engine knows the system calls of {' and '.join(_ARCHITECTURES)}, and this machine is "
            f"{machine}; use engine='docker'"
        )
    column = list(_ARCHITECTURES).index(machine)
    refused = _instruction(_RETURN, _FAIL | errno.EPERM)
    unknown = _instruction(_RETURN, _FAIL | errno.ENOSYS)
    allowed = _instruction(_RETURN, _ALLOW)
    # A jump skips as many instructions as its first number says if it holds, and as its second says if it does not.
    code = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, _ARCHITECTURES[machine], 1, 0),
        unknown,  # the numbers of 32-bit programs are others
        _instruction(_LOAD, _NUMBER),
        _instruction(_AT_LEAST, _X32, 0, 1),
        unknown,
        # The C library falls back to clone(), whose flags can be seen from here.
        _instruction(_EQUAL, _CLONE3[column], 0, 1),
        unknown,
    ]
    for numbers in _DENIED.values():
        number = numbers[column]
        if number is not None:
            code += [_instruction(_EQUAL, number, 0, 1), refused]
    code += [
        _instruction(_EQUAL, _CLONE[column], 0, 4),
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_ANY_BIT, _NEW_NAMESPACES, 0, 1),
        refused,
        allowed,
        _instruction(_EQUAL, _SOCKET[column], 0, 3),
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_EQUAL, _AF_VSOCK, 0, 1),
        refused,
        allowed,
    ]
    return b"".join(code)


def _instruction(code: int, operand: int, holds: int = 0, fails: int = 0) -> bytes:
    return struct.pack("<HBBI", code, holds, fails, operand)
