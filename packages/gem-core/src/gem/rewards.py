"""Rewards by name: objects that score recorded episodes.

An environment takes one by argument in place of, or beside, its own reward; an evaluation takes one by name; and
``gem rescore`` applies one to recorded episodes. Packages offer theirs through the hook ``gem_rewards``.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

from gem.errors import NotSupportedError
from gem.trajectory import Trajectory

__all__ = ["Reward", "Score", "make_reward"]


@dataclass(frozen=True)
class Score:
    """What a reward says about an episode."""

    value: float
    parts: dict[str, float] = field(default_factory=dict)
    """Named components of the value."""
    reasons: list[str] = field(default_factory=list)
    """Why, a sentence each."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Further data, JSON-serialisable."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return dict(vars(self))

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Score:
        """Undo :meth:`to_dict`."""
        return cls(**record)


class Reward:
    """Scores an episode. A subclass implements ``score``, as a plain or as an async method."""

    name: str = ""

    def score(self, trajectory: Trajectory) -> Score | Awaitable[Score]:
        """Return the score of a finished episode."""
        raise NotSupportedError(f"{type(self).__name__} does not implement score")


def make_reward(name: str, **kwargs: Any) -> Reward:
    """Return a reward by the name that an installed package gives it.

    Raises:
        MissingPluginError: if nothing installed has that name.
    """
    from gem.plugins import lookup

    reward: Reward = lookup("gem_rewards", name, "reward")(**kwargs)
    return reward
