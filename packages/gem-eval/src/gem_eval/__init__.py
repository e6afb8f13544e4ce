"""Evaluation of language models on GEM environments, from a model endpoint to a score with its uncertainty."""

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
