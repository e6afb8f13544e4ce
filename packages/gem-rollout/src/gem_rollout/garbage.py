"""How often Python looks for reference cycles while a run is played or read.

Episodes, requests and rows of tables are many objects without cycles. The collector looks at them again and again, and
at everything else that the process holds, which costs more than the work itself.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["MOST_ALLOCATIONS", "rare_collections", "without_collections"]

MOST_ALLOCATIONS = 50_000
"""Objects that a young generation may grow by before it is looked at; 700 is Python's default."""
_OLD = 100
"""Looks at the middle generation before one at all objects, which takes seconds where there are millions; Python's
default is 10."""

_lock = threading.Lock()
_users = 0
_before: tuple[int, int, int] = (0, 0, 0)
_frozen = False


@contextmanager
def rare_collections(allocations: int = MOST_ALLOCATIONS) -> Iterator[None]:
    """Collect reference cycles rarely, and with the most allocations none that are older than this block.

    Blocks may overlap, also in several threads; the rarest holds, and the process has its own settings again after the
    last of them.

    Args:
        allocations: how many objects there may be more before young ones are looked at.
    """
    global _users, _before, _frozen
    with _lock:
        _users += 1
        if _users == 1:
            _before, _frozen = gc.get_threshold(), False
        # Counting what is frozen takes a look at all of it, which a few episodes are not worth.
        if not _frozen and allocations >= MOST_ALLOCATIONS and gc.get_freeze_count() == 0:
            gc.freeze()  # and where the caller has frozen something, it stays frozen
            _frozen = True
        young, middle, old = gc.get_threshold()
        if 0 < young < allocations:
            gc.set_threshold(allocations, middle, max(old, _OLD))
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                gc.set_threshold(*_before)
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
