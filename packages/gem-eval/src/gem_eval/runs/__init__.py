"""Runs: their folders, their configuration, the evaluation that fills them."""

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
