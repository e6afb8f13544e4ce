"""How much each sampled token counts in a loss: :func:`loss_weights`."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from gem.errors import ArgumentError
from gem_rl.turn_batch import Floats, TurnBatch, counts_of

__all__ = ["Aggregation", "loss_weights"]

Aggregation = Literal["token-mean", "turn-mean", "episode-mean", "constant"]


def loss_weights(
    batch: TurnBatch, token_counts: ArrayLike, how: Aggregation = "token-mean", *, constant: float | None = None
) -> Floats:
    """Return a weight for each of M sampled tokens, ``(M,)``; the loss is Σ weight · loss of the token.

    ================  ==================================================  ============================================
    how               weight of a token                                   known from
    ================  ==================================================  ============================================
    ``token-mean``    1 / M                                               DAPO, arXiv 2503.14476
    ``turn-mean``     1 / (tokens of its turn · number of turns)          PPO on responses
    ``episode-mean``  1 / (tokens of its episode · number of episodes)    GRPO, arXiv 2402.03300; biased by length
    ``constant``      1 / (constant · number of episodes)                 Dr. GRPO, arXiv 2503.20783; without that bias
    ================  ==================================================  ============================================

    Invalid episodes weigh 0 and count in no number; nor do turns and episodes without tokens.

    Args:
        batch: the episodes.
        token_counts: ``(N,)``, the number of sampled tokens of each turn.
        how: see the table.
        constant: for ``"constant"``: the largest number of tokens that an episode may have.

    Raises:
        ArgumentError: if shapes disagree, how is unknown, or the constant is missing or not positive.
    """
    if how not in get_args(Aggregation):
        raise ArgumentError(f"how must be one of {', '.join(get_args(Aggregation))}, got {how!r}")
    counts = np.where(batch.valid_turns, counts_of(batch, token_counts, least=0), 0)
    of_episodes = np.bincount(batch.episode_of_turn, weights=counts, minlength=batch.episodes)
    episodes = max(1, int(np.count_nonzero(of_episodes)))
    if how == "token-mean":
        of_turns = np.full(batch.turns, 1.0 / max(1, int(counts.sum())))
    elif how == "turn-mean":
        of_turns = 1.0 / (np.maximum(counts, 1) * max(1, int(np.count_nonzero(counts))))
    elif how == "episode-mean":
        of_turns = batch.to_turns(1.0 / (np.maximum(of_episodes, 1.0) * episodes))
    else:
        if constant is None or not constant > 0:
            raise ArgumentError(f"how='constant' needs a positive constant, got {constant!r}")
        of_turns = np.full(batch.turns, 1.0 / (constant * episodes))
    return np.repeat(np.where(batch.valid_turns, of_turns, 0.0), np.asarray(token_counts))
