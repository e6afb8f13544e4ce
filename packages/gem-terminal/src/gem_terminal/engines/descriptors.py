"""Waiting for descriptors, however large their numbers are, which ``select`` cannot."""

from __future__ import annotations

import select
from collections.abc import Iterable

__all__ = ["ready"]


def ready(reading: Iterable[int], seconds: float | None, writing: Iterable[int] = ()) -> set[int]:
    """Return those of which something can be read or written, or whose other end has gone; waits for the first."""
    if not hasattr(select, "poll"):  # Windows, where it is sockets of an engine elsewhere
        reads, writes, _ = select.select(list(reading), list(writing), [], seconds)
        return {*reads, *writes}
    poll = select.poll()
    wanted: dict[int, int] = {}
    for descriptors, event in ((reading, select.POLLIN), (writing, select.POLLOUT)):
        for descriptor in descriptors:
            wanted[descriptor] = wanted.get(descriptor, 0) | event
    for descriptor, events in wanted.items():
        poll.register(descriptor, events)
    milliseconds = None if seconds is None else max(int(seconds * 1000 + 0.999), 0)
    return {descriptor for descriptor, _ in poll.poll(milliseconds)}
