"""The protocol between a retrieval server and its clients, in MessagePack or JSON.

A request is ``POST /retrieve`` with ``{"query": str, "topk": int, "return_scores": bool}``, as in the original GEM; or
with ``{"queries": [str, …], …}``, as in Search-R1. The answer is ``{"result": […]}``: a list of hits for a query, and
for queries a list of such lists. A hit is ``{"document": {"id": …, "contents": …}, "score": float}``. Without scores
a hit is ``{"document": …}`` for a query and only the document for queries, as each side's clients expect. An error
is ``{"error": str}`` with a status of 400 or more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from gem_tools.search.engine import MOST_HITS, SearchHit

__all__ = [
    "JSON",
    "MSGPACK",
    "BadMessageError",
    "Request",
    "build_answer",
    "decode_message",
    "encode_message",
    "message_format",
    "parse_hits",
    "read_request",
    "score_of",
]

JSON, MSGPACK = "application/json", "application/msgpack"
_DEFAULT_TOPK = 3
_MSGPACK_TYPES = (MSGPACK, "application/x-msgpack", "application/vnd.msgpack")


class BadMessageError(ValueError):
    """An invalid message; the error text gives the reason."""


@dataclass(frozen=True)
class Request:
    """A valid request within all limits."""

    queries: tuple[str, ...]
    topk: int
    return_scores: bool
    single: bool
    """Whether the request had ``query``."""


def message_format(content_type: str | None, body: bytes) -> str:
    """Return the format of a message. The original GEM's clients do not declare it, so the body decides."""
    named = (content_type or "").partition(";")[0].strip().lower()
    if named in _MSGPACK_TYPES:
        return MSGPACK
    if named == JSON or named.endswith("+json"):
        return JSON
    # A MessagePack message is a map here, and no JSON text begins with the first byte of a map.
    return JSON if body.lstrip()[:1] in (b"{", b"[") else MSGPACK


def encode_message(value: Any, kind: str) -> bytes:
    """Encode a message."""
    if kind == JSON:
        return json.dumps(value).encode()
    import msgpack

    packed: bytes = msgpack.packb(value, unicode_errors="replace")
    return packed


def decode_message(body: bytes, kind: str) -> Any:
    """Decode a message.

    Raises:
        BadMessageError: if the message is malformed.
    """
    if kind == JSON:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise BadMessageError(f"the body is not JSON: {str(error) or 'nested too deeply'}") from error
    import msgpack

    try:
        return msgpack.unpackb(body)
    except (ValueError, msgpack.UnpackException) as error:
        reason = str(error) or type(error).__name__
        raise BadMessageError(f"the body is not MessagePack: {reason}") from error


def read_request(message: object, most_hits: int = MOST_HITS, topk: int = _DEFAULT_TOPK) -> Request:
    """Validate a request.

    Args:
        message: the result of :func:`decode_message`.
        most_hits: the largest permitted ``topk``.
        topk: the default ``topk``.

    Raises:
        BadMessageError: if a member is invalid; the message names it.
    """
    if not isinstance(message, Mapping):
        raise BadMessageError(f"a request is a map with 'query' or 'queries', got {type(message).__name__}")
    single = "query" in message
    if single == ("queries" in message):
        raise BadMessageError("a request has either 'query', a string, or 'queries', a list of strings")
    queries = [message["query"]] if single else message["queries"]
    if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
        raise BadMessageError("'query' must be a string" if single else "'queries' must be a list of strings")
    asked = message.get("topk")
    if asked is not None:
        if not isinstance(asked, int) or isinstance(asked, bool) or not 1 <= asked <= most_hits:
            raise BadMessageError(f"'topk' must be an int from 1 to {most_hits}, got {repr(asked)[:40]}")
        topk = asked
    scores = message.get("return_scores")
    if scores is not None and not isinstance(scores, bool):
        raise BadMessageError(f"'return_scores' must be true or false, got {repr(scores)[:40]}")
    return Request(tuple(queries), topk, bool(scores), single)


def build_answer(request: Request, answers: Sequence[Sequence[SearchHit]]) -> dict[str, Any]:
    """Build the answer to a request from the hits of each of its queries."""
    if request.single:
        return {"result": [_wrapped(hit, request.return_scores) for hit in answers[0]]}
    if request.return_scores:
        return {"result": [[_wrapped(hit, True) for hit in hits] for hits in answers]}
    return {"result": [[_document(hit) for hit in hits] for hits in answers]}


def parse_hits(message: object) -> list[SearchHit]:
    """Return the hits in the answer to one query, in any of the servers' formats.

    Raises:
        BadMessageError: if the answer has none of these formats.
    """
    result = message.get("result") if isinstance(message, Mapping) else None
    if not isinstance(result, list):
        raise BadMessageError("the answer has no list 'result'")
    if len(result) == 1 and isinstance(result[0], list):
        result = result[0]
    return [_hit(item, place) for place, item in enumerate(result)]


def _wrapped(hit: SearchHit, with_score: bool) -> dict[str, Any]:
    return {"document": _document(hit), "score": hit.score} if with_score else {"document": _document(hit)}


def _document(hit: SearchHit) -> dict[str, str]:
    return {"id": hit.id, "contents": hit.contents}


def _hit(item: object, place: int) -> SearchHit:
    document = item.get("document", item) if isinstance(item, Mapping) else None
    if not isinstance(item, Mapping) or not isinstance(document, Mapping):
        raise BadMessageError(f"result {place} is no document")
    contents = document.get("contents")
    if contents is None and isinstance(document.get("text"), str):
        title = document.get("title")
        contents = f'"{title}"\n{document["text"]}' if isinstance(title, str) else document["text"]
    if not isinstance(contents, str):
        raise BadMessageError(f"result {place} has no 'contents' that is a string")
    identifier, score = document.get("id", document.get("_id")), item.get("score")
    return SearchHit("" if identifier is None else str(identifier)[:1000], contents, score_of(score))


def score_of(value: object) -> float | None:
    """Return a score as a float; None if it is not a number that JSON can represent."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        score = float(value)
    except OverflowError:
        return None
    return score if isfinite(score) else None
