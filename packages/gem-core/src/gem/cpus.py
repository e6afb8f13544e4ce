"""The number of processors that this process may use: :func:`usable_cpus`."""

from __future__ import annotations

import os
import sys

__all__ = ["usable_cpus"]


def usable_cpus() -> int:
    """Return the number of processors that this process may use, at least 1: its affinity, if the system has one."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
