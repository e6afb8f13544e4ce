"""A session with a server, from the handshake to the end of either side."""

from __future__ import annotations

import asyncio
import itertools
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

    from gem_tools.mcp.pending import PendingRequest, TimeLimits
    from gem_tools.mcp.session_group import SessionGroup

__all__ = ["PATIENCE", "Offerings", "ServerSession"]

T = TypeVar("T")

PATIENCE = 3.0
"""The time limit in seconds for a ping to a local server after a call timed out; a silent server is restarted."""

_MOST_PAGES = 100
"""The largest number of pages of a list, since a server could send them endlessly."""

_revisions = itertools.count(1)


class Offerings(NamedTuple):
    """What a server offers."""

    tools: list[mcp_types.Tool]
    has_resources: bool
    has_prompts: bool
    revision: int
    """Another number for another list of tools, in any session of this process."""


class ServerSession:
    """A session, created with :meth:`open`. All methods run on the loop of :mod:`gem_tools.mcp.host`.

    Args:
        server: the server.
        group: has the user and the model who answer the server; None for a client without both.
    """

    def __init__(self, server: ServerConfig, group: SessionGroup | None = None) -> None:
        import anyio

        self.server = server
        self.revision = next(_revisions)
        """Changes as soon as the server says that its tools are others."""
        self._group = group
        self._offerings = Offerings([], False, False, self.revision)
        self._listing = anyio.Lock()
        self._client: Client | None = None
        self._link: StdioLink | None = None
        self._ended = anyio.Event()
        self._pending: set[PendingRequest] = set()
        self._probing: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._handshake = anyio.CancelScope()

    @classmethod
    async def open(cls, server: ServerConfig, seconds: float, group: SessionGroup | None = None) -> ServerSession:
        """Start or contact a server, shake hands and request its tools, within a time limit in seconds.

        Raises:
            NotDeliveredError: if nothing answers at a server's address.
            MCPServerError: if the server cannot be started, or gives no valid answer.
        """
        session = cls(server, group)
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

    async def offerings(self, limits: TimeLimits) -> Offerings:
        """Return what the server offers now; see :meth:`_answered`."""

        async def listed(client: Client, pending: PendingRequest) -> Offerings:
            await self._list_anew(client)
            return self._offerings

        return await self._answered(listed, limits)

    async def call(self, tool: str, arguments: Mapping[str, Any], limits: TimeLimits) -> mcp_types.CallToolResult:
        """Call a tool; see :meth:`_answered`."""
        from gem_tools.mcp.tool_calls import call_tool, check_output

        async def called(
            client: Client, pending: PendingRequest
        ) -> tuple[mcp_types.Tool | None, mcp_types.CallToolResult]:
            await self._list_anew(client)
            listed = next((offered for offered in self._offerings.tools if offered.name == tool), None)
            return listed, await call_tool(client, listed, tool, arguments, pending)

        listed, result = await self._answered(called, limits)
        try:
            await check_output(listed, result)
        except MCPServerError as error:
            raise MCPServerError(f"MCP server {self.server.name}: {error}") from error
        return result

    async def resources(self, limits: TimeLimits) -> tuple[list[mcp_types.Resource], list[mcp_types.ResourceTemplate]]:
        """List the resources and the templates of resources; see :meth:`_answered`."""

        async def listed(
            client: Client, pending: PendingRequest
        ) -> tuple[list[mcp_types.Resource], list[mcp_types.ResourceTemplate]]:
            resources: list[mcp_types.Resource] = []
            async for page in _pages(client.list_resources):
                resources += page.resources
            templates: list[mcp_types.ResourceTemplate] = []
            with suppress(MCPError):  # servers without templates may not know the request
                async for templates_page in _pages(client.list_resource_templates):
                    templates += templates_page.resource_templates
            return resources, templates

        from mcp import MCPError

        return await self._answered(listed, limits)

    async def read_resource(self, uri: str, limits: TimeLimits) -> mcp_types.ReadResourceResult:
        """Read a resource; see :meth:`_answered`."""
        return await self._answered(lambda client, _: client.read_resource(uri), limits)

    async def prompts(self, limits: TimeLimits) -> list[mcp_types.Prompt]:
        """List the prompts; see :meth:`_answered`."""

        async def listed(client: Client, pending: PendingRequest) -> list[mcp_types.Prompt]:
            prompts: list[mcp_types.Prompt] = []
            async for page in _pages(client.list_prompts):
                prompts += page.prompts
            return prompts

        return await self._answered(listed, limits)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], limits: TimeLimits
    ) -> mcp_types.GetPromptResult:
        """Return the messages of a prompt; see :meth:`_answered`."""
        return await self._answered(lambda client, _: client.get_prompt(name, dict(arguments)), limits)

    async def _answered(self, request: Callable[[Client, PendingRequest], Awaitable[T]], limits: TimeLimits) -> T:
        """Send a request and return the answer; cancel the request at its time limit.

        Raises:
            NotDeliveredError: if the session had already ended.
            MCPServerError: if the request has no result; the message gives the reason.
        """
        from mcp import MCPError
        from pydantic import ValidationError

        from gem_tools.mcp.pending import PendingRequest

        if self._probing is not None:
            await asyncio.shield(self._probing)
        if self._link is not None and self._link.process.has_ended:
            self._ended.set()
        if self.is_over or self._client is None:
            raise NotDeliveredError(f"MCP server {self.server.name} has ended{await self._last_words()}")
        pending = PendingRequest(limits)
        self._pending.add(pending)
        try:
            with pending.scope:
                return await request(self._client, pending)
        except MCPServerError as error:
            raise MCPServerError(f"MCP server {self.server.name}: {error}") from error
        except MCPError as error:
            if pending.fault is not None:
                raise MCPServerError(f"MCP server {self.server.name} {pending.fault}") from error
            raise await self._explained(error) from error
        except (RuntimeError, ValidationError) as error:  # the SDK checks results against the protocol
            shown = " ".join(str(error).split())[:500]
            raise MCPServerError(f"the result of MCP server {self.server.name} is invalid: {shown}") from error
        finally:
            self._pending.discard(pending)
        if pending.fault is not None:
            raise MCPServerError(f"MCP server {self.server.name} {pending.fault}")
        self._check_alive()
        raise MCPServerError(self._timed_out(pending))

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
        from mcp.client import advertise
        from mcp_types import Implementation

        from gem_tools.mcp.server_requests import ServerRequests
        from gem_tools.mcp.tool_calls import TASKS

        asked = ServerRequests(self.server.name, self._group, self._pending, self._end)
        try:
            self._handshake.deadline = anyio.current_time() + seconds
            with self._handshake:
                client = Client(
                    await self._transport(),
                    client_info=Implementation(name="gem", version="1"),
                    cache=None,
                    elicitation_callback=None if asked.user is None else asked.question,
                    sampling_callback=None if asked.model is None else asked.completion,
                    message_handler=self._noted,
                    extensions=[advertise(TASKS)],
                    input_required_max_rounds=1_000_000,  # the number of questions and the time have limits
                )
                async with client:
                    self._offerings = await self._listed(client)
                    self._client = client
                    self._handshake.deadline = math.inf
                    if not ready.done():
                        ready.set_result(None)
                    listener = asyncio.create_task(self._listen(client))
                    await self._ended.wait()
                    listener.cancel()
                    await asyncio.wait([listener])
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

    async def _listed(self, client: Client) -> Offerings:
        revision = self.revision  # a change meanwhile makes the list old again
        tools: list[mcp_types.Tool] = []
        capabilities = client.server_capabilities
        if capabilities.tools is not None:
            async for page in _pages(client.list_tools):
                tools += page.tools
        return Offerings(tools, capabilities.resources is not None, capabilities.prompts is not None, revision)

    async def _list_anew(self, client: Client) -> None:
        """List the tools again if the server has said that they are others."""
        if self._offerings.revision == self.revision:
            return
        async with self._listing:
            if self._offerings.revision != self.revision:
                self._offerings = await self._listed(client)

    async def _noted(self, message: Any) -> None:
        """Take a notification."""
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self.revision = next(_revisions)

    async def _listen(self, client: Client) -> None:
        """Ask a server of the newest protocol to say when its tools change; others do so unasked."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        tools = client.server_capabilities.tools
        if tools is None or not tools.list_changed or client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        with suppress(Exception):  # without the stream, the list stays as it is
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.revision = next(_revisions)

    def _end(self) -> None:
        """End the session with a server that does not stop; the next call begins another one."""
        self._ended.set()
        if self._link is not None:
            self._link.process.kill()

    def _check_alive(self) -> None:
        """Check whether a late local server still works. GEM cannot restart a remote one."""
        if self._link is not None and (self._probing is None or self._probing.done()):
            self._probing = asyncio.create_task(self._probe())

    async def _probe(self) -> None:
        import anyio
        from mcp import MCPError

        # A sequential server may be working on a call that still has time.
        patience = max([PATIENCE, *(other.scope.deadline - anyio.current_time() for other in self._pending)])
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

        # Servers have the same code for errors of their own.
        is_closed = error.code == CONNECTION_CLOSED and error.message == "Connection closed"
        name = self.server.name
        if error.code == UNREACHED:
            return NotDeliveredError(f"MCP server {name} {error.message}")
        if error.code == SESSION_LOST:
            self._ended.set()
            return NotDeliveredError(f"MCP server {name} {error.message}")
        if self._link is not None and (self._ended.is_set() or is_closed):
            return MCPServerError(f"MCP server {name} ended before it answered{await self._last_words()}")
        if is_closed:
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

    def _timed_out(self, pending: PendingRequest) -> str:
        seconds = pending.waited()
        return (
            f"MCP server {self.server.name} did not answer within {seconds:g} seconds"
            f"{pending.describe_progress()}{self._garbage()}"
        )

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
