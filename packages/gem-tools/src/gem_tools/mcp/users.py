"""The users of connections: tools that share a session, and what each of them holds."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from gem_processes.shared_resource import ResourceHandle
from gem_tools.mcp.config import ServerConfig
from gem_tools.mcp.connection import ServerConnection
from gem_tools.mcp.host import Host, host, is_running
from gem_tools.mcp.simulated_user import AnsweringUser, Answers

__all__ = ["ConnectionUser", "SessionGroup"]

T = TypeVar("T")


class SessionGroup:
    """Tools with their own sessions, one with each server. A deep copy is another group.

    Args:
        answers: answers the questions of these servers; None for sessions without a user.
    """

    def __init__(self, answers: Answers | None = None) -> None:
        self.used: set[ServerConfig] = set()
        """The servers called in this episode."""
        self.user = None if answers is None else AnsweringUser(answers)

    def __deepcopy__(self, memo: dict[int, Any]) -> SessionGroup:
        return SessionGroup(*self.__reduce__()[1])

    def __reduce__(self) -> tuple[Any, ...]:
        return SessionGroup, (None if self.user is None else self.user.source,)


class ConnectionUser:
    """One user's references to connections, which end with this object at the latest."""

    def __init__(self) -> None:
        self.keep = False
        """Whether :meth:`release` without waiting has no effect."""
        self._host: Host | None = None
        self._handles: dict[tuple[ServerConfig, SessionGroup | None], ResourceHandle[ServerConnection]] = {}

    def run(
        self,
        server: ServerConfig,
        group: SessionGroup | None,
        work: Callable[[ServerConnection], Coroutine[Any, Any, T]],
        seconds: float,
    ) -> T:
        """Run work on a connection; see :meth:`gem_tools.mcp.host.Host.run`."""
        return host().run(work, self._handle(server, group).value, seconds)

    def revision(self, server: ServerConfig) -> int | None:
        """Return the revision of what a server offers in the session without a group; None if there is none."""
        return self._handle(server, None).value.revision if is_running() else None

    def acquire(self, server: ServerConfig, group: SessionGroup | None) -> None:
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

    def forget(self) -> None:
        """Stop using all connections, wait until those without other users are closed, and drop them."""
        self.release()
        self._handles = {}

    def _handle(self, server: ServerConfig, group: SessionGroup | None) -> ResourceHandle[ServerConnection]:
        current = host()
        if self._host is not current:  # in a forked child
            self._host, self._handles = current, {}
        handle = self._handles.get((server, group))
        if handle is None:
            handle = self._handles.setdefault((server, group), current.connection(server, group).handle())
        return handle
