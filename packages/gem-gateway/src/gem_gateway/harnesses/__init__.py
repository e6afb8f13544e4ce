"""Harnesses: how agent programs are installed, started, told their model and task, given tools, and stopped."""

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
