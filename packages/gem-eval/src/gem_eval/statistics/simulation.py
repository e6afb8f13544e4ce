"""Simulated evaluations, against which the intervals and tests are checked, and from which power can be read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gem.errors import ArgumentError

__all__ = ["group_sizes", "simulate_groups"]


def simulate_groups(
    rng: np.random.Generator,
    repetitions: int,
    sizes: NDArray[np.int64] | Sequence[int],
    p: float,
    correlation: float,
) -> NDArray[np.int64]:
    """Draw successes of groups whose difficulty varies: beta-binomial, one group a seed.

    A seed's own probability of success comes from the beta distribution with mean ``p`` and parameters p(1 − ρ)/ρ and
    (1 − p)(1 − ρ)/ρ, so that two episodes of one seed have the correlation ρ.

    Args:
        rng: the generator of all randomness.
        repetitions: number of evaluations to draw.
        sizes: episodes of each group; shape (groups,).
        p: probability of success over all seeds.
        correlation: ρ, from 0 (all seeds are equally hard) to below 1.

    Returns:
        Successes; shape (repetitions, groups).

    Raises:
        ArgumentError: if ``p`` is not between 0 and 1, or ``correlation`` is out of range.
    """
    if not (0 < p < 1 and 0 <= correlation < 1):
        raise ArgumentError(
            f"0 < p < 1 and 0 ≤ correlation < 1 must hold, not p = {p!r}, correlation = {correlation!r}"
        )
    shape = (repetitions, len(sizes))
    if correlation == 0:
        return rng.binomial(sizes, p, shape)
    concentration = (1 - correlation) / correlation
    return rng.binomial(sizes, rng.beta(p * concentration, (1 - p) * concentration, shape))


def group_sizes(rng: np.random.Generator, groups: int, size: int | None, largest: int = 8) -> NDArray[np.int64]:
    """Return ``groups`` group sizes: all ``size``, or, if that is None, random ones from 1 to ``largest``."""
    if size is None:
        return rng.integers(1, largest, groups, endpoint=True)
    return np.full(groups, size, dtype=np.int64)
