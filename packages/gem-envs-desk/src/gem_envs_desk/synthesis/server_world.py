"""MCP servers as desks: :class:`ServerDomain`, whose worlds are servers with a start of their own."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gem.tools import Tool, ToolResult
from gem_envs_desk.domain import DeskDomain
from gem_envs_desk.store import Dump
from gem_envs_desk.synthesis.server_profile import ServerProfile, state_tables
from gem_envs_desk.synthesis.service_domain import POLICY
from gem_envs_desk.synthesis.task_list import TaskList
from gem_envs_desk.synthesis.unstable_fields import settled
from gem_envs_desk.task import AGENT, USER, DeskTask

__all__ = ["LiveServer", "OfferedServerTool", "ServerDomain", "ServerWorld"]

_FOLDER = "/episode"
"""Stands for the folder of a server in its answers."""
_LONGEST_TEXT, _LONGEST_STATE = 20_000, 1_000_000
"""Characters of an answer for the agent, and of one that shows the state."""
_MOST_REMEMBERED = 10_000
"""Sequences of calls whose last answer and state a process remembers."""
_CALL_SECONDS, _START_SECONDS = 30.0, 60.0


class LiveServer:
    """A running server in an empty folder of its own; both end with it.

    Args:
        name: for messages.
        config: one server as in ``mcpServers``.
        unstable: names of fields that its answers come without; None if they are not known yet.
    """

    def __init__(self, name: str, config: Mapping[str, Any], unstable: tuple[str, ...] | None = None) -> None:
        from gem_tools.mcp.config import read_config
        from gem_tools.mcp.connection import RetryPolicy
        from gem_tools.mcp.placeholders import for_episode
        from gem_tools.mcp.session_group import SessionGroup
        from gem_tools.mcp.users import ConnectionUser

        self._folder = tempfile.mkdtemp(prefix="gem-server-")
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        (server,) = read_config({"mcpServers": {name: {"cwd": "${episode.dir}", **config}}})
        self._server = for_episode(server, {"dir": self._folder, "seed": 0})
        self._unstable = unstable
        self._policy = RetryPolicy(call=_CALL_SECONDS, connect=_START_SECONDS, retries=0)
        self._user, self._group = ConnectionUser(), SessionGroup()

    def tools(self) -> list[Any]:
        """Return the tools that the server lists, as the SDK describes them.

        Raises:
            MCPServerError: if it cannot be used.
        """
        run = self._user.run
        return list(
            run(self._server, self._group, lambda there: there.offerings(self._policy), self._policy.longest).tools
        )

    def call(self, tool: str, arguments: Mapping[str, Any], longest: int = _LONGEST_TEXT) -> ToolResult:
        """Call a tool; the server's refusal is a failed result, also one that is an error of the protocol.

        Args:
            tool: its name.
            arguments: of the call.
            longest: characters of the answer, the middle of which is cut out if it has more.

        Raises:
            MCPServerError: if the server gives no answer.
        """
        from gem_tools.mcp.errors import RequestRefusedError
        from gem_tools.mcp.results import tool_result

        run, most = self._user.run, self._policy.longest
        try:
            answer = run(self._server, self._group, lambda there: there.call(tool, arguments, self._policy), most)
        except RequestRefusedError as refusal:
            return ToolResult(refusal.reason, ok=False)
        result = tool_result(answer, longest)
        # The folder has another name at each start.
        data = None if result.data is None else json.loads(self._anonymous(json.dumps(result.data)))
        return settled(replace(result, text=self._anonymous(result.text), data=data), self._unstable)

    def _anonymous(self, text: str) -> str:
        return text.replace(self._folder, _FOLDER)

    def state(self, tools: tuple[str, ...]) -> dict[str, Any]:
        """Return the answers of the tools that show the state; None for one that fails."""
        from gem_tools.mcp.errors import MCPServerError

        found: dict[str, Any] = {}
        for name in tools:
            try:
                found[name] = _value(self.call(name, {}, _LONGEST_STATE))
            except MCPServerError:
                found[name] = None
        return found

    def close(self) -> None:
        """End the server and remove its folder. Calling it again does nothing."""
        self._user.forget()
        self._remove()


class OfferedServerTool(Tool):
    """A tool of a server, as it was recorded; a call starts the server.

    Args:
        world: the world that it belongs to.
        offered: name, description and parameters.
    """

    def __init__(self, world: ServerWorld, offered: Mapping[str, Any]) -> None:
        self._world = world
        self.name = offered["name"]
        self.description = offered["description"]
        self.parameters = offered["parameters"]

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Call the tool."""
        return self._world.call(self.name, arguments)


