"""What intervals and tests promise, held against simulated evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gem.errors import ArgumentError
from gem_eval.statistics import (
    estimates,
    group_sizes,
    mean_bounds,
    pass_all_k,
    pass_at_k,
    share_bounds,
    simulate_groups,
)
from gem_eval.statistics.comparison import detectable_difference, difference_bounds
from gem_eval.statistics.simulation import SimulatedCell, coverage, error_under_null, simulation_grid

SMALL: dict[str, Any] = {
    "groups": (20, 50),
    "sizes": (1, 4, None),
    "shares": (0.03, 0.3, 0.9),
    "correlations": (0.0, 0.5),
}


def noise(share: float, repetitions: int) -> float:
    """Return what chance may add to a share of this many repetitions: 3.5 standard errors."""
    return 3.5 * math.sqrt(share * (1 - share) / repetitions)


def check_coverage(cells: list[SimulatedCell], repetitions: int) -> None:
    """Check the issue's bar: 93 % in every informative cell, 93 to 97 % in most, 91 % elsewhere."""
    rng = np.random.default_rng(20)
    covered = {cell: coverage(rng, cell, repetitions) for cell in cells}
    informative = {cell: value for cell, value in covered.items() if cell.informative}
    others = {cell: value for cell, value in covered.items() if not cell.informative}
    slack = noise(0.93, repetitions)
    assert not {cell: value for cell, value in informative.items() if value < 0.93 - slack}
    exact = [value for value in informative.values() if 0.93 - slack <= value <= 0.97 + noise(0.97, repetitions)]
    assert len(exact) >= 0.95 * len(informative)
    assert not {cell: value for cell, value in others.items() if value < 0.91 - noise(0.91, repetitions)}


def test_intervals_cover_what_they_promise() -> None:
    """In a small grid of groups, sizes, shares and correlations, 95 % intervals cover 93 to 97 %."""
    check_coverage(list(simulation_grid(**SMALL)), repetitions=3000)


@pytest.mark.nightly
def test_intervals_cover_what_they_promise_in_the_whole_grid() -> None:
    """The same for 384 kinds of evaluations with 4,000 repetitions each."""
    check_coverage(list(simulation_grid()), repetitions=4000)


def _too_narrow(means: Any, confidence: float = 0.95) -> Any:
    low, high, few = share_bounds(means, confidence)
    middle = (low + high) / 2
    return middle - 0.85 * (middle - low), middle + 0.85 * (high - middle), few


def _of_episodes(means: Any, confidence: float = 0.95) -> Any:
    """Wilson's interval as if the episodes of a seed were independent, four to a seed."""
    p = means.mean(axis=-1)
    low, high = estimates.wilson_bounds(p, np.full_like(p, 4 * means.shape[-1]), 1.96)
    return low, high, np.zeros_like(p, dtype=bool)


def _never_pseudo(means: Any, confidence: float = 0.95) -> Any:
    return (*mean_bounds(means, confidence), np.zeros(means.shape[:-1], dtype=bool))


