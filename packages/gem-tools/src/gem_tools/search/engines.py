"""The engines over a corpus by name: by words, by vectors, and both: :func:`open_index`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gem.arguments import choice
from gem.errors import ArgumentError
from gem_tools.search.engine import SearchHit
from gem_tools.search.store import open_or_write

if TYPE_CHECKING:
    from gem_tools.search.embeddings import Embedder

__all__ = ["ENGINES", "CorpusIndex", "embedder_from", "open_index"]

ENGINES = ("bm25", "dense", "hybrid")
"""By words (BM25); by vectors (cosine similarity); by both (reciprocal rank fusion)."""


class CorpusIndex(Protocol):
    """A search engine over one corpus."""

    @property
    def folder(self) -> Path | None:
        """The folder of the index; None for an index in memory."""

    def __len__(self) -> int: ...

    def search(self, query: str, topk: int) -> list[SearchHit]:
        """See :class:`gem_tools.search.SearchEngine`."""

    def close(self) -> None:
        """See :class:`gem_tools.search.SearchEngine`."""


def open_index(
    corpus: str | os.PathLike[str],
    engine: str = "bm25",
    embedder: Embedder | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> CorpusIndex:
    """Open the index of an engine over a file of JSON lines; write it first if it does not exist.

    Args:
        corpus: the file.
        engine: one of :data:`ENGINES`.
        embedder: maps texts to vectors; required by the engines with vectors.
        folder: the folder of indexes; None for the user's cache folder.

    Raises:
        ArgumentError: if an engine with vectors gets no embedder, or the other one does.
        CorpusError: if a document is invalid; the message names the file and the line.
        SearchError: if the index cannot be written.
    """
    choice("engine", engine, ENGINES)
    if (embedder is None) != (engine == "bm25"):
        advice = "needs one" if embedder is None else "has no use for one"
        raise ArgumentError(f"embedder maps texts to vectors, and the engine {engine!r} {advice}")
    path, root = Path(corpus), None if folder is None else Path(folder).absolute()
    if embedder is None:
        return open_or_write(path, root)
    from gem_tools.search.dense import DenseFormat
    from gem_tools.search.hybrid import HybridIndex

    vectors = open_or_write(path, root, DenseFormat(embedder))
    return vectors if engine == "dense" else HybridIndex(open_or_write(path, root), vectors)


def embedder_from(settings: Mapping[str, Any]) -> Embedder | None:
    """Return the embedder that settings describe: ``model``, ``embeddings_url``, ``query_prefix``, ``passage_prefix``.

    Raises:
        ArgumentError: if the URL is invalid.
        SearchError: if the model cannot be loaded.
    """
    if settings["model"] is None:
        return None
    from gem_tools.search.embeddings import EndpointEmbedder, ModelEmbedder

    prefixes = settings["query_prefix"], settings["passage_prefix"]
    if settings["embeddings_url"] is None:
        return ModelEmbedder(settings["model"], *prefixes)
    return EndpointEmbedder(settings["embeddings_url"], settings["model"], *prefixes)
