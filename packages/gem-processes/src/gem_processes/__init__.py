"""Processes of GEM: pools of workers that may hang or crash, and shared helpers for code that forks.

::

    from gem_processes import ProcessPool

    pool = ProcessPool("my_package.slow:grade", seconds=1.0)
    pool("2+2", "4")            # from any thread; the result of my_package.slow.grade("2+2", "4"), through JSON

A call that takes too long, dies or needs too much memory only costs its own process: a warm fork server
replaces the process within milliseconds for the next call. A pool limits time and memory. It is not a sandbox
for hostile code: code in a worker can read the user's files and forge the worker's answer. Code that a model
wrote must run in ``gem_tools.sandbox``.

Beside the pool: :class:`LineWorker` (a script in a Python of the user's), :class:`SharedResource` (one object for
several users, closed after the last), :func:`after_fork_in_child` (the one registry of fork hooks) and
:func:`usable_cpus`. Names load on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
