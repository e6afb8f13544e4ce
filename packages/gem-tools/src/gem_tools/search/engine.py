"""What the tool and the server search with: :class:`SearchEngine`, which finds :class:`SearchHit` objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = ["MOST_HITS", "SearchEngine", "SearchHit"]

MOST_HITS = 100
"""Results that one query may ask for."""


@dataclass(frozen=True)
class SearchHit:
    """One document that was found."""

    id: str
    """What the corpus calls it; for a page of the web, its address."""
    contents: str
    """A title on the first line, the text below; as in the corpora of Search-R1, the title is often in quotes."""
    score: float | None = None
    """How well it fits, higher is better; comparable within one answer alone. None where the engine does not say."""

    @property
    def heading(self) -> str:
        """The first line as it stands."""
        return self.contents.partition("\n")[0]

    @property
    def title(self) -> str:
        """The first line without the quotes around it."""
        heading = self.heading.strip()
        quoted = len(heading) >= 2 and heading[0] == heading[-1] == '"'
        return heading[1:-1] if quoted else heading

    @property
    def text(self) -> str:
        """Everything below the first line."""
        return self.contents.partition("\n")[2]


@runtime_checkable
class SearchEngine(Protocol):
    """Anything that finds documents; any number of threads may use one at once."""

    def search(self, query: str, topk: int) -> list[SearchHit]:
        """Return at most ``topk`` documents, the best first; none for a query that fits nothing.

        Raises:
            SearchError: if the search could not be carried out.
        """

    def close(self) -> None:
        """Release what the engine holds. Calling it again does nothing; a later search opens it anew."""
