"""The turns that a sampler answers together: :class:`Rounds`, and those of them that were played before a kill.

All episodes of an update begin together, so their turns come in rounds: the first of all episodes, the second of those
that have one, and so on. What is sampled in a round depends on the numbers that are drawn, and in its last digits on
the other rows of the batch. A trainer that goes on within an update therefore draws past the rounds that it does not
play again, and gives the one in which it was killed the rows that it had.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Protocol

from gem_rollout.trajectory import Trajectory, Transition

__all__ = ["EarlierRounds", "EarlierRow", "Rounds", "RowKey", "SampledRow"]

RowKey = tuple[str, int, int]
"""Environment, seed and repetition."""

_PAUSE = 0.0005  # seconds between two looks while environments are being made


class SampledRow(Protocol):
    """What a sampler continues: an agent of an episode, a single prompt, or a turn that was played before."""

    @property
    def key(self) -> RowKey:
        """Decides its place in a batch."""

    @property
    def ids(self) -> list[int]:
        """The tokens that are continued."""

    @property
    def round(self) -> int:
        """The first round in which it may be answered."""

    cached: int
    """How many of the tokens the cache has."""

    def take(self, tokens: list[int], logprobs: list[float], value: float) -> None:
        """Receive the sampled tokens."""

    def fail(self, error: Exception) -> None:
        """Receive an error in place of tokens."""


class RowSampler(Protocol):
    """What answers rows of a round."""

    def answer(self, agents: Sequence[SampledRow]) -> None:
        """Answer these agents."""


class EarlierRow:
    """A turn that was played before the trainer was killed, in its place in a batch; what it receives, it has.

    Args:
        key: of the episode.
        number: of the turn.
        turn: its record.
    """

    def __init__(self, key: RowKey, number: int, turn: Transition) -> None:
        self.key = key
        self.round = number
        self.cached = 0
        self._turn = turn

    @cached_property
    def ids(self) -> list[int]:
        """The prompt."""
        return list(self._turn.prompt_token_ids or ())

    @property
    def sampled(self) -> int:
        """How many tokens were sampled."""
        return len(self._turn.token_ids or ())

    def take(self, tokens: list[int], logprobs: list[float], value: float) -> None:
        """Keep what is recorded."""

    def fail(self, error: Exception) -> None:
        """Keep what is recorded."""


class EarlierRounds:
    """The turns of an update that were played before the trainer was killed.

    Args:
        episodes: key → the episode, as far as it was played.
    """

    def __init__(self, episodes: Mapping[RowKey, Trajectory]) -> None:
        self._rows: dict[int, list[EarlierRow]] = {}
        for key, episode in episodes.items():
            for number, turn in enumerate(episode.transitions):
                self._rows.setdefault(number, []).append(EarlierRow(key, number, turn))

    def before(self, number: int) -> list[list[EarlierRow]]:
        """Return the rows of the rounds before this one, which are then forgotten."""
        return [self._rows.pop(earlier) for earlier in sorted(self._rows) if earlier < number]

    def of(self, number: int) -> list[EarlierRow]:
        """Return the rows of a round, which are then forgotten."""
        return self._rows.pop(number, [])

    def rest(self) -> list[list[EarlierRow]]:
        """Return the rows of all rounds that are left, which are then forgotten."""
        return self.before(max(self._rows, default=0) + 1)


class Rounds:
    """The agents that wait for an answer of one of the samplers of an engine.

    Args:
        playing: returns the number of episodes that are being played.
    """

    def __init__(self, playing: Callable[[], int]) -> None:
        self.samplers: list[RowSampler] = []
        """In the order in which they answer, which decides the samples."""
        self.number = 0
        """Of the round that comes."""
        self._playing = playing
        self._waiting: list[tuple[RowSampler, SampledRow]] = []
        self._due = False

    def ask(self, sampler: RowSampler, agent: SampledRow) -> None:
        """Have an agent answered in the next round, or the first one in which it may be."""
        self._waiting.append((sampler, agent))
        if not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._answer)

    def _answer(self) -> None:
        if len(self._waiting) < self._playing():
            asyncio.get_running_loop().call_later(_PAUSE, self._answer)
            return
        self.number = max(self.number, min(agent.round for _, agent in self._waiting))
        waiting = [one for one in self._waiting if one[1].round <= self.number]
        self._waiting = [one for one in self._waiting if one[1].round > self.number]
        self._due = bool(self._waiting)
        if self._due:
            asyncio.get_running_loop().call_later(_PAUSE, self._answer)
        for sampler in self.samplers:
            if agents := [agent for asked, agent in waiting if asked is sampler]:
                sampler.answer(agents)
        self.number += 1
