"""Estimators that compare a turn with all turns of the batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from gem_rl.advantages.statistics import standardized
from gem_rl.returns import discounted_returns
from gem_rl.turn_batch import Floats, TurnBatch, finite
from gem_rl.views import as_tokens

__all__ = ["rebn", "reinforce", "reinforce_plus_plus"]


def reinforce(batch: TurnBatch, gamma: float = 1.0, *, baseline: float = 0.0) -> Floats:
    """Return A_t = G_t − b, ``(N,)``.

    Source: Williams 1992, Simple statistical gradient-following algorithms for connectionist reinforcement learning.

    Args:
        batch: the episodes.
        gamma: the discount for each turn, from 0 to 1.
        baseline: b, such as a running mean of earlier batches.

    Raises:
        ArgumentError: if gamma is outside 0 to 1.
    """
    return np.where(batch.valid_turns, discounted_returns(batch, gamma) - baseline, 0.0)


def rebn(batch: TurnBatch, gamma: float = 1.0, *, epsilon: float = 1e-8) -> Floats:
    """Return Return Batch Normalization: A_t = (G_t − mean(G)) / (std(G) + ε) over all turns of the batch, ``(N,)``.

    The standard deviation divides by the number of turns. Source: GEM, arXiv 2510.01051, equation 4 and algorithm 1.

    Args:
        batch: the episodes.
        gamma: the discount for each turn, from 0 to 1.
        epsilon: ε.

    Raises:
        ArgumentError: if gamma is outside 0 to 1.
    """
    everything = np.zeros(batch.turns, dtype=np.int64)
    return standardized(discounted_returns(batch, gamma), everything, batch.valid_turns, epsilon=epsilon)


def reinforce_plus_plus(
    batch: TurnBatch,
    token_counts: ArrayLike,
    token_kl: ArrayLike,
    *,
    beta: float = 0.0,
    epsilon: float = 1e-8,
) -> Floats:
    """Return the advantages of REINFORCE++ for each of M sampled tokens, ``(M,)``.

    The reward of a turn falls on its last token, and each token pays β times its divergence from the reference policy.
    The undiscounted sum of what follows within the episode is normalised over all tokens of the batch:
    A_i = (R_i − mean(R)) / (std(R) + ε) with R_i = Σ_{j≥i} (r_j − β·KL_j). The clipping is the loss's part. Source: Hu,
    arXiv 2501.03262, section 3.

    Args:
        batch: the episodes.
        token_counts: ``(N,)``, the number of sampled tokens of each turn; see :func:`gem_rl.as_tokens`.
        token_kl: ``(M,)``, log π(token) − log π_ref(token) of each sampled token.
        beta: β.
        epsilon: ε.

    Raises:
        ArgumentError: if shapes disagree, or a value is not finite.
    """
    tokens = as_tokens(batch, token_counts)
    penalties = finite(token_kl, "token_kl", tokens.turns)
    return rebn(replace(tokens, rewards=tokens.rewards - beta * penalties), 1.0, epsilon=epsilon)
