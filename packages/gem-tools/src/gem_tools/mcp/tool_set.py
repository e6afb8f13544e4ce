"""The tools of one environment, which follow the lists of their servers from episode to episode: :class:`ToolSet`."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gem.errors import ToolError
from gem_tools.mcp.errors import MCPServerError

if TYPE_CHECKING:
    from gem.core import Env
    from gem_tools.mcp.config import ServerConfig
    from gem_tools.mcp.listing import OfferedTool

__all__ = ["ToolSet"]


class ToolSet:
    """The tools that an :class:`MCPTool` has made for one environment. A deep copy is that of another environment.

    A server may change its tools at any time, and says so. The tools of an episode stay as they are to its end, and the
    next episode begins with those of then.

    Args:
        source: the :class:`MCPTool`, which lists the tools of the servers and makes their objects.
        revisions: the revision of each server's list when the tools were made.
    """

    def __init__(self, source: Any, revisions: dict[ServerConfig, int]) -> None:
        self._source = source
        self._revisions = revisions
        self._env: weakref.ref[Env[Any, Any]] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> ToolSet:
        return ToolSet(self._source, dict(self._revisions))

    def __reduce__(self) -> tuple[Any, ...]:
        return ToolSet, (self._source, self._revisions)

    def begin(self, env: Env[Any, Any] | None) -> None:
        """Take note of the environment that has the tools."""
        self._env = None if env is None else weakref.ref(env)

    def follow(self, server: ServerConfig, revision: int | None) -> None:
        """Give the environment the tools that its servers offer now, if a revision is another than the noted one.

        Servers that cannot be asked, and names that other tools have, leave everything as it is.
        """
        if revision is None or revision == self._revisions.get(server):
            return
        env = None if self._env is None else self._env()
        with suppress(MCPServerError, ToolError):
            offers, self._revisions = self._source.offered()
            if env is not None:
                self._replace(env, offers)

    def _replace(self, env: Any, offers: list[OfferedTool]) -> None:
        mine = [tool for tool in env.tools if getattr(tool, "tool_set", None) is self]
        if not mine or [tool.offer for tool in mine] == offers:
            return
        kept = {tool.name: tool for tool in mine if tool.offer in offers}
        new = [kept.get(offer.name) or self._source.tool_of(offer, self) for offer in offers]
        for tool in new:
            tool.check()
        others = [tool for tool in env.tools if tool not in mine]
        place = env.tools.index(mine[0])
        env.replace_tools([*others[:place], *new, *others[place:]])
        for tool in mine:
            if tool not in new:
                tool.leave()
