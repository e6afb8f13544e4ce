"""What can go wrong in a search.

::

    GemError
    ├── CorpusError (ValueError)    a corpus cannot be read, or a document of it is not one
    └── SearchError (RuntimeError)  a search could not be carried out; the agent is told why
"""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["CorpusError", "SearchError"]


class CorpusError(GemError, ValueError):
    """A corpus that cannot be read; the message names the file and the line."""


class SearchError(GemError, RuntimeError):
    """A search that could not be carried out, for example because no server answers."""
