"""What executed code may not ask the kernel for, as filters of system calls.

The lists hold what reaches other processes, other users' data or rarely tested corners of the kernel: debugging,
namespaces and mounts, keys, BPF, io_uring, the clock, sockets. Memory that no limit counts (``memfd_create``) and
memory shared beyond an execution (System V) is refused too. All other calls pass.
"""

from __future__ import annotations

from gem.processes.seccomp import ADMINISTRATION, filter_program

__all__ = ["execution_filter", "server_filter"]

_REFUSED = ADMINISTRATION | {
    "accept", "accept4", "adjtimex", "bind", "chroot", "connect", "listen", "memfd_create", "memfd_secret",
    "modify_ldt", "mq_open", "msgget", "name_to_handle_at", "personality", "pidfd_getfd", "process_madvise",
    "process_vm_readv", "process_vm_writev", "ptrace", "semget", "shmat", "shmget", "socket",
}  # fmt: skip

_NEEDED_TO_CONFINE = ("mount", "setns", "unshare")
"""Calls with which the fork server confines each execution, and which the execution then gives up."""


def server_filter() -> bytes:
    """Return the filter that a fork server installs once and every execution inherits.

    Raises:
        OSError: on a machine whose system call numbers are not known.
    """
    return filter_program(_REFUSED, kill_foreign=True)


def execution_filter() -> bytes:
    """Return the filter that each execution adds when it is confined."""
    return filter_program(_NEEDED_TO_CONFINE, allow_new_namespaces=True, kill_foreign=True)
