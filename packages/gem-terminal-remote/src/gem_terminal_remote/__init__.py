"""Terminal tasks on other machines: engines of workers, fleets of several engines, pods of a cluster.

::

    env = gem.make("terminal:Folder-v0", path="my-tasks", engine="fleet:wss://one:7070,wss://two:7070")

Everything loads on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
