"""Episodes without an outcome in trainers whose groups have a fixed size: :class:`GroupReturns`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from statistics import fmean

__all__ = ["GroupReturns", "RunningGroup"]


class RunningGroup:
    """Episodes of one initial state that run at the same time."""

    def __init__(self) -> None:
        self.returns: list[float] = []
        """Of those whose outcome is known, so far."""
        self.running = 0
        self._over = asyncio.Event()

    def end(self) -> None:
        """Note that an episode is over; the last one ends the group."""
        self.running -= 1
        if not self.running:
            self._over.set()

    async def mean(self) -> float:
        """Return the mean of the returns once all episodes are over; 0.0 if none has an outcome."""
        await self._over.wait()
        return fmean(self.returns) if self.returns else 0.0


class GroupReturns:
    """What stands for an episode without an outcome where a trainer takes neither fewer episodes nor None.

    The mean of the other returns leaves the baseline of its group where the others have it, and its own advantage is 0;
    0.0 would count as a failure. The episodes of a group are those of one key that begin in one call of
    ``asyncio.gather``, as RL2 and OpenRLHF begin them.
    """

    def __init__(self) -> None:
        self._groups: dict[Hashable, RunningGroup] = {}

    @asynccontextmanager
    async def member(self, key: Hashable) -> AsyncIterator[RunningGroup]:
        """Yield the group of an episode while it runs; append its return to ``returns`` if its outcome is known.

        Args:
            key: of the group.
        """
        group = self._groups.setdefault(key, RunningGroup())
        group.running += 1
        try:
            await asyncio.sleep(0)  # the others begin
            yield group
        finally:
            group.end()
            if not group.running:
                del self._groups[key]
