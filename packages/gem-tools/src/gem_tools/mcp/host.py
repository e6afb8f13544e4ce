"""The one thread of a process on which all sessions with MCP servers run, and what they are shared by."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import logging
import threading
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, TypeVar

from gem.processes.fork_hooks import after_fork_in_child
from gem_tools.mcp.config import ServerConfig
from gem_tools.mcp.connection import Connection
from gem_tools.mcp.errors import MCPServerError
from gem_tools.mcp.process import silence_inherited

__all__ = ["Host", "Key", "announce", "host", "release", "release_later"]

T = TypeVar("T")

Key = tuple[ServerConfig, Hashable]
"""A server, and for whom: None for all who share its session."""

_AT_EXIT_SECONDS = 5.0

_lock = threading.Lock()
_host: Host | None = None
_of_the_parent: list[Host] = []
"""Kept in a forked child, where nothing of it may run, not even the end of its life."""


class Host:
    """An event loop in a thread, and the connections that live on it."""

    def __init__(self) -> None:
        self._connections: dict[Key, Connection] = {}
        self._releases: set[asyncio.Task[None]] = set()
        """Those that nobody waits for; the loop itself holds them weakly."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gem-mcp", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[Connection], Coroutine[Any, Any, T]], key: Key, user: int, seconds: float) -> T:
        """Do something with a connection, from any thread but the loop's, and wait until it is done.

        Args:
            work: what is to be done.
            key: which connection; it is made if there is none.
            user: who uses it from now on, until released.
            seconds: the longest that it can take.

        Raises:
            MCPServerError: if the work does, or takes longer.
        """

        async def with_connection() -> T:
            connection = self._connections.get(key)
            if connection is None:
                connection = self._connections[key] = Connection(key[0])
            connection.users.add(user)
            return await work(connection)

        future = asyncio.run_coroutine_threadsafe(with_connection(), self._loop)
        try:
            return future.result(seconds)
        except concurrent.futures.TimeoutError as error:
            if future.done():
                raise
            raise MCPServerError(f"MCP server {key[0].name} took more than {seconds:g} seconds") from error
        finally:
            future.cancel()  # if it is not done: it ran out of time, or the caller was interrupted

    def announce(self, key: Key, user: int) -> None:
        """Count somebody as a user of a connection, if there is one."""
        self._loop.call_soon_threadsafe(self._announced, key, user)

    def release(self, key: Key, user: int) -> None:
        """End one user's use of a connection, and the connection if there is no other; wait for that."""
        asyncio.run_coroutine_threadsafe(self._released(key, user), self._loop).result(_AT_EXIT_SECONDS * 2)

    def release_later(self, key: Key, user: int) -> None:
        """The same without waiting; may be called while anything else is going on, by the garbage collector too."""
        self._loop.call_soon_threadsafe(self._release_soon, key, user)

    def close(self) -> None:
        """End all connections."""
        future = asyncio.run_coroutine_threadsafe(self._closed(), self._loop)
        try:
            future.result(_AT_EXIT_SECONDS)
        except concurrent.futures.TimeoutError:
            future.cancel()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_AT_EXIT_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    def _announced(self, key: Key, user: int) -> None:
        if key in self._connections:
            self._connections[key].users.add(user)

    def _release_soon(self, key: Key, user: int) -> None:
        if key in self._connections:
            task = self._loop.create_task(self._released(key, user))
            self._releases.add(task)
            task.add_done_callback(self._releases.discard)

    async def _released(self, key: Key, user: int) -> None:
        connection = self._connections.get(key)
        if connection is None:
            return
        connection.users.discard(user)
        if not connection.users:
            del self._connections[key]
            await connection.close()

    async def _closed(self) -> None:
        connections = list(self._connections.values())
        self._connections.clear()
        closing = (connection.close() for connection in connections)
        await asyncio.gather(*closing, *self._releases, return_exceptions=True)


def host() -> Host:
    """Return the host of this process; a forked child has its own."""
    global _host
    with _lock:
        if _host is None:
            # The SDK logs what its callers are told anyway, and without a handler Python would print it.
            for name in ("mcp", "client"):
                logging.getLogger(name).addHandler(logging.NullHandler())
            _host = Host()
            atexit.register(_at_exit)
        return _host


def announce(key: Key, user: int) -> None:
    """Count somebody as a user of a connection, if this process has it."""
    if _host is not None:
        _host.announce(key, user)


def release(key: Key, user: int) -> None:
    """Release a connection if this process has it; see :meth:`Host.release`."""
    if _host is not None:
        _host.release(key, user)


def release_later(key: Key, user: int) -> None:
    """Release a connection if this process has any; see :meth:`Host.release_later`."""
    if _host is not None:
        _host.release_later(key, user)


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
