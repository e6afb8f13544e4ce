"""Finds out what an MCP server does by calling it: :func:`recorded_server`.

A server can become a world if each start begins with the same state, and if tools without arguments show the whole
state: every tool that writes must change what they show. What cannot be seen this way is refused with the reason.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from gem.tools import ToolResult
from gem_envs_desk.synthesis.errors import DescriptionError, UnsupportedSchemaError
from gem_envs_desk.synthesis.openapi_calls import snake_case
from gem_envs_desk.synthesis.server_arguments import SourceCounts, drawn_arguments
from gem_envs_desk.synthesis.server_profile import ServerProfile, records_of, state_tables
from gem_envs_desk.synthesis.server_world import LiveServer

__all__ = ["RecordedServer", "recorded_server"]

_ENOUGH = 8
"""Calls of a tool that changed the state, after which it is tried less."""
_READING = {
    "read",
    "get",
    "list",
    "show",
    "search",
    "find",
    "open",
    "query",
    "view",
    "fetch",
    "describe",
    "export",
    "dump",
}


class RecordedServer(NamedTuple):
    """A server, and the sources of values with which its tools changed the state."""

    profile: ServerProfile
    learned: SourceCounts
    writes: tuple[str, ...]


def recorded_server(name: str, config: Mapping[str, Any], seed: int, rounds: int = 60) -> RecordedServer:
    """Start a server twice, call its tools, and return what it does.

    Args:
        name: for messages.
        config: one server as in ``mcpServers``.
        seed: decides the calls.
        rounds: the most calls of each tool that writes.

    Raises:
        DescriptionError: if no world can be made of it; the message says why.
    """
    first = LiveServer(name, config)
    try:
        tools = {one.name: one for one in first.tools()}
        if not tools:
            raise DescriptionError(f"the MCP server {name} offers no tools")
        readers = [one for one in tools if _only_reads(tools[one]) and not tools[one].input_schema.get("required")]
        start = first.state(tuple(readers))
        offered = {one: _offered(tool) for one, tool in tools.items()}
        writers = [one for one in tools if not _only_reads(tools[one])]
        state_tools = tuple(one for one in readers if start[one] is not None)
        if not state_tools:
            raise DescriptionError(
                f"no tool of the MCP server {name} shows its state without arguments; worlds are made of servers that "
                "have one, to compare states"
            )
        learned, refused, shows = _probed(first, state_tools, [offered[one] for one in writers], seed, rounds)
    finally:
        first.close()
    _check_starts(name, config, {one: start[one] for one in state_tools})
    state_tools = tuple(one for one in state_tools if one in shows)
    writes = tuple(one for one in writers if one not in refused)
    if not writes:
        reasons = "; ".join(f"{tool}: {why}" for tool, why in list(refused.items())[:4])
        raise DescriptionError(f"no tool of the MCP server {name} changes what its reading tools show; {reasons}")
    kept = tuple(offered[one] for one in tools if one not in refused)
    return RecordedServer(ServerProfile(name, config, kept, state_tools, refused), learned, writes)


def _probed(
    live: LiveServer, state_tools: tuple[str, ...], writers: list[dict[str, Any]], seed: int, rounds: int
) -> tuple[SourceCounts, dict[str, str], set[str]]:
    """Call the writing tools at random, and return the sources that worked, the refused tools, the useful readers."""
    from gem_tools.mcp.errors import MCPServerError

    rng = random.Random(f"{seed} recording")
    learned: SourceCounts = {}
    changes: Counter[str] = Counter()
    answers: dict[str, str] = {}
    shows: set[str] = set()
    state = live.state(state_tools)
    for round_ in range(rounds):
        for tool in writers:
            if changes[tool["name"]] >= _ENOUGH and round_ % 3:
                continue
            try:
                drawn = drawn_arguments(tool, list(records_of(state)), None, rng)
            except UnsupportedSchemaError as error:
                answers[tool["name"]] = str(error)
                continue
            try:
                result = live.call(tool["name"], drawn.arguments)
            except MCPServerError as error:
                result = ToolResult(str(error), ok=False)
            before, state = state, live.state(state_tools)
            differing = {
                one for one in state_tools if state_tables({one: before[one]}) != state_tables({one: state[one]})
            }
            if differing and result.ok:
                shows |= differing
                changes[tool["name"]] += 1
                for place, source, _ in drawn.sources:
                    learned.setdefault((tool["name"], place), Counter())[source] += 1
            elif not result.ok:
                answers[tool["name"]] = f"its calls fail: {' '.join(result.text.split())[:120]}"
    refused = {
        tool["name"]: answers.get(tool["name"], "no call of it changed what the reading tools show")
        for tool in writers
        if not changes[tool["name"]]
    }
    return learned, refused, shows


def _check_starts(name: str, config: Mapping[str, Any], start: Mapping[str, Any]) -> None:
    again = LiveServer(name, config)
    try:
        if state_tables(again.state(tuple(start))) != state_tables(start):
            raise DescriptionError(
                f"a new start of the MCP server {name} does not begin with the state of the first one, so its episodes "
                'would not be alike; let it keep its data in the folder of the episode, for example "env": '
                '{"DATA_FILE": "${episode.dir}/data"}'
            )
    finally:
        again.close()


def _only_reads(tool: Any) -> bool:
    hint = None if tool.annotations is None else tool.annotations.read_only_hint
    return bool(hint) if hint is not None else snake_case(tool.name).split("_")[0] in _READING


def _offered(tool: Any) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": " ".join((tool.description or tool.title or "").split())[:1000],
        "parameters": {
            "type": "object",
            **{key: value for key, value in tool.input_schema.items() if key != "$schema"},
        },
    }
