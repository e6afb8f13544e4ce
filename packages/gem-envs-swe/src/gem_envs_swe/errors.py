"""The errors of this package."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["SweError"]


class SweError(GemError, ValueError):
    """A package, a set or a row that cannot become tasks; the message says why and what to do."""
