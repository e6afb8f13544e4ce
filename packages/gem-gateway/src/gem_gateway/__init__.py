"""The door for agent programs that own their loop: a gateway for their model calls, and harnesses that run them."""

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
