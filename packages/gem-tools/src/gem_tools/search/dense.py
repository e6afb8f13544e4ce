"""Exact search by vectors: cosine similarity with every document of a corpus, over memory-mapped files.

Of equally similar documents the one with the shorter id comes first, as in :mod:`gem_tools.search.index`. A search
takes the time of reading the vectors. So a first pass compares bytes, a quarter of the size, whose rounding error has a
bound (:mod:`gem_tools.search.vector_codes`), and a second pass the few documents that may be among the best. Without
SimSIMD, or for many queries at once, the first pass compares the vectors themselves, as fast as the flat index of faiss
(``benchmarks/search_tool.py``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_tools.search.corpus import Document
from gem_tools.search.engine import SearchHit
from gem_tools.search.errors import SearchError
from gem_tools.search.index import sortable
from gem_tools.search.vector_codes import VectorCodes, encoded, reached

if TYPE_CHECKING:
    from gem_tools.search.embeddings import Embedder, Vectors

__all__ = ["DenseFormat", "DenseIndex"]

_VERSION = 2
_BATCH = 256
"""The number of documents that are embedded or compared at once."""
_LONGEST_QUERY = 10_000
"""The number of characters of a query that count."""
_VECTORS, _PLACES, _DOCUMENTS = "vectors.npy", "places.npy", "documents.jsonl"
_CODES, _SCALES = "codes.npy", "scales.npy"
_RAW = ("vectors.raw", "codes.raw", "scales.raw")
_FEW = 3
"""The largest number of queries for each of which a pass over the bytes is faster than one over the vectors for all."""
_SAME = 0.999
"""The cosine similarity of two vectors of a document from which on one embedding made both."""


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
        self._write(documents, folder, None)
        return self.open(folder)

    def extend(self, index: DenseIndex, documents: Iterable[Document], folder: Path) -> bool:
        """Write an index over the documents of another one and further ones to an empty folder.

        Returns:
            False if the embedding now gives the first document another vector than the index has, because the model
            behind its name has changed; then no document is read.

        Raises:
            CorpusError, SearchError: see :meth:`write`.
        """
        again = _normalized(self.embedder.embed_passages([index.first.contents]))[0]
        if again.shape != index.vectors[0].shape or float(again @ index.vectors[0]) < _SAME:
            return False
        self._write(documents, folder, index)
        return True

    def _write(self, documents: Iterable[Document], folder: Path, base: DenseIndex | None) -> None:
        """Write the files of an index over the documents of a base, if there is one, and further ones."""
        np = _numpy()
        places: list[int] = []
        rest = iter(documents)
        dimensions = 0 if base is None else base.vectors.shape[1]
        names = (_VECTORS, np.float32), (_CODES, np.int8), (_SCALES, np.float32)
        earlier = [] if base is None else [base.vectors, base.codes.codes, base.codes.scales]
        try:
            with ExitStack() as files:
                texts, *raw = [files.enter_context((folder / name).open("wb")) for name in (_DOCUMENTS, *_RAW)]
                if base is not None:
                    texts.write(base.texts)
                    for file, values in zip(raw, earlier, strict=True):
                        values.tofile(file)
                while batch := list(islice(rest, _BATCH)):
                    vectors = _normalized(self.embedder.embed_passages([document.contents for document in batch]))
                    dimensions = dimensions or vectors.shape[1]
                    if vectors.shape != (len(batch), dimensions):
                        raise SearchError(f"the embedding has {vectors.shape[1]} dimensions instead of {dimensions}")
                    for file, values in zip(raw, (vectors, *encoded(vectors)), strict=True):
                        file.write(values.tobytes())
                    for document in batch:
                        places.append(texts.tell())
                        texts.write(json.dumps([document.id, document.contents]).encode() + b"\n")
            count = len(places) + (0 if base is None else len(base))
            for (name, kind), temporary in zip(names, _RAW, strict=True):
                written = np.memmap(folder / temporary, dtype=kind, mode="r").reshape(count, -1)
                np.save(folder / name, written)
                del written
                (folder / temporary).unlink()
            before = [] if base is None else [base.places]
            np.save(folder / _PLACES, np.concatenate([*before, np.asarray(places, dtype=np.int64)]))
        except OSError as error:
            raise SearchError(f"the index in {folder} cannot be written: {error}") from error


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
        self._ids: set[str] | None = None
        try:
            self.vectors: Any = np.asarray(np.load(folder / _VECTORS, mmap_mode="r"))
            self.places: Any = np.load(folder / _PLACES, mmap_mode="r")
            self.texts: Any = np.memmap(folder / _DOCUMENTS, dtype=np.uint8, mode="r")
            self.codes = VectorCodes(*(np.asarray(np.load(folder / name, mmap_mode="r")) for name in (_CODES, _SCALES)))
        except (OSError, ValueError, EOFError) as error:
            raise SearchError(f"the index in {folder} cannot be opened: {error}") from error
        whole = self.vectors.ndim == 2 and len(self.vectors) == len(self.places) > 0
        whole = whole and self.codes.codes.shape == self.vectors.shape and len(self.codes.scales) == len(self.vectors)
        if not whole or self.places[-1] >= len(self.texts) or self.texts[-1] != ord("\n"):
            raise SearchError(f"the index in {folder} is not whole")

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.vectors)

    @property
    def first(self) -> SearchHit:
        """The first document of the corpus."""
        return self._hit(0, 0.0)

    def has_id(self, identifier: str) -> bool:
        """Return whether a document has an id. The first call reads all ids."""
        if self._ids is None:
            lines = bytes(self.texts).splitlines()
            self._ids = {json.loads(line)[0] for line in lines}
        return identifier in self._ids

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
        if vectors.shape[1] != self.vectors.shape[1]:
            raise SearchError(
                f"the queries have {vectors.shape[1]} dimensions, the index in {self.folder} has "
                f"{self.vectors.shape[1]}: the model has changed"
            )
        topk = min(topk, len(self))
        if len(vectors) <= _FEW and self.codes.are_fast:
            return [self._best(vector, self.codes.near(vector, topk), topk) for vector in vectors]
        # A product of a matrix and a vector reads the index once, and one of two matrices once for all queries.
        scores = (self.vectors @ vectors[0])[None] if len(vectors) == 1 else vectors @ self.vectors.T
        return [self._best(vector, _near(row, vector, topk), topk) for vector, row in zip(vectors, scores, strict=True)]

    def close(self) -> None:
        """Do nothing: a mapped file costs nothing while it is unused, and is released with the object."""

    def _best(self, vector: Vectors, near: Any, topk: int) -> list[SearchHit]:
        """Return the best of some documents, computed in double precision: rounding depends on a document's place."""
        np = _numpy()
        parts = [near[start : start + _BATCH] for start in range(0, len(near), _BATCH)]
        exact = np.concatenate([(self.vectors[places].astype(np.float64) * vector).sum(axis=1) for places in parts])
        best = exact >= np.partition(exact, len(exact) - topk)[len(exact) - topk]
        hits = map(self._hit, near[best].tolist(), exact[best].tolist())
        return sorted(hits, key=lambda hit: (-(hit.score or 0.0), sortable(hit.id)))[:topk]

    def _hit(self, place: int, score: float) -> SearchHit:
        start = int(self.places[place])
        end = int(self.places[place + 1]) if place + 1 < len(self.places) else len(self.texts)
        identifier, contents = json.loads(self.texts[start:end].tobytes())
        return SearchHit(identifier, contents, score)


def _near(scores: Any, vector: Vectors, topk: int) -> Any:
    """Return the places of the documents that may be among the best, by scores in single precision."""
    np = _numpy()
    # A product of vectors of length 1 is off by at most as many roundings as there are dimensions.
    return np.flatnonzero(scores >= reached(scores, topk) - 2 * len(vector) * np.finfo(np.float32).eps)


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
