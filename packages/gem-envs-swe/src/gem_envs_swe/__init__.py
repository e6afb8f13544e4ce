"""Software engineering on real repositories, made from packages, proved, offline.

::

    env = gem.make("swe:Folder-v0", path="tasks-of-more-itertools")

Everything loads on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
