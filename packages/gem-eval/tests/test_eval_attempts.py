"""pass@k and pass^k."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, ArgumentTypeError
from gem_eval.statistics import estimate_pass_all_k, estimate_pass_at_k, estimate_share, pass_all_k, pass_at_k
from gem_eval.statistics.attempts import attempt_bounds


@pytest.mark.parametrize("n", range(1, 9))
def test_both_figures_agree_with_all_subsets(n: int) -> None:
    """They are the shares of all k-subsets of the attempts with one success, and with successes alone."""
    for c in range(n + 1):
        attempts = [True] * c + [False] * (n - c)
        for k in range(1, n + 1):
            subsets = list(combinations(attempts, k))
            assert pass_at_k(n, c, k) == float(Fraction(sum(map(any, subsets)), len(subsets)))
            assert pass_all_k(n, c, k) == float(Fraction(sum(map(all, subsets)), len(subsets)))


@given(n=st.integers(1, 300), data=st.data())
def test_laws_of_the_two_figures(n: int, data: st.DataObject) -> None:
    """pass@1 = pass^1 = c/n; more attempts raise the one and lower the other; failures mirror successes."""
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    assert pass_at_k(n, c, 1) == pass_all_k(n, c, 1) == c / n
    assert pass_all_k(n, c, k) <= c / n <= pass_at_k(n, c, k)
    assert pass_at_k(n, c, k) == pytest.approx(1 - pass_all_k(n, n - c, k), abs=1e-12)
    if k > 1:
        assert pass_at_k(n, c, k) >= pass_at_k(n, c, k - 1)
        assert pass_all_k(n, c, k) <= pass_all_k(n, c, k - 1)


@pytest.mark.parametrize(("p", "n", "k"), [(0.3, 6, 4), (0.9, 5, 5), (0.05, 8, 2)])
def test_both_figures_are_unbiased(p: float, n: int, k: int) -> None:
    """Over the binomial distribution of the successes their expectations are 1 − (1 − p)^k and p^k."""
    weights = [len(list(combinations(range(n), c))) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    at = sum(weight * pass_at_k(n, c, k) for c, weight in enumerate(weights))
    every = sum(weight * pass_all_k(n, c, k) for c, weight in enumerate(weights))
    assert at == pytest.approx(1 - (1 - p) ** k)
    assert every == pytest.approx(p**k)


def test_huge_groups_keep_their_digits() -> None:
    """Ten thousand attempts at one seed overflow nothing, and rare failures are not rounded away."""
    assert pass_at_k(10_000, 1, 5_000) == 0.5
    assert pass_all_k(10_000, 9_999, 5_000) == 0.5
    assert 0 < pass_at_k(10_000, 1, 1) < 1.1e-4


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0), (0, 0, 1)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    """More successes than attempts, or k beyond the attempts, is an error that names the numbers."""
    for figure in (pass_at_k, pass_all_k):
        with pytest.raises(ArgumentError, match=f"n = {n}, c = {c}, k = {k}"):
            figure(n, c, k)


def test_small_groups_are_left_out_and_counted() -> None:
    """A seed with fewer than k attempts says nothing of k attempts, and the note says how many there are."""
    groups = {0: [True, False, True], 1: [False], 2: [True, True], 3: []}
    at, every = estimate_pass_at_k(groups, 2), estimate_pass_all_k(groups, 2)
    assert at is not None
    assert every is not None
    assert (at.value, every.value) == (1.0, pytest.approx((1 / 3 + 1) / 2))
    assert (at.groups, at.episodes) == (2, 5)
    assert "left out, with fewer than 2 episodes: 1 of 3 seeds" in at.notes
    assert estimate_pass_at_k(groups, 4) is None
    whole = estimate_pass_at_k(groups, 1)
    assert whole is not None
    assert not any("left out" in note for note in whole.notes)


def test_pass_at_1_is_the_success_rate() -> None:
    """Value and interval of pass@1, pass^1 and the share of successes are the same."""
    groups = {seed: [(seed * 7 + n) % 3 == 0 for n in range(4)] for seed in range(20)}
    share = estimate_share(groups)
    for estimate in (estimate_pass_at_k(groups, 1), estimate_pass_all_k(groups, 1)):
        assert share is not None
        assert estimate is not None
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx((share.value, share.low, share.high))


def test_k_is_a_positive_integer() -> None:
    """Zero and a float are refused."""
    with pytest.raises(ArgumentError, match="k must be"):
        estimate_pass_at_k({0: [True]}, 0)
    with pytest.raises(ArgumentTypeError, match="k must be an int"):
        estimate_pass_at_k({0: [True]}, 2.0)  # type: ignore[arg-type]


@given(
    groups=st.lists(st.lists(st.sampled_from([True, False, None]), max_size=4), min_size=1, max_size=3),
    k=st.integers(1, 4),
)
def test_bounds_hold_every_way_in_which_unknown_attempts_could_have_ended(
    groups: list[list[bool | None]], k: int
) -> None:
    """They are the least and the greatest estimate over all completions; without an unknown attempt there are none."""
    known = {name: [one for one in group if one is not None] for name, group in enumerate(groups)}
    unknown = {name: group.count(None) for name, group in enumerate(groups)}
    holes = [(name, place) for name, group in enumerate(groups) for place, one in enumerate(group) if one is None]
    for of_group, estimate in ((pass_at_k, estimate_pass_at_k), (pass_all_k, estimate_pass_all_k)):
        reached = []
        for ends in product([True, False], repeat=len(holes)):
            filled = [list(group) for group in groups]
            for (name, place), end in zip(holes, ends, strict=True):
                filled[name][place] = end
            found = estimate({name: [bool(one) for one in group] for name, group in enumerate(filled)}, k)
            reached += [] if found is None else [found.value]
        bounds = attempt_bounds(known, unknown, k, of_group)
        counted = any(group.count(None) for group in groups if len(group) >= k)
        assert (bounds is not None) is counted
        if bounds is not None:
            assert bounds == pytest.approx((min(reached), max(reached)))
