"""Means over groups and their intervals, against a second computation in plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_eval.statistics import estimate_mean, estimate_share, mean_bounds, share_bounds, t_quantile
from gem_eval.statistics.estimates import group_means, standard_errors

Groups = Mapping[int, Sequence[float]]

flags = st.dictionaries(st.integers(0, 50), st.lists(st.sampled_from([0.0, 1.0]), max_size=8), max_size=40)


def slow_share_interval(groups: Groups, confidence: float = 0.95) -> tuple[float, float, str]:
    """Compute the interval of a share step by step: Wilson's formula, or two more groups where too few speak."""
    means = [Fraction(int(sum(group)), len(group)) for group in groups.values() if group]
    count = len(means)
    p = sum(means) / count
    variance = sum((mean - p) ** 2 for mean in means) / (count - 1) / count if count > 1 else Fraction(0)
    n = float(p * (1 - p) / variance) if variance else float(count)
    # Wilson: the p that solve (p̂ − p)² = t² p (1 − p) / n, a quadratic equation.
    t, share = t_quantile((1 + confidence) / 2, max(count - 1, 1)), float(p)
    a, b, c = 1 + t * t / n, -(2 * share + t * t / n), share * share
    root = math.sqrt(max(0.0, b * b - 4 * a * c))
    low, high = (-b - root) / (2 * a), (-b + root) / (2 * a)
    if count * min(p, 1 - p) >= Fraction(5, 2):
        return low, high, "wilson-t"
    values = [float(mean) for mean in means] + [0.0, 1.0]
    half = t_quantile((1 + confidence) / 2, count + 1) * stdev(values) / math.sqrt(count + 2)
    low, high = min(low, fmean(values) - half), max(high, fmean(values) + half)
    return max(0.0, low), min(1.0, high), "pseudo-groups"


@given(groups=flags, confidence=st.sampled_from([0.8, 0.95, 0.99]))
def test_share_agrees_with_the_slow_computation(groups: Groups, confidence: float) -> None:
    """Value, both ends and the rule that applied are those of exact fractions and the quadratic equation."""
    estimate = estimate_share(groups, confidence)
    if not any(groups.values()):
        assert estimate is None
        return
    assert estimate is not None
    low, high, method = slow_share_interval(groups, confidence)
    assert estimate.value == pytest.approx(fmean(fmean(group) for group in groups.values() if group))
    assert estimate.method == method
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-9)
    assert estimate.groups == sum(map(bool, groups.values()))
    assert estimate.episodes == sum(map(len, groups.values()))


@given(groups=flags)
def test_laws_of_a_share(groups: Groups) -> None:
    """The interval holds the estimate, stays within 0 … 1, and turns around when failures become successes."""
    estimate = estimate_share(groups)
    mirrored = estimate_share({seed: [1 - value for value in group] for seed, group in groups.items()})
    if estimate is None or mirrored is None:
        return
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - estimate.high, 1 - estimate.low), abs=1e-9)
    wider = estimate_share(groups, 0.99)
    assert wider is not None
    assert wider.low is not None
    assert wider.high is not None
    assert wider.low <= estimate.low + 1e-12
    assert wider.high >= estimate.high - 1e-12


values = st.floats(-1e6, 1e6).map(lambda value: round(value, 6))


@given(st.dictionaries(st.integers(0, 30), st.lists(values, min_size=1, max_size=5), min_size=1))
def test_mean_agrees_with_the_slow_computation(groups: Groups) -> None:
    """Student's t on group means, by the standard library's mean and standard deviation."""
    estimate = estimate_mean(groups)
    assert estimate is not None
    means = [fmean(group) for group in groups.values()]
    assert estimate.value == pytest.approx(fmean(means), abs=1e-6)
    if len(set(means)) < 2:
        assert (estimate.low, estimate.high, estimate.method) == (None, None, "none")
        return
    half = t_quantile(0.975, len(means) - 1) * stdev(means) / math.sqrt(len(means))
    assert estimate.low == pytest.approx(fmean(means) - half, abs=1e-6)
    assert estimate.high == pytest.approx(fmean(means) + half, abs=1e-6)


def test_episodes_of_one_seed_are_not_independent() -> None:
    """Four equal episodes a seed tell no more than one: the interval counts seeds."""
    once = estimate_share({seed: [float(seed % 2)] for seed in range(40)})
    often = estimate_share({seed: [float(seed % 2)] * 4 for seed in range(40)})
    assert once is not None
    assert often is not None
    assert (once.low, once.high) == pytest.approx((often.low, often.high))
    mixed = estimate_share({seed: [0.0, 1.0, 0.0, 1.0] for seed in range(40)})
    assert mixed is not None
    assert (mixed.low, mixed.high) == pytest.approx((once.low, once.high), abs=0.01)  # n = G where all are equal


