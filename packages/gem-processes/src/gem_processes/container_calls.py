"""The system calls of processes in a container: :func:`container_program`.

The list follows Docker's default profile for a process without capabilities. It lacks mounting, namespaces,
kernel keys, tracing the kernel, loading code into it, all calls of future kernels, and sockets to the host of a virtual
machine, which no network namespace blocks.
"""

from __future__ import annotations

from gem_processes.seccomp import ADMINISTRATION, NO_NEW_NAMESPACES, ArgumentRule, allow_program
from gem_processes.syscall_numbers import MACHINE, NUMBERS

__all__ = ["container_program"]

_REFUSED = ADMINISTRATION | {
    "_sysctl", "create_module", "get_kernel_syms", "get_mempolicy", "mbind", "migrate_pages", "mount", "move_pages",
    "nfsservctl", "query_module", "set_mempolicy", "set_mempolicy_home_node", "setns", "sysfs", "unshare", "uselib",
    "ustat",
}  # fmt: skip
_FAMILIES = (1, 2, 10, 16, 17)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET."""


def container_program(machine: str = MACHINE) -> bytes:
    """Return the filter in the kernel's format.

    Args:
        machine: the name that ``platform.machine()`` returns.

    Raises:
        OSError: if the system calls of the machine are not known.
    """
    return allow_program(
        NUMBERS.keys() - _REFUSED,
        rules=(ArgumentRule("socket", 0, _FAMILIES), NO_NEW_NAMESPACES),
        without_effect=(),
        machine=machine,
    )
