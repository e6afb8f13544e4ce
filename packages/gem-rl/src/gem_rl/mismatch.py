"""How far the policy that samples is from the one that learns: :func:`measure_mismatch`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gem.errors import ArgumentError
from gem_rl.corrections import log_ratios, sequence_lengths, sequence_sums
from gem_rl.turn_batch import Floats

__all__ = ["PolicyMismatch", "measure_mismatch"]

_LARGE_KL = 0.01
_FEW_SAMPLES = 0.5
_FAR = 2.0
_HIGHEST = 20.0


@dataclass(frozen=True)
class PolicyMismatch:
    """Figures of one batch, of M sampled tokens in S sequences."""

    tokens: int
    sequences: int
    """Those with tokens."""
    kl: float
    """KL(sampler ‖ learner) in nats a token: the mean of log π_sampler − log π_learner. An estimate may be negative."""
    kl_k3: float
    """The same by r − log r − 1 with r = π_learner / π_sampler, which is never negative and of less variance (Schulman,
    Approximating KL divergence, 2020)."""
    effective_tokens: float
    """The effective share of the tokens, (Σ r)² / (M Σ r²): 1 where all ratios are equal (Kish 1965)."""
    effective_sequences: float
    """The same of the sequences, with the products of their ratios."""
    largest_ratio: float
    """The largest r of a token; 1 for none."""
    smallest_ratio: float
    far: float
    """The share of tokens with r above 2 or below 1/2."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)

    def warning(self) -> str | None:
        """Return in a sentence what is wrong, and what to do; None if the two policies are close."""
        if self.effective_tokens < _FEW_SAMPLES:
            return (
                f"the importance weights of {self.tokens} tokens are worth {self.effective_tokens:.0%} of them, since "
                f"a few are large (up to {self.largest_ratio:.3g}): truncate or mask them"
            )
        if self.kl_k3 > _LARGE_KL:
            return (
                f"sampler and learner differ by {self.kl_k3:.3g} nats a token (KL, {self.tokens} tokens), more than "
                f"{_LARGE_KL}: compare temperatures and precisions, lower max_staleness, or use importance_weights"
            )
        return None


def measure_mismatch(learner: ArrayLike, sampler: ArrayLike, lengths: ArrayLike) -> PolicyMismatch:
    """Return the figures of a batch.

    Args:
        learner: ``(M,)``: natural-log probabilities of the sampled tokens by the policy that learns.
        sampler: ``(M,)``: those with which they were sampled.
        lengths: ``(S,)``: the number of tokens of each sequence, in order.

    Raises:
        ArgumentError: if shapes disagree, a value is not finite, or there is no token.
    """
    ratios = log_ratios(learner, sampler)
    if not ratios.size:
        raise ArgumentError("there is no sampled token, so nothing to compare")
    counts = sequence_lengths(lengths, ratios.size)
    sums = sequence_sums(ratios, counts)[counts > 0]
    bounded = np.clip(ratios, -_HIGHEST, _HIGHEST)
    return PolicyMismatch(
        tokens=ratios.size,
        sequences=sums.size,
        kl=float(-ratios.mean()),
        kl_k3=float((np.exp(bounded) - bounded - 1.0).mean()),
        effective_tokens=_effective(ratios),
        effective_sequences=_effective(sums),
        largest_ratio=float(np.exp(bounded.max())),
        smallest_ratio=float(np.exp(bounded.min())),
        far=float((np.abs(ratios) > np.log(_FAR)).mean()),
    )


def _effective(logarithms: Floats) -> float:
    """Return the effective share of samples with such weights; the largest weight is taken as the unit."""
    weights = np.exp(logarithms - logarithms.max())
    return float(weights.sum() ** 2 / (weights.size * (weights**2).sum()))
