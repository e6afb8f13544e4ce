"""Connections to servers: opened on first use, reopened after an end, closed after the last user."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from gem_tools.mcp.config import ServerConfig
from gem_tools.mcp.errors import NotDeliveredError
from gem_tools.mcp.session import Offerings, ServerSession

if TYPE_CHECKING:
    import mcp_types

    from gem_tools.mcp.pending import TimeLimits
    from gem_tools.mcp.session_group import SessionGroup

__all__ = ["RetryPolicy", "ServerConnection"]

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """The time limits of calls in seconds, and the number of retries of undelivered requests."""

    call: float = 30.0
    connect: float = 60.0
    retries: int = 3
    delay: float = 1.0
    longest_call: float | None = None
    """The time limit of a call that shows that it goes on; None for ``call``."""

    @property
    def limits(self) -> TimeLimits:
        """The time limits of one request."""
        from gem_tools.mcp.pending import TimeLimits

        return TimeLimits(self.call, max(self.call, self.longest_call or 0.0))

    @property
    def longest(self) -> float:
        """The longest duration of a call in seconds, including all retries."""
        return (self.retries + 1) * (self.limits.total + self.connect + self.delay) + 60.0


class ServerConnection:
    """A session with a server, shared by its users in this process.

    Args:
        server: the server.
        group: has the user and the model who answer the server; None for a client without both.
    """

    def __init__(self, server: ServerConfig, group: SessionGroup | None = None) -> None:
        self._server = server
        self._group = group
        self.name = server.name
        self._session: ServerSession | None = None
        self._opening: asyncio.Task[ServerSession] | None = None

    async def offerings(self, policy: RetryPolicy) -> Offerings:
        """Return what the server offers.

        Raises:
            MCPServerError: if the server cannot be used.
        """
        return await self._delivered(lambda session: session.offerings(policy.limits), policy)

    @property
    def revision(self) -> int | None:
        """The revision of what the server offers (:class:`Offerings`); None without a session."""
        return None if self._session is None or self._session.is_over else self._session.revision

    async def call(self, tool: str, arguments: Mapping[str, Any], policy: RetryPolicy) -> mcp_types.CallToolResult:
        """Call a tool. A call that may have reached the server is never sent twice.

        Raises:
            MCPServerError: if the call has no result.
        """
        return await self._delivered(lambda session: session.call(tool, arguments, policy.limits), policy)

    async def resources(self, policy: RetryPolicy) -> tuple[list[mcp_types.Resource], list[mcp_types.ResourceTemplate]]:
        """Return the resources of the server, and the templates of further ones.

        Raises:
            MCPServerError: if the request has no result.
        """
        return await self._delivered(lambda session: session.resources(policy.limits), policy)

    async def read_resource(self, uri: str, policy: RetryPolicy) -> mcp_types.ReadResourceResult:
        """Read a resource.

        Raises:
            MCPServerError: if the request has no result.
        """
        return await self._delivered(lambda session: session.read_resource(uri, policy.limits), policy)

    async def prompts(self, policy: RetryPolicy) -> list[mcp_types.Prompt]:
        """Return the prompts of the server.

        Raises:
            MCPServerError: if the request has no result.
        """
        return await self._delivered(lambda session: session.prompts(policy.limits), policy)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], policy: RetryPolicy
    ) -> mcp_types.GetPromptResult:
        """Return the messages of a prompt.

        Raises:
            MCPServerError: if the request has no result.
        """
        return await self._delivered(lambda session: session.get_prompt(name, arguments, policy.limits), policy)

    async def close(self) -> None:
        """End the session, if there is one."""
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.cancel()
            await asyncio.wait([opening])
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _delivered(self, request: Callable[[ServerSession], Awaitable[T]], policy: RetryPolicy) -> T:
        for left in range(policy.retries, -1, -1):
            try:
                return await request(await self._current(policy.connect))
            except NotDeliveredError:
                if left == 0:
                    raise
                if self._session is None or not self._session.is_over:
                    await asyncio.sleep(policy.delay)  # nothing answers yet: give the server time to start
        raise AssertionError("unreachable")

    async def _current(self, seconds: float) -> ServerSession:
        """Return a live session. The first of several simultaneous callers opens it for all."""
        if self._session is not None and not self._session.is_over:
            return self._session
        if self._opening is None:
            self._opening = asyncio.create_task(self._opened(seconds))
            self._opening.add_done_callback(_retrieved)
        return await asyncio.shield(self._opening)

    async def _opened(self, seconds: float) -> ServerSession:
        try:
            if self._session is not None:
                await self._session.close()
            self._session = await ServerSession.open(self._server, seconds, self._group)
            return self._session
        finally:
            self._opening = None


def _retrieved(task: asyncio.Task[Any]) -> None:
    """Keep asyncio from reporting an error that no caller waited for."""
    if not task.cancelled():
        task.exception()
