"""Resource limits that the kernel enforces for each process (setrlimit): :func:`lower_limits`."""

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
    """Lower soft and hard limits of this process, as far as the system has them; never raises a limit.

    Args:
        limits: values by name, for example ``"RLIMIT_AS"``.

    Raises:
        OSError: if Linux rejects a limit. Other systems reject limits that they do not support.
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
    """Let the kernel end this process after this many more whole seconds of processor time."""
    if resource is not None:
        soft = int(time.process_time() + seconds)
        with suppress(OSError, ValueError):  # the hard limit is lower
            resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def address_space(proc: int | None = None) -> int:
    """Return the size of this process's address space in bytes; 0 if the system does not report it.

    Args:
        proc: the descriptor of a proc file system, for a process without a mounted one.
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
    """Make the kernel choose this process first when the machine's memory runs out."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123  # pathlib is not loaded
        file.write("1000")
