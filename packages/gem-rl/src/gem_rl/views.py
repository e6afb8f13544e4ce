"""The three views of an action in a multi-turn episode: a token, a response, the whole interaction.

GEM, arXiv 2510.01051, figure 3. Each view is a batch of its own, so every estimator works with every view.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gem.errors import ArgumentError
from gem_rl.turn_batch import Floats, TurnBatch, counts_of

__all__ = ["as_interactions", "as_tokens", "spread_to_tokens"]


def as_tokens(batch: TurnBatch, token_counts: ArrayLike) -> TurnBatch:
    """Return the batch in which each sampled token is a turn; the last token of a response earns its reward.

    Args:
        batch: the episodes, whose turns are responses.
        token_counts: ``(N,)``, the number of sampled tokens of each response, at least 1.

    Raises:
        ArgumentError: if token_counts has another shape or a value below 1.
    """
    counts = counts_of(batch, token_counts, least=1)
    rewards = np.zeros(int(counts.sum()))
    rewards[np.cumsum(counts) - 1] = batch.rewards
    lengths = np.bincount(batch.episode_of_turn, weights=counts, minlength=batch.episodes).astype(np.int64)
    return TurnBatch(rewards, lengths, batch.terminated, batch.groups, batch.tasks, batch.valid)


def as_interactions(batch: TurnBatch) -> TurnBatch:
    """Return the batch in which each episode with turns is one turn, which earns the sum of its rewards."""
    lengths = (batch.lengths > 0).astype(np.int64)
    return TurnBatch(batch.returns[lengths > 0], lengths, batch.terminated, batch.groups, batch.tasks, batch.valid)


def spread_to_tokens(batch: TurnBatch, advantages: Floats, token_counts: ArrayLike) -> Floats:
    """Return an advantage for each of M sampled tokens, ``(M,)``.

    Args:
        batch: the episodes, whose turns are responses.
        advantages: ``(N,)`` of responses, or one for each episode with turns, of :func:`as_interactions`.
        token_counts: ``(N,)``, the number of sampled tokens of each response.

    Raises:
        ArgumentError: if shapes disagree.
    """
    counts = counts_of(batch, token_counts, least=0)
    played = np.flatnonzero(batch.lengths > 0)
    if advantages.shape == (batch.turns,):
        return np.repeat(advantages, counts)
    if advantages.shape != (played.size,):
        raise ArgumentError(
            f"advantages must have {batch.turns} values, one for each response, or {played.size}, one for each episode "
            f"with turns; got the shape {advantages.shape}"
        )
    of_episode = np.zeros(batch.episodes)
    of_episode[played] = advantages
    return np.repeat(batch.to_turns(of_episode), counts)
