"""Episodes that wait for training, none older than a bound: :class:`ReplayBuffer`."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from gem.errors import ArgumentError
from gem_rollout.trajectory.record import Trajectory

__all__ = ["BufferCounts", "ReplayBuffer"]


@dataclass(frozen=True)
class BufferCounts:
    """What became of the episodes of a buffer."""

    added: int
    taken: int
    stale: int
    """Discarded because the policy had moved on too far."""
    displaced: int
    """Discarded because the buffer was full."""


class ReplayBuffer:
    """Holds episodes until a trainer takes them, and discards those of too old a policy.

    The staleness of an episode is the current version minus the lowest version among its turns, so an episode during
    which the weights changed counts as its oldest turn. A bound on it is what asynchronous trainers use; AgentRL, arXiv
    2510.04206, drains a bounded queue at each update.

    Args:
        capacity: the largest number of episodes; a further one displaces the oldest.
        max_staleness: the largest staleness that a trainer accepts; 0 keeps episodes of the current version alone.
        seed: of the choice that :meth:`sample` makes.

    Raises:
        ArgumentError: if capacity is below 1 or max_staleness below 0.
    """

    def __init__(self, capacity: int, max_staleness: int = 0, seed: int = 0) -> None:
        if capacity < 1 or max_staleness < 0:
            raise ArgumentError(
                f"a capacity ≥ 1 and a max_staleness ≥ 0 are needed, got {capacity!r} and {max_staleness!r}"
            )
        self.capacity = capacity
        self.max_staleness = max_staleness
        self.version = 0
        """The current version of the policy; :meth:`advance` raises it."""
        self._rng = random.Random(seed)
        self._episodes: deque[tuple[int, Trajectory]] = deque()
        self._added = self._taken = self._stale = self._displaced = 0

    def __len__(self) -> int:
        """Return the number of episodes that can be taken."""
        return len(self._episodes)

    @property
    def counts(self) -> BufferCounts:
        """What became of all episodes so far."""
        return BufferCounts(self._added, self._taken, self._stale, self._displaced)

    def add(self, trajectories: Iterable[Trajectory]) -> None:
        """Add episodes, in order; those that are stale already are counted and discarded.

        Raises:
            ArgumentError: if a turn has a version that is no int, or one above the current version.
        """
        for trajectory in trajectories:
            version = self._version_of(trajectory)
            self._added += 1
            if self.version - version > self.max_staleness:
                self._stale += 1
                continue
            if len(self._episodes) == self.capacity:
                self._episodes.popleft()
                self._displaced += 1
            self._episodes.append((version, trajectory))

    def advance(self, version: int | None = None) -> None:
        """Set the current version of the policy, by default the next one, and discard what has become stale.

        Raises:
            ArgumentError: if the version is below the current one.
        """
        version = self.version + 1 if version is None else version
        if version < self.version:
            raise ArgumentError(f"the version is {self.version} already, and cannot go back to {version}")
        self.version = version
        fresh = deque(entry for entry in self._episodes if version - entry[0] <= self.max_staleness)
        self._stale += len(self._episodes) - len(fresh)
        self._episodes = fresh

    def take(self, most: int | None = None) -> list[Trajectory]:
        """Remove and return the oldest episodes: all of them, or at most so many."""
        number = len(self._episodes) if most is None else min(most, len(self._episodes))
        self._taken += number
        return [self._episodes.popleft()[1] for _ in range(number)]

    def sample(self, number: int) -> list[Trajectory]:
        """Return episodes at random, without removing them; each at most once.

        Raises:
            ArgumentError: if there are fewer.
        """
        if number > len(self._episodes):
            raise ArgumentError(f"{number} episodes are wanted, and the buffer has {len(self._episodes)}")
        return [trajectory for _, trajectory in self._rng.sample(self._episodes, number)]

    def _version_of(self, trajectory: Trajectory) -> int:
        versions = []
        for turn in trajectory.transitions:
            if turn.version is None:
                continue
            if not isinstance(turn.version, int) or turn.version > self.version:
                raise ArgumentError(
                    f"a turn of the episode {trajectory.key} has the version {turn.version!r}; versions are integers "
                    f"up to the buffer's own, {self.version}: call advance(version) when the weights change"
                )
            versions.append(turn.version)
        return min(versions, default=self.version)
