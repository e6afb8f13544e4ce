"""Calling functions that may hang, crash or eat memory, on whatever a model wrote.

::

    pool = BoundedPool("my_package.slow:grade", seconds=1.0)
    pool("2+2", "4")            # from any thread; what my_package.slow.grade("2+2", "4") returns, through JSON

A call that takes too long, dies or needs too much memory costs its own process and nothing else: the next call is
answered at once, by a process that a warm template forks within milliseconds.

This bounds time and memory. It is no sandbox for code that means harm: what runs in a worker can read the user's
files and can forge the worker's answer. Code that a model wrote belongs into ``gem_tools.sandbox``.
"""

from __future__ import annotations

from gem.bounded.pool import BoundedPool, Lease
from gem.errors import BoundedCallError, BoundedCrashError, BoundedTimeoutError

__all__ = ["BoundedCallError", "BoundedCrashError", "BoundedPool", "BoundedTimeoutError", "Lease"]