def test_each_seed_weighs_the_same() -> None:
    """A seed with many episodes does not outweigh the others, and a note says so."""
    estimate = estimate_share({0: [1.0] * 8, 1: [0.0], 2: [0.0], 3: [1.0]})
    assert estimate is not None
    assert estimate.value == 0.5
    assert "seeds have 1 to 8 episodes; each seed weighs the same" in estimate.notes
    equal = estimate_mean({0: [1.0, 2.0], 1: [3.0, 5.0]})
    assert equal is not None
    assert not equal.notes


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("groups", [1, 2, 20, 1000])
def test_all_successes_or_failures_leave_doubt(value: float, groups: int) -> None:
    """Where all episodes end alike, the interval has a width, less with more seeds, and a note gives the rule."""
    estimate = estimate_share({seed: [value, value] for seed in range(groups)})
    assert estimate is not None
    assert estimate.low is not None
    assert estimate.high is not None
    assert value in (estimate.low, estimate.high)
    width = estimate.high - estimate.low
    assert width == 1 if groups <= 2 else 2.5 / groups < width < 4 / groups
    assert any("one more seed at 0 and one at 1" in note for note in estimate.notes)


def test_one_episode_says_next_to_nothing() -> None:
    """One episode gives a share with the interval 0 … 1, and a mean without an interval that says why."""
    share, mean = estimate_share({7: [1.0]}), estimate_mean({7: [3.5]})
    assert share is not None
    assert (share.value, share.low, share.high) == (1.0, 0.0, 1.0)
    assert mean is not None
    assert (mean.value, mean.low, mean.high, mean.notes) == (
        3.5,
        None,
        None,
        ("no interval: all episodes are of one seed",),
    )


def test_no_episode_gives_no_estimate() -> None:
    """Without groups, or with empty ones alone, there is no estimate."""
    for groups in ({}, {0: [], 1: []}):
        assert estimate_share(groups) is None
        assert estimate_mean(groups) is None


def test_equal_means_give_no_interval() -> None:
    """Seeds that are all equal show no spread, also where rounding leaves a trace of it."""
    estimate = estimate_mean({seed: [0.1, 0.2, 0.3] for seed in range(30)})
    assert estimate is not None
    assert (estimate.low, estimate.high) == (None, None)
    assert "no interval: all 30 seeds have the same mean" in estimate.notes


def test_impossible_values_are_refused() -> None:
    """A share beyond 0 … 1 and a mean of values that are not finite are errors."""
    for value in (-0.1, 1.1, math.nan, math.inf):
        with pytest.raises(ArgumentError, match="a share lies between 0 and 1"):
            estimate_share({0: [0.5], 1: [value]})
    for value in (math.nan, math.inf):
        with pytest.raises(ArgumentError, match="finite"):
            estimate_mean({0: [0.5], 1: [value]})
    with pytest.raises(ArgumentError, match="p must lie between 0 and 1"):
        estimate_share({0: [0.5], 1: [0.2]}, confidence=1.0)


def test_leading_axes_are_independent_data_sets() -> None:
    """Bounds of many data sets at once are those of each alone."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 5, (3, 4, 25)) / 4
    for bounds in (share_bounds(data), mean_bounds(data)):
        assert all(bound.shape == (3, 4) for bound in bounds)
    low, high, few = share_bounds(data)
    alone = share_bounds(data[2, 1])
    assert (low[2, 1], high[2, 1], few[2, 1]) == (alone[0], alone[1], alone[2])


def test_large_values_keep_their_spread() -> None:
    """Returns around a billion with a spread of one give the interval of that spread."""
    estimate = estimate_mean({seed: [1e9 + seed % 3] for seed in range(30)})
    small = estimate_mean({seed: [float(seed % 3)] for seed in range(30)})
    assert estimate is not None
    assert small is not None
    assert estimate.low is not None
    assert small.low is not None
    assert estimate.value - estimate.low == pytest.approx(small.value - small.low, rel=1e-5)


def test_group_means_and_standard_errors() -> None:
    """Empty groups have no mean, and equal means have a standard error of exactly zero."""
    assert group_means({0: [1.0, 2.0], 1: [], 2: [4.0]}).tolist() == [1.5, 4.0]
    assert standard_errors(np.full(7, 0.1)).item() == 0.0
    assert standard_errors(np.array([0.0, 1.0])).item() == pytest.approx(0.5)
