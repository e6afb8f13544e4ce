"""Filters of system calls (seccomp): :func:`filter_program` builds one from the names of denied calls.

A denied call fails with EPERM; all others are allowed. Every filter also handles calls with the numbers of another
architecture, which it could not recognise, and clone3, whose flags a filter cannot see. The instructions are
those of Linux's ``linux/bpf_common.h``, the actions those of ``linux/seccomp.h``.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable

from gem.processes.syscall_numbers import MACHINE, MACHINES, NUMBERS, numbers_on

__all__ = ["ADMINISTRATION", "filter_program"]

ADMINISTRATION = frozenset((
    "acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "delete_module", "fanotify_init", "finit_module",
    "fsconfig", "fsmount", "fsopen", "fspick", "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup",
    "ioperm", "iopl", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "mount_setattr", "move_mount",
    "open_by_handle_at", "open_tree", "perf_event_open", "pivot_root", "quotactl", "quotactl_fd", "reboot",
    "request_key", "setdomainname", "sethostname", "settimeofday", "swapoff", "swapon", "syslog", "umount2",
    "userfaultfd", "vhangup",
))  # fmt: skip
"""Calls that no confined program needs: they administer the machine, or use rarely tested parts of the kernel."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000

_AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
"""The first number of the x32 interface."""
_NEW_NAMESPACES = 0x7E020080
"""Every ``CLONE_NEW…`` flag."""

_Instruction = tuple[int, int, int, int]
"""The code, the instructions to skip if the comparison holds and if it does not, and the operand."""


def filter_program(
    refused: Iterable[str],
    *,
    machine: str = MACHINE,
    allow_new_namespaces: bool = False,
    refused_families: Iterable[int] = (),
    kill_foreign: bool = False,
) -> bytes:
    """Return a filter in the kernel's format, an array of ``struct sock_filter``.

    Args:
        refused: names of denied system calls; names that the machine does not have are left out.
        machine: one of :data:`gem.processes.syscall_numbers.MACHINES`.
        allow_new_namespaces: whether clone and clone3 may be called with any flags. Otherwise clone cannot create a
            namespace, and clone3 fails as on a kernel without it, so that libraries fall back to clone.
        refused_families: address families that ``socket`` denies.
        kill_foreign: whether a call with another architecture's numbers kills the process; otherwise it fails with
            ENOSYS.

    Raises:
        OSError: if the machine's numbers are unknown.
        KeyError: if a name is not in :data:`gem.processes.syscall_numbers.NUMBERS`.
    """
    numbers = numbers_on(machine)
    if not numbers:
        raise OSError(
            errno.ENOSYS, f"system calls can be filtered on {' and '.join(MACHINES)}, and this machine is {machine}"
        )
    names = sorted(refused)
    absent = set(names) - NUMBERS.keys()
    if absent:
        raise KeyError(f"the numbers of {' and '.join(sorted(absent))} are not known; add them to NUMBERS")
    unknown = (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)
    foreign = (_RETURN, 0, 0, _KILL_PROCESS) if kill_foreign else unknown
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT_ARCHITECTURES[machine]),
        foreign,
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        foreign,
    ]
    if not allow_new_namespaces:
        program += [(_EQUAL, 0, 1, numbers["clone3"]), unknown]
    program += _refusal([numbers[name] for name in names if name in numbers])
    if not allow_new_namespaces:
        program += _refusal_by_argument(numbers["clone"], [(_ANY_BIT, _NEW_NAMESPACES)])
    families = [(_EQUAL, family) for family in refused_families]
    if families:
        program += _refusal_by_argument(numbers["socket"], families)
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _refusal(numbers: list[int]) -> list[_Instruction]:
    """Deny calls by their numbers."""
    if not numbers:
        return []
    # A match jumps to the denial at the end; only the last comparison must jump over it.
    code = [(_EQUAL, len(numbers) - 1 - place, 0, number) for place, number in enumerate(numbers[:-1])]
    return [*code, (_EQUAL, 0, 1, numbers[-1]), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]


def _refusal_by_argument(number: int, comparisons: list[tuple[int, int]]) -> list[_Instruction]:
    """Deny a call whose first argument satisfies a comparison, and allow it otherwise."""
    code: list[_Instruction] = [(_LOAD, 0, 0, _FIRST_ARGUMENT)]
    for comparison, operand in comparisons:
        code += [(comparison, 0, 1, operand), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
    code.append((_RETURN, 0, 0, _ALLOW))
    return [(_EQUAL, 0, len(code), number), *code]
