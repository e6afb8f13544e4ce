"""The tokens of an episode as rows for a trainer, with masks: :func:`token_rows`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gem.errors import TrajectoryError
from gem_rl.turn_batch import Bools, Floats, Ints
from gem_rollout.lineages import LineageTree
from gem_rollout.lineages.leaf_rows import LeafRow, leaf_rows
from gem_rollout.lineages.tree import lineages_of
from gem_rollout.staleness import oldest_trained_version
from gem_rollout.trajectory.record import Trajectory
from gem_rollout.trajectory.token_edits import continues
from gem_rollout.trajectory.token_versions import token_versions
from gem_rollout.trajectory.transition import Transition

__all__ = ["TokenRow", "measured_logprobs", "paid_at_tokens", "token_rows"]


@dataclass(frozen=True)
class TokenRow:
    """L tokens that a model reads in one pass: prompts, and what it sampled after them."""

    token_ids: Ints
    """``(L,)``: ids as the model server reported them; nothing is tokenized anew."""
    turns: Ints
    """``(L,)``: the index of the turn that sampled each token, and −1 for tokens of prompts."""
    logprobs: Floats
    """``(L,)``: natural-log probability with which each token was sampled; NaN for tokens of prompts, and for all if
    the server did not report them."""
    observed: Bools
    """``(L,)``: tokens that the environment and the chat template added between two turns of the row, for the optional
    loss of a world model (Echo; PaW). The first prompt of a row is not among them."""
    versions: Ints | None = None
    """``(L,)``: the version of the weights that sampled each token, −1 for tokens of prompts. None unless all versions
    are known integers from 0."""

    oldest_trained: int | None = None
    """The oldest version whose tokens may be trained on, as ``stale="mask"`` of the engine notes it; None for all."""

    @property
    def sampled(self) -> Bools:
        """``(L,)``: whether the policy sampled a token."""
        return self.turns >= 0

    @property
    def trained(self) -> Bools:
        """``(L,)``: the mask of the policy's loss: the sampled tokens, without those that are too old."""
        if self.oldest_trained is None or self.versions is None:
            return self.sampled
        return self.sampled & (self.versions >= self.oldest_trained)

    def __len__(self) -> int:
        """Return L."""
        return self.token_ids.size


def token_rows(trajectory: Trajectory) -> list[TokenRow]:
    """Return the tokens of an episode in as few rows as possible.

    A turn continues the row of the turn before if its prompt is exactly the tokens of that row and new ones. Otherwise,
    because a template or a wrapper has rewritten the history, it begins a row with its whole prompt. So each sampled
    token is in exactly one row, after exactly the tokens that it was sampled after.

    Where a program behind a gateway played, each leaf of its tree of calls is a row
    (:func:`gem_rollout.lineages.leaf_rows.leaf_rows`), in the order of their last calls. Its tokens belong to the turn
    that the environment was to take next when the call began, those after its end to the last turn.

    Args:
        trajectory: an episode of one agent; of several, each has rows of its own: ``trajectory.for_agent(name)``.

    Raises:
        TrajectoryError: if several agents acted, or a turn has no ``prompt_token_ids`` or ``token_ids``, or its
            log-probabilities are not as many as its tokens.
    """
    tree = lineages_of(trajectory)
    if tree is not None:
        rows = _rows_of_calls(tree, trajectory)
    elif len(trajectory.agents) > 1:
        raise TrajectoryError(f"{', '.join(trajectory.agents)} acted; take the rows of trajectory.for_agent(name)")
    else:
        rows = [_row(turns) for turns in _runs(trajectory)]
    oldest = oldest_trained_version(trajectory.metadata)
    return rows if oldest is None else [replace(row, oldest_trained=oldest) for row in rows]


def paid_at_tokens(trajectory: Trajectory, rows: Sequence[TokenRow]) -> list[list[float]]:
    """Return the pay of each token of each row: the reward of a turn at its last sampled token, 0.0 elsewhere.

    A turn in which nothing was sampled, such as one that a model ends at once, pays at the last token sampled before
    it; where there is none, at the first one after it. So the rows of an episode add up to its return, unless nothing
    was sampled in all of it.
    """
    paid = [[0.0] * len(row) for row in rows]
    last = {turn: (row, place) for row, one in enumerate(rows) for place, turn in enumerate(one.turns.tolist())}
    places = [last.get(turn) for turn in range(len(trajectory.transitions))]
    place = next((found for found in places if found is not None), None)
    if place is not None:
        first = rows[place[0]].turns.tolist()
        place = place[0], next(index for index, turn in enumerate(first) if turn >= 0)
        for found, turn in zip(places, trajectory.transitions, strict=True):
            place = found or place
            paid[place[0]][place[1]] += turn.reward
    return paid