class ServerWorld:
    """A server after the calls that set up the initial state of a task. It starts with the first call.

    Args:
        profile: the server.
        state: ``setup``: the calls, each with ``tool`` and ``arguments``.
        seen: answers and states by the calls before them, of earlier worlds; what is there starts no server. None for
            a world that always asks its own server.
    """

    def __init__(
        self, profile: ServerProfile, state: Mapping[str, Any], seen: dict[str, tuple[ToolResult, Any]] | None = None
    ) -> None:
        self._profile = profile
        self._live: LiveServer | None = None
        self._seen = seen
        self._calls = [[call["tool"], dict(call["arguments"])] for call in state["setup"]]
        self.tools: Mapping[str, Mapping[str, Tool]] = {
            AGENT: {one["name"]: OfferedServerTool(self, one) for one in profile.tools},
            USER: {},
        }

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool of the server. One that shows the state leaves it as it is, which needs no server of its own."""
        calls = [*self._calls, [tool, dict(arguments)]]
        known = None if self._seen is None else self._seen.get(json.dumps(calls))
        if known is None:
            live = self._started()
            result = live.call(tool, arguments)
            if self._seen is not None:
                _remember(self._seen, calls, result, live.state(self._profile.state_tools))
        elif self._live is None:
            result = known[0]
        else:
            result = self._live.call(tool, arguments)
        if tool not in self._profile.state_tools:
            self._calls = calls
        return result

    def forget_last_call(self) -> None:
        """Leave a call out of the history of this world, because it has changed nothing."""
        self._calls = self._calls[:-1]

    def state(self) -> dict[str, Any]:
        """Return the answers of the tools that show the state."""
        known = None if self._seen is None else self._seen.get(json.dumps(self._calls))
        if known is not None and self._live is None:
            return dict(known[1])
        found = self._started().state(self._profile.state_tools)
        if self._seen is not None:
            _remember(self._seen, self._calls, ToolResult(""), found)
        return found

    def dump(self) -> Dump:
        """Return the state as tables."""
        return state_tables(self.state())

    def close(self) -> None:
        """End the server. A later call starts another one, with the same calls."""
        live, self._live = self._live, None
        if live is not None:
            live.close()

    def _started(self) -> LiveServer:
        if self._live is None:
            self._live = LiveServer(self._profile.name, self._profile.config, self._profile.unstable)
            for tool, arguments in self._calls:
                self._live.call(tool, arguments)
        return self._live


class ServerDomain(DeskDomain):
    """An MCP server and its tasks.

    Args:
        profile: the server.
        tasks: the tasks of each level and split.
        remembers: whether its worlds share what they have seen: a sequence of calls that a server has answered starts
            no other one. The checks have shown that its answers repeat.
    """

    policy = POLICY

    def __init__(self, profile: ServerProfile, tasks: TaskList | None = None, *, remembers: bool = False) -> None:
        self.name = profile.name
        self.profile = profile
        self.tasks = tasks or TaskList({})
        self._seen: dict[str, tuple[ToolResult, Any]] | None = {} if remembers else None

    def task(self, number: int, level: int, split: str) -> DeskTask:
        """Return a task of the list; the number counts them in a circle."""
        return self.tasks.task(number, level, split)

    def open(self, state: Mapping[str, Any]) -> ServerWorld:
        """Return a server in this state, which starts with its first call."""
        return ServerWorld(self.profile, state, self._seen)


def _remember(seen: dict[str, tuple[ToolResult, Any]], calls: list[Any], result: ToolResult, state: Any) -> None:
    if len(seen) >= _MOST_REMEMBERED:
        del seen[next(iter(seen))]
    seen.setdefault(json.dumps(calls), (result, state))


def _value(result: ToolResult) -> Any:
    if not result.ok:
        return None
    value = result.text if result.data is None else result.data
    if isinstance(value, dict) and list(value) == ["result"]:
        value = value["result"]  # in which SDKs wrap what is no object
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
