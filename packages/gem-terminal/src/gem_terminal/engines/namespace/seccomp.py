"""The system calls that the namespace engine denies its processes: :func:`container_filter`.

The list follows Docker's default profile for a process without capabilities. It denies mounting, namespaces,
kernel keys, tracing the kernel, loading code into it, and sockets to the host of a virtual machine, which no network
namespace blocks.
"""

from __future__ import annotations

from gem.processes.seccomp import ADMINISTRATION, filter_program
from gem.processes.syscall_numbers import MACHINE
from gem_terminal.errors import EngineError

__all__ = ["container_filter"]

_REFUSED = ADMINISTRATION | {
    "_sysctl", "create_module", "get_kernel_syms", "get_mempolicy", "mbind", "migrate_pages", "mount", "move_pages",
    "nfsservctl", "query_module", "set_mempolicy", "set_mempolicy_home_node", "setns", "sysfs", "unshare", "uselib",
    "ustat",
}  # fmt: skip
_AF_VSOCK = 40


def container_filter(machine: str = MACHINE) -> bytes:
    """Return the filter in the kernel's format.

    Args:
        machine: the name that ``platform.machine()`` returns.

    Raises:
        EngineError: if the system calls of the machine are not known.
    """
    try:
        return filter_program(_REFUSED, machine=machine, refused_families=[_AF_VSOCK])
    except OSError as error:
        raise EngineError(
            f"the namespace engine does not know this machine: {error.strerror}; use engine='docker'"
        ) from error
