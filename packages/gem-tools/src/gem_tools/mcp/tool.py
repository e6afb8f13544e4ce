"""MCP servers as tools for agents: :class:`MCPTool` for all tools of some servers, :class:`MCPServerTool` for one."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gem.arguments import boolean, integer, real
from gem.processes.shared_resource import ResourceHandle
from gem.tools.base import Tool, ToolResult
from gem.tools.calls import ToolCall, text_call
from gem_tools.mcp.config import ServerConfig, read_config
from gem_tools.mcp.connection import RetryPolicy, ServerConnection
from gem_tools.mcp.errors import MCPServerError
from gem_tools.mcp.host import Host, host, is_running
from gem_tools.mcp.names import public_names
from gem_tools.mcp.results import tool_result

if TYPE_CHECKING:
    from types import TracebackType

    import mcp_types
    from typing_extensions import Self

__all__ = ["MCPServerTool", "MCPTool"]

Config = str | Path | Mapping[str, Any]

T = TypeVar("T")


@dataclass(frozen=True)
class _OfferedTool:
    """A tool that a server offers."""

    server: ServerConfig
    remote_name: str
    name: str
    description: str
    parameters: Mapping[str, Any]


class _SessionGroup:
    """Tools with their own sessions, one with each server. A deep copy is another group."""

    def __init__(self) -> None:
        self.used: set[ServerConfig] = set()
        """The servers called in this episode."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _SessionGroup:
        return _SessionGroup()

    def __reduce__(self) -> tuple[Any, ...]:
        return _SessionGroup, ()


