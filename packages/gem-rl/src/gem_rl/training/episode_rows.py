"""Recorded episodes as padded tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gem_rl.token_row import TokenRow, token_rows
from gem_rl.training.language_model import ActionTokenizer
from gem_rl.turn_batch import Floats
from gem_rollout.trajectory import Trajectory

__all__ = ["TextRow", "TrainingRow", "by_length", "padded", "rows_of_texts", "sampled_counts", "training_rows"]

_Row = TypeVar("_Row", bound=Sized)


@dataclass(frozen=True)
class TrainingRow:
    """A row of tokens with what the loss needs of each, in arrays ``(L,)``."""

    tokens: TokenRow
    advantages: Floats
    """Of the turn that sampled a token; 0 elsewhere."""
    weights: Floats
    """Of a sampled token in the loss; 0 elsewhere."""
    first: Floats
    """1 at the first token of a response, before which the value head estimates the state; 0 elsewhere."""
    returns: Floats
    """The target of the value head there."""
    reference: Floats | None = None
    """The natural-log probability of a sampled token by the policy that the loss keeps to; None without one."""

    @property
    def prompt(self) -> tuple[int, ...]:
        """The tokens before the first that was sampled."""
        return tuple(self.tokens.token_ids[: self.tokens.sampled.argmax()].tolist())

    def __len__(self) -> int:
        """Return L."""
        return len(self.tokens)


@dataclass(frozen=True)
class TextRow:
    """The tokens of an episode that a text agent played."""

    ids: list[int]
    acted: list[bool]
    """Whether a token is the agent's."""

    @property
    def last_act(self) -> int:
        """The place of the agent's last token; −1 if none is the agent's."""
        return max((place for place, acted in enumerate(self.acted) if acted), default=-1)

    def up_to(self, length: int) -> TextRow:
        """Return the row without what follows this many tokens."""
        return TextRow(self.ids[:length], self.acted[:length])

    def acts(self) -> int:
        """Return how many tokens are the agent's."""
        return sum(self.acted)

    def predicted(self) -> int:
        """Return how many tokens have one before them."""
        return len(self.ids) - 1

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.ids)


def rows_of_turns(trajectory: Trajectory) -> list[TokenRow]:
    """Return the rows of an episode; none of one without a turn, in which a program may have asked its model."""
    return token_rows(trajectory) if trajectory.transitions else []


def sampled_counts(trajectories: Sequence[Trajectory]) -> NDArray[np.int64]:
    """Return how many tokens were sampled for each turn of the episodes, ``(N,)``."""
    counts = [np.zeros(0, dtype=np.int64)]
    for trajectory in trajectories:
        turns = [row.turns[row.sampled] for row in rows_of_turns(trajectory)]
        counts.append(np.bincount(np.concatenate([np.zeros(0, np.int64), *turns]), minlength=len(trajectory)))
    return np.concatenate(counts)


def training_rows(
    trajectories: Sequence[Trajectory], advantages: Floats, weights: Floats, returns: Floats
) -> list[TrainingRow]:
    """Return the rows of episodes.

    Args:
        trajectories: the episodes of the N turns.
        advantages: ``(N,)``.
        weights: ``(M,)``, of each sampled token in order.
        returns: ``(N,)``, the targets of the value head.
    """
    rows: list[TrainingRow] = []
    turn = token = 0
    for trajectory in trajectories:
        for tokens in rows_of_turns(trajectory):
            mask = tokens.sampled
            places = turn + tokens.turns[mask]
            count = places.size
            values = {name: np.zeros(len(tokens)) for name in ("advantages", "weights", "first", "returns")}
            values["advantages"][mask] = advantages[places]
            values["weights"][mask] = weights[token : token + count]
            begins = np.flatnonzero(mask & (tokens.turns != np.concatenate(([-1], tokens.turns[:-1]))))
            values["first"][begins] = 1.0
            values["returns"][begins] = returns[turn + tokens.turns[begins]]
            rows.append(TrainingRow(tokens, **values))
            token += count
        turn += len(trajectory)
    return rows


def rows_of_texts(trajectories: Sequence[Trajectory], tokenizer: ActionTokenizer, history: bool) -> list[TextRow]:
    """Return the tokens of episodes that text agents played, as a :class:`SampledAgent` would have seen them.

    Without history, a row is a turn and the observation that follows it.
    """
    rows: list[TextRow] = []
    for trajectory in trajectories:
        conversation, ids, acted = tokenizer.conversation(), list[int](), list[bool]()
        turns = trajectory.transitions
        for place, turn in enumerate(turns):
            ids = conversation.prompt(str(turn.observation))
            acted += [False] * (len(ids) - len(acted))
            action = [*tokenizer.encode(str(turn.action)), tokenizer.end]
            conversation.note(action)
            ids, acted = ids + action, acted + [True] * len(action)
            if history and place + 1 < len(turns):
                continue
            after = turns[place + 1].observation if place + 1 < len(turns) else trajectory.final_observation
            seen = tokenizer.encode(str(after))
            rows.append(TextRow(ids + seen, acted + [False] * len(seen)))
            conversation, ids, acted = tokenizer.conversation(), [], []
    return rows


def by_length(rows: Sequence[_Row], tokens: int = 2048) -> Iterator[list[_Row]]:
    """Yield rows of similar lengths together, so that little is padded.

    Args:
        rows: in any order.
        tokens: the largest padded size of the rows that come together; a longer row comes alone. Tensors of this size
            stay in the cache of a core, and cost half the time of those that do not.
    """
    chunk: list[_Row] = []
    for row in sorted(rows, key=len, reverse=True):
        if chunk and (len(chunk) + 1) * len(chunk[0]) > tokens:
            yield chunk
            chunk = []
        chunk.append(row)
    if chunk:
        yield chunk


def padded(
    rows: Sequence[Sequence[int] | NDArray[Any]], fill: float, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """Return rows as a tensor ``(rows, longest)``, filled up at their ends."""
    result = torch.full((len(rows), max(map(len, rows))), fill, dtype=dtype)
    array = result.numpy()
    for place, row in enumerate(rows):
        array[place, : len(row)] = row
    return result.to(device)
