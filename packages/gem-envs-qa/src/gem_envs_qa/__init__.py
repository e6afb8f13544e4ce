"""Question answering and logic for language-model agents: a generated world, rule worlds, the published data sets."""

from __future__ import annotations

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
