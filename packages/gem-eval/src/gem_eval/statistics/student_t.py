"""Student's t distribution, for any positive number of degrees of freedom.

SciPy has it too, and would be the largest dependency of this package.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

from gem.errors import ArgumentError

__all__ = ["t_cdf", "t_quantile", "two_sided_p"]

_TINY = 1e-300
_NORMAL_FROM = 1e10
"""Degrees of freedom from which the normal distribution is the same to all digits of a float."""


def t_cdf(t: float, df: float) -> float:
    """Return the probability that Student's t with ``df`` degrees of freedom is at most ``t``.

    By the regularised incomplete beta function: P(|T| > t) = I_x(df/2, 1/2) with x = df / (df + t²) (Abramowitz and
    Stegun, Handbook of Mathematical Functions, 26.7.1 and 26.5.27).

    Raises:
        ArgumentError: if ``df`` is not positive.
    """
    tail = two_sided_p(t, df) / 2
    return tail if t < 0 else 1 - tail


def two_sided_p(t: float, df: float) -> float:
    """Return P(|T| ≥ |t|) for Student's t with ``df`` degrees of freedom, precise in the far tail as well.

    Raises:
        ArgumentError: if ``df`` is not positive.
    """
    if not df > 0:
        raise ArgumentError(f"df must be positive, not {df!r}")
    if math.isnan(t):
        return math.nan
    if df >= _NORMAL_FROM:
        return math.erfc(abs(t) / math.sqrt(2))
    if math.isinf(t):
        return 0.0
    # Near and far side are both computed from t: 1 − x would lose all digits where t² is far from df.
    near, far = df / (df + t * t), t * t / (df + t * t)
    if near == 0 or far == 0:
        return 0.0 if near == 0 else 1.0
    # x^a (1 − x)^b / B(a, b) with a = df/2 and b = 1/2.
    front = math.exp(_log_gamma_ratio(df) - df / 2 * math.log1p(t * t / df)) * math.sqrt(far / math.pi)
    # The fraction converges fast on the near side of the mean only; the far side follows by symmetry (DLMF 8.17.4).
    if near > (df / 2 + 1) / (df / 2 + 2.5):
        return 1 - front * _beta_fraction(0.5, df / 2, far) * 2
    return front * _beta_fraction(df / 2, 0.5, near) / (df / 2)


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """Return the t with :func:`t_cdf` (t, df) = ``p``.

    Newton's method on the distribution function inside a bracket that only shrinks.

    Raises:
        ArgumentError: if ``p`` is not between 0 and 1, or ``df`` is not positive.
    """
    if not 0 < p < 1:
        raise ArgumentError(f"p must lie between 0 and 1, not {p!r}")
    if not df > 0:
        raise ArgumentError(f"df must be positive, not {df!r}")
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -_upper_quantile(p, df)
    return _upper_quantile(1 - p, df)


def _upper_quantile(tail: float, df: float) -> float:
    """Return the t > 0 with P(T > t) = ``tail``, for a tail below one half."""
    normal = -NormalDist().inv_cdf(tail)
    if df >= _NORMAL_FROM:
        return normal
    low, high = 0.0, max(normal, 1.0)
    while two_sided_p(high, df) / 2 > tail:
        low, high = high, 2 * high
    t = min(max(normal, low), high)
    for _ in range(200):
        error = two_sided_p(t, df) / 2 - tail
        low, high = (t, high) if error > 0 else (low, t)
        density = _density(t, df)
        step = t + error / density if density > 0 else math.inf
        new = step if low < step < high else (low + high) / 2
        if abs(new - t) <= 4e-16 * new:
            return new
        t = new
    return t


def _density(t: float, df: float) -> float:
    return math.exp(_log_gamma_ratio(df) - (df + 1) / 2 * math.log1p(t * t / df)) / math.sqrt(df * math.pi)


def _log_gamma_ratio(df: float) -> float:
    """Return ln Γ((df + 1)/2) − ln Γ(df/2)."""
    a = df / 2
    if a < 100:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    # The difference of two large numbers has few digits; its asymptotic series (from DLMF 5.11.8) has them all here.
    return math.log(a) / 2 - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function (DLMF 8.17.22).

    By Lentz's method as modified by Thompson and Barnett (Journal of Computational Physics 64, 1986).
    """
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, 100_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + term * d
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = 1 + term / c
            c = c if abs(c) > _TINY else _TINY
            value *= d * c
        if abs(d * c - 1) < 4e-16:
            break
    return value
