"""A batch of episodes as arrays: :class:`TurnBatch`, which every estimator takes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gem.errors import ArgumentError
from gem_rollout.trajectory.record import Trajectory

__all__ = ["Bools", "Floats", "Ints", "TurnBatch", "is_gradable"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class TurnBatch:
    """The N turns of E episodes, episode after episode.

    Episodes may have any number of turns, none included. Make one with :meth:`of`, which checks the values, or with
    :meth:`from_trajectories`.
    """

    rewards: Floats
    """``(N,)``: the reward of each turn."""
    lengths: Ints
    """``(E,)``: the number of turns of each episode; their sum is N."""
    terminated: Bools
    """``(E,)``: whether the task was decided at the end, so that the state after the last turn is worth nothing. False
    for an episode that a limit cut off, after which an estimator with a value function bootstraps."""
    groups: Ints
    """``(E,)``: episodes of one initial state have the same number, from 0 without gaps."""
    tasks: Ints
    """``(E,)``: episodes of one environment, and of one agent in it, have the same number, from 0 without gaps."""
    valid: Bools
    """``(E,)``: False for episodes that say nothing about the policy, such as one that a simulated user spoiled. They
    enter no mean and no standard deviation, and their advantages are 0."""
    versions: Ints | None = None
    """``(N,)``: the oldest version of the weights that sampled a token of each turn; None unless all of them are known
    integers. See :attr:`gem_rl.TokenRow.versions` for those of single tokens."""

    @classmethod
    def of(
        cls,
        rewards: ArrayLike,
        lengths: Sequence[int] | Ints,
        *,
        terminated: ArrayLike | None = None,
        groups: Sequence[Hashable] | None = None,
        tasks: Sequence[Hashable] | None = None,
        valid: ArrayLike | None = None,
        versions: ArrayLike | None = None,
    ) -> TurnBatch:
        """Return a batch of checked arrays.

        Args:
            rewards: ``(N,)``.
            lengths: ``(E,)``, the number of turns of each episode.
            terminated: ``(E,)``; all True by default.
            groups: ``(E,)``, any hashable values; by default each episode is a group of its own.
            tasks: ``(E,)``, any hashable values; by default all episodes have the same task.
            valid: ``(E,)``; all True by default.
            versions: ``(N,)``, integers; unknown by default.

        Raises:
            ArgumentError: if shapes disagree, a length is negative, or a reward is not finite.
        """
        turns, counts = finite(rewards, "rewards"), np.asarray(lengths)
        if counts.ndim != 1 or (counts.size and not np.issubdtype(counts.dtype, np.integer)) or (counts < 0).any():
            raise ArgumentError(f"lengths must be a list of integers ≥ 0, got {lengths!r:.80}")
        if counts.sum() != turns.size:
            raise ArgumentError(f"lengths add up to {counts.sum()} turns, and there are {turns.size} rewards")
        number = counts.size
        return cls(
            rewards=turns,
            lengths=counts.astype(np.int64),
            terminated=_flags(terminated, number, "terminated"),
            groups=_numbered(range(number) if groups is None else groups, number, "groups"),
            tasks=_numbered([0] * number if tasks is None else tasks, number, "tasks"),
            valid=_flags(valid, number, "valid"),
            versions=None if versions is None else _integers(versions, turns.size, "versions"),
        )

    @classmethod
    def from_trajectories(
        cls,
        trajectories: Iterable[Trajectory],
        *,
        valid: Callable[[Trajectory], bool] | None = None,
        group: Callable[[Trajectory], Hashable] | None = None,
    ) -> TurnBatch:
        """Return the batch of recorded episodes.

        The task of an episode is its environment, and its group is all episodes of one environment and seed. Where
        the environment has several agents, those of each are a task and a group of their own: one role may be easier
        than another.

        Args:
            trajectories: of one agent each; see :meth:`gem_rollout.trajectory.Trajectory.for_agent`.
            valid: whether an episode says something about the policy; :func:`is_gradable` by default.
            group: a hashable value that the rollouts of one initial state share, in place of environment and seed.

        Raises:
            ArgumentError: if several agents acted in an episode, or a reward is not finite.
        """
        episodes = list(trajectories)
        for episode in episodes:
            if len(episode.agents) > 1:
                raise ArgumentError(
                    f"{', '.join(episode.agents)} acted in the episode {episode.key}; make a batch of "
                    "trajectory.for_agent(name) for each"
                )
        keys = [episode.key for episode in episodes]
        tasks = [(key.env, *episode.agents) for key, episode in zip(keys, episodes, strict=True)]
        return cls.of(
            [turn.reward for episode in episodes for turn in episode.transitions],
            [len(episode.transitions) for episode in episodes],
            terminated=[bool(one.transitions) and one.transitions[-1].terminated for one in episodes],
            groups=[(*task, key.seed) for task, key in zip(tasks, keys, strict=True)]
            if group is None
            else [group(one) for one in episodes],
            tasks=tasks,
            valid=[(valid or is_gradable)(episode) for episode in episodes],
            versions=_oldest_versions(episodes),
        )

    @property
    def episodes(self) -> int:
        """E, the number of episodes."""
        return self.lengths.size

    @property
    def turns(self) -> int:
        """N, the number of turns."""
        return self.rewards.size

    @cached_property
    def episode_of_turn(self) -> Ints:
        """``(N,)``: the episode of each turn."""
        return np.repeat(np.arange(self.episodes), self.lengths)

    @cached_property
    def starts(self) -> Ints:
        """``(E,)``: the first turn of each episode."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def valid_turns(self) -> Bools:
        """``(N,)``: whether the episode of each turn is valid."""
        return self.valid[self.episode_of_turn]

    @cached_property
    def returns(self) -> Floats:
        """``(E,)``: the sum of the rewards of each episode, undiscounted."""
        sums = np.bincount(self.episode_of_turn, weights=self.rewards, minlength=self.episodes)
        return sums.astype(np.float64)  # those of no episodes are integers otherwise

    def to_turns(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a value of each episode, ``(E,)``, for each turn, ``(N,)``."""
        return values[self.episode_of_turn]


def is_gradable(trajectory: Trajectory) -> bool:
    """Return whether an episode says something about the policy.

    It does not if its outcome is unknown: environment, endpoint, grader or simulated user failed; nor if the agent's
    own code did, which no gradient could mend. See :data:`gem_rollout.trajectory.OUTCOMES`.
    """
    return trajectory.failure is None and trajectory.outcome != "unknown"


def finite(values: ArrayLike, name: str, size: int | None = None) -> Floats:
    """Return values as float64; raises ArgumentError unless they are a list of finite numbers of this size."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} must be a list of numbers: {error}") from None
    if numbers.ndim != 1:
        raise ArgumentError(f"{name} must have one dimension, got the shape {numbers.shape}")
    if size is not None and numbers.size != size:
        raise ArgumentError(f"{name} must have {size} values, got {numbers.size}")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        raise ArgumentError(f"{name}[{wrong[0]}] is {numbers[wrong[0]]}, and must be finite")
    return numbers


