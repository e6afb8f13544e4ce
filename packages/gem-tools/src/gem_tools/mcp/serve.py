"""Environments as MCP servers for any MCP client.

Each session plays its own episodes. Over standard input and output, the process has one session. Over HTTP, clients
open sessions up to a limit, and an environment is closed with its session.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from gem.core import Env
from gem_tools.mcp.end_on_signals import end_on_signals
from gem_tools.mcp.episodes import EpisodeAnswer, Episodes, tool_schemas, unknown_arguments

if TYPE_CHECKING:
    import mcp_types
    from mcp.server.lowlevel import Server
    from starlette.applications import Starlette

__all__ = ["http_app", "serve_stdio", "tool_result"]

Make = Callable[[], Env[Any, Any]]


async def serve_stdio(make: Make, *, name: str = "gem", seed: int | None = None) -> None:
    """Serve one client over this process's standard input and output, until the input ends.

    This is for a process that does nothing else: an interrupt or a request to terminate closes the environment and
    ends the process.

    Args:
        make: makes the environment.
        name: what the server calls itself.
        seed: the seed of the first episode, unless the client chooses one.
    """
    import anyio
    from mcp.server.stdio import stdio_server

    episodes = Episodes(make, seed)
    server = _server(make, name, lambda _: episodes)
    try:
        async with anyio.create_task_group() as group, stdio_server() as (incoming, outgoing):
            if sys.platform != "win32":
                close = partial(anyio.to_thread.run_sync, episodes.close, abandon_on_cancel=True)
                group.start_soon(end_on_signals, close)
            await server.run(incoming, outgoing, server.create_initialization_options())
            group.cancel_scope.cancel()
    finally:
        episodes.close()


def http_app(
    make: Make,
    *,
    name: str = "gem",
    seed: int | None = None,
    max_sessions: int = 64,
    idle_seconds: float = 1800.0,
    host: str = "127.0.0.1",
) -> Starlette:
    """Return an application that serves any number of clients by streamable HTTP at ``/mcp``.

    Args:
        make: creates the environment of one session.
        name: what the server calls itself.
        seed: the seed of the first episode of every session, unless the client chooses one.
        max_sessions: the largest number of open sessions; further clients are rejected.
        idle_seconds: the time without a request after which a session is closed.
        host: the address of the server; a local address rejects requests from other sites.
    """
    from mcp import MCPError
    from mcp_types import INVALID_REQUEST

    def episodes_of(context: Any) -> Episodes:
        # The connection has no public name, but only it reports the end of its session.
        connection = context.session._connection
        if connection.session_id is None:
            raise MCPError(INVALID_REQUEST, "this server keeps an episode for each session: begin with initialize")
        episodes: Episodes | None = connection.state.get("episodes")
        if episodes is None:
            episodes = connection.state["episodes"] = Episodes(make, seed)
            connection.exit_stack.push_async_callback(_in_thread, episodes.close)
        return episodes

    server = _server(make, name, episodes_of)
    _require_sessions(server)
    return server.streamable_http_app(
        json_response=True, max_sessions=max_sessions, session_idle_timeout=idle_seconds, host=host
    )


def _server(make: Make, name: str, episodes_of: Callable[[Any], Episodes]) -> Server[Any]:
    import mcp_types
    from mcp.server.lowlevel import Server

    with make() as env:
        offered = tool_schemas(env)
    schemas = {tool["name"]: tool["input_schema"] for tool in offered}
    tools = [mcp_types.Tool(**tool) for tool in offered]

    async def list_tools(context: Any, parameters: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, parameters: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        if parameters.name not in schemas:
            known = ", ".join(sorted(schemas))
            text = f"Error: there is no tool called {parameters.name[:64]!r}; there are {known}"
            return tool_result(EpisodeAnswer(({"type": "text", "text": text},), ok=False))
        arguments = parameters.arguments or {}
        refused = unknown_arguments(parameters.name, arguments, schemas[parameters.name])
        if refused is not None:
            return tool_result(refused)
        episodes = episodes_of(context)
        return tool_result(await _in_thread(episodes.call, parameters.name, arguments))

    from gem_tools import __version__

    return Server(name, version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


def _require_sessions(server: Server[Any]) -> None:
    """Offer only the protocol with sessions; in the newest version, every HTTP request is independent."""
    import mcp_types
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

    async def discover(context: Any, parameters: Any) -> mcp_types.DiscoverResult:
        return mcp_types.DiscoverResult(
            supported_versions=list(HANDSHAKE_PROTOCOL_VERSIONS), capabilities=server.get_capabilities()
        )

    server.add_request_handler("server/discover", mcp_types.RequestParams, discover)


async def _in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run slow work in a thread, to its end: a step of an environment cannot be interrupted."""
    import anyio

    with anyio.CancelScope(shield=True):
        return await anyio.to_thread.run_sync(function, *arguments)


def tool_result(answer: EpisodeAnswer) -> mcp_types.CallToolResult:
    """Return an answer as the protocol has it."""
    import mcp_types

    return mcp_types.CallToolResult(
        content=[_block(part) for part in answer.content],
        structured_content=None if answer.data is None else dict(answer.data),
        is_error=not answer.ok,
    )


def _block(part: Mapping[str, Any]) -> Any:
    import mcp_types

    if part.get("type") == "image_url":
        url = part["image_url"]["url"]
        head, comma, data = url.partition(";base64,")
        if comma and head.startswith("data:image/"):
            return mcp_types.ImageContent(data=data, mime_type=head.removeprefix("data:"))
        return mcp_types.TextContent(text=f"[picture at {url}]")
    return mcp_types.TextContent(text=part["text"] if part.get("type") == "text" else f"[{part.get('type')}]")
