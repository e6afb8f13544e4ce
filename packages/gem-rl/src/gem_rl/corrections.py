"""Corrections for tokens that another policy sampled than the one that learns: importance weights, decoupled PPO.

The policy that samples and the one that learns differ: by the precision and the kernels of their engines, and by the
updates since a token was sampled. Log-probabilities of both must be at the temperature of the sampling
(:func:`logprobs_at`), or the difference of the temperatures is taken for one of the policies.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from gem.errors import ArgumentError
from gem_rl.turn_batch import Floats, Ints, finite

__all__ = ["Level", "importance_weights", "logprobs_at", "surrogate_losses"]

Level = Literal["token", "sequence", "geometric"]
"""What a ratio is of: of a token; of a sequence, the product over its tokens; or their geometric mean."""

_ROUNDED = 0.05
"""What rounding to a low precision may add to a logarithm of 0."""
_HIGHEST = 20.0
"""Bound on a logarithm that is exponentiated: e^20 is 485 millions, far beyond any bound of weights."""


def importance_weights(
    learner: ArrayLike,
    sampler: ArrayLike,
    lengths: ArrayLike | None = None,
    *,
    level: Level = "token",
    upper: float | None = 2.0,
    lower: float | None = None,
    outside: Literal["truncate", "mask"] = "truncate",
) -> Floats:
    """Return π_learner / π_sampler as a weight for each of M sampled tokens, ``(M,)``; constants, without a gradient.

    =============  =========================================================================================
    level          weight of a token
    =============  =========================================================================================
    ``token``      its own ratio: little variance, biased (IMPALA, arXiv 1802.01561)
    ``sequence``   the product over its sequence: unbiased, of great variance
    ``geometric``  the geometric mean over its sequence (GSPO, arXiv 2507.18071)
    =============  =========================================================================================

    A weight beyond the bounds is set to the bound with ``outside="truncate"`` (truncated importance sampling, Ionides
    2008), and to 0 with ``"mask"`` (IcePop, arXiv 2510.18855), which leaves the token out.

    Args:
        learner: ``(M,)``: natural-log probabilities by the policy that learns, before its update.
        sampler: ``(M,)``: those with which the tokens were sampled.
        lengths: ``(S,)``: the number of tokens of each sequence, in order; needed but for ``level="token"``.
        level: see the table.
        upper: the largest weight; None for no bound.
        lower: the smallest weight; None for no bound.
        outside: what becomes of weights beyond the bounds.

    Raises:
        ArgumentError: if shapes disagree, a value is not finite, or a bound is impossible.
    """
    if outside not in ("truncate", "mask"):
        raise ArgumentError(f"outside must be 'truncate' or 'mask', got {outside!r}")
    least, most = lower if lower is not None else 0.0, upper if upper is not None else np.inf
    if not 0.0 <= least <= most or not most > 0.0:
        raise ArgumentError(f"bounds must be 0 ≤ lower ≤ upper and 0 < upper, got {lower!r} and {upper!r}")
    weights = np.exp(np.minimum(log_ratios(learner, sampler, lengths, level), _HIGHEST))
    if outside == "mask":
        return np.where((weights >= least) & (weights <= most), weights, 0.0)
    return np.clip(weights, least, most)


def surrogate_losses(
    new: ArrayLike,
    proximal: ArrayLike,
    sampler: ArrayLike,
    advantages: ArrayLike,
    *,
    clip: float = 0.2,
    clip_higher: float | None = None,
    upper: float | None = None,
) -> Floats:
    """Return the loss of decoupled PPO for each of M tokens, ``(M,)``.

    With r = π_new / π_proximal and w = π_proximal / π_sampler, the loss is −w · min(r·A, clip(r)·A). The proximal
    policy bounds the step, and may be more recent than the one that sampled: taken for both, old tokens would be
    clipped for their age. With the sampler as proximal policy, it is PPO's.

    Sources: Hilton, Cobbe, Schulman, arXiv 2110.00641; AReaL, arXiv 2505.24298, which takes the policy before the
    update as the proximal one.

    Args:
        new: ``(M,)``: natural-log probabilities by the policy in the middle of its update.
        proximal: ``(M,)``: those by the policy that bounds the step.
        sampler: ``(M,)``: those with which the tokens were sampled.
        advantages: ``(M,)``.
        clip: r is clipped at 1 − clip and 1 + clip.
        clip_higher: r is clipped at 1 + clip_higher instead (DAPO, arXiv 2503.14476).
        upper: the largest w; None for no bound.

    Raises:
        ArgumentError: if shapes disagree, a value is not finite, or a bound is impossible.
    """
    higher = clip if clip_higher is None else clip_higher
    if not (0.0 <= clip <= 1.0 and higher >= 0.0):
        raise ArgumentError(f"clip must be from 0 to 1 and clip_higher at least 0, got {clip!r} and {clip_higher!r}")
    weights = importance_weights(proximal, sampler, upper=upper)
    gains = finite(advantages, "advantages", weights.size)
    ratios = np.exp(np.minimum(log_ratios(new, proximal), _HIGHEST))
    return -weights * np.minimum(ratios * gains, np.clip(ratios, 1.0 - clip, 1.0 + higher) * gains)


def logprobs_at(logits: ArrayLike, ids: ArrayLike, temperature: float = 1.0) -> Floats:
    """Return the natural-log probability of each sampled id at the temperature of the sampling, ``(M,)``.

    Servers differ in what they report: vLLM's ``logprobs_mode`` is ``raw_logprobs`` unless set to
    ``processed_logprobs``, that is at temperature 1 whatever the sampling's.

    Args:
        logits: ``(M, V)``.
        ids: ``(M,)``: token ids.
        temperature: of the sampling, above 0.

    Raises:
        ArgumentError: if shapes disagree, an id is none, or the temperature is not above 0.
    """
    if not temperature > 0.0:
        raise ArgumentError(f"temperature must be above 0, got {temperature!r}")
    scores, chosen = np.asarray(logits, dtype=np.float64), np.asarray(ids)
    if scores.ndim != 2 or chosen.shape != scores.shape[:1] or not np.issubdtype(chosen.dtype, np.integer):
        raise ArgumentError(f"logits must be (M, V) and ids M integers, got {scores.shape} and {chosen.shape}")
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < scores.shape[1]):
        raise ArgumentError(f"ids must be from 0 to {scores.shape[1] - 1}")
    scores = scores / temperature
    scores = scores - scores.max(axis=1, keepdims=True, initial=-np.inf)
    picked = scores[np.arange(chosen.size), chosen]
    found: Floats = picked - np.log(np.exp(scores).sum(axis=1))
    return found


def log_ratios(
    learner: ArrayLike, sampler: ArrayLike, lengths: ArrayLike | None = None, level: Level = "token"
) -> Floats:
    """Return log(π_learner / π_sampler) for each token, ``(M,)``, at a level; raises as :func:`importance_weights`."""
    if level not in get_args(Level):
        raise ArgumentError(f"level must be one of {', '.join(get_args(Level))}, got {level!r}")
    ours = _logarithms(learner, "the learner's log-probabilities")
    ratios = ours - _logarithms(sampler, "the sampler's log-probabilities", ours.size)
    if level == "token":
        return ratios
    counts = sequence_lengths(lengths, ours.size)
    sums = sequence_sums(ratios, counts)
    return np.repeat(sums / np.maximum(counts, 1) if level == "geometric" else sums, counts)


def _logarithms(values: ArrayLike, name: str, size: int | None = None) -> Floats:
    """Return log-probabilities; raises ArgumentError for values above 0, which are none."""
    found = finite(values, name, size)
    if found.size and found.max() > _ROUNDED:
        raise ArgumentError(f"{name} must be natural logarithms, at most 0, and one is {found.max():.4g}")
    return found


def sequence_lengths(lengths: ArrayLike | None, tokens: int) -> Ints:
    """Return lengths as an array; raises ArgumentError unless they are integers from 0 that add up to the tokens."""
    counts = np.asarray([tokens] if lengths is None else lengths)
    integers = counts.ndim == 1 and (not counts.size or np.issubdtype(counts.dtype, np.integer))
    if lengths is None or not integers or (counts < 0).any() or counts.sum() != tokens:
        raise ArgumentError(f"lengths must be integers from 0 that add up to {tokens} tokens, got {lengths!r:.80}")
    return counts.astype(np.int64)


def sequence_sums(values: Floats, counts: Ints) -> Floats:
    """Return the sum of each sequence's values, ``(S,)``."""
    owners = np.repeat(np.arange(counts.size), counts)
    return np.bincount(owners, weights=values, minlength=counts.size).astype(np.float64)
