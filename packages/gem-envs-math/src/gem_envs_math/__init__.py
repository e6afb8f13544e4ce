"""Mathematics for language-model agents: word problems, algebra, drawn geometry, published data sets, and a grader."""

from __future__ import annotations

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
