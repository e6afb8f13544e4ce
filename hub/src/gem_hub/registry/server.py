"""A web server for a registry: uvicorn with time limits for slow clients, and reasons in the status line."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, ClassVar

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from gem_hub import __version__
from gem_hub.errors import HubRefusal
from gem_hub.networks import network_of
from gem_hub.registry.problems import REASON

__all__ = ["RegistryProtocol", "listen", "registry_server"]

_REQUEST_SECONDS = 30.0
"""The time in which the header of a request must be complete."""
_READER_SECONDS = 60.0
"""The time in which a client must take a block of an answer."""
_KEPT_ALIVE_SECONDS = 15
_MOST_HEADER = 32 * 2**10
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        HubRefusal: if the address is not available.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise HubRefusal(
            f"cannot listen on {host} port {port} ({error.strerror}); choose another with --port, or 0 for any"
        ) from error
    return listener


def registry_server(
    app: Starlette,
    connections: int,
    trusted_proxies: list[str],
    certificate: str = "",
    key: str = "",
    connections_per_address: int = 64,
) -> uvicorn.Server:
    """Return a server for a registry; ``run(sockets=[…])`` serves until a signal.

    Args:
        app: the registry.
        connections: the largest number of connections at once.
        trusted_proxies: the addresses of proxies that name the client.
        certificate: a file with a certificate chain, to serve TLS.
        key: the file with its key.
        connections_per_address: the largest number of connections of one address, or of one network of IPv6; a trusted
            proxy, which speaks for many, may have all of them.
    """
    limits = {"of_one_address": connections_per_address, "proxies": frozenset(trusted_proxies)}
    config = uvicorn.Config(
        app,
        http=type("LimitedProtocol", (RegistryProtocol,), limits),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        headers=[("Server", f"gem-hub/{__version__}")],
        proxy_headers=True,
        forwarded_allow_ips=trusted_proxies,
        limit_concurrency=connections,
        timeout_keep_alive=_KEPT_ALIVE_SECONDS,
        timeout_graceful_shutdown=30,
        h11_max_incomplete_event_size=_MOST_HEADER,
        ssl_certfile=certificate or None,
        ssl_keyfile=key or None,
    )
    return uvicorn.Server(config)


class _Connection(h11.Connection):
    """Writes the reason of an answer into its status line."""

    def send(self, event: Any) -> Any:
        if isinstance(event, h11.Response):
            reason = next((value for name, value in event.headers if name == REASON.encode()), None)
            if reason is not None:
                headers = [(name, value) for name, value in event.headers if name != REASON.encode()]
                event = h11.Response(status_code=event.status_code, headers=headers, reason=reason)
        return super().send(event)


class RegistryProtocol(H11Protocol):
    """uvicorn's protocol with limits for clients that send or read too slowly, and for their number."""

    of_one_address: ClassVar[int]
    proxies: ClassVar[frozenset[str]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = _Connection(h11.SERVER, self.config.h11_max_incomplete_event_size or _MOST_HEADER)
        self._request_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        most = self.limit_concurrency
        if (most is not None and len(self.connections) > most) or self._is_one_too_many():
            transport.write(_BUSY)
            transport.close()
            return
        self._request_timer = self.loop.call_later(_REQUEST_SECONDS, self._give_up)

    def _is_one_too_many(self) -> bool:
        """Return whether the client's address has its most connections without this one."""
        host = self._host
        if not host or host in self.proxies:
            return False
        own = network_of(host)
        hosts = [other._host for other in self.connections if isinstance(other, RegistryProtocol)]
        return sum(network_of(other) == own for other in hosts) > self.of_one_address

    @property
    def _host(self) -> str:
        return self.client[0] if self.client else ""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        idle = self.cycle is None or self.cycle.response_complete
        if not idle:
            self._cancel_request_timer()
        elif self._request_timer is None:
            self._request_timer = self.loop.call_later(_REQUEST_SECONDS, self._give_up)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reader_timer = self.loop.call_later(_READER_SECONDS, self._give_up)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_reader_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_request_timer()
        self._cancel_reader_timer()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()

    def _cancel_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _cancel_reader_timer(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None
