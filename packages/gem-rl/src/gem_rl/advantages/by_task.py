"""Normalization of advantages within each task of a batch."""

from __future__ import annotations

from numpy.typing import ArrayLike

from gem_rl.advantages.statistics import standardized
from gem_rl.turn_batch import Floats, TurnBatch, counts_of, finite

__all__ = ["normalize_by_task"]


def normalize_by_task(
    batch: TurnBatch, advantages: ArrayLike, token_counts: ArrayLike | None = None, *, epsilon: float = 1e-8
) -> Floats:
    """Return advantages with zero mean and unit variance within each task, over its tokens, ``(N,)``.

    A turn counts as often as it has sampled tokens, as if each token carried its turn's advantage. Standard deviations
    divide by the number of tokens. Source: AgentRL, arXiv 2510.04206, section 3.2.

    Args:
        batch: the episodes; ``tasks`` holds their environments. For advantages that differ from token to token, the
            batch of :func:`gem_rl.as_tokens`.
        advantages: ``(N,)``, by any estimator.
        token_counts: ``(N,)``, the number of sampled tokens of each turn; 1 by default.
        epsilon: ε.

    Raises:
        ArgumentError: if shapes disagree, or an advantage is not finite.
    """
    values = finite(advantages, "advantages", batch.turns)
    counts = None if token_counts is None else counts_of(batch, token_counts, least=0)
    sampled = batch.valid_turns if counts is None else batch.valid_turns & (counts > 0)
    return standardized(values, batch.tasks[batch.episode_of_turn], sampled, epsilon=epsilon, times=counts)
