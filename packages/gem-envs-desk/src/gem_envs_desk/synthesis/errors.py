"""The errors of descriptions and of what is made from them."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["DescriptionError", "UnsupportedSchemaError"]


class DescriptionError(GemError, ValueError):
    """A description cannot become a world; the message says why and what to do."""


class UnsupportedSchemaError(ValueError):
    """A schema says something that the store does not simulate; the message is a phrase for the list of refusals."""
