"""Limits that the kernel keeps for each process by itself (setrlimit): :func:`lower_limits`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

resource: Any
try:
    import resource
except ImportError:  # not on Windows
    resource = None

__all__ = ["address_space", "limit_processor", "lower_limits", "prefer_to_kill"]


def lower_limits(limits: Mapping[str, float]) -> None:
    """Lower limits of this process, soft and hard, as far as the system has them; none is ever raised.

    Args:
        limits: values by names as ``"RLIMIT_AS"``.

    Raises:
        OSError: if Linux refuses one. Other systems refuse some that they have no use for.
    """
    if resource is None:
        return
    for name, value in limits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        lower = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        try:
            resource.setrlimit(kind, (lower, lower))
        except (OSError, ValueError):
            if os.uname().sysname == "Linux":
                raise


def limit_processor(seconds: float) -> None:
    """Let the kernel end this process when it has used so many more whole seconds of processor time than now."""
    if resource is not None:
        soft = int(time.process_time() + seconds)
        with suppress(OSError, ValueError):  # a hard limit that is lower
            resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def address_space(proc: int | None = None) -> int:
    """Return the bytes of address space that this process has; 0 where the system does not tell.

    Args:
        proc: descriptor of a proc file system, for a process that has none mounted.
    """
    try:
        file = os.open("/proc/self/statm" if proc is None else "self/statm", os.O_RDONLY, dir_fd=proc)
        try:
            return int(os.read(file, 100).split()[0]) * os.sysconf("SC_PAGE_SIZE")
        finally:
            os.close(file)
    except (OSError, ValueError):
        return 0


def prefer_to_kill() -> None:
    """When the machine's memory runs out, let the kernel end this process before any other."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123  # pathlib is not loaded
        file.write("1000")
