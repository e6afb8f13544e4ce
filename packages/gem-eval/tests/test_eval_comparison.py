"""Comparisons of two agents, against a second computation in plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev, variance

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_eval.statistics import (
    ComparedMeans,
    compare_means,
    detectable_difference,
    groups_needed,
    mean_of_differences,
    t_quantile,
    two_sided_p,
)

Groups = Mapping[int, Sequence[float]]

flags = st.dictionaries(
    st.integers(0, 30), st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=4), min_size=1, max_size=30
)


def compared(a: Groups, b: Groups, *, share: bool = True) -> ComparedMeans:
    """Return a comparison that exists."""
    result = compare_means(a, b, share=share)
    assert result is not None
    return result


def alternating(count: int, *, of: int = 2, first: int = 0) -> dict[int, list[float]]:
    """Return groups of which every ``of``-th succeeds, from ``first`` on."""
    return {seed: [float(seed % of == first)] for seed in range(count)}


@given(a=flags, b=flags)
def test_paired_comparison_agrees_with_the_slow_computation(a: Groups, b: Groups) -> None:
    """Differences of group means, two more where fewer than four differ, and Student's t by the standard library."""
    common = sorted(set(a) & set(b))
    result = compared(a, b)
    if len(common) < 2:
        assert not result.paired
        return
    differences = [fmean(b[seed]) - fmean(a[seed]) for seed in common]
    few = sum(abs(d) > 1e-12 for d in differences) < 4 or max(differences) - min(differences) < 1e-12
    sample = [*differences, -1.0, 1.0] if few else differences
    error, df = stdev(sample) / math.sqrt(len(sample)), len(sample) - 1
    assert result.method == ("paired-pseudo-groups" if few else "paired-t")
    assert result.difference == pytest.approx(fmean(differences), abs=1e-9)
    assert result.standard_error == pytest.approx(error)
    assert result.df == df
    low, high = fmean(sample) - t_quantile(0.975, df) * error, fmean(sample) + t_quantile(0.975, df) * error
    assert result.low == pytest.approx(max(-1.0, min(low, fmean(differences)) if few else low), abs=1e-9)
    assert result.high == pytest.approx(min(1.0, max(high, fmean(differences)) if few else high), abs=1e-9)
    assert result.p_value == pytest.approx(two_sided_p(fmean(sample) / error, df), abs=1e-9)
    assert result.detectable == pytest.approx((t_quantile(0.975, df) + t_quantile(0.8, df)) * error)
    assert (result.groups, result.groups_a, result.groups_b, result.common) == (
        len(common),
        len(a),
        len(b),
        len(common),
    )


@given(a=flags, b=flags)
def test_laws_of_a_comparison(a: Groups, b: Groups) -> None:
    """Exchanging the agents turns the sign; interval and p-value agree on zero; the interval holds the difference."""
    result, mirrored = compared(a, b), compared(b, a)
    assert result.low is not None
    assert result.high is not None
    assert result.p_value is not None
    assert (mirrored.difference, mirrored.low, mirrored.high, mirrored.p_value) == pytest.approx(
        (-result.difference, -result.high, -result.low, result.p_value), abs=1e-9
    )
    assert -1 <= result.low <= result.difference + 1e-12
    assert result.difference <= result.high + 1e-12 <= 1 + 2e-12
    if abs(result.p_value - 0.05) > 1e-9:
        assert result.significant == (result.p_value < 0.05)


def test_pairing_removes_the_difficulty_of_the_seeds() -> None:
    """A small gain on seeds of very different difficulty is seen seed by seed, and not between different seeds."""
    a = {seed: [seed * 1.0, seed * 1.0 + 0.2] for seed in range(30)}
    b = {seed: [value + 0.5 + 0.01 * (seed % 3) for value in values] for seed, values in a.items()}
    paired = compared(a, b, share=False)
    unpaired = compared(a, {seed + 1000: values for seed, values in b.items()}, share=False)
    assert paired.difference == pytest.approx(unpaired.difference)
    assert paired.significant
    assert not unpaired.significant
    assert paired.detectable is not None
    assert unpaired.detectable is not None
    assert paired.detectable < unpaired.detectable / 100
    assert "no seed is in both runs, so the comparison is not paired" in unpaired.notes


def test_unpaired_comparison_agrees_with_welch() -> None:
    """Standard error and degrees of freedom are Welch's, by the standard library's variance."""
    a = {seed: [float(seed % 5)] for seed in range(20)}
    b = {100 + seed: [float(seed % 7) + 1] for seed in range(33)}
    result = compared(a, b, share=False)
    va = variance(values[0] for values in a.values()) / 20
    vb = variance(values[0] for values in b.values()) / 33
    df = (va + vb) ** 2 / (va**2 / 19 + vb**2 / 32)
    assert result.standard_error == pytest.approx(math.sqrt(va + vb))
    assert result.df == pytest.approx(df)
    assert result.low == pytest.approx(result.difference - t_quantile(0.975, df) * math.sqrt(va + vb))
    assert result.method == "welch-t"


