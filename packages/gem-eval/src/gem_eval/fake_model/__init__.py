"""An OpenAI-compatible model server with a scripted policy behind it, and every fault that real servers show."""

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
