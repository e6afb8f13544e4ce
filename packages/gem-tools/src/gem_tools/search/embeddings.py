"""Vectors of texts: from an endpoint that speaks OpenAI's ``/embeddings``, or from a sentence-transformers model.

Some models expect a prefix before queries and before passages. Without explicit prefixes, a model whose name contains
``e5`` gets ``query:`` and ``passage:``, and one whose name contains ``bge`` the instruction of its authors before
queries, as in Search-R1's retrieval server.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from gem.arguments import integer, real, string
from gem.errors import ArgumentError
from gem_tools.search.connection import SearchConnection
from gem_tools.search.errors import SearchError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Vectors = NDArray[numpy.float32]

__all__ = ["Embedder", "EndpointEmbedder", "ModelEmbedder"]

_PREFIXES = {
    "e5": ("query: ", "passage: "),
    "bge": ("Represent this sentence for searching relevant passages: ", ""),
}
_LONGEST_COMPLAINT = 300


@runtime_checkable
class Embedder(Protocol):
    """Maps texts to vectors; any number of threads may use one at once."""

    name: str
    """Identifies the model and its prefixes: an index belongs to one name."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of queries, of shape ``(len(texts), dimensions)``.

        Raises:
            SearchError: if the model fails or cannot be reached.
        """

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of documents; see :meth:`embed_queries`."""


class EndpointEmbedder:
    """Embeds through ``POST {url}/embeddings`` of an OpenAI-compatible server (vLLM, SGLang, TEI, llama.cpp, …).

    Args:
        url: the address up to and including the version, for example ``http://127.0.0.1:8000/v1``.
        model: the name of the model.
        query_prefix: the text before each query; None for that of the model.
        passage_prefix: the text before each document; None for that of the model.
        api_key: the environment variable that holds the key, if it is set.
        batch: the number of texts of a request.
        timeout: the time limit of a request in seconds, including all retries.
        retries: the number of retries of a request that the server or the network lost.

    Raises:
        ArgumentError: if the URL is invalid.
    """

    def __init__(
        self,
        url: str,
        model: str,
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
        api_key: str = "OPENAI_API_KEY",
        batch: int = 64,
        timeout: float = 60.0,
        retries: int = 2,
    ) -> None:
        place = urlsplit(string("url", url))
        if place.scheme not in ("http", "https") or not place.hostname:
            raise ArgumentError(f"url must be an address such as http://127.0.0.1:8000/v1, got {url!r:.80}")
        self.url = f"{url.rstrip('/')}/embeddings"
        self.model = string("model", model)
        self.batch = integer("batch", batch, minimum=1, maximum=4096)
        self._prefixes = _prefixes(model, query_prefix, passage_prefix)
        self._api_key = api_key
        timeout = real("timeout", timeout, minimum=0.001, maximum=86_400.0)
        self._connection = SearchConnection(f"the embeddings server at {place.hostname}", timeout, retries)
        self.name = json.dumps(["endpoint", model, *self._prefixes])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """See :class:`Embedder`."""
        return self._embedded([self._prefixes[0] + text for text in texts])

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """See :class:`Embedder`."""
        return self._embedded([self._prefixes[1] + text for text in texts])

    def _embedded(self, texts: list[str]) -> Vectors:
        import numpy as np

        parts = [self._request(texts[start : start + self.batch]) for start in range(0, len(texts), self.batch)]
        try:
            vectors = np.asarray([vector for part in parts for vector in part], dtype=np.float32)
        except (ValueError, TypeError, OverflowError) as error:
            raise SearchError(f"{self._connection.service} sent vectors of different lengths") from error
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise SearchError(f"{self._connection.service} sent vectors that are no lists of finite numbers")
        return vectors

    def _request(self, texts: list[str]) -> list[Any]:
        headers = {"content-type": "application/json"}
        key = os.environ.get(self._api_key)
        if key:
            headers["authorization"] = f"Bearer {key}"
        body = json.dumps({"model": self.model, "input": texts, "encoding_format": "float"}).encode()
        answer = self._connection.send("POST", self.url, content=body, headers=headers)
        try:
            told = json.loads(answer.body)
        except ValueError:
            told = None
        if answer.status != 200:
            said = " ".join(answer.body[: 4 * _LONGEST_COMPLAINT].decode(errors="replace").split())
            raise SearchError(
                f"{self._connection.service} answered with status {answer.status}: {said[:_LONGEST_COMPLAINT]}"
            )
        try:
            vectors = {item["index"]: item["embedding"] for item in told["data"]}
            return [vectors[place] for place in range(len(texts))]
        except (LookupError, TypeError) as error:
            raise SearchError(
                f"{self._connection.service} did not answer with one embedding for each of {len(texts)} texts"
            ) from error


class ModelEmbedder:
    """Embeds with a model of the library sentence-transformers, which loads on first use.

    Args:
        model: the name of a model or its folder.
        query_prefix: see :class:`EndpointEmbedder`.
        passage_prefix: see :class:`EndpointEmbedder`.
        backend: ``"torch"``, ``"onnx"`` or ``"openvino"``.

    Raises:
        SearchError: if the library is not installed, or the model cannot be loaded.
    """

    def __init__(
        self, model: str, query_prefix: str | None = None, passage_prefix: str | None = None, backend: str = "torch"
    ) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise SearchError(
                f"the model {model!r:.80} needs sentence-transformers; pip install sentence-transformers, or name an "
                "endpoint"
            ) from error
        self._prefixes = _prefixes(model, query_prefix, passage_prefix)
        self.name = json.dumps(["model", model, *self._prefixes])
        try:
            self._model: Any = SentenceTransformer(model, backend=backend)
        except (OSError, ValueError, RuntimeError) as error:
            raise SearchError(f"the model {model!r:.80} cannot be loaded: {str(error)[:_LONGEST_COMPLAINT]}") from error

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """See :class:`Embedder`."""
        return self._embedded([self._prefixes[0] + text for text in texts])

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """See :class:`Embedder`."""
        return self._embedded([self._prefixes[1] + text for text in texts])

    def _embedded(self, texts: list[str]) -> Vectors:
        vectors: Vectors = self._model.encode(texts, convert_to_numpy=True, show_progress_bar=False).astype("float32")
        return vectors


def _prefixes(model: str, query: str | None, passage: str | None) -> tuple[str, str]:
    known = next((prefixes for part, prefixes in _PREFIXES.items() if part in model.lower()), ("", ""))
    return known[0] if query is None else query, known[1] if passage is None else passage
