"""The retrieval server: :mod:`gem_tools.search.protocol` over HTTP, as an application for any ASGI server.

========================  ===================================================================================
``POST /retrieve``        a search; errors: 400 (the message is invalid), 413 (it is too large), 503 (too many
                          searches wait), 500 (the index cannot be read)
``GET /health``           ``{"status": "ok", "documents": …}``
========================  ===================================================================================
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gem_tools.search.batching import Batcher, OverloadedError
from gem_tools.search.engine import MOST_HITS, SearchHit
from gem_tools.search.engines import CorpusIndex, embedder_from, open_index
from gem_tools.search.errors import SearchError
from gem_tools.search.protocol import (
    JSON,
    BadMessageError,
    build_answer,
    decode_message,
    encode_message,
    message_format,
    read_request,
)

__all__ = ["SETTINGS", "application", "from_environment"]

SETTINGS = "GEM_SEARCH_SERVER"
"""The environment variable with the settings of worker processes."""

_LARGEST_BODY = 1 << 24
_AT_ONCE = 512
"""The queries of one request that wait at the same time, so that a large request leaves room for others."""
_BUSY = {"retry-after": "1"}


def application(
    index: CorpusIndex,
    topk: int = 3,
    most_hits: int = MOST_HITS,
    largest_body: int = _LARGEST_BODY,
    ready: Callable[[], None] = lambda: None,
) -> Starlette:
    """Return the ASGI application that serves one index.

    Args:
        index: the index.
        topk: the default number of documents.
        most_hits: the largest number of documents of a query.
        largest_body: the largest size of a request in bytes.
        ready: called when the server accepts requests.
    """
    batcher = Batcher(index)

    async def retrieve(request: Request) -> Response:
        kind = JSON
        try:
            body = await _body(request, largest_body)
            kind = message_format(request.headers.get("content-type"), body)
            asked = read_request(decode_message(body, kind), most_hits, topk)
            found: list[list[SearchHit]] = []
            for start in range(0, len(asked.queries), _AT_ONCE):
                found += await batcher.search(asked.queries[start : start + _AT_ONCE], asked.topk)
            result = build_answer(asked, found)
        except BadMessageError as error:
            return _answer({"error": str(error)}, kind, 400)
        except _TooLargeError as error:
            return _answer({"error": str(error)}, kind, 413)
        except OverloadedError as error:
            return _answer({"error": str(error)}, kind, 503, _BUSY)
        except SearchError as error:
            return _answer({"error": str(error)}, kind, 500)
        except ClientDisconnect:
            return Response(status_code=499)  # the client has disconnected
        return _answer(result, kind)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "documents": len(index)})

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        ready()
        yield
        batcher.close()

    return Starlette(
        routes=[Route("/retrieve", retrieve, methods=["POST"]), Route("/health", health, methods=["GET"])],
        exception_handlers={HTTPException: _refusal},
        lifespan=lifespan,
    )


def from_environment() -> Starlette:
    """Return the application described by the environment, in a worker process."""
    settings: dict[str, Any] = json.loads(os.environ[SETTINGS])
    index = open_index(settings["corpus"], settings["engine"], embedder_from(settings), settings["index"])
    return application(index, settings["topk"], settings["most_hits"])


class _TooLargeError(Exception):
    """A body above the size limit."""


async def _body(request: Request, largest: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > largest:
            raise _TooLargeError(f"a request may have {largest:,} bytes; send several")
    return bytes(body)


def _answer(message: Any, kind: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode_message(message, kind), status, headers, media_type=kind)


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = {
        404: f"there is no page {request.url.path[:100]}; searches are sent to POST /retrieve",
        405: f"{request.method} does not go with {request.url.path[:100]}; searches are sent to POST /retrieve",
    }
    message = known.get(error.status_code, error.detail)
    return JSONResponse({"error": message}, error.status_code, headers=error.headers)
