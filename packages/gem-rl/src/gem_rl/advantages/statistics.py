"""Means and standard deviations of groups, which are exact for constant values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gem_rl.turn_batch import Bools, Floats, Ints

__all__ = ["GroupStatistics", "group_statistics", "standardized"]


class GroupStatistics(NamedTuple):
    """Statistics of K groups of values. A group without values has zeros."""

    counts: Ints
    """``(K,)``: the number of values."""
    means: Floats
    """``(K,)``"""
    deviations: Floats
    """``(K,)``: standard deviations; exactly 0 where all values are equal."""


def group_statistics(
    values: Floats, groups: Ints, included: Bools, *, ddof: int = 0, times: Ints | None = None
) -> GroupStatistics:
    """Return the statistics of each group's values.

    The mean of equal values is that value, and deviations are taken from the mean (two passes), so that large returns
    with a small spread lose no digits.

    Args:
        values: ``(M,)``.
        groups: ``(M,)``, numbers from 0.
        included: ``(M,)``; the others are ignored.
        ddof: deviations divide by the count minus this; those of groups of at most this size are 0.
        times: ``(M,)``, how many values each of these stands for; 1 unless given.
    """
    number = int(groups.max()) + 1 if groups.size else 0
    if times is not None:
        included = included & (times > 0)
    chosen, labels = values[included], groups[included]
    share = np.ones(chosen.size) if times is None else times[included].astype(np.float64)
    counts = np.bincount(labels, weights=share, minlength=number).astype(np.int64)
    smallest, largest = np.full(number, np.inf), np.full(number, -np.inf)
    np.minimum.at(smallest, labels, chosen)
    np.maximum.at(largest, labels, chosen)
    constant = largest <= smallest
    means = np.bincount(labels, weights=share * chosen, minlength=number) / np.maximum(counts, 1)
    means = np.where(constant, smallest, means)
    means[counts == 0] = 0.0
    squares = np.bincount(labels, weights=share * np.square(chosen - means[labels]), minlength=number)
    deviations = np.sqrt(squares / np.maximum(counts - ddof, 1))
    deviations[counts <= ddof] = 0.0  # those of constant groups are 0 already, as each value is the mean
    return GroupStatistics(counts, means, deviations)


def standardized(
    values: Floats, groups: Ints, included: Bools, *, epsilon: float, ddof: int = 0, times: Ints | None = None
) -> Floats:
    """Return ``(value − mean) / (deviation + epsilon)`` within each group, ``(M,)``.

    Values that are not included and those of constant groups become 0. The arguments are those of
    :func:`group_statistics`.
    """
    statistics = group_statistics(values, groups, included, ddof=ddof, times=times)
    usable = included & (statistics.deviations[groups] > 0)
    result = np.zeros_like(values)
    chosen = groups[usable]
    result[usable] = (values[usable] - statistics.means[chosen]) / (statistics.deviations[chosen] + epsilon)
    return result
