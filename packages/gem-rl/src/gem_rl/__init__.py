"""Reinforcement learning on GEM environments, for any trainer: advantages, masks, curricula, diagnostics."""

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
