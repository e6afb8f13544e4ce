"""MCP servers as tools for agents: :class:`MCPTool`, all the tools of some servers, and :class:`MCPServerTool`, one."""

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
from gem_tools.mcp.connection import Patience, ServerConnection
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
class _Offer:
    """A tool as its server offers it."""

    server: ServerConfig
    remote_name: str
    name: str
    description: str
    parameters: Mapping[str, Any]


class _SessionGroup:
    """Tools that share sessions of their own, one with each server. A deep copy is another group."""

    def __init__(self) -> None:
        self.used: set[ServerConfig] = set()
        """Servers that were called in this episode."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _SessionGroup:
        return _SessionGroup()

    def __reduce__(self) -> tuple[Any, ...]:
        return _SessionGroup, ()


class MCPTool:
    """All tools of one or more MCP servers.

    It stands for a list of tools: ``ToolEnvWrapper(env, [MCPTool(config)])`` offers each of them to the agent
    under its own name, with ``SERVER_`` before it where there are several servers; a name that chat APIs do not
    allow is changed as little as needed. Agents call them natively, or by text as any tool; the original's
    ``<tool_call><tool_name>NAME</tool_name><arguments>{JSON}</arguments></tool_call>`` is one way of it.

    All environments of a process share one session with a server, which is opened on first use, opened anew
    after the server ended, and closed after its last user: an ``MCPTool`` uses it until it is iterated
    over, its tools until they are closed (or garbage). A forked process opens sessions of its own.

    Args:
        config: which servers; see :func:`gem_tools.mcp.config.read_config`.
        auth: a bearer token for servers that are reached by URL; ``"${NAME}"`` takes it from the environment.
        headers: HTTP headers for the same.
        max_retries: how often to try again what did not reach a server. What reached one is never sent twice.
        delay_between_retries: seconds.
        execution_timeout: seconds after which a call is cancelled and has failed.
        validate_on_init: find out at once what the servers offer, rather than on first use.
        connect_timeout: seconds in which a server must be ready.
        max_chars: characters of text of one result that the agent is shown; the middle of longer ones is left out.
        shared: whether environments share a session. Turn it off for a server that keeps a state which belongs to
            an episode; every episode then has a session, and a local server a process, of its own. What a server
            keeps is no part of ``get_state`` either way.

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
        self._patience = Patience(
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
        """Return the tools of a server that is started here: a command line, or ``command``, ``args`` and ``env``."""
        return cls({"mcpServers": {name: server_params}}, **kwargs)

    @classmethod
    def from_multi_server(cls, servers: Mapping[str, str | Mapping[str, Any]], **kwargs: Any) -> Self:
        """Return the tools of several servers, each a URL, a command line or a dict."""
        return cls({"mcpServers": dict(servers)}, **kwargs)

    def __iter__(self) -> Iterator[Tool]:
        """Go through the tools; each time they are new ones, which use the servers from then on.

        Raises:
            MCPServerError: if a server cannot be used. The next time it is tried again.
        """
        offers = self._discovered()
        with self._lock:
            group, self._group = self._group, None
        if not self.shared and group is None:
            group = _SessionGroup()
        tools = [MCPServerTool(offer, self._patience, self.max_chars, group) for offer in offers]
        self._connections.release(wait=False)
        return iter(tools)

    def get_available_tools(self) -> list[dict[str, Any]]:
        """Return name, description and parameters of every tool, as dicts."""
        return [
            {"name": offer.name, "description": offer.description, "parameters": dict(offer.parameters)}
            for offer in self._discovered()
        ]

    def reconfigure(
        self, new_config: Config, auth: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Use other servers from now on. Tools that were given out already keep theirs."""
        self.close()
        self._configure(new_config, auth, headers)

    def close(self) -> None:
        """Use the servers no more. Calling it again does nothing; iterating opens them anew."""
        self._connections.release()

    def __enter__(self) -> Self:
        """Use the servers until the end of the block, whatever else comes and goes."""
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
        self._offers: list[_Offer] | None = None
        if self._validate_on_init:
            self._discovered()

    def _settings(self) -> dict[str, Any]:
        return {
            "max_retries": self._patience.retries,
            "delay_between_retries": self._patience.delay,
            "execution_timeout": self._patience.call,
            "connect_timeout": self._patience.connect,
            "max_chars": self.max_chars,
            "shared": self.shared,
        }

    def _discovered(self) -> list[_Offer]:
        with self._lock:
            if self._offers is None:
                if not self.shared and self._group is None:
                    self._group = _SessionGroup()
                self._offers = _offers(self._servers, self._patience, self._connections, self._group)
            return self._offers


class MCPServerTool(Tool):
    """One tool of one server; made by :class:`MCPTool`."""

    def __init__(self, offer: _Offer, patience: Patience, max_chars: int, group: _SessionGroup | None) -> None:
        self.name = offer.name
        self.description = offer.description
        self.parameters = offer.parameters
        self.max_chars = max_chars
        self._offer = offer
        self._patience = patience
        self._group = group
        self._connections = _Connections()
        self._connections.acquire(offer.server, group)

    def parse(self, text: str) -> ToolCall | None:
        call = super().parse(text)
        other = self._offer.remote_name
        if call is not None or other == self.name or other not in text:
            return call
        found = text_call(text)  # the server's own name for it, which its documentation has
        return found if found is not None and found.name == other else None

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        offer = self._offer
        if self._group is not None:
            self._group.used.add(offer.server)
        try:
            answer = self._connections.run(
                offer.server,
                self._group,
                lambda connection: connection.call(offer.remote_name, arguments, self._patience),
                self._patience.longest,
            )
        except MCPServerError as error:
            end = "" if "\n" in str(error) else "."
            return ToolResult(f"{self.name} failed: {error}{end}", ok=False)
        return tool_result(answer, self.max_chars)

    def reset(self) -> None:
        """Begin a new episode: with a session of one's own, one in which nothing has happened yet."""
        server = self._offer.server
        if self._group is not None and server in self._group.used:
            self._group.used.discard(server)
            self._connections.run(server, self._group, ServerConnection.close, self._patience.longest)

    def close(self) -> None:
        self._connections.release()

    def __deepcopy__(self, memo: dict[int, Any]) -> MCPServerTool:
        # The tools of one environment are copied together, and stay together.
        return MCPServerTool(self._offer, self._patience, self.max_chars, copy.deepcopy(self._group, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return MCPServerTool, (self._offer, self._patience, self.max_chars, self._group)


class _Connections:
    """One user's handles of connections to servers, which end at the latest with this object."""

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
        """Do something with a connection; see :meth:`gem_tools.mcp.host.Host.run`."""
        return host().run(work, self._handle(server, group).value, seconds)

    def acquire(self, server: ServerConfig, group: _SessionGroup | None) -> None:
        """Use a connection from now on, without opening it, if there is any."""
        if is_running():
            self._handle(server, group).acquire()

    def release(self, *, wait: bool = True) -> None:
        """Stop using the connections; those that have no other user close.

        Args:
            wait: until they are closed.
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


def _offers(
    servers: tuple[ServerConfig, ...], patience: Patience, connections: _Connections, group: _SessionGroup | None
) -> list[_Offer]:
    """Ask all servers at the same time what they offer."""

    def listed(server: ServerConfig) -> list[mcp_types.Tool]:
        return connections.run(server, group, lambda connection: connection.tools(patience), patience.longest)

    with ThreadPoolExecutor(len(servers), thread_name_prefix="gem-mcp-discovery") as threads:
        found = [
            (server, tool)
            for server, tools in zip(servers, threads.map(listed, servers), strict=True)
            for tool in tools
        ]
    names = public_names((f"{server.name}_" if len(servers) > 1 else "", tool.name) for server, tool in found)
    return [
        _Offer(server, tool.name, name, tool.description or tool.title or "", {"type": "object", **tool.input_schema})
        for name, (server, tool) in zip(names, found, strict=True)
    ]
