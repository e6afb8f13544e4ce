"""A thread that watches the workers for an event loop: :class:`ResultNotifier`."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress

__all__ = ["ResultNotifier"]


class ResultNotifier:
    """Calls a function when a descriptor becomes readable, once for each :meth:`arm`.

    Args:
        pause: seconds after which to call it even so, for time limits; None for never.
    """

    def __init__(self, pause: float | None) -> None:
        self._pause = -1.0 if pause is None else pause
        self._epoll = select.epoll()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._epoll.register(self._wake, select.EPOLLIN)
        self._callback: Callable[[], None] | None = None
        self._armed = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def add(self, descriptor: int) -> None:
        """Watch a descriptor. Only news count: one that stays readable is reported once."""
        self._epoll.register(descriptor, select.EPOLLIN | select.EPOLLET)

    def remove(self, descriptor: int) -> None:
        """Watch it no longer."""
        with suppress(OSError):
            self._epoll.unregister(descriptor)

    def arm(self, callback: Callable[[], None] | None) -> None:
        """Have a function called at the next result; None for no call."""
        self._callback = callback
        if callback is None:
            self._armed.clear()
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="gem-vector-notifier", daemon=True)
            self._thread.start()
        self._armed.set()

    def notify(self) -> None:
        """Call the function now: another thread has received results."""
        callback = self._callback
        if callback is not None:
            callback()

    def stop(self) -> None:
        """End the thread."""
        self._stopped = True
        with suppress(OSError):
            os.eventfd_write(self._wake, 1)
        self._armed.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._epoll.close()
        os.close(self._wake)

    def _watch(self) -> None:
        while not self._stopped:
            self._armed.wait()
            with suppress(InterruptedError):
                self._epoll.poll(self._pause)
            callback = self._callback
            if self._stopped or callback is None or not self._armed.is_set():
                continue
            self._armed.clear()
            callback()
