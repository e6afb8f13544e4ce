"""The default limits of a container, equal on every engine."""

from __future__ import annotations

__all__ = ["CAPABILITIES", "DISK", "SEARCH_PATH", "SHARED_MEMORY", "files_of"]

CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID")
"""The capabilities of root in a container: enough for chown, su and package managers, with no effect outside."""

DISK = 1 << 30
"""Bytes."""

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The variable ``PATH`` of an image that sets none, as in Docker."""

SHARED_MEMORY = 64 << 20
"""Bytes of ``/dev/shm``, as in Docker."""


def files_of(size: int) -> int:
    """Return the limit on files for a disk of ``size`` bytes: twice the number of inodes that `mke2fs` creates."""
    return max(size >> 13, 1024)
