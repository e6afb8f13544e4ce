"""MCP servers of departments over one state: ``python -m gem_envs_office.mcp_server mail tickets --state FILE``.

Each server offers the tools of its departments over standard input and output, and acts as the employee of one task.
Servers of different departments share the state file, which the first of them makes. The servers of a company are so
started one by one, as real ones are, and ``--verdict`` prints what the reward reads.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gem.errors import GemError
from gem_envs_office import __version__
from gem_envs_office.attacks import ATTACKS, NO_ATTACK
from gem_envs_office.declarations import company
from gem_envs_office.families.registry import FAMILIES, LEVELS, MIXED, office_task
from gem_envs_office.judge import judged
from gem_envs_office.task import OfficeTask
from gem_envs_office.tools import office_tools
from gem_envs_office.world import OfficeWorld

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

__all__ = ["department_server", "main"]


def department_server(task: OfficeTask, world: OfficeWorld, departments: Sequence[str]) -> Server[Any]:
    """Return the server of departments, which acts as the employee of a task in a world."""
    from mcp import types as mcp_types
    from mcp.server.lowlevel import Server

    own = {tool.name: tool for tool in office_tools().values() if tool.department in departments}
    offered = [
        mcp_types.Tool(name=tool.name, description=tool.description, input_schema=dict(tool.parameters or {}))
        for tool in own.values()
    ]

    async def list_tools(context: Any, parameters: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=offered)

    async def call_tool(context: Any, parameters: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        if parameters.name not in own:
            text, ok = (
                f"There is no tool {parameters.name[:64]!r} here. The departments: {', '.join(departments)}.",
                False,
            )
        else:
            # Another process may hold the state for a while.
            result = await asyncio.to_thread(world.call, task.agent_id, parameters.name, parameters.arguments or {})
            text, ok = result.text, result.ok
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(text=text)], is_error=not ok)

    name = f"office-{'-'.join(departments)}"[:64]
    return Server(name, version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve departments, or print the task or the verdict; return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    known = list(company().departments)
    if unknown := [name for name in options.departments if name not in known]:
        parser.error(f"there is no department {unknown[0]!r:.40}; there are {', '.join(known)}")
    try:
        task = office_task(options.family, options.task, options.level, options.split, options.attack)
        world = OfficeWorld(task.tables, task.today, task.rulebook, task.script, options.state)
    except (GemError, sqlite3.Error) as error:
        print(f"error: {options.state}: {error}", file=sys.stderr)  # noqa: T201
        return 1
    try:
        if options.verdict:
            verdict = judged(task, world)
            print(json.dumps({"reward": verdict.reward("all"), **verdict.info(20)}, ensure_ascii=False))  # noqa: T201
        elif options.text:
            print(json.dumps({"employee": task.agent, "today": task.today, "task": task.text}, ensure_ascii=False))  # noqa: T201
        else:
            _serve(department_server(task, world, options.departments or known))
    finally:
        world.close()
    return 0


def _serve(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    asyncio.run(run())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gem_envs_office.mcp_server", description=__doc__)
    parser.add_argument("departments", nargs="*", metavar="DEPARTMENT", help="all without one")
    parser.add_argument("--state", required=True, metavar="FILE", help="the SQLite file that the servers share")
    parser.add_argument("--family", choices=[*FAMILIES, MIXED], default=MIXED)
    parser.add_argument("--task", type=int, default=0, metavar="N", help="the number of the task")
    parser.add_argument("--level", type=int, choices=LEVELS, default=1)
    parser.add_argument("--split", choices=("train", "test"), default="train")
    parser.add_argument("--attack", choices=ATTACKS, default=NO_ATTACK)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--text", action="store_true", help="print the task in place of serving")
    what.add_argument("--verdict", action="store_true", help="print what the reward reads of the state")
    return parser


if __name__ == "__main__":
    sys.exit(main())
