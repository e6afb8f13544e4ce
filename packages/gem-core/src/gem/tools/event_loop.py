"""The event loop of async tools: one for each process, in a thread of its own, started on first use."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from gem.errors import NotSupportedError
from gem.fork_hooks import after_fork_in_child

__all__ = ["completed"]

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_of_the_parent: list[asyncio.AbstractEventLoop] = []
"""The loops of parent processes. A forked child keeps them, because destructors would close shared descriptors."""


def completed(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the event loop of this process, and return its result.

    All coroutines share the loop, so that clients and locks of one call can serve the next. An interrupt of the waiting
    thread cancels the coroutine.

    Raises:
        NotSupportedError: if the caller runs in that loop itself, which would wait for itself.
    """
    loop = _running_loop()
    if asyncio._get_running_loop() is loop:
        coroutine.close()
        raise NotSupportedError("an async tool cannot wait for another one; await it instead")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    finally:
        future.cancel()


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="gem-tools", daemon=True).start()
        return _loop


@after_fork_in_child
def _after_fork() -> None:
    global _lock, _loop
    _lock = threading.Lock()
    if _loop is not None:
        _of_the_parent.append(_loop)
        _loop = None
