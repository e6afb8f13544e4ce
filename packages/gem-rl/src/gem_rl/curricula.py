"""What to train on as training goes on: interaction budgets, difficulty and mixtures by success."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Generic, TypeVar

from gem.errors import ArgumentError
from gem_rl.returns import check_share

__all__ = ["DifficultyCurriculum", "ScalingInteraction", "learning_weights"]

Level = TypeVar("Level")


class ScalingInteraction:
    """A budget of turns that grows as training goes on.

    Short episodes first teach to act at all; longer ones later teach to explore. Source: ScalingInter-RL in
    AgentGym-RL, arXiv 2509.08755, section 4, whose budgets are 8, 12 and 15 turns, each for 80 updates.

    Args:
        turns: the budgets, each larger than the one before.
        every: updates for which each budget holds; the last holds on. A sequence gives a number for each but the last.

    Raises:
        ArgumentError: if the budgets do not grow from at least 1, or a number of updates is below 1.
    """

    def __init__(self, turns: Sequence[int], every: int | Sequence[int]) -> None:
        periods = [every] * (len(turns) - 1) if isinstance(every, int) else list(every)
        if not turns or turns[0] < 1 or any(later <= earlier for earlier, later in pairwise(turns)):
            raise ArgumentError(f"budgets of turns must grow from at least 1, got {list(turns)}")
        if len(periods) != len(turns) - 1 or any(period < 1 for period in periods):
            raise ArgumentError(f"every must be ≥ 1 for each of the first {len(turns) - 1} budgets, got {every!r}")
        self._turns = list(turns)
        self._ends = [sum(periods[: place + 1]) for place in range(len(periods))]

    def turns(self, update: int) -> int:
        """Return the budget in turns for an update, counted from 0."""
        return self._turns[bisect_right(self._ends, update)]


class DifficultyCurriculum(Generic[Level]):
    """Moves between levels by the share of recent successes.

    Args:
        levels: from easy to hard, such as ids of environments.
        raise_above: the share of successes from which the next level follows.
        lower_below: the share below which the level before returns.
        window: episodes of the current level that a decision looks at; it waits until there are so many.

    Raises:
        ArgumentError: if there is no level, the shares do not leave room between them, or the window is below 1.
    """

    def __init__(
        self, levels: Sequence[Level], raise_above: float = 0.8, lower_below: float = 0.2, window: int = 64
    ) -> None:
        check_share(raise_above, "raise_above")
        check_share(lower_below, "lower_below")
        if not levels or lower_below >= raise_above or window < 1:
            raise ArgumentError(
                "a level, lower_below < raise_above and a window ≥ 1 are needed, got "
                f"{len(levels)} levels, {lower_below}, {raise_above} and {window}"
            )
        self.levels = list(levels)
        self.raise_above = raise_above
        self.lower_below = lower_below
        self.place = 0
        """The index of the current level."""
        self._recent: deque[bool] = deque(maxlen=window)

    @property
    def level(self) -> Level:
        """The current level."""
        return self.levels[self.place]

    def record(self, success: bool) -> bool:
        """Take in the result of an episode of the current level; return whether the level changed."""
        self._recent.append(bool(success))
        if len(self._recent) < (self._recent.maxlen or 1):
            return False
        share = sum(self._recent) / len(self._recent)
        step = (share >= self.raise_above) - (share < self.lower_below)
        place = min(max(self.place + step, 0), len(self.levels) - 1)
        if place == self.place:
            return False
        self.place = place
        self._recent.clear()
        return True


def learning_weights(success: Mapping[str, float], floor: float = 0.05) -> dict[str, float]:
    """Return weights for a mixture that prefer tasks which are neither solved nor hopeless; they add up to 1.

    The weight of a task is p·(1 − p), the variance of its 0/1 reward and so the spread that group advantages learn
    from, but at least ``floor`` of an equal share, so that no task is forgotten. Set them between two updates:
    ``mixture.weights = learning_weights(...)`` of :func:`gem_rollout.mixture`.

    Args:
        success: the recent share of successes by task.
        floor: the least share of a task, as a part of 1 / number of tasks.

    Raises:
        ArgumentError: if there is no task, or a share is outside 0 to 1.
    """
    check_share(floor, "floor")
    if not success:
        raise ArgumentError("the success of at least one task is needed")
    for task, share in success.items():
        check_share(share, f"the success of {task}")
    spreads = {task: share * (1 - share) for task, share in success.items()}
    total = math.fsum(spreads.values())
    equal = 1 / len(spreads)
    if total == 0:
        return dict.fromkeys(spreads, equal)
    return {task: floor * equal + (1 - floor) * (spread / total) for task, spread in spreads.items()}
