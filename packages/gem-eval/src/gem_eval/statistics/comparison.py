"""The difference between two agents: paired where they played the same seeds, unpaired where they did not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gem.errors import ArgumentError
from gem_eval.statistics.estimates import CONFIDENCE, Floats, group_means, share_bounds, standard_errors
from gem_eval.statistics.student_t import t_quantile, two_sided_p

__all__ = [
    "POWER",
    "ComparedMeans",
    "compare_means",
    "detectable_difference",
    "difference_bounds",
    "groups_needed",
    "mean_of_differences",
]

POWER = 0.8
"""Probability with which the detectable difference would have been seen."""

_FEW_DIFFER = 4
"""Differences that must not be zero before Student's t is trusted with differences of shares.

With fewer the t test never finds a difference, but its interval is too short (benchmarks/eval_statistics.py).
"""

Groups = Mapping[Any, Sequence[float]]


@dataclass(frozen=True)
class ComparedMeans:
    """The difference B − A of two means, with its interval and test."""

    mean_a: float
    mean_b: float
    difference: float
    """``mean_b − mean_a`` over the groups that the comparison uses."""
    low: float | None
    """Lower end of the interval; None where the data cannot give one."""
    high: float | None
    p_value: float | None
    """Two-sided: probability of a difference at least this large if the agents are equal; None with no test."""
    standard_error: float | None
    df: float | None
    """Degrees of freedom of Student's t."""
    detectable: float | None
    """The difference that a repetition of this comparison would find significant with probability ``POWER``."""
    groups: int
    """Groups that take part: those that both have if paired, else those of both together."""
    groups_a: int
    groups_b: int
    common: int
    """Groups that both have."""
    method: str
    """``paired-t``, ``paired-pseudo-groups``, ``welch-t``, ``welch-pseudo-groups`` or ``none``."""
    confidence: float = CONFIDENCE
    notes: tuple[str, ...] = ()

    @property
    def paired(self) -> bool:
        """Whether the comparison goes seed by seed."""
        return self.method.startswith("paired")

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {**asdict(self), "paired": self.paired, "significant": self.significant, "notes": list(self.notes)}


def compare_means(a: Groups, b: Groups, *, share: bool, confidence: float = CONFIDENCE) -> ComparedMeans | None:
    """Compare the means of two agents; None if one of them has no episode.

    If at least two groups have a name in common, the comparison is paired: Student's t with G − 1 degrees of freedom
    on the G differences between the group means of B and A (Miller, "Adding Error Bars to Evals", arXiv 2411.00640,
    section 4.2, with t in place of the normal quantile). The difficulty of a seed, which both meet, drops out. Groups
    of one agent alone are left out and counted in a note.

    Otherwise Welch's t on the group means of each (Biometrika 34, 1947).

    Shares with little information get two more groups, and a note says so: where fewer than 4 differences are not
    zero, or all are equal, one difference of −1 and one of +1 join the others (Bonett and Price, Journal of
    Educational and Behavioral Statistics 37, 2012); unpaired, each sample gets one group at 0 and one at 1 (Agresti
    and Caffo, The American Statistician 54, 2000). Means without bounds have no interval in that case.

    Args:
        a: group → one value for each of its episodes.
        b: the same of the other agent.
        share: whether all values lie between 0 and 1.
        confidence: probability with which the interval covers the true difference.

    Raises:
        ArgumentError: if a value is not finite, or no share although ``share`` says so.
    """
    a, b = _with_episodes(a), _with_episodes(b)
    if not a or not b:
        return None
    for values in (a, b):
        means = group_means(values)
        if not np.isfinite(means).all():
            raise ArgumentError("a comparison needs finite values")
        if share and not (means.min() >= 0 and means.max() <= 1):
            raise ArgumentError(f"a share lies between 0 and 1, not at {means.min():g} … {means.max():g}")
    common = [name for name in a if name in b]
    counts = {"groups_a": len(a), "groups_b": len(b), "common": len(common)}
    if len(common) < 2:
        return _unpaired(group_means(a), group_means(b), share=share, confidence=confidence, counts=counts)
    return _paired(
        group_means({name: a[name] for name in common}),
        group_means({name: b[name] for name in common}),
        share=share,
        confidence=confidence,
        counts=counts,
    )


def detectable_difference(
    standard_error: float, df: float, *, confidence: float = CONFIDENCE, power: float = POWER
) -> float:
    """Return the true difference that a two-sided t test finds with probability ``power``.

    (t at (1 + confidence)/2 + t at power) · SE, with the quantiles of Student's t (Julious, Statistics in Medicine 23,
    2004, section 3). The exact answer, by the noncentral t distribution, is 1 % larger with 4 degrees of freedom, and
    closer with more.
    """
    return (t_quantile((1 + confidence) / 2, df) + t_quantile(power, df)) * standard_error


