"""Estimators that compare an episode with the other rollouts of its initial state.

All turns of an episode get the same advantage, which no length divides: dividing by it would prefer long wrong answers
to short ones (Liu et al., arXiv 2503.20783). How the loss weighs tokens is another choice: :func:`gem_rl.loss_weights`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from gem.errors import ArgumentError
from gem_rl.advantages.statistics import group_statistics, standardized
from gem_rl.turn_batch import Floats, TurnBatch

__all__ = ["erpo", "grpo", "rloo"]


def grpo(
    batch: TurnBatch, *, normalize: Literal["group", "none"] = "group", ddof: int = 0, epsilon: float = 1e-8
) -> Floats:
    """Return GRPO's advantages at the level of trajectories, ``(N,)``.

    A = (R − mean of the group) / (std of the group + ε) with R the sum of an episode's rewards. Sources: Shao et al.,
    arXiv 2402.03300, equation 3; GEM, arXiv 2510.01051, equation 2; without the standard deviation: Dr. GRPO, Liu et
    al., arXiv 2503.20783.

    Args:
        batch: the episodes; ``groups`` holds the rollouts of one initial state.
        normalize: ``"none"`` leaves out the division by the standard deviation.
        ddof: the standard deviation divides by the size of the group minus this; verl and TRL use 1.
        epsilon: ε.

    Raises:
        ArgumentError: if normalize is neither of its values.
    """
    if normalize == "group":
        advantages = standardized(batch.returns, batch.groups, batch.valid, epsilon=epsilon, ddof=ddof)
    elif normalize == "none":
        means = group_statistics(batch.returns, batch.groups, batch.valid).means
        advantages = np.where(batch.valid, batch.returns - means[batch.groups], 0.0)
    else:
        raise ArgumentError(f"normalize must be 'group' or 'none', got {normalize!r}")
    return batch.to_turns(advantages)


def rloo(batch: TurnBatch) -> Floats:
    """Return A = R − mean of the group's *other* rollouts, ``(N,)``; 0 for a group of one.

    Source: Kool et al. 2019, Buy 4 REINFORCE samples, get a baseline for free; Ahmadian et al., arXiv 2402.14740.
    """
    statistics = group_statistics(batch.returns, batch.groups, batch.valid)
    counts = statistics.counts[batch.groups]
    compared = batch.valid & (counts > 1)
    # R − (n·mean − R) / (n − 1) = (R − mean) · n / (n − 1), which is exactly 0 for constant groups.
    advantages = (batch.returns - statistics.means[batch.groups]) * (counts / np.maximum(counts - 1, 1))
    return batch.to_turns(np.where(compared, advantages, 0.0))


def erpo(batch: TurnBatch, *, epsilon: float = 1e-8) -> Floats:
    """Return A = (R − mean of the group) / (std over all episodes of the same environment + ε), ``(N,)``.

    The standard deviation of an environment, which divides by its number of episodes, is steadier than that of a small
    group. Episodes that the simulated user spoiled are to be invalid in the batch: they enter neither mean nor standard
    deviation, and their advantages are 0. Source: AutoForge, arXiv 2512.22857.

    Args:
        batch: the episodes; ``tasks`` holds their environments.
        epsilon: ε.
    """
    means = group_statistics(batch.returns, batch.groups, batch.valid).means
    deviations = group_statistics(batch.returns, batch.tasks, batch.valid).deviations[batch.tasks]
    usable = batch.valid & (deviations > 0)
    advantages = np.where(usable, batch.returns - means[batch.groups], 0.0) / (deviations + epsilon)
    return batch.to_turns(advantages)
