"""An event loop in a thread, on which plain code runs async rewards: :data:`LOOP`."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Awaitable
from typing import TypeVar

from gem.errors import NotSupportedError
from gem.fork_hooks import after_fork_in_child

__all__ = ["LOOP", "LoopThread"]

T = TypeVar("T")


class LoopThread:
    """Runs awaitables on one event loop in a thread of its own, which starts with the first call.

    The caller waits, in any thread, whether or not an event loop runs in it.
    """

    _loop: asyncio.AbstractEventLoop | None
    _thread: threading.Thread | None

    def __init__(self) -> None:
        self._forget()
        after_fork_in_child(self._forget)
        atexit.register(self.close)

    def run(self, awaitable: Awaitable[T]) -> T:
        """Return the result of an awaitable; its exceptions are passed on.

        Raises:
            NotSupportedError: on the thread of the loop itself, where the wait would never end.
        """
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="gem rewards", daemon=True)
                self._thread.start()
            loop, thread = self._loop, self._thread
        if thread is threading.current_thread():
            if asyncio.iscoroutine(awaitable):
                awaitable.close()
            raise NotSupportedError("an async reward cannot wait for another one in plain code; await it instead")
        return asyncio.run_coroutine_threadsafe(_result(awaitable), loop).result()

    def close(self) -> None:
        """End the loop and its thread. A later call starts them again."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _forget(self) -> None:
        """Begin without a loop: at first, and after a fork, which copies the loop without its thread."""
        self._lock = threading.Lock()
        self._loop = None
        self._thread = None


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


async def _result(awaitable: Awaitable[T]) -> T:
    return await awaitable


LOOP = LoopThread()
"""The loop of this process."""
