"""What becomes of an episode that an older version of the policy began: :class:`Staleness`."""

from __future__ import annotations

from typing import Any, Literal, get_args

from gem.arguments import choice, integer
from gem_rollout.trajectory import Trajectory
from gem_rollout.trajectory.token_versions import Version

__all__ = ["StaleRule", "Staleness", "oldest_trained_version"]

StaleRule = Literal["mask", "finish", "age", "cancel"]
"""``mask`` and ``finish`` deliver it; ``mask`` notes which tokens are too old to train on. ``age`` plays it anew, a
bounded number of times, and then delivers it. ``cancel`` drops it at once, also in the middle of a turn."""

_BEHIND = "versions_behind"
_TRAINED = "oldest_trained_version"


class Staleness:
    """A bound on the age of episodes, in versions, and a rule for those that exceed it.

    The age of an episode is the version at the moment of its delivery less the oldest one that sampled in it, so the
    time that it waits for its consumer counts. Under all rules but ``cancel``, every episode that begins is delivered,
    so that long ones reach a trainer as often as they begin. ``cancel`` prefers short ones, which is its price.

    Args:
        bound: the largest age that is not stale; None for no bound.
        rule: see :data:`StaleRule`.
        replays: with ``age``, how often an episode is played anew before it is delivered nevertheless.

    Raises:
        ArgumentError, ArgumentTypeError: for a number out of range, or an unknown rule.
    """

    def __init__(self, bound: int | None = None, rule: StaleRule = "mask", replays: int = 1) -> None:
        self.bound = None if bound is None else integer("max_staleness", bound, minimum=0)
        self.rule: StaleRule = choice("stale", rule, get_args(StaleRule))
        self.replays = integer("replays", replays, minimum=0)

    def is_stale(self, oldest: Version, now: Version) -> bool:
        """Return whether an episode is too old; one without a version, or with one that is no number, never is."""
        return self.bound is not None and type(oldest) is int and type(now) is int and now - oldest > self.bound

    def note(self, trajectory: Trajectory, oldest: Version, now: Version) -> None:
        """Write into a stale episode how old it is, and with ``mask`` the oldest version that may be trained on."""
        if self.bound is not None and type(oldest) is int and type(now) is int:
            trajectory.metadata[_BEHIND] = now - oldest
            if self.rule == "mask":
                trajectory.metadata[_TRAINED] = now - self.bound


def oldest_trained_version(metadata: Any) -> int | None:
    """Return the oldest version whose tokens an episode may be trained on, from its metadata; None if all may."""
    found = metadata.get(_TRAINED) if isinstance(metadata, dict) else None
    return found if type(found) is int else None
