"""What a container may do and write where its task says nothing; the same on every engine."""

from __future__ import annotations

__all__ = ["CAPABILITIES", "DISK", "SHARED_MEMORY", "files_of"]

CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID")
"""What root inside a container keeps: enough for chown, su and package managers, nothing that reaches outside."""

DISK = 1 << 30
"""Bytes."""

SHARED_MEMORY = 64 << 20
"""Bytes of ``/dev/shm``, as Docker grants them."""


def files_of(size: int) -> int:
    """Return how many files may be made where so many bytes may be written: what `mke2fs` has, twice."""
    return max(size >> 13, 1024)
