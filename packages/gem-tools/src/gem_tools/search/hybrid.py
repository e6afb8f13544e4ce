"""Two engines as one: :class:`HybridIndex` fuses rankings by words and by vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gem_tools.search.dense import DenseIndex
from gem_tools.search.engine import MOST_HITS, SearchHit
from gem_tools.search.index import LocalIndex, sortable

__all__ = ["HybridIndex"]

_RANK = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""


class HybridIndex:
    """Searches a corpus by words and by vectors; a document's score is the sum of 1 / (60 + rank) over both rankings.

    Args:
        words: the index by words.
        vectors: the index by vectors over the same corpus.
    """

    def __init__(self, words: LocalIndex, vectors: DenseIndex) -> None:
        self._words = words
        self._vectors = vectors
        self.folder = vectors.folder

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self._vectors)

    def search(self, query: str, topk: int) -> list[SearchHit]:
        """Return the ``topk`` documents with the highest fused scores, among the best 100 of each ranking.

        Raises:
            SearchError: if either search fails.
        """
        return self.search_many([query], topk)[0]

    def search_many(self, queries: Sequence[str], topk: int) -> list[list[SearchHit]]:
        """Return the hits of each of several queries, which are embedded at once; see :meth:`search`."""
        near = self._vectors.search_many(queries, MOST_HITS)
        return [
            _fused([self._words.search(query, MOST_HITS), hits], topk)
            for query, hits in zip(queries, near, strict=True)
        ]

    def close(self) -> None:
        """Do nothing; see both indexes."""


def _fused(rankings: Sequence[Sequence[SearchHit]], topk: int) -> list[SearchHit]:
    hits: dict[str, SearchHit] = {}
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            hits.setdefault(hit.id, hit)
            scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (_RANK + rank)
    best = sorted(scores, key=lambda name: (-scores[name], sortable(name)))[:topk]
    return [replace(hits[name], score=scores[name]) for name in best]
