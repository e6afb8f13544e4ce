"""How far two texts or lists agree, at the speed of comparing memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["common_items", "common_length", "common_length_before"]

_FIRST_BLOCK = 32
_LARGEST_BLOCK = 1 << 17
"""Blocks stay in the cache of a processor."""


def common_length(one: str, begin: int, other: str, other_begin: int) -> int:
    """Return how many characters two texts have in common from two positions on."""

    def same(start: int, size: int) -> bool:
        there = other_begin + start
        return one.startswith(other[there : there + size], begin + start)

    return _equal_until(min(len(one) - begin, len(other) - other_begin), same)


def common_length_before(one: str, end: int, other: str, other_end: int, limit: int) -> int:
    """Return how many characters two texts have in common up to two positions, counting to ``limit``."""

    def same(start: int, size: int) -> bool:
        there = other_end - start
        return one.endswith(other[there - size : there], 0, end - start)

    return _equal_until(min(limit, end, other_end), same)


def common_items(one: list[Any], begin: int, other: list[Any], other_begin: int) -> int:
    """Return how many items of two lists are the same or equal from two positions on."""

    def same(start: int, size: int) -> bool:
        here, there = begin + start, other_begin + start
        return one[here : here + size] == other[there : there + size]

    return _equal_until(min(len(one) - begin, len(other) - other_begin), same)


def _equal_until(limit: int, same: Callable[[int, int], bool]) -> int:
    """Return where two sequences begin to differ; ``same(start, size)`` compares ``size`` items from ``start`` on.

    The blocks grow, as most ranges are either short or very long.
    """
    equal, size = 0, _FIRST_BLOCK
    while equal < limit:
        size = min(size, limit - equal)
        if not same(equal, size):
            break
        equal += size
        size = min(4 * size, _LARGEST_BLOCK)
    else:
        return limit
    while size > 1:  # the first difference is among the next `size` items
        half = size // 2
        if same(equal, half):
            equal, size = equal + half, size - half
        else:
            size = half
    return equal
