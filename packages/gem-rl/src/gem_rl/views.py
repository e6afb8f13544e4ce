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

    A response without tokens, such as one that a model ends at once, pays at the token before it; where the episode has
    none yet, at the first one after it. An episode without any token is not valid in the batch, since its return would
    be lost.

    Args:
        batch: the episodes, whose turns are responses.
        token_counts: ``(N,)``, the number of sampled tokens of each response.

    Raises:
        ArgumentError: if token_counts has another shape or a negative value.
    """
    counts = counts_of(batch, token_counts, least=0)
    lengths = np.bincount(batch.episode_of_turn, weights=counts, minlength=batch.episodes).astype(np.int64)
    rewards = np.zeros(int(counts.sum()))
    # Neither before the first token of the episode.
    places = np.maximum(np.cumsum(counts) - 1, batch.to_turns(np.cumsum(lengths) - lengths))
    sampled = batch.to_turns(lengths) > 0
    np.add.at(rewards, places[sampled], batch.rewards[sampled])
    valid = batch.valid & ((lengths > 0) | (batch.lengths == 0))
    return TurnBatch(rewards, lengths, batch.terminated, batch.groups, batch.tasks, valid)


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
