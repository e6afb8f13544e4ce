"""Estimators that use a value function."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gem_rl.returns import check_share, discounted_sums
from gem_rl.turn_batch import Floats, TurnBatch, finite

__all__ = ["ValueTargets", "gae"]


class ValueTargets(NamedTuple):
    """What PPO learns from, for each turn."""

    advantages: Floats
    """``(N,)``: for the policy; PPO implementations usually standardize them."""
    returns: Floats
    """``(N,)``: the targets of the value function."""


def gae(
    batch: TurnBatch, values: ArrayLike, final_values: ArrayLike, gamma: float = 1.0, lam: float = 0.95
) -> ValueTargets:
    """Return generalized advantage estimates, and A_t + V(s_t) as targets of the value function.

    A_t = Σ_k (γλ)^k δ_{t+k} within the episode, with δ_t = r_t + γ·V(s_{t+1}) − V(s_t). After the last turn of a
    terminated episode V is 0; after that of an episode that was only truncated, it is the given final value. Source:
    Schulman et al., arXiv 1506.02438, equation 16; Pardo et al., arXiv 1712.00378, on limits.

    Args:
        batch: the episodes. With λ = 1 and no values this is the Monte-Carlo return, with λ = 0 one-step (A2C).
        values: ``(N,)``, V of the state before each turn.
        final_values: ``(E,)``, V of the state after the last turn of each episode; ignored for terminated ones.
        gamma: the discount for each turn, from 0 to 1.
        lam: λ, from 0 to 1.

    Raises:
        ArgumentError: if shapes disagree, a value is not finite, or gamma or lam is outside 0 to 1.
    """
    check_share(gamma, "gamma")
    check_share(lam, "lam")
    before = finite(values, "values", batch.turns)
    ends = np.where(batch.terminated, 0.0, finite(final_values, "final_values", batch.episodes))
    after = np.empty_like(before)
    after[:-1] = before[1:]
    played = batch.lengths > 0
    after[(batch.starts + batch.lengths - 1)[played]] = ends[played]
    advantages = discounted_sums(batch, batch.rewards + gamma * after - before, gamma * lam)
    estimates = np.where(batch.valid_turns, advantages, 0.0)
    return ValueTargets(estimates, estimates + before)
