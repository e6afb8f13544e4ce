"""Episodes in the order of a quantity, cut into bins of about equal size: :func:`bins_of`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gem_eval.runs.episode_row import EpisodeRow

__all__ = ["Bin", "bins_of"]


@dataclass(frozen=True)
class Bin:
    """Episodes of neighbouring values."""

    low: float
    """The least value."""
    high: float
    mean: float
    rows: tuple[EpisodeRow, ...]


def bins_of(known: Sequence[tuple[float, EpisodeRow]], most: int, apart: int = 0) -> list[Bin]:
    """Return episodes in bins by their values, in order; equal values are never parted.

    With at most ``apart`` different values, each has its own bin. Otherwise there are at most ``most``, and one is
    closed as soon as it has its share of the episodes.
    """
    ordered = sorted(known, key=lambda pair: pair[0])
    same = [list(group) for _, group in groupby(ordered, key=lambda pair: pair[0])]
    if len(same) <= max(most, apart):
        return [_bin(group) for group in same]
    bins: list[Bin] = []
    open_: list[tuple[float, EpisodeRow]] = []
    closed = 0
    for group in same:
        open_ += group
        if closed + len(open_) >= len(ordered) * (len(bins) + 1) / most:
            bins.append(_bin(open_))
            closed += len(open_)
            open_ = []
    return [*bins, _bin(open_)] if open_ else bins


def _bin(members: Sequence[tuple[float, EpisodeRow]]) -> Bin:
    values = [value for value, _ in members]
    return Bin(values[0], values[-1], sum(values) / len(values), tuple(row for _, row in members))
