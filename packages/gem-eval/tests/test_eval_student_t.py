"""Student's t against mpmath, closed forms and printed tables."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_eval.statistics import t_cdf, t_quantile, two_sided_p

DEGREES = [0.5, 1, 1.7, 2, 3, 4.5, 7, 19, 49, 99, 199, 200, 201, 999, 12345]


def exact_two_sided(t: float, df: float) -> float:
    """Return P(|T| > |t|) by mpmath's hypergeometric series, with 40 digits."""
    mpmath = pytest.importorskip("mpmath", reason="mpmath comes with gem-envs-math")
    with mpmath.workdps(40):
        t, df = mpmath.mpf(t), mpmath.mpf(df)
        return float(mpmath.betainc(df / 2, mpmath.mpf(1) / 2, 0, df / (df + t * t), regularized=True))


def central_probability(t: float, df: int) -> float:
    """Return P(|T| ≤ t) by the finite series for whole degrees of freedom (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    angle = math.atan(t / math.sqrt(df))
    odd = df % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for index in range(2 + odd, df + 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (index - 1) / index
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 8, 19, 50, 99, 400])
def test_probabilities_agree_with_the_finite_series(df: int) -> None:
    """The incomplete beta function and the trigonometric series give the same probability."""
    for t in (0.0, 0.1, 0.7, 1.3, 2.1, 3.5):
        assert 1 - two_sided_p(t, df) == pytest.approx(central_probability(t, df), abs=1e-12)


@pytest.mark.parametrize("df", DEGREES)
def test_tail_probabilities_agree_with_mpmath(df: float) -> None:
    """The tail is right to ten digits, near zero and where it is smaller than any chance that matters."""
    for t in (1e-6, 0.01, 0.5, 1.0, 1.96, 2.5, 4.0, 10.0, 40.0):
        exact = exact_two_sided(t, df)
        if exact > 1e-250:
            assert two_sided_p(t, df) == pytest.approx(exact, rel=1e-10)
            assert two_sided_p(-t, df) == two_sided_p(t, df)


@pytest.mark.parametrize("df", DEGREES)
def test_quantiles_invert_the_distribution_of_mpmath(df: float) -> None:
    """The exact tail beyond a quantile is the tail that was asked for."""
    for p in (0.5001, 0.8, 0.9, 0.975, 0.995, 0.9999):
        assert exact_two_sided(t_quantile(p, df), df) / 2 == pytest.approx(1 - p, rel=1e-9)


@pytest.mark.parametrize(
    ("p", "df", "t"),
    [
        (0.975, 1, 12.706),
        (0.975, 5, 2.571),
        (0.975, 10, 2.228),
        (0.95, 30, 1.697),
        (0.995, 120, 2.617),
        (0.9, 2, 1.886),
    ],
)
def test_quantiles_of_printed_tables(p: float, df: int, t: float) -> None:
    """Three decimals, as any textbook prints them."""
    assert round(t_quantile(p, df), 3) == t


def test_closed_forms_for_one_and_two_degrees_of_freedom() -> None:
    """With one degree of freedom t is Cauchy's distribution, and with two its quantile has a formula."""
    for p in (0.01, 0.3, 0.6, 0.9, 0.999):
        assert t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-10)
        assert t_quantile(p, 2) == pytest.approx((2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-10)


@pytest.mark.parametrize("df", [1e6, 1e8, 1e11])
def test_many_degrees_of_freedom_approach_the_normal_distribution(df: float) -> None:
    """No digits are lost where the gamma functions are huge."""
    assert two_sided_p(1.959963984540054, df) == pytest.approx(0.05, rel=1e-5)
    assert t_quantile(0.975, df) == pytest.approx(1.959963984540054, rel=1e-5)


@given(p=st.floats(1e-9, 1 - 1e-9), df=st.floats(0.3, 1e12))
def test_distribution_and_quantile_are_inverse(p: float, df: float) -> None:
    """The distribution function takes a quantile back to its probability."""
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, rel=1e-6)


@given(t=st.floats(allow_nan=False), df=st.floats(1e-3, 1e300))
def test_every_argument_gives_a_probability(t: float, df: float) -> None:
    """Infinite, tiny and huge arguments give a number from 0 to 1."""
    assert 0 <= two_sided_p(t, df) <= 1
    assert 0 <= t_cdf(t, df) <= 1


def test_impossible_arguments_are_refused() -> None:
    """A probability outside 0 … 1 or no degrees of freedom is an error; not a number stays one."""
    assert math.isnan(two_sided_p(math.nan, 3))
    for p in (0, 1, -0.1, math.nan):
        with pytest.raises(ArgumentError, match="p must lie between 0 and 1"):
            t_quantile(p, 3)
    for df in (0, -1, math.nan):
        with pytest.raises(ArgumentError, match="df must be positive"):
            t_quantile(0.9, df)
        with pytest.raises(ArgumentError, match="df must be positive"):
            two_sided_p(1, df)
