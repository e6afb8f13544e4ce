"""The HTTP client of a remote server. An error of one request affects only this request.

The SDK's transport ends the whole session when one request cannot be sent or one response breaks off, and it hides
the details of an HTTP error. This client turns both into a JSON-RPC error in the response of the request.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from gem_tools.mcp.config import ServerConfig
from gem_tools.mcp.oauth import authorization
from gem_tools.mcp.stdio import LONGEST_MESSAGE

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

__all__ = ["SESSION_LOST", "UNREACHED", "open_http"]

UNREACHED, SESSION_LOST, FAILED = -32097, -32098, -32099
"""The codes of errors of this client: the request was not delivered; the server does not know the session, and so
did not carry out the request; any other HTTP error."""

_CONNECT_SECONDS = 10.0
_WRITE_SECONDS = 60.0
_ASIDE_SECONDS = 2.0
"""The time limit of requests without a result: notifications, and the end of a session."""

_IDLE_SECONDS = 1.0
"""The longest rest of a connection before another request uses it. Servers close resting connections (uvicorn and Node
after five seconds); a request that arrives at that moment is lost, and must not be sent twice. The difference covers
the delays of a busy machine."""

_NOTIFICATION = b'"method":"notifications/'

_SHOWN = 300
"""The number of characters of an HTTP error's body in a message."""

_SESSION_HEADER = "mcp-session-id"


@asynccontextmanager
async def open_http(server: ServerConfig) -> AsyncIterator[TransportStreams]:
    """Carry messages within the context; this is the transport of the SDK's client."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from gem_tools.mcp.message_flow import MessageFlow

    assert server.url is not None
    # Each call has its own time limit for the response.
    timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS, write=_WRITE_SECONDS)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=_IDLE_SECONDS)
    client_class = _client_class()
    auth = None if server.oauth is None else authorization(server.url, server.oauth)
    async with (
        client_class(
            headers=dict(server.headers), timeout=timeout, limits=limits, auth=auth, event_hooks={"response": [_limit]}
        ) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=LONGEST_MESSAGE) as (
            incoming,
            outgoing,
        ),
    ):
        yield MessageFlow(incoming), outgoing


def _client_class() -> type[httpx2.AsyncClient]:
    import httpx2
    from mcp.client.auth import OAuthFlowError
    from pydantic import ValidationError

    class Client(httpx2.AsyncClient):
        """An HTTP client that answers failures itself."""

        async def send(self, request: httpx2.Request, **kwargs: Any) -> httpx2.Response:
            # The transport sends nothing else before these requests are answered.
            if request.method == "DELETE" or (request.method == "POST" and _NOTIFICATION in request.content[:200]):
                request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), _ASIDE_SECONDS)
            if request.method != "POST":
                return await super().send(request, **kwargs)
            try:
                response = await super().send(request, **kwargs)
            except (OAuthFlowError, ValidationError, httpx2.StreamError) as error:
                return _answer(request, 401, FAILED, f"cannot be authorized: {_named(error)}")
            except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
                return _answer(request, 502, UNREACHED, f"cannot be reached: {_named(error)}")
            except (httpx2.TransportError, httpx2.InvalidURL) as error:
                return _answer(request, 502, FAILED, f"broke off: {_named(error)}")
            return response if response.status_code < 400 else await _explained(request, response)

    return Client


async def _explained(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Return an HTTP error with an explanation as its body, unless it already has one."""
    import httpx2

    try:
        body = await response.aread()
    except (httpx2.StreamError, httpx2.TransportError):
        body = b""
    await response.aclose()
    status = response.status_code
    error = _json_rpc_error(body)
    if _SESSION_HEADER in request.headers and (status == 404 or (status == 400 and _names_session(body))):
        return _answer(request, status, SESSION_LOST, "no longer knows the session")
    if error is not None:
        headers = {"content-type": "application/json"}
        return httpx2.Response(status, headers=headers, content=body, request=request)
    shown = " ".join(body[: 4 * _SHOWN].decode(errors="replace").split())[:_SHOWN]
    about = f"answered with HTTP {status} {response.reason_phrase}".rstrip()
    return _answer(request, status, FAILED, f"{about}: {shown}" if shown else about)


def _names_session(body: bytes) -> bool:
    """Return whether the reason of a refusal is the session; where 404 is due, some servers answer 400."""
    return b"session" in body[: 4 * _SHOWN].lower()


def _json_rpc_error(body: bytes) -> Any:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return content.get("error") if isinstance(content, dict) and "jsonrpc" in content else None


def _answer(request: httpx2.Request, status: int, code: int, message: str) -> httpx2.Response:
    import httpx2

    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return httpx2.Response(status, json=body, request=request)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


async def _limit(response: httpx2.Response) -> None:
    """Limit the length of a response's body, and convert its errors to the SDK's."""
    import httpx2

    stream: Any = response.stream
    # The SDK limits each event of a stream; this limit is for an endless stream, besides that of a whole session.
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    if is_stream and response.request.method == "GET":
        return
    longest = 4 * LONGEST_MESSAGE if is_stream else LONGEST_MESSAGE

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            length = 0
            try:
                async for chunk in stream:
                    length += len(chunk)
                    if length > longest:
                        raise httpx2.StreamError(f"it is longer than {longest} bytes")
                    yield chunk
            except httpx2.TransportError as error:
                raise httpx2.StreamError(f"it broke off: {_named(error)}") from error

        async def aclose(self) -> None:
            await stream.aclose()

    response.stream = Bounded()
