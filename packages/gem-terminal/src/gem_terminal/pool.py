"""Things that take long to make, made ahead by a thread in the background: :class:`Pool`."""

from __future__ import annotations

import atexit
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread
from typing import Generic, TypeVar

__all__ = ["Pool"]

T = TypeVar("T")


class Pool(Generic[T]):
    """Keeps some fresh ones ready; each is handed out once and never comes back.

    Args:
        make: makes one; what it raises is raised by the next ``take`` that finds nothing ready.
        discard: lets go of one that nobody took.
        size: how many are kept ready; 0 makes each one when it is asked for.
    """

    def __init__(self, make: Callable[[], T], discard: Callable[[T], None], size: int) -> None:
        self._make = make
        self._discard = discard
        self._size = size
        self._ready: deque[T] = deque()
        self._changed = Condition()
        self._error: BaseException | None = None
        self._closed = False
        self._thread: Thread | None = None

    def take(self) -> T:
        """Return a fresh one: one that is ready, or else one that is made now."""
        if not self._size:
            return self._make()
        with self._changed:
            self._begin()
            while not self._ready and self._error is None and not self._closed:
                self._changed.wait()
            error, self._error = self._error, None
            if self._ready:
                self._changed.notify_all()
                return self._ready.popleft()
        if error is not None:
            raise error
        return self._make()

    def close(self) -> None:
        """Discard what is ready and stop making more; calling it again does nothing."""
        with self._changed:
            self._closed = True
            left = list(self._ready)
            self._ready.clear()
            self._changed.notify_all()
        for item in left:
            self._discard(item)
        if self._thread is not None:
            self._thread.join()
        atexit.unregister(self.close)

    def _begin(self) -> None:
        if self._thread is None and self._size and not self._closed:
            atexit.register(self.close)
            self._thread = Thread(target=self._keep_filled, name="gem-terminal pool", daemon=True)
            self._thread.start()

    def _keep_filled(self) -> None:
        while True:
            with self._changed:
                while not self._closed and (len(self._ready) >= self._size or self._error is not None):
                    self._changed.wait()
                if self._closed:
                    return
            try:
                made = self._make()
            except BaseException as error:  # belongs to whoever takes next
                with self._changed:
                    self._error = error
                    self._changed.notify_all()
                continue
            with self._changed:
                kept = not self._is_closed()
                if kept:
                    self._ready.append(made)
                    self._changed.notify_all()
            if not kept:
                self._discard(made)

    def _is_closed(self) -> bool:
        return self._closed  # in a method, since a type checker takes it for unchanged while the lock was released
