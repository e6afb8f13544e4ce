"""One object for several users: :class:`SharedResource`, and the :class:`ResourceHandle` of each user."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from gem.fork_hooks import after_fork_in_child

__all__ = ["ResourceHandle", "SharedResource"]

T = TypeVar("T")


class SharedResource(Generic[T]):
    """An object that opens when its first user needs it and closes after its last user; safe from any thread.

    A forked child has a copy of the object and of its users; the object itself must survive a fork.

    Args:
        open: creates the object; at most one call runs at a time.
        close: ends the object after the last user has closed its handle.
        close_later: ends the object after the garbage collection of the last handle: in any thread, between any two
            instructions, so it must not wait. None for ``close``.
    """

    def __init__(
        self,
        open: Callable[[], T],  # noqa: A002  # the counterpart of close
        close: Callable[[T], object],
        close_later: Callable[[T], object] | None = None,
    ) -> None:
        self._open = open
        self._close = close
        self._close_later = close_later or close
        self._users = 0
        self._opened: list[T] = []
        self._renew_locks()
        after_fork_in_child(self._renew_locks)

    def handle(self) -> ResourceHandle[T]:
        """Return a handle for one user."""
        return ResourceHandle(self)

    def _renew_locks(self) -> None:
        # Held while the object opens or closes, so that no new user gets an object that the last one is closing. The
        # garbage collector never waits for it: its thread may be one that the object needs to open.
        self._changing = threading.Lock()
        # Held for moments. Reentrant: the garbage collector may take a handle in a thread that has the lock.
        self._lock = threading.RLock()

    def _value(self) -> T:
        with self._changing:
            opened = self._opened
            if not opened:
                opened.append(self._open())
            return opened[0]

    def _release(self) -> None:
        with self._changing:
            for value in self._unused():
                self._close(value)

    def _release_later(self) -> None:
        changing = self._changing
        held = changing.acquire(blocking=False)  # not had: another user opens or closes the object
        try:
            for value in self._unused():
                self._close_later(value)
        finally:
            if held:
                changing.release()

    def _unused(self) -> list[T]:
        """Count one user less; return the object if there is no other."""
        unused: list[T] = []
        with self._lock:
            self._users -= 1
            if not self._users and self._opened:
                unused, self._opened = self._opened, unused
        return unused


class ResourceHandle(Generic[T]):
    """The access of one user to a :class:`SharedResource`.

    The user counts from the first use of the object until :meth:`close` or the end of this handle; a use after
    ``close`` counts again. A ``with`` block counts as one use and closes the handle.
    """

    def __init__(self, resource: SharedResource[T]) -> None:
        self._resource = resource
        self._end: weakref.finalize[Any, Any] | None = None

    @property
    def value(self) -> T:
        """The object, which all users share."""
        self.acquire()
        return self._resource._value()

    def acquire(self) -> None:
        """Count as a user from now on without opening the object."""
        with self._resource._lock:
            if self._end is None:
                self._resource._users += 1
                self._end = weakref.finalize(self, self._resource._release_later)
                self._end.atexit = False  # at the end of the process the object closes, even with users

    def close(self, *, wait: bool = True) -> None:
        """Stop using the object, which closes after its last user. A second call does nothing.

        Args:
            wait: whether to return only after the object of a last user has closed.
        """
        with self._resource._lock:
            end, self._end = self._end, None
        if end is not None and end.detach() is not None:
            (self._resource._release if wait else self._resource._release_later)()

    def __enter__(self) -> T:
        return self.value

    def __exit__(self, *exception: object) -> None:
        self.close()