class MCPTool:
    """All tools of one or more MCP servers.

    An MCPTool represents a list of tools: ``ToolEnvWrapper(env, [MCPTool(config)])`` offers each of them to the agent
    under its own name, with the prefix ``SERVER_`` if there are several servers. A name that chat APIs do not
    allow is changed as little as necessary. Agents call them natively, or by text like any tool; the original's
    ``<tool_call><tool_name>NAME</tool_name><arguments>{JSON}</arguments></tool_call>`` is one of the forms.

    All environments of a process share one session with a server, which is opened on first use, reopened
    after the server ended, and closed after its last user: an ``MCPTool`` uses it until it is iterated
    over, its tools until they are closed (or garbage). A forked process opens sessions of its own.

    Args:
        config: the servers; see :func:`gem_tools.mcp.config.read_config`.
        auth: a bearer token for servers with a URL; ``"${NAME}"`` reads it from the environment.
        headers: HTTP headers for the same servers.
        max_retries: the number of retries of an undelivered request. A delivered request is never sent twice.
        delay_between_retries: the pause between retries, in seconds.
        execution_timeout: the time limit of a call, in seconds.
        validate_on_init: list the tools of the servers immediately instead of on first use.
        connect_timeout: the time limit for a server to become ready, in seconds.
        max_chars: the largest number of characters of a result's text; the middle of a longer text is cut out.
        shared: whether environments share a session. Turn it off for a server that keeps the state of an episode:
            then every episode has its own session, and its own process of a local server. ``get_state`` never
            contains the state of a server.

    Raises:
        ToolError: if the configuration is wrong.
        MCPServerError: if a server cannot be used.
    """

    def __init__(
        self,
        config: Config,
        auth: str | None = None,
        headers: Mapping[str, str] | None = None,
        max_retries: int = 3,
        delay_between_retries: float = 1.0,
        execution_timeout: float = 30.0,
        validate_on_init: bool = True,
        connect_timeout: float = 60.0,
        max_chars: int = 20_000,
        shared: bool = True,
    ) -> None:
        self._policy = RetryPolicy(
            call=real("execution_timeout", execution_timeout, minimum=0.001, maximum=86_400.0),
            connect=real("connect_timeout", connect_timeout, minimum=0.001, maximum=86_400.0),
            retries=integer("max_retries", max_retries, minimum=0, maximum=1000),
            delay=real("delay_between_retries", delay_between_retries, minimum=0.0, maximum=3600.0),
        )
        self.max_chars = integer("max_chars", max_chars, minimum=1)
        self.shared = boolean("shared", shared)
        self._validate_on_init = boolean("validate_on_init", validate_on_init)
        self._lock = threading.Lock()
        self._connections = _Connections()
        self._group: _SessionGroup | None = None
        self._configure(config, auth, headers)

    @classmethod
    def from_url(
        cls, url: str, auth: str | None = None, headers: Mapping[str, str] | None = None, **kwargs: Any
    ) -> Self:
        """Return the tools of the server at a URL."""
        return cls(url, auth, headers, **kwargs)

    @classmethod
    def from_config_file(cls, config_path: str | Path, **kwargs: Any) -> Self:
        """Return the tools of the servers that a JSON file names."""
        return cls(Path(config_path), **kwargs)

    @classmethod
    def from_local_command(cls, server_params: str | Mapping[str, Any], name: str = "default", **kwargs: Any) -> Self:
        """Return the tools of a local server, started by a command line, or by ``command``, ``args`` and ``env``."""
        return cls({"mcpServers": {name: server_params}}, **kwargs)

    @classmethod
    def from_multi_server(cls, servers: Mapping[str, str | Mapping[str, Any]], **kwargs: Any) -> Self:
        """Return the tools of several servers, each a URL, a command line or a dict."""
        return cls({"mcpServers": dict(servers)}, **kwargs)

    def __iter__(self) -> Iterator[Tool]:
        """Iterate over new tool objects, which use the servers from then on.

        Raises:
            MCPServerError: if a server cannot be used. The next iteration tries again.
        """
        offers = self._discovered()
        with self._lock:
            group, self._group = self._group, None
        if not self.shared and group is None:
            group = _SessionGroup()
        tools = [MCPServerTool(offer, self._policy, self.max_chars, group) for offer in offers]
        self._connections.release(wait=False)
        return iter(tools)

    def get_available_tools(self) -> list[dict[str, Any]]:
        """Return the name, description and parameters of every tool as dicts."""
        return [
            {"name": offer.name, "description": offer.description, "parameters": dict(offer.parameters)}
            for offer in self._discovered()
        ]

    def reconfigure(
        self, new_config: Config, auth: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Use other servers from now on. Existing tools keep theirs."""
        self.close()
        self._configure(new_config, auth, headers)

    def close(self) -> None:
        """Stop using the servers. A second call does nothing; an iteration opens them again."""
        self._connections.release()

    def __enter__(self) -> Self:
        """Use the servers until the end of the block, even without other users."""
        self._discovered()
        self._connections.keep = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._connections.keep = False
        self.close()

    def __repr__(self) -> str:
        return f"MCPTool({', '.join(server.name for server in self._servers)})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        again: Self = _tool_again(*self.__reduce__()[1])  # type: ignore[assignment]
        return again

    def __reduce__(self) -> tuple[Any, ...]:
        return _tool_again, (type(self), self._arguments, self._settings())

    def _configure(self, config: Config, auth: str | None, headers: Mapping[str, str] | None) -> None:
        self._arguments = (config, auth, headers)
        self._servers = read_config(config, auth, headers)
        self._list_tools: list[_OfferedTool] | None = None
        if self._validate_on_init:
            self._discovered()

    def _settings(self) -> dict[str, Any]:
        return {
            "max_retries": self._policy.retries,
            "delay_between_retries": self._policy.delay,
            "execution_timeout": self._policy.call,
            "connect_timeout": self._policy.connect,
            "max_chars": self.max_chars,
            "shared": self.shared,
        }

    def _discovered(self) -> list[_OfferedTool]:
        with self._lock:
            if self._list_tools is None:
                if not self.shared and self._group is None:
                    self._group = _SessionGroup()
                self._list_tools = _list_tools(self._servers, self._policy, self._connections, self._group)
            return self._list_tools


class MCPServerTool(Tool):
    """One tool of one server, created by :class:`MCPTool`."""

    def __init__(self, offer: _OfferedTool, policy: RetryPolicy, max_chars: int, group: _SessionGroup | None) -> None:
        self.name = offer.name
        self.description = offer.description
        self.parameters = offer.parameters
        self.max_chars = max_chars
        self._offer = offer
        self._policy = policy
        self._group = group
        self._connections = _Connections()
        self._connections.acquire(offer.server, group)

    def parse(self, text: str) -> ToolCall | None:
        call = super().parse(text)
        other = self._offer.remote_name
        if call is not None or other == self.name or other not in text:
            return call
        found = text_call(text)  # the server's own name, which its documentation uses
        return found if found is not None and found.name == other else None

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        offer = self._offer
        if self._group is not None:
            self._group.used.add(offer.server)
        try:
            answer = self._connections.run(
                offer.server,
                self._group,
                lambda connection: connection.call(offer.remote_name, arguments, self._policy),
                self._policy.longest,
            )
        except MCPServerError as error:
            end = "" if "\n" in str(error) else "."
            return ToolResult(f"{self.name} failed: {error}{end}", ok=False)
        return tool_result(answer, self.max_chars)

    def reset(self) -> None:
        """Begin a new episode: a tool with its own session gets a new one after use."""
        server = self._offer.server
        if self._group is not None and server in self._group.used:
            self._group.used.discard(server)
            self._connections.run(server, self._group, ServerConnection.close, self._policy.longest)

    def close(self) -> None:
        self._connections.release()

    def __deepcopy__(self, memo: dict[int, Any]) -> MCPServerTool:
        # The tools of one environment are copied together and stay a group.
        return MCPServerTool(self._offer, self._policy, self.max_chars, copy.deepcopy(self._group, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return MCPServerTool, (self._offer, self._policy, self.max_chars, self._group)


class _Connections:
    """One user's references to connections, which end with this object at the latest."""

    def __init__(self) -> None:
        self.keep = False
        """Whether :meth:`release` without waiting has no effect."""
        self._host: Host | None = None
        self._handles: dict[tuple[ServerConfig, _SessionGroup | None], ResourceHandle[ServerConnection]] = {}

    def run(
        self,
        server: ServerConfig,
        group: _SessionGroup | None,
        work: Callable[[ServerConnection], Coroutine[Any, Any, T]],
        seconds: float,
    ) -> T:
        """Run work on a connection; see :meth:`gem_tools.mcp.host.Host.run`."""
        return host().run(work, self._handle(server, group).value, seconds)

    def acquire(self, server: ServerConfig, group: _SessionGroup | None) -> None:
        """Start using a connection without opening it, if there is one."""
        if is_running():
            self._handle(server, group).acquire()

    def release(self, *, wait: bool = True) -> None:
        """Stop using the connections; connections without other users close.

        Args:
            wait: whether to wait until they are closed.
        """
        if wait or not self.keep:
            for handle in list(self._handles.values()):
                handle.close(wait=wait)

    def _handle(self, server: ServerConfig, group: _SessionGroup | None) -> ResourceHandle[ServerConnection]:
        current = host()
        if self._host is not current:  # in a forked child
            self._host, self._handles = current, {}
        handle = self._handles.get((server, group))
        if handle is None:
            handle = self._handles.setdefault((server, group), current.connection(server, group).handle())
        return handle


def _tool_again(kind: type[MCPTool], arguments: tuple[Any, ...], settings: dict[str, Any]) -> MCPTool:
    settings = {**settings, "validate_on_init": False}
    return kind(*arguments, **settings)


def _list_tools(
    servers: tuple[ServerConfig, ...], policy: RetryPolicy, connections: _Connections, group: _SessionGroup | None
) -> list[_OfferedTool]:
    """List the tools of all servers concurrently."""

    def listed(server: ServerConfig) -> list[mcp_types.Tool]:
        return connections.run(server, group, lambda connection: connection.tools(policy), policy.longest)

    with ThreadPoolExecutor(len(servers), thread_name_prefix="gem-mcp-discovery") as threads:
        found = [
            (server, tool)
            for server, tools in zip(servers, threads.map(listed, servers), strict=True)
            for tool in tools
        ]
    names = public_names((f"{server.name}_" if len(servers) > 1 else "", tool.name) for server, tool in found)
    return [
        _OfferedTool(
            server, tool.name, name, tool.description or tool.title or "", {"type": "object", **tool.input_schema}
        )
        for name, (server, tool) in zip(names, found, strict=True)
    ]
