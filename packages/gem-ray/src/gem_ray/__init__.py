"""GEM on a Ray cluster: the vectorization mode ``"ray"``, and rollouts whose episodes are sharded over nodes."""

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
