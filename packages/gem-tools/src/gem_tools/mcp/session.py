"""A session with a server, from the handshake to the end of either side."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gem_tools.mcp.config import ServerConfig
from gem_tools.mcp.errors import MCPServerError, NotDeliveredError, RequestRefusedError
from gem_tools.mcp.http import SESSION_LOST, UNREACHED, open_http
from gem_tools.mcp.process import ServerProcess
from gem_tools.mcp.stdio import StdioLink

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client
    from mcp.client._transport import TransportStreams

__all__ = ["PATIENCE", "Offerings", "ServerSession"]

T = TypeVar("T")

PATIENCE = 3.0
"""The time limit in seconds for a ping to a local server after a call timed out; a silent server is restarted."""

_MOST_PAGES = 100
"""The largest number of pages of a list, since a server could send them endlessly."""


class Offerings(NamedTuple):
    """What a server offers."""

    tools: list[mcp_types.Tool]
    has_resources: bool


class ServerSession:
    """A session, created with :meth:`open`. All methods run on the loop of :mod:`gem_tools.mcp.host`."""

    def __init__(self, server: ServerConfig) -> None:
        import anyio

        self.server = server
        self.offerings = Offerings([], False)
        self._client: Client | None = None
        self._link: StdioLink | None = None
        self._ended = anyio.Event()
        self._deadlines: set[float] = set()
        self._probing: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._handshake = anyio.CancelScope()

    @classmethod
    async def open(cls, server: ServerConfig, seconds: float) -> ServerSession:
        """Start or contact a server, shake hands and request its tools, within a time limit in seconds.

        Raises:
            NotDeliveredError: if nothing answers at a server's address.
            MCPServerError: if the server cannot be started, or gives no valid answer.
        """
        session = cls(server)
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        session._task = asyncio.create_task(session._live(ready, seconds))
        try:
            await ready
        except BaseException:
            await session.close()
            raise
        return session

    @property
    def is_over(self) -> bool:
        """Whether this session accepts no more calls."""
        return self._ended.is_set() or self._task is None or self._task.done()

    async def call(self, tool: str, arguments: Mapping[str, Any], seconds: float) -> mcp_types.CallToolResult:
        """Call a tool; see :meth:`_answered`."""
        return await self._answered(lambda client: client.call_tool(tool, dict(arguments)), seconds)

    async def resources(self, seconds: float) -> tuple[list[mcp_types.Resource], list[mcp_types.ResourceTemplate]]:
        """List the resources and the templates of resources; see :meth:`_answered`."""

        async def listed(client: Client) -> tuple[list[mcp_types.Resource], list[mcp_types.ResourceTemplate]]:
            resources: list[mcp_types.Resource] = []
            async for page in _pages(client.list_resources):
                resources += page.resources
            templates: list[mcp_types.ResourceTemplate] = []
            with suppress(MCPError):  # servers without templates may not know the request
                async for templates_page in _pages(client.list_resource_templates):
                    templates += templates_page.resource_templates
            return resources, templates

        from mcp import MCPError

        return await self._answered(listed, seconds)

    async def read_resource(self, uri: str, seconds: float) -> mcp_types.ReadResourceResult:
        """Read a resource; see :meth:`_answered`."""
        return await self._answered(lambda client: client.read_resource(uri), seconds)

    async def _answered(self, request: Callable[[Client], Awaitable[T]], seconds: float) -> T:
        """Send a request and return the answer; cancel the request at its time limit in seconds.

        Raises:
            NotDeliveredError: if the session had already ended.
            MCPServerError: if the request has no result; the message gives the reason.
        """
        import anyio
        from mcp import MCPError
        from pydantic import ValidationError

        if self._probing is not None:
            await asyncio.shield(self._probing)
        if self._link is not None and self._link.process.has_ended:
            self._ended.set()
        if self.is_over or self._client is None:
            raise NotDeliveredError(f"MCP server {self.server.name} has ended{await self._last_words()}")
        deadline = anyio.current_time() + seconds
        self._deadlines.add(deadline)
        try:
            with anyio.fail_after(seconds):
                return await request(self._client)
        except TimeoutError as error:
            self._check_alive()
            raise MCPServerError(self._timed_out(seconds)) from error
        except MCPError as error:
            raise await self._explained(error) from error
        except (RuntimeError, ValidationError) as error:
            # The SDK validates the result against the protocol and the tool's output schema.
            shown = " ".join(str(error).split())[:500]
            raise MCPServerError(f"the result of MCP server {self.server.name} is invalid: {shown}") from error
        finally:
            self._deadlines.discard(deadline)

    async def close(self) -> None:
        """Close the session, and stop a local server."""
        self._ended.set()
        if self._client is None:
            self._handshake.cancel()
        if self._task is not None:
            await asyncio.wait([self._task])
            if not self._task.cancelled():
                self._task.exception()

    async def _live(self, ready: asyncio.Future[None], seconds: float) -> None:
        """Keep the session open. The task that entered the SDK's context managers must leave them."""
        import anyio
        from mcp import Client, MCPError
        from mcp_types import Implementation

        try:
            self._handshake.deadline = anyio.current_time() + seconds
            with self._handshake:
                client = Client(
                    await self._transport(), client_info=Implementation(name="gem", version="1"), cache=None
                )
                async with client:
                    has_resources = client.server_capabilities.resources is not None
                    self.offerings = Offerings(await self._listed(client), has_resources)
                    self._client = client
                    self._handshake.deadline = math.inf
                    if not ready.done():
                        ready.set_result(None)
                    await self._ended.wait()
            if not ready.done():
                ready.set_exception(MCPServerError(self._no_handshake(seconds)))
        except Exception as error:
            if not ready.done():
                cause = _innermost(error)
                ready.set_exception(
                    await self._explained(cause) if isinstance(cause, MCPError) else self._unusable(cause)
                )
        finally:
            self._ended.set()
            if not ready.done():
                ready.set_exception(MCPServerError(f"MCP server {self.server.name} was closed"))

    async def _transport(self) -> AbstractAsyncContextManager[TransportStreams]:
        if self.server.url is not None:
            return open_http(self.server)
        process = await ServerProcess.start(self.server)
        self._link = StdioLink(process, self._ended)
        return self._link.open()

    async def _listed(self, client: Client) -> list[mcp_types.Tool]:
        if client.server_capabilities.tools is None:
            return []
        tools: list[mcp_types.Tool] = []
        async for page in _pages(client.list_tools):
            tools += page.tools
        return tools

    def _check_alive(self) -> None:
        """Check whether a late local server still works. GEM cannot restart a remote one."""
        if self._link is not None and (self._probing is None or self._probing.done()):
            self._probing = asyncio.create_task(self._probe())

    async def _probe(self) -> None:
        import anyio
        from mcp import MCPError

        # A sequential server may be working on a call that still has time.
        patience = max([PATIENCE, *(deadline - anyio.current_time() for deadline in self._deadlines)])
        try:
            with anyio.fail_after(patience):
                await self._ping()
        except TimeoutError:
            if self._link is not None:
                self._link.fault = f"it answered nothing for {patience:.0f} seconds and will be restarted"
                self._link.process.kill()
            await self._ended.wait()
        except MCPError:
            pass  # an error is an answer, too
        finally:
            self._probing = None

    async def _ping(self) -> None:
        import mcp_types

        assert self._client is not None
        session = self._client.session
        if session.discover_result is not None:  # the protocol version without a handshake has no ping
            await session.send_discover(self._client.protocol_version)
        else:
            await session.send_request(mcp_types.PingRequest(), mcp_types.EmptyResult)

    async def _explained(self, error: Any) -> MCPServerError:
        """Convert a JSON-RPC error."""
        from mcp_types import CONNECTION_CLOSED

        name = self.server.name
        if error.code == UNREACHED:
            return NotDeliveredError(f"MCP server {name} {error.message}")
        if error.code == SESSION_LOST:
            self._ended.set()
            return NotDeliveredError(f"MCP server {name} {error.message}")
        if self._link is not None and (self._ended.is_set() or error.code == CONNECTION_CLOSED):
            return MCPServerError(f"MCP server {name} ended before it answered{await self._last_words()}")
        if error.code == CONNECTION_CLOSED:
            return MCPServerError(f"MCP server {name}: {error.message[:2000]}")
        return RequestRefusedError(f"MCP server {name}: {error.message[:2000]}", error.message)

    async def _last_words(self) -> str:
        if self._link is None:
            return ""
        fault = f": {self._link.fault}" if self._link.fault else ""
        return fault + await self._link.process.describe_end() + self._garbage()

    def _garbage(self) -> str:
        if self._link is None or self._link.garbage is None:
            return ""
        return f"; it wrote an invalid message to its standard output: {self._link.garbage!r}"

    def _timed_out(self, seconds: float) -> str:
        return f"MCP server {self.server.name} did not answer within {seconds:g} seconds{self._garbage()}"

    def _no_handshake(self, seconds: float) -> str:
        about = "" if self._link is None else self._link.process.error_output()
        return f"MCP server {self.server.name} could not be used within {seconds:g} seconds{self._garbage()}{about}"

    def _unusable(self, error: BaseException) -> MCPServerError:
        if isinstance(error, MCPServerError):
            return error
        shown = " ".join(str(error).split())[:500]
        return MCPServerError(f"MCP server {self.server.name} cannot be used: {type(error).__name__}: {shown}")


async def _pages(request: Callable[..., Awaitable[Any]]) -> AsyncIterator[Any]:
    """Yield the pages of a list."""
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await request(cursor=cursor)
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return


def _innermost(error: BaseException) -> BaseException:
    """Return the original error inside nested exception groups."""
    while (inner := getattr(error, "exceptions", None)) and isinstance(inner, tuple):
        error = inner[0]
    return error
