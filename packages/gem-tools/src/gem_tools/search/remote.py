"""A retrieval server as a search engine: ``gem search-server``, or a server of Search-R1 or the original GEM."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from gem.arguments import choice, integer, real, string
from gem.errors import ArgumentError
from gem_tools.search.connection import SearchAnswer, SearchConnection
from gem_tools.search.engine import SearchHit
from gem_tools.search.errors import SearchError
from gem_tools.search.protocol import (
    JSON,
    MSGPACK,
    BadMessageError,
    decode_message,
    encode_message,
    message_format,
    parse_hits,
)

__all__ = ["RemoteEngine"]

_LONGEST_QUERY = 10_000
"""The largest number of characters of a query that are sent."""
_LONGEST_COMPLAINT = 300
_NOT_UNDERSTOOD = frozenset((400, 415, 422))
_FAILED = 500
"""The answer of servers that fail at MessagePack, but also of one with a passing fault."""


class RemoteEngine:
    """Searches through a retrieval server; see :mod:`gem_tools.search.protocol`.

    Args:
        url: the address of the server, for example ``http://127.0.0.1:8000/retrieve``.
        timeout: the time limit of a search in seconds, including all retries.
        retries: the number of retries of a request that a server or the network lost.
        protocol: ``"msgpack"`` for servers of the original GEM; ``"json"`` for those of Search-R1; or
            ``"auto"``, which starts with MessagePack, falls back to JSON if the server refuses or fails at it, and
            keeps to the format that the server answered first.

    Raises:
        ArgumentError: if the URL is invalid.
    """

    def __init__(self, url: str, timeout: float = 5.0, retries: int = 2, protocol: str = "auto") -> None:
        self.url = _checked(url)
        self.timeout = real("timeout", timeout, minimum=0.001, maximum=86_400.0)
        self.retries = integer("retries", retries, minimum=0, maximum=100)
        self.protocol = choice("protocol", protocol, ("auto", "msgpack", "json"))
        place = urlsplit(self.url)
        self._connection = SearchConnection(f"the search server at {place.hostname}", self.timeout, self.retries)
        self._kind = {"auto": None, "msgpack": MSGPACK, "json": JSON}[protocol]

    def search(self, query: str, topk: int) -> list[SearchHit]:
        """Return at most ``topk`` documents, the best first.

        Raises:
            SearchError: if the server cannot be reached, does not answer in time, or answers with an error.
        """
        query = query[:_LONGEST_QUERY].encode(errors="replace").decode()
        if self._kind is not None:
            return self._asked(query, topk, self._kind)
        answer = self._post(query, topk, MSGPACK, final=(_FAILED,))
        if answer.status == 200:
            hits = self._read(answer)
            self._kind = MSGPACK
            return hits
        if answer.status == _FAILED:
            other = self._post(query, topk, JSON, final=range(600))
            if other.status != 200:
                return self._asked(query, topk, MSGPACK)
            hits = self._read(other)
            self._kind = JSON
            return hits
        if answer.status not in _NOT_UNDERSTOOD:
            raise self._refused(answer)
        hits = self._asked(query, topk, JSON)
        self._kind = JSON
        return hits

    def close(self) -> None:
        """Close the connections; a later search opens new ones."""
        self._connection.close()

    def __reduce__(self) -> tuple[type[RemoteEngine], tuple[Any, ...]]:
        return type(self), (self.url, self.timeout, self.retries, self.protocol)

    def _asked(self, query: str, topk: int, kind: str) -> list[SearchHit]:
        answer = self._post(query, topk, kind)
        if answer.status != 200:
            raise self._refused(answer)
        return self._read(answer)

    def _post(self, query: str, topk: int, kind: str, final: Collection[int] = ()) -> SearchAnswer:
        asked: dict[str, Any] = {"query": query} if kind == MSGPACK else {"queries": [query]}
        body = encode_message({**asked, "topk": topk, "return_scores": True}, kind)
        headers = {"content-type": kind, "accept": kind}
        return self._connection.send("POST", self.url, content=body, headers=headers, final=final)

    def _read(self, answer: SearchAnswer) -> list[SearchHit]:
        try:
            return parse_hits(decode_message(answer.body, message_format(answer.content_type, answer.body)))
        except BadMessageError as error:
            raise SearchError(f"{self._connection.service} sent an invalid search result: {error}") from error

    def _refused(self, answer: SearchAnswer) -> SearchError:
        try:
            message = decode_message(answer.body, message_format(answer.content_type, answer.body))
            reason = str(message["error"])
        except (BadMessageError, LookupError, TypeError):
            reason = " ".join(answer.body[: 4 * _LONGEST_COMPLAINT].decode(errors="replace").split())
        said = f": {reason[:_LONGEST_COMPLAINT]}" if reason else ""
        return SearchError(f"{self._connection.service} answered with status {answer.status}{said}")


def _checked(url: str) -> str:
    try:
        place = urlsplit(string("search_url", url))
        usable = place.scheme in ("http", "https") and place.hostname and (place.port is None or place.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ArgumentError(
            f"search_url must be an address such as http://127.0.0.1:8000/retrieve, got {repr(url)[:80]}"
        )
    return url