def groups_needed(
    difference: float, standard_deviation: float, *, confidence: float = CONFIDENCE, power: float = POWER
) -> int:
    """Return the least number of groups with which :func:`detectable_difference` is at most ``difference``.

    Args:
        difference: the true difference that matters, above 0.
        standard_deviation: of the difference within a seed: of its group mean under B less that under A.
        confidence: of the interval.
        power: probability of finding the difference.

    Raises:
        ArgumentError: if ``difference`` is not above 0 or ``standard_deviation`` is negative.
    """
    if not (difference > 0 and standard_deviation >= 0):
        raise ArgumentError(
            "difference must be above 0 and standard_deviation at least 0, not "
            f"{difference!r} and {standard_deviation!r}"
        )

    def enough(groups: int) -> bool:
        error = standard_deviation / math.sqrt(groups)
        return detectable_difference(error, groups - 1, confidence=confidence, power=power) <= difference

    high = 2
    while not enough(high):
        high *= 2
    low = high // 2  # not enough, or below the least number
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return max(high, 2)


def mean_of_differences(parts: Sequence[ComparedMeans]) -> ComparedMeans | None:
    """Return the mean difference of shares over several environments, each weighing the same.

    The environments are taken as they are; chance is in the seeds alone. The environments' seeds are independent, so
    the variances add: SE = √(Σ SE²) / E, with the degrees of freedom of Welch and Satterthwaite (Satterthwaite,
    Biometrics Bulletin 2, 1946). The result says nothing about environments that were not played.

    Returns:
        None with fewer than two environments, or where one of them has no standard error.
    """
    if len(parts) < 2:
        return None
    errors = [part.standard_error for part in parts if part.standard_error is not None]
    freedoms = [part.df for part in parts if part.df is not None]
    if len(errors) < len(parts) or len(freedoms) < len(parts):
        return None
    count = len(parts)
    error, df = _satterthwaite(errors, freedoms)
    error /= count
    confidence = parts[0].confidence
    difference = math.fsum(part.difference for part in parts) / count
    # Pseudo-groups move the centre of an interval towards zero; here the centres take part as they are.
    centre = math.fsum((part.low + part.high) / 2 for part in parts if part.low is not None and part.high is not None)
    centre /= count
    half = t_quantile((1 + confidence) / 2, df) * error
    return ComparedMeans(
        mean_a=math.fsum(part.mean_a for part in parts) / count,
        mean_b=math.fsum(part.mean_b for part in parts) / count,
        difference=difference,
        low=max(-1.0, min(centre - half, difference)),
        high=min(1.0, max(centre + half, difference)),
        p_value=two_sided_p(centre / error, df),
        standard_error=error,
        df=df,
        detectable=detectable_difference(error, df, confidence=confidence),
        groups=sum(part.groups for part in parts),
        groups_a=sum(part.groups_a for part in parts),
        groups_b=sum(part.groups_b for part in parts),
        common=sum(part.common for part in parts),
        method="paired-t" if all(part.paired for part in parts) else "welch-t",
        confidence=confidence,
        notes=(f"the mean over these {count} environments, each weighing the same",),
    )


