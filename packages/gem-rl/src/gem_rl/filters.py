"""Which groups of rollouts to train on: filters by the spread of their returns."""

from __future__ import annotations

import numpy as np

from gem.errors import ArgumentError
from gem_rl.advantages.statistics import group_statistics
from gem_rl.returns import check_share
from gem_rl.turn_batch import Bools, TurnBatch

__all__ = ["most_varied_groups", "signal_groups"]


def most_varied_groups(batch: TurnBatch, share: float = 0.25) -> Bools:
    """Return which episodes to keep, ``(E,)``: those of the groups with the largest standard deviation of returns.

    At least one group is kept, and of equal ones the first. Groups of constant return are kept only if the share needs
    them. Source: StarPO-S in RAGEN, arXiv 2504.20073, section 3.

    Args:
        batch: the episodes; ``groups`` holds the rollouts of one initial state.
        share: of the groups with a valid episode, from 0 to 1.

    Raises:
        ArgumentError: if share is outside 0 to 1.
    """
    check_share(share, "share")
    statistics = group_statistics(batch.returns, batch.groups, batch.valid)
    present = np.flatnonzero(statistics.counts > 0)
    order = present[np.argsort(-statistics.deviations[present], kind="stable")]
    # Rounded, so that a share of 0.1 of 30 groups is 3 although 0.1 · 30 is more than 3 in floating point.
    number = max(1, int(np.ceil(round(share * present.size, 9))))
    return np.isin(batch.groups, order[:number]) & batch.valid


def signal_groups(batch: TurnBatch, mass: float = 0.9) -> Bools:
    """Return which episodes to keep, ``(E,)``: those of the fewest groups that hold a share of the variance of returns.

    Groups are ranked by the variance of their returns, a measure of the gradient's signal-to-noise ratio; the first
    ones that together reach ``mass`` of the sum of all variances are kept. If all groups are constant, none is: such a
    batch teaches nothing. Source: RAGEN-2, arXiv 2604.06268, SNR-aware filtering.

    Args:
        batch: the episodes; ``groups`` holds the rollouts of one initial state.
        mass: the share of the sum of variances, from 0 to 1.

    Raises:
        ArgumentError: if mass is outside 0 to 1.
    """
    check_share(mass, "mass")
    if batch.episodes == 0:
        return np.zeros(0, dtype=bool)
    variances = np.square(group_statistics(batch.returns, batch.groups, batch.valid).deviations)
    total = variances.sum()
    if not np.isfinite(total):
        raise ArgumentError("the variances of the returns are too large for float64; scale the rewards")
    order = np.argsort(-variances, kind="stable")
    reached = np.cumsum(variances[order]) >= mass * total - 1e-12 * total
    number = int(np.argmax(reached)) + 1
    return np.isin(batch.groups, order[:number]) & (variances[batch.groups] > 0) & batch.valid