def test_seeds_of_one_run_alone_are_left_out_and_counted() -> None:
    """Only seeds that meet take part, in the means as well."""
    a = alternating(40)
    b = {**alternating(30, first=1), 100: [1.0], 101: [1.0]}
    result = compared(a, b)
    assert result.groups == 30
    assert (result.mean_a, result.mean_b) == (0.5, 0.5)
    assert "30 seeds meet; left out are 10 that only A has and 2 that only B has" in result.notes


def test_equal_runs_differ_by_nothing_with_doubt() -> None:
    """Two runs with the same results have the difference 0, p = 1 and an interval that shrinks with more seeds."""
    widths = []
    for count in (10, 100, 1000):
        result = compared(alternating(count), alternating(count))
        assert (result.difference, result.p_value) == (0.0, 1.0)
        assert result.low is not None
        assert result.high is not None
        widths.append(result.high - result.low)
    assert widths[0] > 5 * widths[1] > 25 * widths[2] > 0


def test_a_few_seeds_that_all_agree_prove_nothing() -> None:
    """Three seeds that only B solves are no proof; twenty are."""
    few = compared({s: [0.0] for s in range(3)}, {s: [1.0] for s in range(3)})
    many = compared({s: [0.0] for s in range(20)}, {s: [1.0] for s in range(20)})
    assert few.p_value is not None
    assert few.p_value > 0.1
    assert not few.significant
    assert many.p_value is not None
    assert many.p_value < 1e-6


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({0: [1.0]}, {0: [2.0]}),
        ({0: [1.0]}, {1: [2.0]}),
        ({0: [1.0], 1: [1.0]}, {0: [2.0], 1: [2.0]}),
        ({0: [1.0], 1: [1.0]}, {2: [2.0]}),
        ({0: [1.0], 1: [5.0]}, {2: [2.0]}),
    ],
)
def test_means_without_spread_have_no_interval(a: Groups, b: Groups) -> None:
    """One seed, or seeds that all differ alike, show a difference and no more; a note says so."""
    result = compared(a, b, share=False)
    assert (result.low, result.high, result.p_value, result.detectable) == (None, None, None, None)
    assert result.method == "none"
    assert not result.significant
    assert "no interval and no test: the seeds show no spread" in result.notes


def test_nothing_to_compare() -> None:
    """A run without episodes gives no comparison, and impossible values are errors."""
    assert compare_means({}, {0: [1.0]}, share=True) is None
    assert compare_means({0: [1.0]}, {0: []}, share=True) is None
    with pytest.raises(ArgumentError, match="finite"):
        compare_means({0: [math.nan]}, {0: [1.0]}, share=False)
    with pytest.raises(ArgumentError, match="a share lies between 0 and 1"):
        compare_means({0: [2.0]}, {0: [1.0]}, share=True)


@pytest.mark.parametrize("difference", [0.3, 0.1, 0.05])
def test_groups_needed_is_the_least_number(difference: float) -> None:
    """With that number of seeds the difference is detectable, and with one less it is not."""
    count = groups_needed(difference, 0.4)
    assert detectable_difference(0.4 / math.sqrt(count), count - 1) <= difference
    assert detectable_difference(0.4 / math.sqrt(count - 1), count - 2) > difference


def test_groups_needed_at_its_ends() -> None:
    """Two seeds are the least, and impossible arguments are errors."""
    assert groups_needed(1.0, 0.0) == 2
    for difference, deviation in ((0.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (math.nan, 1.0)):
        with pytest.raises(ArgumentError, match="difference must be above 0"):
            groups_needed(difference, deviation)


def test_the_mean_of_environments_weighs_them_alike() -> None:
    """Differences are averaged, and independent standard errors add in squares."""
    first = compared(alternating(40), {s: [float(s % 4 != 3)] for s in range(40)})
    second = compared({s: [float(s % 3 == 0)] for s in range(200)}, {s: [float(s % 3 == 1)] for s in range(200)})
    overall = mean_of_differences([first, second])
    assert overall is not None
    assert overall.difference == pytest.approx((first.difference + second.difference) / 2)
    assert first.standard_error is not None
    assert second.standard_error is not None
    assert overall.standard_error is not None
    assert overall.standard_error == pytest.approx(math.hypot(first.standard_error, second.standard_error) / 2)
    assert overall.df is not None
    assert first.df is not None
    assert second.df is not None
    assert min(first.df, second.df) <= overall.df <= first.df + second.df
    assert overall.groups == 240
    half = t_quantile(0.975, overall.df) * overall.standard_error
    assert (overall.low, overall.high) == pytest.approx((overall.difference - half, overall.difference + half))
    assert overall.p_value == pytest.approx(two_sided_p(overall.difference / overall.standard_error, overall.df))
    assert "each weighing the same" in overall.notes[0]


def test_there_is_no_mean_of_one_environment_or_without_errors() -> None:
    """One environment is its own mean, and one without a standard error leaves the mean without."""
    first = compared(alternating(40), alternating(40, first=1))
    flat = compared({0: [1.0]}, {0: [2.0]}, share=False)
    assert mean_of_differences([first]) is None
    assert mean_of_differences([first, flat]) is None