def difference_bounds(
    differences: Floats, *, share: bool, confidence: float = CONFIDENCE
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the bounds of the mean of paired differences, as :func:`compare_means` computes them.

    Args:
        differences: of the groups; shape (…, G) with G ≥ 2. Leading axes are independent comparisons.
        share: whether the differences are those of shares.
        confidence: between 0 and 1.

    Returns:
        Lower and upper bound (NaN where differences without bounds are all equal), and whether pseudo-groups took
        part; each of shape (…).
    """
    centre, error, pseudo = _moments(differences, share)
    groups = differences.shape[-1]
    quantiles = [t_quantile((1 + confidence) / 2, df) for df in (groups - 1, groups + 1)]
    half = np.where(pseudo, quantiles[1], quantiles[0]) * np.where(error > 0, error, np.nan)
    # The difference itself always belongs to the interval.
    seen = differences.mean(axis=-1)
    limit = 1.0 if share else np.inf
    low = np.clip(np.where(pseudo, np.minimum(centre - half, seen), centre - half), -limit, limit)
    high = np.clip(np.where(pseudo, np.maximum(centre + half, seen), centre + half), -limit, limit)
    return low, high, pseudo


def _moments(differences: Floats, share: bool) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return mean and standard error of differences, with pseudo-groups where they are needed; (…, G) → (…)."""
    centre, error = differences.mean(axis=-1), standard_errors(differences)
    if not share:
        return centre, error, np.zeros_like(centre, dtype=np.bool_)
    pseudo = (np.count_nonzero(differences, axis=-1) < _FEW_DIFFER) | (error == 0)
    more = np.concatenate([differences, np.broadcast_to([-1.0, 1.0], (*differences.shape[:-1], 2))], axis=-1)
    return np.where(pseudo, more.mean(axis=-1), centre), np.where(pseudo, standard_errors(more), error), pseudo


def _paired(a: Floats, b: Floats, *, share: bool, confidence: float, counts: dict[str, int]) -> ComparedMeans:
    differences = b - a
    groups = len(differences)
    centre, error, pseudo = (item.item() for item in _moments(differences, share))
    low, high, _ = (item.item() for item in difference_bounds(differences, share=share, confidence=confidence))
    notes = []
    alone = [counts["groups_a"] - groups, counts["groups_b"] - groups]
    if any(alone):
        notes.append(f"{groups} seeds meet; left out are {alone[0]} that only A has and {alone[1]} that only B has")
    if pseudo:
        notes.append("too few seeds differ: the interval counts one more that only A solves and one that only B solves")
    return _compared(
        a,
        b,
        (centre, error, groups + 1 if pseudo else groups - 1),
        (low, high),
        f"paired-{'pseudo-groups' if pseudo else 't'}",
        notes,
        confidence,
        {"groups": groups, **counts},
    )


def _unpaired(a: Floats, b: Floats, *, share: bool, confidence: float, counts: dict[str, int]) -> ComparedMeans:
    few = [share and bool(share_bounds(means, confidence)[2]) for means in (a, b)]
    samples = [np.append(means, [0.0, 1.0]) if add else means for means, add in zip((a, b), few, strict=True)]
    centre = float(samples[1].mean() - samples[0].mean())
    errors = [float(standard_errors(sample)) if len(sample) > 1 else 0.0 for sample in samples]
    error, df = _satterthwaite(errors, [len(sample) - 1 for sample in samples])
    half = t_quantile((1 + confidence) / 2, df) * error if error > 0 else math.nan
    seen, limit = float(b.mean() - a.mean()), 1.0 if share else math.inf
    met = {0: "no seed is in both runs", 1: "only one seed is in both runs"}[counts["common"]]
    notes = [f"{met}, so the comparison is not paired"]
    if any(few):
        notes.append("too few successes or failures: the interval counts one more seed at 0 and one at 1")
    return _compared(
        a,
        b,
        (centre, error if min(map(len, samples)) > 1 else 0.0, df),
        (max(min(centre - half, seen), -limit), min(max(centre + half, seen), limit)),
        f"welch-{'pseudo-groups' if any(few) else 't'}",
        notes,
        confidence,
        {"groups": len(a) + len(b), **counts},
    )


def _compared(
    a: Floats,
    b: Floats,
    moments: tuple[float, float, float],
    bounds: tuple[float, float],
    method: str,
    notes: Sequence[str],
    confidence: float,
    counts: dict[str, int],
) -> ComparedMeans:
    centre, error, df = moments
    known = error > 0
    if not known:
        notes = [*notes, "no interval and no test: the seeds show no spread"]
    return ComparedMeans(
        mean_a=float(a.mean()),
        mean_b=float(b.mean()),
        difference=float(b.mean() - a.mean()),
        low=bounds[0] if known else None,
        high=bounds[1] if known else None,
        p_value=two_sided_p(centre / error, df) if known else None,
        standard_error=error if known else None,
        df=df if known else None,
        detectable=detectable_difference(error, df, confidence=confidence) if known else None,
        method=method if known else "none",
        confidence=confidence,
        notes=tuple(notes),
        **counts,
    )


def _satterthwaite(errors: Sequence[float], freedoms: Sequence[float]) -> tuple[float, float]:
    """Return the standard error of a sum of independent terms, and its degrees of freedom.

    SE² = Σ SEᵢ² and df = SE⁴ / Σ (SEᵢ⁴ / dfᵢ) (Satterthwaite 1946; Welch 1947).
    """
    largest = max(errors)
    if not largest > 0:
        return 0.0, max(sum(freedoms), 1.0)
    ratios = [error / largest for error in errors]  # fourth powers of small numbers would vanish
    variance = math.fsum(ratio**2 for ratio in ratios)
    terms = math.fsum(ratio**4 / df for ratio, df in zip(ratios, freedoms, strict=True) if ratio > 0)
    return largest * math.sqrt(variance), variance**2 / terms


def _with_episodes(groups: Groups) -> Groups:
    return {name: values for name, values in groups.items() if len(values)}
