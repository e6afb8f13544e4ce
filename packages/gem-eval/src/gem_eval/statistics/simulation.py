"""Simulated evaluations, against which the intervals and tests are checked, and from which power can be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gem.errors import ArgumentError
from gem_eval.statistics.comparison import difference_bounds
from gem_eval.statistics.estimates import CONFIDENCE, Floats, share_bounds

__all__ = ["SimulatedCell", "coverage", "error_under_null", "group_sizes", "simulate_groups", "simulation_grid"]

LARGEST_GROUP = 8

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class SimulatedCell:
    """One kind of evaluation to simulate."""

    groups: int
    size: int | None
    """Episodes of each group; None for random ones from 1 to 8."""
    p: float
    """Probability of success over all seeds."""
    correlation: float
    """Of two episodes of one seed."""

    @property
    def informative(self) -> bool:
        """Whether groups × min(p, 1 − p) is at least 5, the condition under which intervals must be exact."""
        return self.groups * min(self.p, 1 - self.p) >= 5 - 1e-9


def simulation_grid(
    groups: Sequence[int] = (20, 50, 100),
    sizes: Sequence[int | None] = (1, 4, LARGEST_GROUP, None),
    shares: Sequence[float] = (0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9),
    correlations: Sequence[float] = (0.0, 0.1, 0.3, 0.5, 0.7),
) -> Iterator[SimulatedCell]:
    """Yield every combination; groups of one have no correlation."""
    for count in groups:
        for size in sizes:
            for p in shares:
                for correlation in correlations if size != 1 else (0.0,):
                    yield SimulatedCell(count, size, p, correlation)


def coverage(rng: np.random.Generator, cell: SimulatedCell, repetitions: int, confidence: float = CONFIDENCE) -> float:
    """Return how often the interval of ``share_bounds`` covers the true share."""
    sizes = group_sizes(rng, cell.groups, cell.size)
    means = simulate_groups(rng, repetitions, sizes, cell.p, cell.correlation) / sizes
    low, high, _ = share_bounds(means, confidence)
    # A bound on the true share itself covers it; rounding must not decide.
    return float(((low <= cell.p + 1e-12) & (cell.p - 1e-12 <= high)).mean())


def error_under_null(
    rng: np.random.Generator,
    cell: SimulatedCell,
    repetitions: int,
    *,
    same_difficulty: bool,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """Return how often a paired comparison of two equal agents finds a difference.

    Args:
        rng: the generator of all randomness.
        cell: what both agents play.
        repetitions: number of comparisons.
        same_difficulty: whether a seed that is hard for one agent is as hard for the other.
        confidence: of the interval that must leave out zero.

    Returns:
        The share of comparisons that find a difference, and the mean number of seeds that differ.
    """
    sizes = [group_sizes(rng, cell.groups, cell.size) for _ in range(2)]
    chances = [_chances(rng, repetitions, cell) for _ in range(1 if same_difficulty else 2)]
    a, b = (rng.binomial(size, chance) / size for size, chance in zip(sizes, (chances * 2)[:2], strict=True))
    low, high, _ = difference_bounds(b - a, share=True, confidence=confidence)
    return float(((low > 0) | (high < 0)).mean()), float(np.count_nonzero(a != b, axis=-1).mean())


def simulate_groups(rng: np.random.Generator, repetitions: int, sizes: Counts, p: float, correlation: float) -> Counts:
    """Draw successes of groups whose difficulty varies: beta-binomial, one group a seed.

    Args:
        rng: the generator of all randomness.
        repetitions: number of evaluations to draw.
        sizes: episodes of each group; shape (groups,).
        p: probability of success over all seeds.
        correlation: of two episodes of one seed, from 0 (all seeds are equally hard) to below 1.

    Returns:
        Successes; shape (repetitions, groups).

    Raises:
        ArgumentError: if ``p`` is not between 0 and 1, or ``correlation`` is out of range.
    """
    chances = _chances(rng, repetitions, SimulatedCell(len(sizes), None, p, correlation))
    return rng.binomial(sizes, chances)


def group_sizes(rng: np.random.Generator, groups: int, size: int | None) -> Counts:
    """Return ``groups`` group sizes: all ``size``, or, if that is None, random ones from 1 to 8."""
    if size is None:
        return rng.integers(1, LARGEST_GROUP, groups, endpoint=True)
    return np.full(groups, size, dtype=np.int64)


def _chances(rng: np.random.Generator, repetitions: int, cell: SimulatedCell) -> Floats:
    """Draw each seed's own probability of success; shape (repetitions, groups).

    From the beta distribution with mean p and parameters p(1 − ρ)/ρ and (1 − p)(1 − ρ)/ρ, which gives two episodes of
    one seed the correlation ρ.
    """
    p, rho = cell.p, cell.correlation
    if not (0 < p < 1 and 0 <= rho < 1):
        raise ArgumentError(f"0 < p < 1 and 0 ≤ correlation < 1 must hold, not p = {p!r} and correlation = {rho!r}")
    shape = (repetitions, cell.groups)
    if rho == 0:
        return np.full(shape, p)
    concentration = (1 - rho) / rho
    return rng.beta(p * concentration, (1 - p) * concentration, shape)