def counts_of(batch: TurnBatch, token_counts: ArrayLike, *, least: int) -> Ints:
    """Return the numbers of sampled tokens, ``(N,)``; raises ArgumentError unless each turn has an integer ≥ least."""
    counts = np.asarray(token_counts)
    if counts.shape != (batch.turns,) or (counts.size and not np.issubdtype(counts.dtype, np.integer)):
        raise ArgumentError(
            f"token_counts must have {batch.turns} integers, one for each turn, got {token_counts!r:.80}"
        )
    if (counts < least).any():
        raise ArgumentError(f"token_counts must be at least {least}, got {counts.min()}")
    return counts.astype(np.int64)


def _flags(values: ArrayLike | None, size: int, name: str) -> Bools:
    flags = np.ones(size, dtype=bool) if values is None else np.asarray(values)
    if flags.shape != (size,) or (size and flags.dtype != bool):
        raise ArgumentError(f"{name} must be {size} booleans, got the shape {flags.shape} of {flags.dtype}")
    return flags.astype(bool)


def _numbered(labels: Iterable[Hashable], size: int, name: str) -> Ints:
    numbers: dict[Hashable, int] = {}
    found = [numbers.setdefault(label, len(numbers)) for label in labels]
    if len(found) != size:
        raise ArgumentError(f"{name} must have {size} values, one for each episode, got {len(found)}")
    return np.array(found, dtype=np.int64)


def _integers(values: ArrayLike, size: int, name: str) -> Ints:
    numbers = np.asarray(values)
    if numbers.shape != (size,) or (size and not np.issubdtype(numbers.dtype, np.integer)):
        raise ArgumentError(f"{name} must be {size} integers, got the shape {numbers.shape} of {numbers.dtype}")
    return numbers.astype(np.int64)


def _oldest_versions(episodes: Sequence[Trajectory]) -> list[int] | None:
    found = []
    for turn in (turn for episode in episodes for turn in episode.transitions):
        spans = turn.version_spans
        versions = [turn.version] if spans is None else [version for version, count in spans if count]
        numbers = [version for version in versions if type(version) is int]
        if not numbers or len(numbers) < len(versions):
            return None
        found.append(min(numbers))
    return found
