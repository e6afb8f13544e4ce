"""HTTP requests with bounded time and size: :class:`HttpTransport`, on aiohttp, which loads with the first request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gem.errors import NotSupportedError
from gem_eval.clients.errors import ModelError
from gem_eval.clients.json_text import readable

if TYPE_CHECKING:
    import aiohttp

__all__ = ["EVENT_STREAM", "HttpTransport", "ServerReply"]

EVENT_STREAM = "text/event-stream"
"""The media type of a stream of server-sent events."""

_KEEP_ALIVE = 4.0
"""Seconds that an idle connection is kept; uvicorn, under most model servers, closes it after 5."""


class ServerReply(NamedTuple):
    """An answer of a server, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """Looked up without regard to case."""
    body: bytes
    arrivals: tuple[tuple[int, float], ...] = ()
    """Of a stream of events, in order: how many bytes of the body were there, and the seconds since the request was
    sent."""


class HttpTransport:
    """Sends requests over a pool of connections. Its user limits how many run at once.

    Args:
        headers: of every request; they may hold credentials, and stand in no message.
        timeout: seconds for one request, from the connection to the last byte.
        connect_timeout: seconds for making a connection.
        idle_timeout: seconds without a byte; None for no limit.
        max_bytes: largest body of an answer, decompressed.
        trust_env: whether proxies and credentials come from the environment and ``.netrc``.
    """

    def __init__(
        self,
        headers: Mapping[str, str],
        *,
        timeout: float,
        connect_timeout: float,
        idle_timeout: float | None,
        max_bytes: int,
        trust_env: bool,
    ) -> None:
        self._headers = dict(headers)
        self._timeout, self._connect_timeout, self._idle_timeout = timeout, connect_timeout, idle_timeout
        self._max_bytes = max_bytes
        self._trust_env = trust_env
        self._session: aiohttp.ClientSession | None = None
        self._fresh: aiohttp.ClientSession | None = None
        """Keeps no connection, so that each of its requests has a new one."""
        self._loop: asyncio.AbstractEventLoop | None = None

    async def request(
        self, method: str, url: Any, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> ServerReply:
        """Send a request, with further headers, and return the answer.

        A connection that breaks before the answer begins is replaced once, by a new one, at no cost: servers close idle
        connections at the moment at which a client uses them again, and often several at once.

        Raises:
            ModelError: unreachable, timeout, incomplete or bad_response.
            NotSupportedError: on another event loop than the first request's.
        """
        import aiohttp

        session = self._session
        if session is None or self._loop is not asyncio.get_running_loop():
            session = await self._open()
        begin = time.monotonic()
        try:
            try:
                response = await session.request(method, url, data=body, headers=headers, allow_redirects=False)
            except aiohttp.ClientConnectorError:
                raise
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                limits = self._limits(max(0.001, begin + self._timeout - time.monotonic()))
                if self._fresh is None:
                    self._fresh = self._new_session(aiohttp.TCPConnector(limit=0, force_close=True))
                response = await self._fresh.request(
                    method, url, data=body, headers=headers, allow_redirects=False, timeout=limits
                )
            try:
                return ServerReply(response.status, response.headers, *await self._read(response, begin))
            except BaseException:
                response.close()
                raise
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError) as error:
            raise self._failure(error) from error

    async def close(self) -> None:
        """Close all connections."""
        sessions = (self._session, self._fresh)
        self._session = self._fresh = None
        for session in sessions:
            if session is not None:
                await session.close()

    async def _read(
        self, response: aiohttp.ClientResponse, begin: float
    ) -> tuple[bytes, tuple[tuple[int, float], ...]]:
        """Return the body, and of a stream of events when its parts arrived, in seconds since the beginning."""
        headers, limit = response.headers, self._max_bytes
        length = headers.get("Content-Length", "")
        if length.isdecimal() and len(length) < 16 and "Content-Encoding" not in headers:
            if int(length) <= limit:
                return await response.read(), ()
            raise ModelError("bad_response", f"the server's answer has {length} bytes, more than {limit}")
        chunks, size = [], 0
        streamed = headers.get("Content-Type", "").startswith(EVENT_STREAM)
        arrivals: list[tuple[int, float]] = []
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > limit:
                raise ModelError("bad_response", f"the server's answer has more than {limit} bytes")
            chunks.append(chunk)
            if streamed:
                arrivals.append((size, time.monotonic() - begin))
        return b"".join(chunks), tuple(arrivals)

    async def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        loop = asyncio.get_running_loop()
        if self._session is not None and self._loop is not None and not self._loop.is_closed():
            raise NotSupportedError("a model client works on one event loop; open another client for this one")
        await self.close()  # of a loop that is closed
        self._session = self._new_session(aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE))
        self._loop = loop
        return self._session

    def _new_session(self, connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
        import aiohttp

        return aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=self._limits(self._timeout),
            trust_env=self._trust_env,
        )

    def _limits(self, seconds: float) -> aiohttp.ClientTimeout:
        import aiohttp

        return aiohttp.ClientTimeout(total=seconds, sock_connect=self._connect_timeout, sock_read=self._idle_timeout)

    def _failure(self, error: Exception) -> ModelError:
        import aiohttp

        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return ModelError("unreachable", f"no connection to the server within {self._connect_timeout:g} s")
        if isinstance(error, aiohttp.SocketTimeoutError):
            return ModelError("timeout", f"the server sent nothing for {self._idle_timeout or 0:g} s")
        if isinstance(error, asyncio.TimeoutError):
            return ModelError("timeout", f"no complete answer within {self._timeout:g} s")
        if isinstance(error, aiohttp.ClientSSLError):
            reason = readable(str(error), 200)
            return ModelError("unreachable", f"no secure connection to the server: {reason}", retryable=False)
        if isinstance(error, aiohttp.ClientConnectorError):
            return ModelError("unreachable", f"no connection to {error.host}:{error.port}: {_reason(error.os_error)}")
        if isinstance(error, aiohttp.ClientPayloadError):
            return ModelError("incomplete", "the server's answer is cut off or damaged")
        if isinstance(error, (aiohttp.ClientConnectionError, OSError)):
            return ModelError("unreachable", f"the connection broke before the answer: {_reason(error)}")
        return ModelError("incomplete", f"the server's answer is not HTTP: {_reason(error)}")


def _reason(error: BaseException) -> str:
    """Return an error as words, on one line."""
    return readable(getattr(error, "strerror", None) or str(error) or type(error).__name__, 120)
