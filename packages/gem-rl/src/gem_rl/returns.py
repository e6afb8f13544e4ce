"""Monte-Carlo returns."""

from __future__ import annotations

import numpy as np

from gem.errors import ArgumentError
from gem_rl.turn_batch import Floats, TurnBatch

__all__ = ["discounted_returns", "discounted_sums"]


def discounted_returns(batch: TurnBatch, gamma: float = 1.0) -> Floats:
    """Return G_t = Σ_{k≥t} γ^{k−t} r_k for each turn t of its episode, ``(N,)``.

    Source: Sutton and Barto, Reinforcement Learning, 2nd edition, equation 3.8.

    Args:
        batch: the episodes.
        gamma: the discount for each turn, from 0 to 1.

    Raises:
        ArgumentError: if gamma is outside 0 to 1.
    """
    check_share(gamma, "gamma")
    return discounted_sums(batch, batch.rewards, gamma)


def discounted_sums(batch: TurnBatch, values: Floats, decay: float) -> Floats:
    """Return Σ_{k≥t} decay^{k−t} v_k for each turn t of its episode, ``(N,)``.

    Args:
        batch: the episodes.
        values: ``(N,)``, v of each turn.
        decay: the factor for each turn.
    """
    # A plain loop: episodes of a million turns and a million episodes of one cost the same.
    terms = values.tolist()
    sums = [0.0] * len(terms)
    stop = len(terms)
    for length in reversed(batch.lengths.tolist()):
        following = 0.0
        for turn in range(stop - 1, stop - length - 1, -1):
            following = sums[turn] = terms[turn] + decay * following
        stop -= length
    return np.array(sums)


def check_share(value: float, name: str) -> None:
    """Raise ArgumentError unless a value is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ArgumentError(f"{name} must be a number from 0 to 1, got {value!r}")
