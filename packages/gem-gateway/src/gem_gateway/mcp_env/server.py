"""The MCP server of the episodes that agent programs play: :class:`EpisodeMCPServer`."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import uvicorn

from gem_gateway.mcp_env.episode_calls import MOST_WAITING, EpisodeCalls

if TYPE_CHECKING:
    import mcp_types
    from mcp.server.lowlevel import Server
    from typing_extensions import Self

__all__ = ["EpisodeEndpoint", "EpisodeMCPServer"]

_STOP_SECONDS = 2.0
"""Seconds that open connections have when the server stops."""

_CONNECTIONS = 2 * MOST_WAITING
"""Open connections of a door, which is one program's; further ones are closed at once."""


@dataclass(frozen=True)
class EpisodeEndpoint:
    """An episode with an address of its own."""

    calls: EpisodeCalls
    url: str
    """Of streamable HTTP."""
    key: str
    """Opens this episode alone; sent as ``Authorization: Bearer KEY``."""


class EpisodeMCPServer:
    """Serves any number of episodes over streamable HTTP on the event loop of the caller, each behind its own key.

    Requests are independent of each other: a client needs no session, and one that comes back finds its episode.
    A request with another key, or for an episode that has ended, gets 404.

    Args:
        host: the address to listen on.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self._host = host
        self._episodes: dict[str, EpisodeEndpoint] = {}
        self._server: _QuietServer | None = None
        self._task: asyncio.Task[None] | None = None
        self._address = ""

    async def __aenter__(self) -> Self:
        listener = socket.create_server((self._host, 0), backlog=1024)
        # Otherwise each answer would wait 40 ms for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._address = f"http://{self._host}:{listener.getsockname()[1]}"
        protocol = _protocol_server().streamable_http_app(json_response=True, stateless_http=True)
        self._application = _Application(protocol, self._episodes)
        self._server = _QuietServer(_configuration(self._application, lifespan="on"))
        self._task = asyncio.get_running_loop().create_task(self._server.serve(sockets=[listener]))
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        assert self._task is not None
        self._server.should_exit = True
        await self._task

    @contextlib.contextmanager
    def serve(self, calls: EpisodeCalls, origin: str | None = None) -> Iterator[EpisodeEndpoint]:
        """Give an episode an address for as long as the context lasts.

        Args:
            calls: of the episode.
            origin: what its address begins with, for a program that reaches it by :meth:`listening`.
        """
        name = secrets.token_hex(8)
        url = f"{self._address if origin is None else origin}/episodes/{name}/mcp"
        served = EpisodeEndpoint(calls, url, secrets.token_urlsafe(32))
        self._episodes[name] = served
        try:
            yield served
        finally:
            del self._episodes[name]

    @asynccontextmanager
    async def listening(self, listener: socket.socket, episode: EpisodeEndpoint) -> AsyncIterator[None]:
        """Take the calls of one episode from a further socket, and those of no other episode there.

        Args:
            listener: a listening socket, also of another network namespace; closed at the end of the context.
            episode: a served one.
        """
        assert self._server is not None
        accepting = await self._server.accept(listener, self._application.limited_to(episode))
        try:
            yield
        finally:
            accepting.close()


class _QuietServer(uvicorn.Server):
    """A server inside a program, which keeps its own handlers of signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def accept(self, listener: socket.socket, application: _Application) -> asyncio.Server:
        """Serve an application, whose protocol the server's own has started, on a further socket."""
        loop, config = asyncio.get_running_loop(), _configuration(application, lifespan="off")
        config.load()
        make = partial(
            _limited(config.http_protocol_class),
            config=config,
            server_state=self.server_state,
            app_state={},
            _loop=loop,
        )
        return await loop.create_server(make, sock=listener)


def _limited(connection: Any) -> Any:
    """Return the class of connections that a door takes, of which so many may be open that descriptors are left."""
    open_ones: set[Any] = set()

    class Limited(connection):  # type: ignore[misc]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            open_ones.add(self)
            if len(open_ones) > _CONNECTIONS:
                transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            open_ones.discard(self)
            super().connection_lost(exc)

    return Limited


def _configuration(application: _Application, lifespan: Literal["on", "off"]) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan=lifespan,
        ws="none",
        timeout_graceful_shutdown=int(_STOP_SECONDS),
    )


class _Application:
    """Finds the episode of a request by path and key, and passes the request on to the protocol's own application."""

    def __init__(
        self, protocol: Any, episodes: dict[str, EpisodeEndpoint], only: EpisodeEndpoint | None = None
    ) -> None:
        self._protocol = protocol
        self._episodes = episodes
        self._only = only

    def limited_to(self, episode: EpisodeEndpoint) -> _Application:
        """Return the same application for one episode alone."""
        return _Application(self._protocol, self._episodes, episode)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            episode = self._episode(scope)
            if episode is None:
                await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
                await send({"type": "http.response.body", "body": b""})
                return
            scope = {**scope, "path": "/mcp", "raw_path": b"/mcp", _EPISODE: episode}
        await self._protocol(scope, receive, send)

    def _episode(self, scope: Any) -> EpisodeEndpoint | None:
        parts = scope["path"].split("/")
        episode = self._episodes.get(parts[2]) if len(parts) == 4 and parts[1::2] == ["episodes", "mcp"] else None
        given = next((value for name, value in scope["headers"] if name.lower() == b"authorization"), b"")
        wanted = f"Bearer {episode.key if episode else secrets.token_urlsafe(32)}".encode()
        return episode if secrets.compare_digest(given, wanted) and self._only in (None, episode) else None


_EPISODE = "gem_gateway.episode"


def _protocol_server() -> Server[Any]:
    import mcp_types
    from mcp.server.lowlevel import Server

    from gem_tools.mcp.serve import tool_result

    @asynccontextmanager
    async def nothing(_: Any) -> AsyncIterator[dict[str, Any]]:
        yield {}

    async def list_tools(context: Any, parameters: Any) -> mcp_types.ListToolsResult:
        tools = _calls(context).tools.values()
        return mcp_types.ListToolsResult(
            tools=[
                mcp_types.Tool(name=tool.name, description=tool.description, input_schema=dict(tool.input_schema))
                for tool in tools
            ]
        )

    async def call_tool(context: Any, parameters: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        return tool_result(await _calls(context).call(parameters.name, parameters.arguments or {}))

    from gem_gateway import __version__

    return Server("gem", version=__version__, lifespan=nothing, on_list_tools=list_tools, on_call_tool=call_tool)


def _calls(context: Any) -> EpisodeCalls:
    episode: EpisodeEndpoint = context.request.scope[_EPISODE]
    return episode.calls
