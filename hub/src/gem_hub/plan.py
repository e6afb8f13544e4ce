"""The files of the search feed: a snapshot, and a chain of segments after and before it.

A segment ``[first, last]`` holds the lines of the packages that changed with a serial in that closed range, as they
were after ``last``; so it never changes. Which segments there are at serial N, and where the snapshot stands, depends
on N alone. That is why a rebuild gives the same files as one change after the other did.

* Changes form blocks of 64. The last, unfinished block is one segment, which each change writes again.
* Finished segments are merged by threes as soon as more than four of one size lie there (of blocks: more than ten, so
  that a day's changes are seldom merged with older ones): 64, 192, 576 changes and so on. A client that is 500 changes
  behind reads ten segments at most, and at most 191 lines that it has already.
* The snapshot is written again whenever N is a multiple of its 128th part (rounded down to a power of two, and at least
  one block). The cost for each change does not grow with the hub, and a new client reads few segments after it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

__all__ = ["BLOCK", "Plan", "Segment", "plan"]

BLOCK = 64
"""The number of changes in the smallest finished segment."""

_RADIX = 3
_MOST, _MOST_BLOCKS = 4, 10


class Segment(NamedTuple):
    """The serials of a segment, both included."""

    first: int
    last: int


class Plan(NamedTuple):
    """The files of the feed at a serial."""

    snapshot: int
    segments: list[Segment]


def plan(serial: int, block: int = BLOCK) -> Plan:
    """Return the snapshot and the segments when ``serial`` is the newest change."""
    if serial < block:
        return Plan(serial, [])
    interval = max(block, (1 << (serial.bit_length() - 1)) // 128)
    snapshot = serial - serial % interval
    ends = [0]
    for size, count in reversed(_levels(serial // block)):
        start = ends[-1]
        ends += [start + size * block * (number + 1) for number in range(count)]
    if serial % block:
        ends.append(serial)
    segments = [Segment(before + 1, last) for before, last in pairwise(ends)]
    # A client that misses more than half of the history loads less with the snapshot.
    return Plan(snapshot, [segment for segment in segments if segment.first > snapshot // 2])


def _levels(blocks: int) -> list[tuple[int, int]]:
    """Return (size in blocks, how many segments of it), smallest first, after so many finished blocks.

    One more than the most segments of a size makes the three oldest into one of the next size. So of n that ever were,
    3⌊(n - most + 2)/3⌋ have been merged.
    """
    levels = []
    size, arrived = 1, blocks
    while arrived:
        most = _MOST_BLOCKS if size == 1 else _MOST
        merged = max(0, (arrived - (most - _RADIX + 1)) // _RADIX)
        levels.append((size, arrived - merged * _RADIX))
        size, arrived = size * _RADIX, merged
    return levels
