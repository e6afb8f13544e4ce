"""GEM environments as a service: the server behind ``gem serve``, and the client behind ``gem.make("http://…")``."""

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
