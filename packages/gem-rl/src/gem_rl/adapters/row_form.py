"""An episode as prompt, response and mask: :class:`TrainerRow`."""

from __future__ import annotations

from dataclasses import dataclass

from gem.errors import TrajectoryError
from gem_rl.token_row import measured_logprobs, paid_at_tokens, token_rows
from gem_rollout.trajectory import Trajectory

__all__ = ["TrainerRow", "only_trainer_row", "trainer_rows"]


@dataclass(frozen=True)
class TrainerRow:
    """One sequence in the form that most trainers take: lists, of which the last five have the response's length."""

    prompt_ids: list[int]
    """Everything before the first sampled token."""
    response_ids: list[int]
    """The sampled tokens, and what environment and chat template put between them."""
    response_mask: list[int]
    """1 for sampled tokens that are to be trained on, 0 for the others; see :attr:`gem_rl.TokenRow.trained`."""
    logprobs: list[float] | None
    """As sampled, natural logarithms, and 0.0 for the tokens that were not sampled; None if one was not measured."""
    turns: list[int]
    """The index of the turn that sampled each token, −1 for the others."""
    rewards: list[float]
    """The reward of a turn at its last token, 0.0 elsewhere; see :func:`gem_rl.paid_at_tokens`."""
    versions: list[int] | None = None
    """The version of the weights that sampled each token, −1 for the others; None where one is unknown."""


def trainer_rows(trajectory: Trajectory) -> list[TrainerRow]:
    """Return the rows of an episode: one, or one for each stretch between rewrites of its history.

    Turns in which nothing was sampled have no row of their own; their rewards are in the others. See
    :func:`gem_rl.token_rows`, whose errors are passed on.
    """
    found = []
    rows = token_rows(trajectory)
    for row, rewards in zip(rows, paid_at_tokens(trajectory, rows), strict=True):
        turns = row.turns.tolist()
        start = next((place for place, turn in enumerate(turns) if turn >= 0), None)
        if start is None:
            continue
        ids, logprobs = row.token_ids.tolist(), measured_logprobs(row)
        found.append(
            TrainerRow(
                ids[:start],
                ids[start:],
                row.trained[start:].astype(int).tolist(),
                None if logprobs is None else logprobs[start:],
                turns[start:],
                rewards[start:],
                None if row.versions is None else row.versions[start:].tolist(),
            )
        )
    return found


def only_trainer_row(trajectory: Trajectory) -> TrainerRow | None:
    """Return the row of an episode, for trainers that take one for each; None if nothing was sampled.

    Raises:
        TrajectoryError: if the history was rewritten, so that no single row has all that was sampled.
    """
    rows = trainer_rows(trajectory)
    if len(rows) > 1:
        raise TrajectoryError(
            f"the history of the episode {trajectory.key} was rewritten, which makes {len(rows)} rows, and this "
            "trainer takes one: play with history='sampled' and a wrapper that only appends, such as 'messages'"
        )
    return rows[0] if rows else None
