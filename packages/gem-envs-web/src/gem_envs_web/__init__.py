"""Websites for language-model agents: a generated shop with the pages and the reward of WebShop."""

from __future__ import annotations

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
