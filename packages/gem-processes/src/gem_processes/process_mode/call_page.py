"""A page of memory that a worker and the trainer share: which call is running, and since when."""

from __future__ import annotations

import mmap
import os
import time

__all__ = ["IDLE", "CallPage"]

IDLE = -1
"""In the place of an environment's number: no call is running."""

_RUNNING, _COUNT, _BEGAN, _OVERDUE, _PROCESS = range(5)


class CallPage:
    """The page, from either side.

    Args:
        descriptor: of the page in the process that did not create it; None creates one.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = os.memfd_create("gem-calls", os.MFD_CLOEXEC) if descriptor is None else descriptor
        if descriptor is None:
            os.ftruncate(self.descriptor, mmap.PAGESIZE)
        self._memory = mmap.mmap(self.descriptor, mmap.PAGESIZE)
        self.cells = memoryview(self._memory).cast("q")
        """``cells[0]`` is the number of the environment whose call is running."""
        if descriptor is None:
            self.cells[_RUNNING] = IDLE

    @property
    def running(self) -> int:
        """The number of the environment whose call is running, or ``IDLE``."""
        return self.cells[_RUNNING]

    @property
    def process(self) -> int:
        """The process id of the worker; 0 before it has begun."""
        return self.cells[_PROCESS]

    def note_process(self) -> None:
        """Note the process id of the worker, which calls this."""
        self.cells[_PROCESS] = os.getpid()

    @property
    def progress(self) -> tuple[int, int]:
        """A value that changes from call to call."""
        return self.cells[_RUNNING], self.cells[_COUNT]

    def begin(self, number: int) -> None:
        """Note the beginning of a call; for the worker."""
        cells = self.cells
        cells[_BEGAN] = time.monotonic_ns()
        cells[_COUNT] += 1
        cells[_RUNNING] = number

    @property
    def seconds(self) -> float:
        """The time since the beginning of the last call that was noted."""
        return (time.monotonic_ns() - self.cells[_BEGAN]) / 1e9

    def mark_overdue(self, seconds: float) -> bool:
        """Mark the running call if it has taken longer; return whether it has, and was not marked before."""
        cells = self.cells
        count = cells[_COUNT]
        if cells[_RUNNING] == IDLE or self.seconds <= seconds or cells[_OVERDUE] == count or cells[_COUNT] != count:
            return False
        cells[_OVERDUE] = count
        return True

    @property
    def is_overdue(self) -> bool:
        """Whether the running call is marked."""
        return self.cells[_RUNNING] != IDLE and self.cells[_OVERDUE] == self.cells[_COUNT]

    def close(self) -> None:
        self.cells.release()
        self._memory.close()
        os.close(self.descriptor)
