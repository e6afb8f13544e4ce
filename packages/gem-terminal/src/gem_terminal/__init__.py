"""Terminal tasks in containers for language-model agents, at training speed.

::

    env = gem.make("terminal:Folder-v0", path="my-tasks")

Everything loads on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
