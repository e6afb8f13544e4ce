"""The end of a server over standard input and output: :func:`end_on_signals`."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable

__all__ = ["end_on_signals"]


async def end_on_signals(close: Callable[[], Awaitable[None]], seconds: float = 5.0) -> None:
    """Close what a server holds, and end the process, on an interrupt or a request to terminate.

    An orderly end would never come: a thread waits for input, which no signal interrupts.

    Args:
        close: closes what the server holds.
        seconds: the time limit for closing it.
    """
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            with anyio.move_on_after(seconds):
                await close()
            os._exit(128 + number)
