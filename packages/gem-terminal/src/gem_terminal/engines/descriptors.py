"""Waiting for descriptors of any number; ``select`` rejects numbers above 1023."""

from __future__ import annotations

import select
from collections.abc import Iterable

__all__ = ["ready"]


def ready(reading: Iterable[int], seconds: float | None, writing: Iterable[int] = ()) -> set[int]:
    """Wait for the first ready descriptor, and return all that are readable, writable or hung up."""
    if not hasattr(select, "poll"):  # Windows, where the descriptors are sockets of a remote engine
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
