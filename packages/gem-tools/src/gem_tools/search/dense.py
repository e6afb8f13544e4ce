"""Exact search by vectors: cosine similarity with every document of a corpus, in numpy over a memory-mapped file.

Of equally similar documents the one with the shorter id comes first, as in :mod:`gem_tools.search.index`. On one core
this is as fast as the flat index of faiss, and faster than that of usearch (``benchmarks/search_tool.py``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_tools.search.corpus import Document
from gem_tools.search.engine import SearchHit
from gem_tools.search.errors import SearchError
from gem_tools.search.index import sortable

if TYPE_CHECKING:
    from gem_tools.search.embeddings import Embedder, Vectors

__all__ = ["DenseFormat", "DenseIndex"]

_VERSION = 1
_BATCH = 256
"""The number of documents that are embedded or compared at once."""
_GROUP = 128
_LONGEST_QUERY = 10_000
"""The number of characters of a query that count."""
_VECTORS, _PLACES, _DOCUMENTS = "vectors.npy", "places.npy", "documents.jsonl"


class DenseFormat:
    """Writes and opens the dense indexes of one embedding.

    Args:
        embedder: maps texts to vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.version = f"dense{_VERSION}-{hashlib.sha256(embedder.name.encode()).hexdigest()[:16]}"
        """The name of the format, part of the name of an index's folder."""

    def open(self, folder: Path) -> DenseIndex:
        """Open an index in a folder.

        Raises:
            SearchError: if the folder contains no whole index.
        """
        return DenseIndex(folder, self.embedder)

    def write(self, documents: Iterable[Document], folder: Path) -> DenseIndex:
        """Write an index over documents to an empty folder and open it.

        Raises:
            CorpusError: if the iterator over the documents raises it.
            SearchError: if the documents cannot be embedded or the index cannot be written.
        """
        np = _numpy()
        places: list[int] = []
        rest = iter(documents)
        dimensions = 0
        try:
            with (folder / _DOCUMENTS).open("wb") as texts, (folder / "vectors.raw").open("wb") as raw:
                while batch := list(islice(rest, _BATCH)):
                    vectors = _normalized(self.embedder.embed_passages([document.contents for document in batch]))
                    dimensions = dimensions or vectors.shape[1]
                    if vectors.shape != (len(batch), dimensions):
                        raise SearchError(f"the embedding has {vectors.shape[1]} dimensions instead of {dimensions}")
                    raw.write(vectors.tobytes())
                    for document in batch:
                        places.append(texts.tell())
                        texts.write(json.dumps([document.id, document.contents]).encode() + b"\n")
            written = np.memmap(folder / "vectors.raw", dtype=np.float32, shape=(len(places), dimensions), mode="r")
            np.save(folder / _VECTORS, written)
            del written
            (folder / "vectors.raw").unlink()
            np.save(folder / _PLACES, np.asarray(places, dtype=np.int64))
        except OSError as error:
            raise SearchError(f"the index in {folder} cannot be written: {error}") from error
        return self.open(folder)


