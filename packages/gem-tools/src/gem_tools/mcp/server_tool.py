"""One tool of one MCP server: :class:`MCPServerTool`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from gem.errors import ArgumentTypeError
from gem.tools.base import Tool, ToolResult
from gem_tools.mcp.connection import RetryPolicy, ServerConnection
from gem_tools.mcp.errors import MCPServerError
from gem_tools.mcp.listing import OfferedTool
from gem_tools.mcp.placeholders import for_episode, has_values
from gem_tools.mcp.results import prompt_list, prompt_result, resource_list, resource_result, tool_result
from gem_tools.mcp.session_group import SessionGroup
from gem_tools.mcp.users import ConnectionUser

if TYPE_CHECKING:
    from gem.core import Env
    from gem_tools.mcp.config import ServerConfig
    from gem_tools.mcp.tool_set import ToolSet

__all__ = ["MCPServerTool"]


class MCPServerTool(Tool):
    """One tool of one server, created by :class:`MCPTool`.

    Args:
        offer: the tool.
        policy: the time limits of its calls.
        max_chars: the largest number of characters of a result's text.
        group: the tools with which it shares a session; None for all of this process.
        parallel: whether its calls may run at the same time as others; None for what the server says.
        tool_set: the tools of its environment; None for a tool that is by itself.
    """

    def __init__(
        self,
        offer: OfferedTool,
        policy: RetryPolicy,
        max_chars: int,
        group: SessionGroup | None,
        parallel: bool | None = None,
        tool_set: ToolSet | None = None,
    ) -> None:
        self.name = offer.name
        self.description = offer.description
        self.parameters = offer.parameters
        # The server's own name, which its documentation uses.
        self.aliases = () if offer.remote_name == offer.name else (offer.remote_name,)
        self.parallel = offer.is_parallel if parallel is None else parallel
        self.max_chars = max_chars
        self.offer = offer
        self.tool_set = tool_set
        self._policy = policy
        self._group = group
        self._parallel = parallel
        self._user = ConnectionUser()
        self._is_of_episode = has_values(offer.server)
        self._server: ServerConfig | None = None if self._is_of_episode else offer.server
        if self._server is not None:
            self._user.acquire(self._server, group)

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        server = self._server
        if server is None:
            return ToolResult(f"{self.name} failed: no episode has begun.", ok=False)
        if self._group is not None:
            self._group.used.add(server)
        try:
            return self._user.run(server, self._group, self._work(arguments), self._policy.longest)
        except MCPServerError as error:
            end = "" if "\n" in str(error) else "."
            return ToolResult(f"{self.name} failed: {error}{end}", ok=False)

    def reset(self, env: Env[Any, Any] | None = None, info: Mapping[str, Any] | None = None) -> None:
        """Begin a new episode. A tool with its own session gets a new one after use.

        Raises:
            ToolError: if the configuration of its server, its user or its model needs a value that the episode does
                not have.
        """
        self.end_episode()
        values = getattr(env, "episode_values", {})
        if self.tool_set is not None:
            self.tool_set.begin(env)
        if self._group is not None:
            self._group.begin(values)
        if self._is_of_episode:
            self._server = for_episode(self.offer.server, values)
            self._user.acquire(self._server, self._group)

    def end_episode(self) -> None:
        """End the session of the episode, and with it a local server."""
        server = self._server
        if server is None:
            return
        if self._group is None:
            if self.tool_set is not None:
                self.tool_set.follow(server, self._user.revision(server))
            return
        if self._is_of_episode:
            self._server = None
            self._group.used.discard(server)
            self._user.forget()
        elif server in self._group.used:
            self._group.used.discard(server)
            self._user.run(server, self._group, ServerConnection.close, self._policy.longest)

    def close(self) -> None:
        self._user.release()

    def leave(self) -> None:
        """Leave the tools of the environment, because the server does not offer this one any more."""
        self.tool_set = None
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> MCPServerTool:
        # The tools of one environment are copied together and stay a group.
        group, tool_set = copy.deepcopy((self._group, self.tool_set), memo)
        return MCPServerTool(self.offer, self._policy, self.max_chars, group, self._parallel, tool_set)

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = self.offer, self._policy, self.max_chars, self._group, self._parallel, self.tool_set
        return MCPServerTool, arguments

    def _work(self, arguments: Mapping[str, Any]) -> Callable[[ServerConnection], Coroutine[Any, Any, ToolResult]]:
        """Return the request of a call."""
        offer, policy, longest = self.offer, self._policy, self.max_chars

        async def called(connection: ServerConnection) -> ToolResult:
            return tool_result(await connection.call(offer.remote_name, arguments, policy), longest)

        async def listed_resources(connection: ServerConnection) -> ToolResult:
            return resource_list(*await connection.resources(policy), longest)

        async def read_resource(connection: ServerConnection) -> ToolResult:
            return resource_result(await connection.read_resource(text("uri"), policy), longest)

        async def listed_prompts(connection: ServerConnection) -> ToolResult:
            return prompt_list(await connection.prompts(policy), longest)

        async def got_prompt(connection: ServerConnection) -> ToolResult:
            return prompt_result(await connection.get_prompt(text("name"), texts("arguments"), policy), longest)

        def text(name: str) -> str:
            value = arguments.get(name)
            if not isinstance(value, str):
                raise ArgumentTypeError(f"the argument {name} must be a str, got {type(value).__name__}")
            return value

        def texts(name: str) -> dict[str, str]:
            value = arguments.get(name, {})
            if not isinstance(value, Mapping) or not all(isinstance(item, str) for item in value.values()):
                raise ArgumentTypeError(f"the argument {name} must be a dict of strings, got {value!r:.80}")
            return dict(value)

        return {
            "tool": called,
            "list_resources": listed_resources,
            "read_resource": read_resource,
            "list_prompts": listed_prompts,
            "get_prompt": got_prompt,
        }[offer.kind]
