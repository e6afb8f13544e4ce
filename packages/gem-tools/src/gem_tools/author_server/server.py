"""The MCP server of GEM's commands: one client over standard input and output, one command at a time."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.errors import ArgumentError
from gem_tools.author_server.command_run import GRACE_SECONDS, EndedCommand, run_gem
from gem_tools.author_server.command_tools import TOOLS, LimitedCommand, ModelAddress, command_line
from gem_tools.mcp.end_on_signals import end_on_signals
from gem_tools.mcp.episodes import EpisodeAnswer, failure
from gem_tools.mcp.serve import tool_result

if TYPE_CHECKING:
    import mcp_types
    from mcp.server.lowlevel import Server

__all__ = ["author_server", "serve_author"]

_INSTRUCTIONS = (
    "Tools for authors of GEM environments. Write the environment in files, then call check and read each violation; "
    "eval with the agents reference and random shows whether it tells agents apart; show reads an episode. The command "
    "'gem skill' prints how to write one."
)


async def serve_author(folder: Path, model: ModelAddress | None) -> None:
    """Serve one client until its input ends; a signal ends the command that is running, and the process.

    Args:
        folder: the working folder: commands run there, and no path of a call leads out of it.
        model: the model that evaluations may ask.
    """
    import anyio
    from mcp.server.stdio import stdio_server

    server, running = author_server(folder, model)

    async def close() -> None:
        for scope in running:
            scope.cancel()
        while running:
            await anyio.sleep(0.01)

    async with anyio.create_task_group() as group, stdio_server() as (incoming, outgoing):
        if sys.platform != "win32":
            group.start_soon(end_on_signals, close, 3 * GRACE_SECONDS)
        await server.run(incoming, outgoing, server.create_initialization_options())
        await close()
        group.cancel_scope.cancel()


def author_server(folder: Path, model: ModelAddress | None) -> tuple[Server[Any], set[Any]]:
    """Return the server, and the cancel scopes of the calls that are running, a set that changes.

    Args:
        folder: the working folder.
        model: the model that evaluations may ask.
    """
    import anyio
    import mcp_types
    from mcp.server.lowlevel import Server

    from gem_tools import __version__

    root = folder.resolve(strict=True)
    one_at_a_time = anyio.Semaphore(1)
    running: set[Any] = set()

    async def list_tools(context: Any, parameters: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(
            tools=[
                mcp_types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=tool.schema,
                    annotations=mcp_types.ToolAnnotations(read_only_hint=tool.reads_only, destructive_hint=False),
                )
                for tool in TOOLS
            ]
        )

    async def call_tool(context: Any, parameters: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        tool = next((tool for tool in TOOLS if tool.name == parameters.name), None)
        if tool is None:
            known = ", ".join(tool.name for tool in TOOLS)
            return tool_result(failure(f"there is no tool called {parameters.name[:64]!r}; there are {known}"))
        try:
            line = await anyio.to_thread.run_sync(command_line, tool, parameters.arguments or {}, root, model)
        except ArgumentError as error:
            return tool_result(failure(str(error)))
        with anyio.CancelScope() as scope:
            running.add(scope)
            try:
                async with one_at_a_time:
                    return tool_result(answer_of(line, await run_gem(line.arguments, root, line.seconds)))
            finally:
                running.discard(scope)
        return tool_result(failure("the server is ending"))

    server: Server[Any] = Server(
        "gem", version=__version__, instructions=_INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )
    return server, running


def answer_of(line: LimitedCommand, result: EndedCommand) -> EpisodeAnswer:
    """Return what the client reads of a command: the command, its output, and how it ended."""
    shown = shlex.join(("gem", *line.arguments))
    if result.exit_code is None:
        end = f"It was interrupted at its limit of {line.seconds:g} seconds."
    else:
        end = f"exit code {result.exit_code}"
    text = f"$ {shown}\n{result.output.rstrip()}\n\n{end}"
    data = {"command": shown, "exit_code": result.exit_code, "truncated": result.truncated}
    return EpisodeAnswer(({"type": "text", "text": text},), ok=result.exit_code == 0, data=data)
