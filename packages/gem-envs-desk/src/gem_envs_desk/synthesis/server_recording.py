"""Finds out what an MCP server does by calling it: :func:`recorded_server`.

A server can become a world if each start begins with the same state, and if tools without arguments show the whole
state: every tool that writes must change what they show. What cannot be seen this way is refused with the reason.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from gem.tools import ToolResult
from gem_envs_desk.synthesis.errors import DescriptionError, UnsupportedSchemaError
from gem_envs_desk.synthesis.openapi_calls import snake_case
from gem_envs_desk.synthesis.server_arguments import NEW, DrawnArguments, SourceCounts, drawn_arguments
from gem_envs_desk.synthesis.server_profile import ServerProfile, records_of, state_tables
from gem_envs_desk.synthesis.server_world import LiveServer
from gem_envs_desk.synthesis.unstable_fields import clock_names, differing_names, without
from gem_envs_desk.synthesis.value_hints import value_hints

__all__ = ["RecordedServer", "recorded_server"]

_ENOUGH = 8
"""Calls of a tool that changed the state, after which it is called no more unless others still need records."""
_HOPELESS = 25
"""Calls of a tool of which none changed the state, after which it is called no more."""
_REPLAYED = 24
"""Changes that a second start repeats."""
_MOST_BREAKS = 2
"""Calls of a tool after which the server showed nothing, and the tool is called no more."""
_READING = {
    "read", "get", "list", "show", "search", "find", "open", "query", "view", "fetch", "describe", "export", "dump",
}  # fmt: skip
_READING_LAST = {"read", "get", "list", "show", "search", "find", "view", "fetch"}
"""The same behind the kind of record, as in task_list; the first word must not say otherwise, as in mark_read."""
_WRITING = {"add", "append", "create", "new", "make", "mark", "set", "update", "edit", "clear", "delete", "remove"}


class RecordedServer(NamedTuple):
    """A server, and the sources of values with which its tools changed the state."""

    profile: ServerProfile
    learned: SourceCounts
    writes: tuple[str, ...]


class _Change(NamedTuple):
    """A call that changed what the reading tools show."""

    start: int
    """The start of the server that got it, counted from 0."""
    number: int
    """How many calls this start had got then."""
    tool: str
    drawn: DrawnArguments
    before: Mapping[str, Any]
    after: Mapping[str, Any]


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
        readers = [one for one in readers if start[one] is not None]
        if not readers:
            raise DescriptionError(
                f"no tool of the MCP server {name} shows its state without arguments; worlds are made of servers that "
                "have one, to compare states"
            )
        writers = [_offered(tool) for one, tool in tools.items() if not _only_reads(tool)]
    finally:
        first.close()
    probe = _Probe(lambda: LiveServer(name, config), tuple(readers), random.Random(f"{seed} recording"))
    try:
        probe.run(writers, rounds, value_hints([_offered(tool) for tool in tools.values()]))
    finally:
        probe.close()
    unstable = probe.unstable | _differing(name, config, {one: start[one] for one in readers}, probe)
    seen = _Seen(probe, unstable)
    learned, refused = seen.learned(writers)
    writes = tuple(one["name"] for one in writers if one["name"] not in refused)
    if not writes:
        reasons = "; ".join(f"{tool}: {why}" for tool, why in list(refused.items())[:4])
        raise DescriptionError(f"no tool of the MCP server {name} changes what its reading tools show; {reasons}")
    kept = tuple(_offered(tool) for one, tool in tools.items() if one not in refused)
    state_tools = seen.state_tools(writes)
    profile = ServerProfile(name, config, kept, state_tools, refused, tuple(sorted(unstable)))
    return RecordedServer(profile, learned, writes)


class _Probe:
    """Calls the writing tools of a server at random.

    Args:
        start: starts the server.
        readers: tools that may show its state.
        rng: decides.
    """

    def __init__(self, start: Callable[[], LiveServer], readers: tuple[str, ...], rng: random.Random) -> None:
        self._start, self.readers, self._rng = start, readers, rng
        self._live = start()
        self.unstable: set[str] = set()
        """Names of fields that show the time, or differ each time that they are read."""
        self.calls: list[list[tuple[str, DrawnArguments]]] = [[]]
        """Those of each start."""
        self.changes: list[_Change] = []
        self.answers: dict[str, str] = {}
        """Tool → what it answered to the last call that changed nothing."""
        self._sent: set[Any] = set()

    def run(
        self, writers: Sequence[Mapping[str, Any]], rounds: int, hints: Mapping[tuple[str, str], Sequence[str]]
    ) -> None:
        """Call each tool until enough is known of it."""
        state = self._state()
        self.unstable |= differing_names(state, self._state())
        tried: Counter[str] = Counter()
        changed: Counter[str] = Counter()
        breaks: Counter[str] = Counter()

        def is_open(name: str) -> bool:
            return changed[name] < _ENOUGH if changed[name] else tried[name] < _HOPELESS

        for round_ in range(rounds):
            if not any(is_open(tool["name"]) and breaks[tool["name"]] < _MOST_BREAKS for tool in writers):
                return
            for tool in writers:
                name = tool["name"]
                if breaks[name] >= _MOST_BREAKS or (not is_open(name) and (not changed[name] or round_ % 3)):
                    continue
                tried[name] += 1
                try:
                    records = list(records_of(without(state, self.unstable)))
                    drawn = drawn_arguments(tool, records, None, self._rng, hints)
                except UnsupportedSchemaError as error:
                    self.answers[name] = str(error)
                    continue
                result = self._call(name, drawn)
                if not result.ok:
                    self.answers[name] = f"its calls fail: {_short(result.text)}"
                    continue
                before, state = state, self._state()
                if _is_broken(before, state):
                    breaks[name] += 1
                    sent = _short(json.dumps(drawn.arguments, ensure_ascii=False))
                    self.answers[name] = (
                        f"after a call of it, the reading tools show nothing; it was called with {sent}"
                    )
                    state = self._started_again()
                elif _tables(before, self.unstable) == _tables(state, self.unstable):
                    self.answers[name] = (
                        f"no call of it changed what the reading tools show; its last answer was: {_short(result.text)}"
                    )
                else:
                    changed[name] += 1
                    self.changes.append(_Change(len(self.calls) - 1, len(self.calls[-1]), name, drawn, before, state))

    def close(self) -> None:
        """End the server."""
        self._live.close()

    def _started_again(self) -> dict[str, Any]:
        self._live.close()
        self._live = self._start()
        self.calls.append([])
        return self._state()

    def _call(self, tool: str, drawn: DrawnArguments) -> ToolResult:
        from gem_tools.mcp.errors import MCPServerError

        self.calls[-1].append((tool, drawn))
        self._sent |= {value for _, source, value in drawn.sources if source == NEW and not isinstance(value, list)}
        try:
            return self._live.call(tool, drawn.arguments)
        except MCPServerError as error:
            return ToolResult(str(error), ok=False)

    def _state(self) -> dict[str, Any]:
        state = self._live.state(self.readers)
        self.unstable |= clock_names(state, self._sent)
        return state


class _Seen:
    """What the changes show when fields that differ at each start do not count.

    Args:
        probe: has made the calls.
        unstable: the names of these fields.
    """

    def __init__(self, probe: _Probe, unstable: set[str]) -> None:
        self._probe, self._unstable = probe, unstable
        self._differing: list[tuple[_Change, set[str]]] = []
        for change in probe.changes:
            tools = {
                one
                for one in probe.readers
                if _tables({one: change.before[one]}, unstable) != _tables({one: change.after[one]}, unstable)
            }
            if tools:
                self._differing.append((change, tools))

    def learned(self, writers: Sequence[Mapping[str, Any]]) -> tuple[SourceCounts, dict[str, str]]:
        """Return the sources of values that worked, and the refused tools with the reasons."""
        learned: SourceCounts = {}
        useless: dict[str, set[str]] = {}
        changed = set()
        for change, _ in self._differing:
            hidden = {place for place, source, _ in change.drawn.sources if source.split(".")[-1] in self._unstable}
            if hidden:
                useless.setdefault(change.tool, set()).update(hidden)
                continue
            changed.add(change.tool)
            for place, source, _ in change.drawn.sources:
                learned.setdefault((change.tool, place), Counter())[source] += 1
        refused = {}
        for tool in writers:
            name = tool["name"]
            if name in changed:
                continue
            if name in useless:
                places = " and ".join(sorted(useless[name]))
                refused[name] = f"its argument {places} takes a value that differs at each start of the server"
            else:
                refused[name] = self._probe.answers.get(
                    name, "its calls changed nothing but fields that differ at each start of the server"
                )
        return learned, refused

    def state_tools(self, writes: Sequence[str]) -> tuple[str, ...]:
        """Return as few reading tools as show every change of the tools that are kept."""
        left = [tools for change, tools in self._differing if change.tool in writes]
        found: set[str] = set()
        while left:
            best = max(self._probe.readers, key=lambda one: (sum(one in tools for tools in left), self._records(one)))
            found.add(best)
            left = [tools for tools in left if best not in tools]
        return tuple(one for one in self._probe.readers if one in found)

    def _records(self, tool: str) -> int:
        return sum(len(list(records_of({tool: change.after[tool]}))) for change, _ in self._differing)


def _differing(name: str, config: Mapping[str, Any], start: Mapping[str, Any], probe: _Probe) -> set[str]:
    """Return the names of fields that another start fills otherwise, after the same calls.

    Raises:
        DescriptionError: if another start begins with another state, or the calls lead to another one.
    """
    from gem_tools.mcp.errors import MCPServerError

    tools = tuple(start)
    again = LiveServer(name, config)
    try:
        found = again.state(tools)
        unstable = probe.unstable | clock_names(found, ()) | differing_names(found, start)
        if _tables(found, unstable) != _tables(start, unstable):
            raise DescriptionError(
                f"a new start of the MCP server {name} does not begin with the state of the first one, so its episodes "
                'would not be alike; let it keep its data in the folder of the episode, for example "env": '
                '{"DATA_FILE": "${episode.dir}/data"}'
            )
        if not probe.changes:
            return unstable
        done, last = 0, probe.changes[-1].start
        for change in [one for one in probe.changes if one.start == last][:_REPLAYED]:
            for tool, drawn in probe.calls[last][done : change.number]:
                if any(source.split(".")[-1] in unstable for _, source, _ in drawn.sources):
                    return unstable  # what it names is not there
                with suppress(MCPServerError):
                    again.call(tool, drawn.arguments)
            done, found = change.number, again.state(tools)
            unstable |= differing_names(found, change.after)
            if _tables(found, unstable) != _tables(change.after, unstable):
                one = next(one for one in tools if _tables({one: found[one]}, unstable)
                           != _tables({one: change.after[one]}, unstable))  # fmt: skip
                raise DescriptionError(
                    f"the same calls leave two starts of the MCP server {name} in different states, as {one} shows, so "
                    "its episodes would not be alike"
                )
        return unstable
    finally:
        again.close()


def _is_broken(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether a tool that showed a JSON object or list does so no more."""
    return any(isinstance(before[tool], (dict, list)) and not isinstance(after[tool], (dict, list)) for tool in before)


def _tables(state: Mapping[str, Any], unstable: set[str]) -> Any:
    return state_tables({tool: without(answer, unstable) for tool, answer in state.items()})


def _short(text: str) -> str:
    return " ".join(text.split())[:120]


def _only_reads(tool: Any) -> bool:
    hint = None if tool.annotations is None else tool.annotations.read_only_hint
    if hint is not None:
        return bool(hint)
    words = snake_case(tool.name).split("_")
    return words[0] in _READING or (words[-1] in _READING_LAST and words[0] not in _WRITING)


def _offered(tool: Any) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": " ".join((tool.description or tool.title or "").split())[:1000],
        "parameters": {
            "type": "object",
            **{key: value for key, value in tool.input_schema.items() if key != "$schema"},
        },
    }
