"""An episode as prompt, response and mask: :class:`TrainerRow`."""

from __future__ import annotations

from dataclasses import dataclass

from gem.errors import TrajectoryError
from gem_rl.token_book import token_rows
from gem_rollout.trajectory import Trajectory

__all__ = ["TrainerRow", "only_trainer_row", "trainer_rows"]


@dataclass(frozen=True)
class TrainerRow:
    """One sequence in the form that most trainers take: lists, of which the last four have the response's length."""

    prompt_ids: list[int]
    """Everything before the first sampled token."""
    response_ids: list[int]
    """The sampled tokens, and what environment and chat template put between them."""
    response_mask: list[int]
    """1 for sampled tokens, 0 for the others."""
    logprobs: list[float]
    """As sampled, natural logarithms; 0.0 for the tokens that were not sampled, or if the server reported none."""
    turns: list[int]
    """The index of the turn that sampled each token, −1 for the others."""
    rewards: list[float]
    """The reward of a turn at its last token, 0.0 elsewhere."""


def trainer_rows(trajectory: Trajectory) -> list[TrainerRow]:
    """Return the rows of an episode: one, or one for each stretch between rewrites of its history.

    Turns in which nothing was sampled have no row of their own; see :func:`gem_rl.token_rows`, whose errors are passed
    on.
    """
    found = []
    for row in token_rows(trajectory):
        turns = row.turns.tolist()
        start = next((place for place, turn in enumerate(turns) if turn >= 0), None)
        if start is None:
            continue
        ids, logprobs = row.token_ids.tolist(), row.logprobs.tolist()
        turns = turns[start:]
        rewards = [
            trajectory.transitions[turn].reward if turn >= 0 and turn != later else 0.0
            for turn, later in zip(turns, [*turns[1:], -1], strict=True)
        ]
        found.append(
            TrainerRow(
                ids[:start],
                ids[start:],
                [int(turn >= 0) for turn in turns],
                [value if value == value else 0.0 for value in logprobs[start:]],
                turns,
                rewards,
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
