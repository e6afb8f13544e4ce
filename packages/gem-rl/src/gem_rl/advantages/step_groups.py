"""GiGPO, which also compares turns that began in the same state."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np

from gem.errors import ArgumentError
from gem_rl.advantages.group_wide import grpo
from gem_rl.advantages.statistics import group_statistics, standardized
from gem_rl.returns import discounted_returns
from gem_rl.turn_batch import Floats, TurnBatch

__all__ = ["gigpo"]


def gigpo(
    batch: TurnBatch,
    states: Sequence[Hashable],
    gamma: float = 1.0,
    *,
    weight: float = 1.0,
    normalize: Literal["group", "none"] = "group",
    epsilon: float = 1e-8,
) -> Floats:
    """Return GiGPO's advantages: A_t = A(episode) + ω · A(step), ``(N,)``.

    A(episode) is :func:`grpo`. A(step) compares the discounted return of a turn with those of all turns of the same
    group of rollouts that began in the same state, in the same way. Without repeated states the result is GRPO's.
    Source: Feng et al., arXiv 2505.10978, equations 3 to 8.

    Args:
        batch: the episodes.
        states: ``(N,)``, what identifies the state before each turn, such as its observation.
        gamma: the discount for each turn in A(step), from 0 to 1.
        weight: ω.
        normalize: ``"none"`` leaves out the division by the standard deviation, in both parts.
        epsilon: ε.

    Raises:
        ArgumentError: if there is not one state for each turn, or normalize is neither of its values.
    """
    if len(states) != batch.turns:
        raise ArgumentError(f"states must have {batch.turns} values, one for each turn, got {len(states)}")
    numbers: dict[tuple[int, Hashable], int] = {}
    groups = batch.to_turns(batch.groups.astype(np.float64)).astype(np.int64).tolist()
    places = np.array(
        [numbers.setdefault(key, len(numbers)) for key in zip(groups, states, strict=True)], dtype=np.int64
    )
    whole = grpo(batch, normalize=normalize, epsilon=epsilon)
    returns = discounted_returns(batch, gamma)
    if normalize == "group":
        steps = standardized(returns, places, batch.valid_turns, epsilon=epsilon)
    else:
        means = group_statistics(returns, places, batch.valid_turns).means
        steps = np.where(batch.valid_turns, returns - means[places], 0.0) if places.size else returns
    return whole + weight * steps
