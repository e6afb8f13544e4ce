"""Errors of searches.

::

    GemError
    ├── CorpusError (ValueError)    a corpus cannot be read, or a document is invalid
    └── SearchError (RuntimeError)  a search failed; the agent gets the reason
"""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["CorpusError", "SearchError"]


class CorpusError(GemError, ValueError):
    """A corpus that cannot be read; the message names the file and the line."""


class SearchError(GemError, RuntimeError):
    """A search failed, for example because no server answers."""
