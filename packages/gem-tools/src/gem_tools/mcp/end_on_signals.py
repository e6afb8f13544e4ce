"""The end of a server over standard input and output: :func:`end_on_signals`."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable

__all__ = ["end_on_signals"]

_CLOSE_SECONDS = 5.0
"""The time limit for closing what the server holds."""


async def end_on_signals(close: Callable[[], Awaitable[None]]) -> None:
    """Close what a server holds, and end the process, on an interrupt or a request to terminate.

    An orderly end would never come: a thread waits for input, which no signal interrupts.
    """
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            with anyio.move_on_after(_CLOSE_SECONDS):
                await close()
            os._exit(128 + number)
