"""The two figures for groups of attempts: pass@k (one of k succeeds) and pass^k (all k succeed)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gem.arguments import integer
from gem.errors import ArgumentError
from gem_eval.statistics.estimates import CONFIDENCE, Estimate, estimate_share

__all__ = ["attempt_bounds", "estimate_pass_all_k", "estimate_pass_at_k", "pass_all_k", "pass_at_k"]


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the probability that k of n attempts, drawn without replacement, hold one of the c successes.

    1 − C(n − c, k) / C(n, k), the unbiased estimate of 1 − (1 − p)^k (Chen et al., "Evaluating Large Language Models
    Trained on Code", 2021, arXiv 2107.03374, equation 1). The plug-in 1 − (1 − c/n)^k is biased downwards.

    Raises:
        ArgumentError: unless 0 ≤ c ≤ n and 1 ≤ k ≤ n.
    """
    _check(n, c, k)
    # The quotient of exact integers is rounded once.
    return (math.comb(n, k) - math.comb(n - c, k)) / math.comb(n, k)


def pass_all_k(n: int, c: int, k: int) -> float:
    """Return the probability that k of n attempts, drawn without replacement, are all among the c successes.

    C(c, k) / C(n, k), the unbiased estimate of p^k, written pass^k (Yao et al., "τ-bench", 2024, arXiv 2406.12045).
    The plug-in (c/n)^k is biased upwards.

    Raises:
        ArgumentError: unless 0 ≤ c ≤ n and 1 ≤ k ≤ n.
    """
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def estimate_pass_at_k(
    successes: Mapping[Any, Sequence[bool]], k: int, confidence: float = CONFIDENCE
) -> Estimate | None:
    """Estimate pass@k as the mean over groups of :func:`pass_at_k`, with the interval of ``share_bounds``.

    Groups with fewer than k attempts tell nothing of k attempts; they are left out, and a note counts them.

    Returns:
        None if no group has k attempts.

    Raises:
        ArgumentError: if k is below 1.
    """
    return _estimate(successes, k, pass_at_k, confidence)


def estimate_pass_all_k(
    successes: Mapping[Any, Sequence[bool]], k: int, confidence: float = CONFIDENCE
) -> Estimate | None:
    """Estimate pass^k as the mean over groups of :func:`pass_all_k`; otherwise as :func:`estimate_pass_at_k`."""
    return _estimate(successes, k, pass_all_k, confidence)


def attempt_bounds(
    successes: Mapping[Any, Sequence[bool]],
    unknown: Mapping[Any, int],
    k: int,
    of_group: Callable[[int, int, int], float],
) -> tuple[float, float] | None:
    """Return the mean over groups if no unknown attempt succeeded, and if each did; None where none is unknown.

    Args:
        successes: group → its attempts whose outcome is known.
        unknown: group → how many of its attempts are unknown. With them, more groups may have k attempts.
        k: at least 1.
        of_group: :func:`pass_at_k` or :func:`pass_all_k`.
    """
    if not any(unknown.values()):
        return None
    groups = successes.keys() | unknown.keys()
    counts = [(len(successes.get(name, ())), sum(successes.get(name, ())), unknown.get(name, 0)) for name in groups]
    whole = [(known + open_, solved, open_) for known, solved, open_ in counts if known + open_ >= k]
    if not any(open_ for _, _, open_ in whole):
        return None
    worst = math.fsum(of_group(n, solved, k) for n, solved, _ in whole) / len(whole)
    best = math.fsum(of_group(n, solved + open_, k) for n, solved, open_ in whole) / len(whole)
    return worst, best


def _estimate(successes: Mapping[Any, Sequence[bool]], k: int, of_group: Any, confidence: float) -> Estimate | None:
    integer("k", k, minimum=1)
    groups = {name: group for name, group in successes.items() if len(group)}
    whole = {name: group for name, group in groups.items() if len(group) >= k}
    counts = {name: (len(group), sum(map(bool, group))) for name, group in whole.items()}
    known = {count: (of_group(*count, k),) for count in set(counts.values())}
    values = {name: known[count] for name, count in counts.items()}
    estimate = estimate_share(values, confidence)
    if estimate is None:
        return None
    left_out = len(groups) - len(whole)
    note = (f"left out, with fewer than {k} episodes: {left_out} of {len(groups)} seeds",) if left_out else ()
    return replace(estimate, episodes=sum(map(len, whole.values())), notes=(*estimate.notes, *note))


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise ArgumentError(f"0 ≤ c ≤ n and 1 ≤ k ≤ n must hold, not n = {n}, c = {c}, k = {k}")
