"""A mean over groups with its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gem.errors import ArgumentError
from gem_eval.statistics.student_t import t_quantile

__all__ = [
    "CONFIDENCE",
    "Estimate",
    "Floats",
    "estimate_mean",
    "estimate_share",
    "group_means",
    "mean_bounds",
    "share_bounds",
    "standard_errors",
    "wilson_bounds",
]

CONFIDENCE = 0.95

FEW = 2.5
"""Successes and failures, G·p and G·(1 − p), below which Wilson's interval for grouped data is too short.

Found by simulation and, for groups of one, by exact enumeration (benchmarks/eval_statistics.py). A larger number
lengthens intervals that hold already.
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean over groups, with the interval in which the mean over all possible seeds lies."""

    value: float
    low: float | None
    """Lower end of the interval; None where the data cannot give one."""
    high: float | None
    groups: int
    episodes: int
    method: str
    """``wilson-t``, ``pseudo-groups``, ``t`` or ``none``."""
    confidence: float = CONFIDENCE
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {**asdict(self), "notes": list(self.notes)}


def group_means(values: Mapping[Any, Sequence[float]]) -> Floats:
    """Return the mean of each group that holds an episode; shape (groups,)."""
    return np.array([math.fsum(group) / len(group) for group in values.values() if len(group)], dtype=np.float64)


def estimate_share(values: Mapping[Any, Sequence[float]], confidence: float = CONFIDENCE) -> Estimate | None:
    """Estimate the mean of values between 0 and 1, such as success; None if there is no episode.

    The mean weighs each group the same, so that it is pass@1. With groups of one size it is the mean over episodes.
    The interval is that of :func:`share_bounds`.

    Args:
        values: group → one value for each of its episodes.
        confidence: probability with which the interval covers the true mean.

    Raises:
        ArgumentError: if a value lies outside 0 … 1, or ``confidence`` does.
    """
    means = group_means(values)
    if not means.size:
        return None
    if not (means.min() >= 0 and means.max() <= 1):
        raise ArgumentError(f"a share lies between 0 and 1, not at {means.min():g} … {means.max():g}")
    low, high, few = share_bounds(means, confidence)
    notes = []
    if few:
        notes.append("few successes or few failures: the interval allows for one more seed at 0 and one at 1")
    sizes = [len(group) for group in values.values() if len(group)]
    return Estimate(
        float(means.mean()),
        float(low),
        float(high),
        groups=means.size,
        episodes=sum(sizes),
        method="pseudo-groups" if few else "wilson-t",
        confidence=confidence,
        notes=(*notes, *_size_notes(sizes)),
    )


def estimate_mean(values: Mapping[Any, Sequence[float]], confidence: float = CONFIDENCE) -> Estimate | None:
    """Estimate the mean of values without bounds, such as returns; None if there is no episode.

    The mean weighs each group the same. The interval is Student's t with G − 1 degrees of freedom on the means of the
    G groups. One group gives none, nor do groups that are all equal: they show no spread, and an interval of width
    zero would claim certainty.

    Args:
        values: group → one value for each of its episodes.
        confidence: probability with which the interval covers the true mean.

    Raises:
        ArgumentError: if a value is not finite, or ``confidence`` is not between 0 and 1.
    """
    means = group_means(values)
    if not means.size:
        return None
    if not np.isfinite(means).all():
        raise ArgumentError("a mean needs finite values")
    low, high = mean_bounds(means, confidence)
    sizes = [len(group) for group in values.values() if len(group)]
    notes = _size_notes(sizes)
    known = bool(np.isfinite(low) and np.isfinite(high))
    if not known:
        why = "all episodes are of one seed" if means.size == 1 else f"all {_groups(means.size)} have the same mean"
        notes = (f"no interval: {why}", *notes)
    return Estimate(
        math.fsum(means) / means.size,
        float(low) if known else None,
        float(high) if known else None,
        groups=means.size,
        episodes=sum(sizes),
        method="t" if known else "none",
        confidence=confidence,
        notes=notes,
    )


def share_bounds(means: Floats, confidence: float = CONFIDENCE) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    r"""Return the bounds of the mean of groups whose values lie between 0 and 1.

    Wilson's score interval (JASA 22, 1927) for p, the mean of the G group means, with two changes for grouped data
    (Korn and Graubard, Survey Methodology 24, 1998; Dean and Pagano, JSSAM 3, 2015): the number of observations is
    the effective one, n = p(1 − p) / SE² with SE the standard deviation of the group means over √G, and Student's t
    with G − 1 degrees of freedom takes the place of the normal quantile:

        (p + t²/2n ± t √(p(1 − p)/n + t²/4n²)) / (1 + t²/n)

    Groups that are all equal give no standard error; n is then G.

    Where G·min(p, 1 − p) < 2.5, too few groups carry information for that. There the interval is lengthened to hold
    another one as well: Student's t on G + 2 means, with one group at 0 and one at 1 beside the others, cut to 0 … 1
    (the idea of Agresti and Caffo, The American Statistician 54, 2000: one success and one failure more in each
    sample). In its place, rather than beside it, it would fall short just below the switch.

    Args:
        means: of the groups; shape (…, G). Leading axes are independent data sets.
        confidence: between 0 and 1.

    Returns:
        Lower and upper bound, and whether the second rule applied; each of shape (…).
    """
    p = means.mean(axis=-1)
    few: NDArray[np.bool_] = means.shape[-1] * np.minimum(p, 1 - p) < FEW - 1e-9
    low, high = wilson_bounds(
        p, _effective_count(means, p), t_quantile((1 + confidence) / 2, max(means.shape[-1] - 1, 1))
    )
    ends = np.broadcast_to(np.array([0.0, 1.0]), (*means.shape[:-1], 2))
    pseudo_low, pseudo_high = mean_bounds(np.concatenate([means, ends], axis=-1), confidence)
    return (
        np.clip(np.where(few, np.minimum(low, pseudo_low), low), 0, 1),
        np.clip(np.where(few, np.maximum(high, pseudo_high), high), 0, 1),
        few,
    )


def mean_bounds(means: Floats, confidence: float = CONFIDENCE) -> tuple[Floats, Floats]:
    """Return the bounds of Student's t interval on group means, NaN where they have no spread.

    Miller, "Adding Error Bars to Evals" (arXiv 2411.00640), uses the normal quantile; with few groups only Student's t
    covers enough.

    Args:
        means: of the groups; shape (…, G). Leading axes are independent data sets.
        confidence: between 0 and 1.

    Returns:
        Lower and upper bound, each of shape (…).
    """
    centre = means.mean(axis=-1)
    groups = means.shape[-1]
    if groups < 2:
        return np.full_like(centre, np.nan), np.full_like(centre, np.nan)
    error = standard_errors(means)
    half = t_quantile((1 + confidence) / 2, groups - 1) * np.where(error > 0, error, np.nan)
    return centre - half, centre + half


def standard_errors(means: Floats) -> Floats:
    """Return √(s²/G), the standard errors of the mean of group means; (…, G) → (…). Equal means give exactly 0."""
    spread = means.max(axis=-1) > means.min(axis=-1)  # rounding can leave a variance where there is none
    errors: Floats = np.where(spread, means.std(axis=-1, ddof=1), 0.0) / math.sqrt(means.shape[-1])
    return errors


def _effective_count(means: Floats, p: Floats) -> Floats:
    """Return p(1 − p)/SE², the number of independent episodes that would give the same standard error; (…, G) → (…)."""
    groups = means.shape[-1]
    error = standard_errors(means) if groups > 1 else np.zeros_like(p)
    count: Floats = np.where(error > 0, p * (1 - p) / np.where(error > 0, error**2, 1.0), groups)
    return count


def wilson_bounds(p: Floats, n: Floats | float, t: float) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's score interval (1927) of shares ``p`` of ``n`` independent trials.

    Args:
        p: shares, of any shape.
        n: trials, more than 0; of that shape, or one number.
        t: the quantile, 1.96 for a probability of 95 %.
    """
    centre = (p + t * t / (2 * n)) / (1 + t * t / n)
    half = t * np.sqrt(p * (1 - p) / n + t * t / (4 * n * n)) / (1 + t * t / n)
    return centre - half, centre + half


def _groups(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"


def _size_notes(sizes: Sequence[int]) -> tuple[str, ...]:
    if len(set(sizes)) <= 1:
        return ()
    return (f"seeds have {min(sizes)} to {max(sizes)} episodes; each seed weighs the same",)
