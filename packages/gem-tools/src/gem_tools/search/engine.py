"""The interface of search engines: :class:`SearchEngine`, which returns :class:`SearchHit` objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = ["MOST_HITS", "SearchEngine", "SearchHit"]

MOST_HITS = 100
"""The largest number of results of one query."""


@dataclass(frozen=True)
class SearchHit:
    """One document of a result."""

    id: str
    """The id of the document in the corpus; for a web page, its address."""
    contents: str
    """A title on the first line, the text below; as in the corpora of Search-R1, the title is often in quotes."""
    score: float | None = None
    """The score, higher is better; comparable only within one answer. None if the engine reports none."""

    @property
    def heading(self) -> str:
        """The first line, unchanged."""
        return self.contents.partition("\n")[0]

    @property
    def title(self) -> str:
        """The first line without the quotes around it."""
        heading = self.heading.strip()
        quoted = len(heading) >= 2 and heading[0] == heading[-1] == '"'
        return heading[1:-1] if quoted else heading

    @property
    def text(self) -> str:
        """The text below the first line."""
        return self.contents.partition("\n")[2]


@runtime_checkable
class SearchEngine(Protocol):
    """A search engine; any number of threads may use one at once."""

    def search(self, query: str, topk: int) -> list[SearchHit]:
        """Return at most ``topk`` documents, the best first; none if no document matches the query.

        Raises:
            SearchError: if the search failed.
        """

    def close(self) -> None:
        """Release the resources of the engine. A second call does nothing; a later search opens the engine again."""