@pytest.mark.parametrize("defect", [_too_narrow, _of_episodes, _never_pseudo])
def test_the_small_grid_notices_wrong_intervals(defect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals that are 15 % too short, count episodes, or trust the t interval everywhere fail the check."""
    monkeypatch.setattr("gem_eval.statistics.simulation.share_bounds", defect)
    with pytest.raises(AssertionError):
        check_coverage(list(simulation_grid(**SMALL)), repetitions=1000)


@pytest.mark.parametrize("same_difficulty", [True, False])
def test_equal_agents_differ_by_chance_alone(same_difficulty: bool) -> None:
    """Where ten seeds and more differ, a comparison of equal agents finds a difference in 4 to 6 % of cases."""
    check_error_under_null(list(simulation_grid(**SMALL)), same_difficulty, repetitions=3000)


@pytest.mark.nightly
@pytest.mark.parametrize("same_difficulty", [True, False])
def test_equal_agents_differ_by_chance_alone_in_the_whole_grid(same_difficulty: bool) -> None:
    """The same for 384 kinds of evaluations with 4,000 repetitions each."""
    check_error_under_null(list(simulation_grid()), same_difficulty, repetitions=4000)


def check_error_under_null(cells: list[SimulatedCell], same_difficulty: bool, repetitions: int) -> None:
    """Check that the error is 4 to 6 % where ten seeds differ, and not above 6 % anywhere."""
    rng = np.random.default_rng(21)
    checked = 0
    for cell in cells:
        error, differ = error_under_null(rng, cell, repetitions, same_difficulty=same_difficulty)
        assert error <= 0.06 + noise(0.06, repetitions), cell
        if differ >= 10:
            checked += 1
            assert error >= 0.04 - noise(0.04, repetitions), cell
    assert checked >= len(cells) / 3


def test_a_test_that_errs_too_often_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pooled episodes in place of seeds, which halve the standard error, fail the check."""
    monkeypatch.setattr(
        "gem_eval.statistics.comparison.standard_errors", lambda means: estimates.standard_errors(means) * 0.85
    )
    with pytest.raises(AssertionError):
        check_error_under_null(list(simulation_grid(**SMALL)), True, repetitions=1000)


@pytest.mark.parametrize("figure", [pass_at_k, pass_all_k])
@pytest.mark.parametrize(("p", "k"), [(0.3, 4), (0.5, 2), (0.9, 8)])
def test_pass_figures_and_their_intervals_hold_for_groups(
    figure: Callable[[int, int, int], float], p: float, k: int
) -> None:
    """Their mean over beta-binomial groups is the moment of the beta distribution, and the intervals cover it."""
    rng = np.random.default_rng(22)
    rho, n = 0.1, 8
    share = p if figure is pass_all_k else 1 - p
    a, total = share * (1 - rho) / rho, (1 - rho) / rho
    moment = math.prod((a + i) / (total + i) for i in range(k))
    true = moment if figure is pass_all_k else 1 - moment
    table = np.array([figure(n, c, k) for c in range(n + 1)])
    values = table[simulate_groups(rng, 4000, group_sizes(rng, 100, n), p, rho)]
    assert values.mean() == pytest.approx(true, abs=4 * values.std() / math.sqrt(values.size))
    low, high, _ = share_bounds(values)
    assert ((low <= true) & (true <= high)).mean() >= 0.92


def test_returns_without_bounds_are_covered() -> None:
    """Student's t on seeds covers skewed returns with episodes that depend on their seed."""
    rng = np.random.default_rng(23)
    seeds = rng.gamma(4, 1.0, (4000, 30, 1))
    returns = rng.normal(seeds, 1.0, (4000, 30, 4)).mean(axis=-1)
    low, high = mean_bounds(returns)
    assert ((low <= 4) & (high >= 4)).mean() == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("groups", [5, 20, 100])
def test_the_detectable_difference_is_found_four_times_out_of_five(groups: int) -> None:
    """With that true difference, 80 % of simulated comparisons find one; slightly fewer with very few seeds."""
    rng = np.random.default_rng(24)
    difference = detectable_difference(1.0 / math.sqrt(groups), groups - 1)
    low, high, _ = difference_bounds(rng.normal(difference, 1.0, (6000, groups)), share=False)
    found = ((low > 0) | (high < 0)).mean()
    assert (0.76 if groups < 10 else 0.79 - noise(0.8, 6000)) <= found <= 0.8 + noise(0.8, 6000)


@pytest.mark.parametrize(("p", "correlation"), [(0.3, 0.0), (0.3, 0.4), (0.9, 0.7)])
def test_simulated_groups_have_the_declared_mean_and_correlation(p: float, correlation: float) -> None:
    """The mean of all episodes is p, and the variance of a group's mean that of correlated episodes."""
    rng = np.random.default_rng(25)
    means = simulate_groups(rng, 2000, group_sizes(rng, 50, 4), p, correlation) / 4
    assert means.mean() == pytest.approx(p, abs=0.01)
    assert means.var() == pytest.approx(p * (1 - p) * (1 + 3 * correlation) / 4, rel=0.03)


@pytest.mark.parametrize(("p", "correlation"), [(0.0, 0.1), (1.0, 0.1), (0.5, 1.0), (0.5, -0.1)])
def test_impossible_simulations_are_refused(p: float, correlation: float) -> None:
    """A share of 0 or 1 and a correlation of 1 have no beta distribution."""
    rng = np.random.default_rng(0)
    with pytest.raises(ArgumentError, match="must hold"):
        simulate_groups(rng, 1, group_sizes(rng, 5, 1), p, correlation)
