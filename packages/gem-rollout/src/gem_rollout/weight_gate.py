"""Holding back the calls of policies while weights change: :class:`WeightGate`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

__all__ = ["CallsInFlight", "WeightGate"]

CallsInFlight = Literal["wait", "drop", "keep"]


class WeightGate:
    """Knows the calls of policies that are in flight, and lets no new one pass while it is closed.

    All methods belong to the thread of the event loop.
    """

    def __init__(self) -> None:
        self.turns = 0
        """How many turns are being played whose policies are asked where their environments are stepped."""
        self._opening: asyncio.Future[None] | None = None
        self._quiet: asyncio.Future[None] | None = None
        self._calls: dict[asyncio.Task[Any], bool] = {}  # by the task that waits for it: whether it may be dropped
        self._dropped: set[asyncio.Task[Any]] = set()

    async def ask(self, call: Callable[[], Awaitable[Any]], is_over: Callable[[], bool], droppable: bool) -> Any:
        """Return what a call returns. One that is dropped is made again once the gate is open; errors are passed on.

        Args:
            call: begins it.
            is_over: whether a cancellation now means that the episode is dropped.
            droppable: whether its task may be cancelled.
        """
        task = asyncio.current_task()
        assert task is not None
        while True:
            if self._opening is not None:
                await self.opened()
            self._calls[task] = droppable
            try:
                return await call()
            except asyncio.CancelledError:
                if task not in self._dropped or is_over():
                    raise
            finally:
                del self._calls[task]
                if task in self._dropped:
                    self._dropped.discard(task)
                    getattr(task, "uncancel", int)()  # Python 3.10 does not count
                if self._opening is not None:
                    self.note_end()

    async def opened(self) -> None:
        """Wait until the gate is open."""
        while self._opening is not None:
            await asyncio.shield(self._opening)

    def note_end(self) -> None:
        """Note that a call or turn has ended while the gate is closed."""
        if self._quiet is not None and not self._calls and not self.turns and not self._quiet.done():
            self._quiet.set_result(None)

    async def close(self, calls: CallsInFlight) -> None:
        """Let no more calls pass; return once what is in flight has ended, but with ``"keep"`` at once."""
        loop = asyncio.get_running_loop()
        self._opening = loop.create_future()
        if calls == "drop":
            self._dropped = {task for task, droppable in self._calls.items() if droppable}
            for task in self._dropped:
                task.cancel()
        if calls != "keep" and (self._calls or self.turns):
            self._quiet = loop.create_future()
            try:
                await self._quiet
            finally:
                self._quiet = None

    def open(self) -> None:
        """Let calls pass."""
        opening, self._opening = self._opening, None
        if opening is not None and not opening.done():
            opening.set_result(None)

    @property
    def closed(self) -> bool:
        """Whether calls wait."""
        return self._opening is not None
