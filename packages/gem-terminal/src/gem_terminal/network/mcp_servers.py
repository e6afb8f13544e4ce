"""The servers of the Model Context Protocol that a task brings: :class:`TaskMcpServers`.

As in Harbor, the instruction names them, and an agent reaches them from its container: a server with a URL is usually a
side-car, a ``stdio`` server a program of the container. Where ``gem-tools`` is installed, the agent can also call their
tools directly. This process then connects to the servers through the container, so that they run with its network,
its files and the rights of the agent, and need no port of the machine but one on 127.0.0.1.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from gem_terminal.engines.base import Channel
from gem_terminal.network.container_ports import ContainerPort, connection_command
from gem_terminal.task import McpServer

if TYPE_CHECKING:
    from gem.tools.base import Tool, ToolResult

__all__ = ["TaskMcpServers", "mcp_client_is_installed", "mcp_instruction"]

_LISTENS_IN = 10.0
"""Seconds that a server has to listen."""
_QUIET = ("sh", "-c", 'exec "$@" 2>/dev/null', "sh")
"""Begins the command of a stdio server, whose errors would mix with its messages."""


def mcp_client_is_installed() -> bool:
    """Return whether this process can call the tools of servers; ``pip install gem-terminal[mcp]`` brings that."""
    return find_spec("gem_tools") is not None and find_spec("mcp") is not None


def mcp_instruction(servers: Sequence[McpServer], tools: str = "") -> str:
    """Return what an agent must know of the servers.

    Args:
        servers: at least one.
        tools: what it must know of their tools, if it can call them directly.
    """
    lines = ["MCP servers, which you can reach from the shell:"]
    for server in servers:
        where = server.url if server.url is not None else shlex.join(server.command)
        lines.append(f"- {server.name}: {server.transport}, {where}")
    return "\n".join([*lines, *([tools] if tools else [])])


class TaskMcpServers:
    """The tools of a task's servers, called through the container of an episode.

    Servers with the old transport ``sse`` are left out, since clients no longer have it; and so are servers with
    ``https``, whose certificates are made out to another name.

    Args:
        servers: those of the task.
        open_channel: starts a command in the container, as the agent.
        seconds: the time limit of a call.
        most: characters of a result.
    """

    def __init__(
        self,
        servers: Sequence[McpServer],
        open_channel: Callable[[tuple[str, ...]], Channel],
        *,
        seconds: float,
        most: int,
    ) -> None:
        self._servers = [each for each in servers if each.transport == "stdio" or _is_plain_http(each)]
        self._open_channel = open_channel
        self._seconds = seconds
        self._most = most
        self._ports: list[ContainerPort] = []
        self._tools: dict[str, Tool] | None = None
        self._error: str | None = None

    def description(self) -> str:
        """Return the tools with the schemas of their arguments, for the instruction."""
        tools = self._listed()
        if not tools:
            return f"Their tools cannot be listed: {self._error}" if self._error else ""
        lines = ["You can also call their tools with mcp_call. The tools, with the JSON schemas of their arguments:"]
        for name, tool in tools.items():
            schema = tool.to_openai()["function"]
            about = f": {schema['description']}" if schema["description"] else ""
            lines.append(f"- {name}{about}\n  {_compact(schema['parameters'])}")
        return "\n".join(lines)

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool; a failure of any kind is a result."""
        from gem.tools.base import ToolResult
        from gem.tools.calls import ToolCall

        tools = self._listed()
        tool = tools.get(name)
        if tool is None:
            why = self._error or f"the tools are: {', '.join(tools) or 'none'}"
            return ToolResult(f"There is no MCP tool called {name[:64]!r}; {why}", ok=False)
        return tool.call(ToolCall(name, arguments))

    def close(self) -> None:
        """End all sessions and connections. A second call does nothing."""
        tools, self._tools = self._tools, {}
        for tool in (tools or {}).values():
            with suppress(Exception):
                tool.close()
        ports, self._ports = self._ports, []
        for port in ports:
            port.close()

    def _listed(self) -> Mapping[str, Tool]:
        if self._tools is None:
            from gem.errors import GemError
            from gem_tools.mcp.tool import MCPTool

            try:
                config = {each.name: self._reached(each) for each in self._servers}
                self._tools = (
                    {
                        tool.name: tool
                        for tool in MCPTool(
                            {"mcpServers": config},
                            execution_timeout=self._seconds,
                            connect_timeout=2 * _LISTENS_IN,
                            max_chars=self._most,
                            max_retries=0,
                            shared=False,
                        )
                    }
                    if config
                    else {}
                )
            except (GemError, OSError) as error:
                self._error, self._tools = f"{error}"[:500], {}
        return self._tools

    def _reached(self, server: McpServer) -> dict[str, Any]:
        """Return how a client on this machine reaches a server of the container."""
        if server.transport == "stdio":
            port = self._port((*_QUIET, *server.command))
            return {"command": sys.executable, "args": [str(Path(__file__).with_name("mcp_relay.py")), str(port)]}
        parts = urlsplit(server.url or "")
        command = connection_command(parts.hostname or "localhost", parts.port or 80, _LISTENS_IN)
        local = urlunsplit(("http", f"127.0.0.1:{self._port(command)}", parts.path, parts.query, ""))
        return {"url": local, "headers": dict(server.headers)}

    def _port(self, command: tuple[str, ...]) -> int:
        port = ContainerPort(partial(self._open_channel, command))
        self._ports.append(port)
        return port.number


def _is_plain_http(server: McpServer) -> bool:
    return server.transport == "streamable-http" and (server.url or "").startswith("http://")


def _compact(schema: Any) -> str:
    import json

    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
