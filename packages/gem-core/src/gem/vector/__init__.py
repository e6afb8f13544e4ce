"""Many environments as one: lock-step ``step``, and ``send``/``recv`` for those that run ahead of each other."""

from gem.vector.base import VectorEnv
from gem.vector.env_runner import AutoresetMode
from gem.vector.make import EnvMaker, make_vec
from gem.vector.results import Ready

__all__ = ["AutoresetMode", "EnvMaker", "Ready", "VectorEnv", "make_vec"]
