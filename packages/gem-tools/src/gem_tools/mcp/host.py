"""The thread of all sessions with MCP servers in this process, and the connections that users share."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import logging
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from gem.fork_hooks import after_fork_in_child
from gem_processes.shared_resource import SharedResource
from gem_tools.mcp.config import ServerConfig
from gem_tools.mcp.connection import ServerConnection
from gem_tools.mcp.errors import MCPServerError
from gem_tools.mcp.process import silence_inherited

if TYPE_CHECKING:
    from gem_tools.mcp.session_group import SessionGroup

__all__ = ["Host", "host", "is_running"]

T = TypeVar("T")

_AT_EXIT_SECONDS = 5.0

_lock = threading.Lock()
_host: Host | None = None
_of_the_parent: list[Host] = []
"""The hosts of parent processes. A forked child keeps them, because not even their destructors may run there."""


class Host:
    """An event loop in a thread, and its connections."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: WeakValueDictionary[
            tuple[ServerConfig, SessionGroup | None], SharedResource[ServerConnection]
        ] = WeakValueDictionary()
        self._connections: set[ServerConnection] = set()
        """The connections that are or may be open."""
        self._closing: set[asyncio.Task[None]] = set()
        """Tasks without a waiting caller; the loop itself only holds weak references."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gem-mcp", daemon=True)
        self._thread.start()

    def connection(self, server: ServerConfig, group: SessionGroup | None) -> SharedResource[ServerConnection]:
        """Return the connection to a server that its users share.

        Args:
            server: the server.
            group: the users that share the connection; None for all users in this process without a group.
        """
        with self._lock:
            found = self._shared.get((server, group))
            if found is None:
                found = SharedResource(partial(self._opened, server, group), self._close, self._close_later)
                self._shared[server, group] = found
            return found

    def run(
        self, work: Callable[[ServerConnection], Coroutine[Any, Any, T]], connection: ServerConnection, seconds: float
    ) -> T:
        """Run work on a connection and wait for it, from any thread except the loop's.

        Args:
            work: the coroutine function to run.
            connection: a connection of this host.
            seconds: the time limit.

        Raises:
            MCPServerError: if the work raises it, or exceeds the time limit.
        """
        future = asyncio.run_coroutine_threadsafe(work(connection), self._loop)
        try:
            return future.result(seconds)
        except concurrent.futures.TimeoutError as error:
            if future.done():
                raise
            raise MCPServerError(f"MCP server {connection.name} took more than {seconds:g} seconds") from error
        finally:
            future.cancel()  # unfinished work: the time is up, or the caller was interrupted

    def close(self) -> None:
        """Close all connections."""
        future = asyncio.run_coroutine_threadsafe(self._all_closed(), self._loop)
        try:
            future.result(_AT_EXIT_SECONDS)
        except concurrent.futures.TimeoutError:
            future.cancel()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_AT_EXIT_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    @property
    def _is_current(self) -> bool:
        """Whether connections can be closed: the loop runs, and its thread is not a forking parent's."""
        return _host is self

    def _opened(self, server: ServerConfig, group: SessionGroup | None) -> ServerConnection:
        connection = ServerConnection(server, group)
        self._connections.add(connection)
        return connection

    def _close(self, connection: ServerConnection) -> None:
        if self._is_current:
            closed = asyncio.run_coroutine_threadsafe(self._closed(connection), self._loop)
            closed.result(2 * _AT_EXIT_SECONDS)

    def _close_later(self, connection: ServerConnection) -> None:
        if self._is_current:
            self._loop.call_soon_threadsafe(self._close_soon, connection)

    def _close_soon(self, connection: ServerConnection) -> None:
        task = self._loop.create_task(self._closed(connection))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _closed(self, connection: ServerConnection) -> None:
        self._connections.discard(connection)
        await connection.close()

    async def _all_closed(self) -> None:
        closing = [self._closed(connection) for connection in list(self._connections)]
        await asyncio.gather(*closing, *self._closing, return_exceptions=True)


def host() -> Host:
    """Return the host of this process; a forked child has its own."""
    global _host
    with _lock:
        if _host is None:
            # Callers receive these errors anyway; without a handler, Python would print the SDK's log.
            for name in ("mcp", "client"):
                logging.getLogger(name).addHandler(logging.NullHandler())
            _host = Host()
            atexit.register(_at_exit)
        return _host


def is_running() -> bool:
    """Return whether this process already has a host."""
    return _host is not None


def _at_exit() -> None:
    global _host
    ended, _host = _host, None
    if ended is not None:
        ended.close()


@after_fork_in_child
def _after_fork() -> None:
    global _host, _lock
    _lock = threading.Lock()
    silence_inherited()
    if _host is not None:
        atexit.unregister(_at_exit)
        _of_the_parent.append(_host)
        _host = None