def measured_logprobs(row: TokenRow) -> list[float] | None:
    """Return the log-probabilities of a row's sampled tokens, 0.0 for the others, which no loss reads.

    None if one was not measured: 0.0 would say that the token was certain, and every importance ratio would be wrong.
    Trainers take None for a row, or for a batch, and compute the values themselves (verl, TRL, SkyRL).
    """
    if np.isnan(row.logprobs[row.sampled]).any():
        return None
    found: list[float] = np.where(row.sampled, row.logprobs, 0.0).tolist()
    return found


def _rows_of_calls(tree: LineageTree, trajectory: Trajectory) -> list[TokenRow]:
    rows, unknown = leaf_rows(tree)
    if unknown:
        raise TrajectoryError(
            f"{len(unknown)} of {len(tree.calls)} calls of the episode {trajectory.key} have no token ids, the first "
            f"is call {unknown[0]}; record it with exact tokens, or with a model server that reports token ids"
        )
    last = max(len(trajectory) - 1, 0)
    return [_row_of_calls(tree, row, last) for row in rows]


def _row_of_calls(tree: LineageTree, row: LeafRow, last: int) -> TokenRow:
    turns = {index: min(tree.calls[index].turn or 0, last) for index in set(row.calls) if index >= 0}
    return TokenRow(
        np.array(row.token_ids, dtype=np.int64),
        np.array([turns.get(index, -1) for index in row.calls], dtype=np.int64),
        np.array([np.nan if value is None else value for value in row.logprobs], dtype=np.float64),
        np.array(row.observed, dtype=bool),
        _versions(row.versions, row.calls),
    )


def _versions(versions: Sequence[int | str | None], owners: Sequence[int]) -> Ints | None:
    """Return the versions of a row's tokens, of which those without an owner were not sampled in it."""
    sampled = [version for version, owner in zip(versions, owners, strict=True) if owner >= 0]
    if not set(map(type, sampled)) <= {int} or any(version < 0 for version in {*sampled}):  # type: ignore[operator]
        return None
    return np.array([-1 if version is None else version for version in versions], dtype=np.int64)


_Turn = tuple[int, list[int], Transition]
"""The index, the tokens of the prompt that the row does not have yet, and the turn."""


def _runs(trajectory: Trajectory) -> Iterator[list[_Turn]]:
    """Yield the turns of each row."""
    run: list[_Turn] = []
    before: list[int] = []
    sampled: list[int] = []
    for index, turn in enumerate(trajectory.transitions):
        prompt, ids = turn.prompt_token_ids, turn.token_ids
        if prompt is None or ids is None:
            missing = "prompt_token_ids" if prompt is None else "token_ids"
            raise TrajectoryError(
                f"turn {index} of the episode {trajectory.key} has no {missing}; record it with a model server that "
                "reports token ids, for text that is tokenized afterwards may differ from what was sampled"
            )
        if turn.logprobs is not None and len(turn.logprobs) != len(ids):
            raise TrajectoryError(f"turn {index} has {len(ids)} token_ids and {len(turn.logprobs)} logprobs")
        if run and continues(prompt, before, sampled):
            run.append((index, prompt[len(before) + len(sampled) :], turn))
        else:
            if run:
                yield run
            run = [(index, prompt, turn)]
        before, sampled = prompt, ids
    if run:
        yield run


def _row(run: list[_Turn]) -> TokenRow:
    tokens: list[int] = []
    turns: list[int] = []
    logprobs: list[float] = []
    observed: list[bool] = []
    versions: list[int | str | None] = []
    for place, (index, added, turn) in enumerate(run):
        ids = turn.token_ids or []
        tokens += added + ids
        turns += [-1] * len(added) + [index] * len(ids)
        logprobs += [np.nan] * len(added) + (turn.logprobs or [np.nan] * len(ids))
        observed += [place > 0] * len(added) + [False] * len(ids)
        versions += [None] * len(added) + token_versions(turn.version, turn.version_spans, len(ids))
    return TokenRow(
        np.array(tokens, dtype=np.int64),
        np.array(turns, dtype=np.int64),
        np.array(logprobs, dtype=np.float64),
        np.array(observed, dtype=bool),
        _versions(versions, turns),
    )
