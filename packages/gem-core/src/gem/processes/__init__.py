"""One home for processes: pools of workers that may hang or crash, and what every part of GEM that forks needs.

::

    from gem.processes import ProcessPool

    pool = ProcessPool("my_package.slow:grade", seconds=1.0)
    pool("2+2", "4")            # from any thread; what my_package.slow.grade("2+2", "4") returns, through JSON

A call that takes too long, dies or needs too much memory costs its own process and nothing else: a warm fork server
replaces the process within milliseconds, and the next call goes on. A pool limits time and memory. It is no sandbox
for hostile code: what runs in a worker can read the user's files and forge the worker's answer. Code that a model
wrote belongs into ``gem_tools.sandbox``.

Beside the pool: :class:`SharedResource` (one object for several users, closed after the last),
:func:`after_fork_in_child` (the one registry of fork hooks) and :func:`usable_cpus`. Names load on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
