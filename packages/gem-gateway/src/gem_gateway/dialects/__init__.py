"""The interfaces in which agent programs speak to their model: one module for each."""

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
