"""Every data set of reasoning-gym as an environment for language-model agents, scored safely."""

from __future__ import annotations

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
