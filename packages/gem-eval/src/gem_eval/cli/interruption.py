"""Ctrl-C in a command that runs an event loop: the first one ends the work in good order, the second at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import click

__all__ = ["run_interruptibly"]

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_interruptibly(coroutine: Coroutine[Any, Any, T]) -> T | None:
    """Run a coroutine on an event loop; return None if Ctrl-C or SIGTERM cancelled it.

    The first signal cancels the coroutine, which then cleans up. The second one ends the process without any clean-up,
    as it ends one that handles no signals: shells see 130 after Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        return asyncio.run(coroutine)
    interrupted = False

    async def work() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def interrupt(number: int, frame: object) -> None:
            nonlocal interrupted
            interrupted = True
            for each in _SIGNALS:  # a handler may come too late for a call that begins to wait at this moment
                signal.signal(each, signal.SIG_DFL)
            click.echo("Interrupted: ending in good order. A second Ctrl-C ends at once.", err=True)
            loop.call_soon_threadsafe(task.cancel)

        for number in _SIGNALS:
            signal.signal(number, interrupt)
        return await coroutine

    before = [signal.getsignal(number) for number in _SIGNALS]
    try:
        return asyncio.run(work())
    except asyncio.CancelledError:
        if not interrupted:
            raise
        return None
    finally:
        for number, handler in zip(_SIGNALS, before, strict=True):
            signal.signal(number, handler)
