"""Reading requests: the path and the key, then the body, within limits of size and time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web import BaseRequest, RequestPayloadError

from gem_eval.clients.json_text import decoded, readable
from gem_gateway.call_errors import ModelCallError
from gem_gateway.decompression import ENCODINGS, BodyDecompressor
from gem_gateway.limits import CallPlace, ExchangeLimits

__all__ = ["CallPath", "body_of", "key_of", "parsed_path"]

_KEY_HEADERS = ("x-api-key", "x-goog-api-key")
_DEEPEST = 250
_SUSPECTS = 8
"""Commas and openings for each value that a body may have, beyond which it is not read: its texts have so many only if
they have little else."""
_KEY_FORMS = "Authorization: Bearer KEY, x-api-key: KEY or x-goog-api-key: KEY"


@dataclass(frozen=True, slots=True)
class CallPath:
    """Where a request goes."""

    session: str
    """The id of the session in the path; empty for paths without one, where the key alone names the session."""
    endpoint: str
    """The rest of the path, without ``/v1``, such as ``/chat/completions``."""
    query: str = ""
    """What stands behind the question mark."""


def parsed_path(raw: str) -> CallPath:
    """Return the parts of a path as it came. It is compared as it is: nothing is decoded, joined or normalised.

    Clients disagree on whether ``/v1`` belongs to a base URL, so that it may be there once, or be missing.
    """
    path, _, query = raw.partition("?")
    session = ""
    if path.startswith("/s/"):
        session, slash, rest = path[3:].partition("/")
        path = slash + rest
    return CallPath(session, path.removeprefix("/v1") if path.startswith("/v1/") else path, query)


def key_of(request: BaseRequest) -> str:
    """Return the key of a request: of ``Authorization: Bearer``, ``x-api-key`` or ``x-goog-api-key``.

    Raises:
        ModelCallError: if there is none, or more than one and they differ.
    """
    keys = {value.strip() for name in _KEY_HEADERS for value in request.headers.getall(name, [])}
    for value in request.headers.getall("Authorization", []):
        scheme, _, key = value.strip().partition(" ")
        if scheme.lower() != "bearer":
            raise ModelCallError("authentication", f"the key must come as {_KEY_FORMS}")
        keys.add(key.strip())
    keys.discard("")
    if len(keys) != 1:
        problem = "carries several keys" if keys else "carries no key"
        raise ModelCallError("authentication", f"the request {problem}; send the session's as {_KEY_FORMS}")
    return keys.pop()


async def body_of(request: BaseRequest, limits: ExchangeLimits, place: CallPlace) -> tuple[dict[str, Any], int]:
    """Return the object in a request's body, and how many bytes it has after decompression.

    Args:
        request: gzip, deflate and, where the library for it is installed, zstd are decompressed.
        limits: of its size and time.
        place: of the request, where it is noted how much is here.

    Raises:
        ModelCallError: if it is too large, too slow, compressed in another way, no JSON object, or one too many.
    """
    place.check()
    most = limits.max_body
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ENCODINGS:
        hint = "; zstd needs the Python package backports.zstd" if encoding == "zstd" else ""
        raise ModelCallError(
            "encoding", f"the body is compressed as {readable(encoding, 40)!r}; send {', '.join(ENCODINGS)}{hint}"
        )
    if (request.content_length or 0) > most:
        raise _too_large(most)
    content = request.content
    try:
        if encoding == "identity" and content.is_eof():
            data = content.read_nowait()
            if len(data) > most:
                raise _too_large(most)
            place.hold(len(data))
        else:
            reading = _read(request, BodyDecompressor(encoding), most, place)
            # A body that is here already needs no timer, and so no task of its own.
            data = await (reading if content.is_eof() else asyncio.wait_for(reading, limits.body_seconds))
    except asyncio.TimeoutError:
        raise ModelCallError("slow", f"the body did not arrive within {limits.body_seconds:g} seconds") from None
    except (RequestPayloadError, HttpProcessingError, ValueError) as error:
        raise ModelCallError("unusable", f"the body cannot be read: {readable(str(error), 200)}") from error
    # No body has more values than it has commas and openings, which a text may hold as well.
    suspects = 0 if len(data) < limits.max_values else sum(map(data.count, (b",", b"[", b"{")))
    if suspects > _SUSPECTS * limits.max_values:
        raise _too_many(limits.max_values)
    try:
        body = decoded(data)
    except ValueError as error:
        raise ModelCallError("unusable", f"the body is no JSON: {readable(str(error), 200)}") from error
    if not isinstance(body, dict):
        raise ModelCallError("unusable", "the body must be a JSON object")
    if _is_too_deep(body):
        raise ModelCallError("unusable", f"the body is nested more than {_DEEPEST} levels deep")
    if suspects >= limits.max_values and _has_more_values(body, limits.max_values):
        raise _too_many(limits.max_values)
    return body, len(data)


async def _read(request: BaseRequest, decompressor: BodyDecompressor, most: int, place: CallPlace) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        chunks.append(decompressor.unpack(chunk, most - size))
        size += len(chunks[-1])
        if size > most:
            raise _too_large(most)
        place.hold(len(chunks[-1]))
    decompressor.finish()
    return b"".join(chunks)


def _is_too_deep(body: dict[str, Any]) -> bool:
    """Return whether a body has more levels than whatever reads it later can follow."""
    try:
        orjson.dumps(body)
    except TypeError:  # beyond 254 levels, and for long numbers
        level: list[Any] = [body]
        for _ in range(_DEEPEST):
            inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list))]
            level = [value for values in inner for value in values]
        return bool(level)
    return False


def _has_more_values(body: dict[str, Any], most: int) -> bool:
    found, level = 0, [body]
    while level and found <= most:
        found += len(level)
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = [value for values in inner for value in values]
    return found > most


def _too_many(most: int) -> ModelCallError:
    return ModelCallError("too_large", f"the body holds more than {most:,} values, the most that this gateway takes")


def _too_large(most: int) -> ModelCallError:
    return ModelCallError("too_large", f"the body is larger than {most:,} bytes, the most that this gateway takes")
