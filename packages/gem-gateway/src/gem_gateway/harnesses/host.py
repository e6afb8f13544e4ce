"""What the episodes of a harness share on one event loop: :class:`HarnessHost`."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from gem_gateway.gateway import Gateway
from gem_gateway.mcp_env.server import EpisodeMCPServer

__all__ = ["HarnessHost"]


class HarnessHost:
    """A gateway and a server of episodes, which run while somebody uses them. Belongs to one event loop at a time."""

    def __init__(self) -> None:
        self.gateway: Gateway
        self.episodes: EpisodeMCPServer
        self._users = 0
        self._stack: AsyncExitStack | None = None
        self._changes = asyncio.Lock()

    async def enter(self) -> None:
        """Begin to use both; the first user starts them."""
        async with self._changes:
            if self._stack is None:
                async with AsyncExitStack() as stack:
                    self.gateway = await stack.enter_async_context(Gateway())
                    self.episodes = await stack.enter_async_context(EpisodeMCPServer())
                    self._stack = stack.pop_all()
            self._users += 1

    async def leave(self) -> None:
        """End the use; the last user stops them."""
        async with self._changes:
            self._users -= 1
            if not self._users and self._stack is not None:
                stack, self._stack = self._stack, None
                await stack.aclose()
