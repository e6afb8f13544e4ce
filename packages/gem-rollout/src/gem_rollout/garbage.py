"""How often Python looks for reference cycles while a run is played or read.

Episodes, requests and rows of tables are many objects without cycles. The collector looks at them again and again, and
at everything else that the process holds, which costs more than the work itself.
"""

from __future__ import annotations

import _thread
import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["MOST_ALLOCATIONS", "rare_collections", "without_collections"]

MOST_ALLOCATIONS = 50_000
"""Objects that a young generation may grow by before it is looked at; 700 is Python's default."""
_OLD = 100
"""Looks at the middle generation before one at all objects, which takes seconds where there are millions; Python's
default is 10."""

_MANY = 10 * MOST_ALLOCATIONS
"""Objects that wait at one time from which on only samples of the young ones are looked at."""
_SHARE, _ALL = 8, 400
"""Of so many generations of young objects one is looked at; after so many of them, everything."""
_MUCH = MOST_ALLOCATIONS // 20
"""Objects in cycles, found in one look, that are no exception."""

_OLDEST = 2
"""The number of the generation that is everything."""

_lock = threading.Lock()
_users = 0
_before: tuple[int, int, int] = (0, 0, 0)
_frozen = False


class _Sampling:
    """Has Python look at a sample of the young objects, as long as there is hardly a cycle among them.

    Of tens of thousands of waiting episodes nearly all young objects are still alive when Python looks at them, again
    when it looks at the middle generation, and dead, by their own, soon after. Each look stops everything for tenths of
    a second, and all together took a quarter of the time of a turn. So most generations are frozen unseen, which costs
    nothing, and with them what the look before has left. Garbage that was frozen is found when everything is looked at:
    in time, and whenever somebody calls ``gc.collect()``. Where a look finds much, Python's own rules return.
    """

    def __init__(self) -> None:
        self._ended = False
        self._generations = 0
        self._whole_looks = 0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        """Be called back by the collector before and after each look, in any thread."""
        everything = info["generation"] == _OLDEST
        if phase == "start":
            if everything:
                self._whole_looks += 1
                gc.unfreeze()
                return
            self._generations += 1
            if not self._ended and self._generations % _SHARE:
                gc.freeze()
        elif not self._ended:
            self._ended = info["collected"] > _MUCH
            if not everything and (self._ended or self._generations % _ALL == 0):
                # By a thread, as no look begins within another one; `threading` has locks that this one may hold.
                _thread.start_new_thread(self._look_at_everything, ())

    def _look_at_everything(self) -> None:
        looks = self._whole_looks
        while self._whole_looks == looks and self in gc.callbacks:
            gc.collect()  # does nothing while another look goes on
            time.sleep(0)


_sampling: _Sampling | None = None


@contextmanager
def rare_collections(allocations: int = MOST_ALLOCATIONS) -> Iterator[None]:
    """Collect reference cycles rarely, and from 50,000 allocations on none that are older than this block.

    Blocks may overlap, also in several threads; the rarest holds, and the process has its own settings again after the
    last of them.

    Args:
        allocations: how many objects there may be more before young ones are looked at, at most 50,000. Where there
            are ten times as many and more, only a sample of the young ones is looked at.
    """
    global _users, _before, _frozen, _sampling
    with _lock:
        _users += 1
        if _users == 1:
            _before, _frozen = gc.get_threshold(), False
        # Counting what is frozen takes a look at all of it, which a few episodes are not worth.
        if not _frozen and allocations >= MOST_ALLOCATIONS and gc.get_freeze_count() == 0:
            gc.freeze()  # and where the caller has frozen something, it stays frozen
            _frozen = True
        young, middle, old = gc.get_threshold()
        rare = min(allocations, MOST_ALLOCATIONS)
        if 0 < young < rare:
            gc.set_threshold(rare, middle, max(old, _OLD))
        if _frozen and _sampling is None and allocations >= _MANY:
            _sampling = _Sampling()
            gc.callbacks.append(_sampling)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                gc.set_threshold(*_before)
                if _sampling is not None:
                    gc.callbacks.remove(_sampling)
                    _sampling = None
                if _frozen:
                    gc.unfreeze()


@contextmanager
def without_collections() -> Iterator[None]:
    """Switch the collector off, for a moment of which the end is near."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