class DenseIndex:
    """A dense index that is open for searches; any number of threads may use it.

    Args:
        folder: the folder that :meth:`DenseFormat.write` filled.
        embedder: the embedding with which it was written.

    Raises:
        SearchError: if the folder contains no whole index.
    """

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        np = _numpy()
        self.folder = folder
        self._embedder = embedder
        try:
            self._vectors: Any = np.asarray(np.load(folder / _VECTORS, mmap_mode="r"))
            self._places: Any = np.load(folder / _PLACES, mmap_mode="r")
            self._texts: Any = np.memmap(folder / _DOCUMENTS, dtype=np.uint8, mode="r")
        except (OSError, ValueError, EOFError) as error:
            raise SearchError(f"the index in {folder} cannot be opened: {error}") from error
        whole = self._vectors.ndim == 2 and len(self._vectors) == len(self._places) > 0
        if not whole or self._places[-1] >= len(self._texts) or self._texts[-1] != ord("\n"):
            raise SearchError(f"the index in {folder} is not whole")

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self._vectors)

    def search(self, query: str, topk: int) -> list[SearchHit]:
        """Return the ``topk`` documents that are the most similar to a query, with their cosine similarities.

        Only the first 10,000 characters of a query count. An empty query finds nothing.

        Raises:
            SearchError: if the query cannot be embedded.
        """
        return self.search_many([query], topk)[0]

    def search_many(self, queries: Sequence[str], topk: int) -> list[list[SearchHit]]:
        """Return the hits of each of several queries, which are embedded and compared at once; see :meth:`search`."""
        texts = [query[:_LONGEST_QUERY].encode(errors="replace").decode() for query in queries]
        meant = [number for number, text in enumerate(texts) if text.strip()]
        found: list[list[SearchHit]] = [[] for _ in queries]
        if meant and topk > 0:
            vectors = _normalized(self._embedder.embed_queries([texts[number] for number in meant]))
            for number, hits in zip(meant, self.nearest(vectors, topk), strict=True):
                found[number] = hits
        return found

    def nearest(self, vectors: Vectors, topk: int) -> list[list[SearchHit]]:
        """Return the documents nearest to each of some vectors of length 1.

        Args:
            vectors: of shape ``(queries, dimensions)``.
            topk: the number of documents for each.

        Raises:
            SearchError: if the vectors have other dimensions than the index.
        """
        if vectors.shape[1] != self._vectors.shape[1]:
            raise SearchError(
                f"the queries have {vectors.shape[1]} dimensions, the index in {self.folder} has "
                f"{self._vectors.shape[1]}: the model has changed"
            )
        # A product of a matrix and a vector reads the index once, and one of two matrices once for all queries.
        scores = (self._vectors @ vectors[0])[None] if len(vectors) == 1 else vectors @ self._vectors.T
        return [self._best(vector, row, min(topk, len(row))) for vector, row in zip(vectors, scores, strict=True)]

    def close(self) -> None:
        """Do nothing: a mapped file costs nothing while it is unused, and is released with the object."""

    def _best(self, vector: Vectors, scores: Any, topk: int) -> list[SearchHit]:
        """Return the best documents, computed again in double precision: rounding depends on a document's place."""
        np = _numpy()
        # A product of vectors of length 1 is off by at most as many roundings as there are dimensions.
        near = np.flatnonzero(scores >= _bound(scores, topk) - 2 * len(vector) * np.finfo(np.float32).eps)
        parts = [near[start : start + _BATCH] for start in range(0, len(near), _BATCH)]
        exact = np.concatenate([(self._vectors[places].astype(np.float64) * vector).sum(axis=1) for places in parts])
        best = exact >= np.partition(exact, len(exact) - topk)[len(exact) - topk]
        hits = map(self._hit, near[best].tolist(), exact[best].tolist())
        return sorted(hits, key=lambda hit: (-(hit.score or 0.0), sortable(hit.id)))[:topk]

    def _hit(self, place: int, score: float) -> SearchHit:
        start = int(self._places[place])
        end = int(self._places[place + 1]) if place + 1 < len(self._places) else len(self._texts)
        identifier, contents = json.loads(self._texts[start:end].tobytes())
        return SearchHit(identifier, contents, score)


def _bound(scores: Any, topk: int) -> Any:
    """Return a number that at least ``topk`` scores reach, and few others.

    The best score of each of many groups is found faster than an order of all scores.
    """
    np = _numpy()
    groups = len(scores) // _GROUP
    if groups >= topk:
        scores = scores[: groups * _GROUP].reshape(groups, _GROUP).max(axis=1)
    return np.partition(scores, len(scores) - topk)[len(scores) - topk]


def _normalized(vectors: Vectors) -> Vectors:
    """Scale vectors to length 1; a zero vector stays."""
    np = _numpy()
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scaled


def _numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise SearchError("dense retrieval needs numpy; pip install 'gem-tools[dense]'") from error
    return numpy
