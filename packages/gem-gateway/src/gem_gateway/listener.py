"""The HTTP server below a gateway, with limits on connections that say nothing: :class:`CallServer`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

__all__ = ["CallServer"]

_LINGERING_SECONDS = 1.0
"""How long the rest of a refused body is read, so that the program can read the refusal."""

_LOGGER = logging.getLogger(__name__)
_LOGGER.addHandler(logging.NullHandler())  # each malformed request makes an entry, which nobody sees who asks for none


class CallServer(web.Server):
    """aiohttp's server, which by itself lets any number of connections wait for ever before their first request.

    Args:
        handler: of requests.
        head_seconds: in which a connection must have sent the head of its first request.
        connections: most open ones.
    """

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        *,
        head_seconds: float,
        connections: int,
    ) -> None:
        super().__init__(
            self._requested,
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,  # aiohttp would refuse what it cannot unpack in words of no dialect
            lingering_time=_LINGERING_SECONDS,
            logger=_LOGGER,
        )
        self._handler = handler
        self._head_seconds = head_seconds
        self._most = connections
        self._silent: dict[Any, asyncio.TimerHandle] = {}

    def connection_made(self, handler: Any, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self.connections) > self._most:
            transport.abort()
            return
        loop = asyncio.get_running_loop()
        self._silent[handler] = loop.call_later(self._head_seconds, transport.abort)

    def connection_lost(self, handler: Any, exc: BaseException | None = None) -> None:
        self._heard(handler)
        super().connection_lost(handler, exc)

    def _heard(self, handler: Any) -> None:
        timer = self._silent.pop(handler, None)
        if timer is not None:
            timer.cancel()

    async def _requested(self, request: web.BaseRequest) -> web.StreamResponse:
        self._heard(request.protocol)
        return await self._handler(request)
