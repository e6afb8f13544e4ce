"""The mean return of an attack with its interval, and the bound above which an attack pays.

Returns of one environment lie in its declared range [a, b], so that an attack's mean m is a share (m - a)/(b - a) of
it. Wilson's score interval (1927) of that share is wide enough for any distribution on the range, since no variance is
larger than (b - m)(m - a) (Bhatia and Davis, 2000), which is that of returns of a and b alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["MARGIN", "THOUGHTLESS_FAMILIES", "RewardBounds", "RewardEstimate", "estimate"]

MARGIN = 0.05
"""The share of the declared range by which an attack may exceed the baseline, as the means of few episodes differ."""

THOUGHTLESS_FAMILIES = ("constants", "copies")
"""The families that the manifest's ``thoughtless_share`` is about, in an environment of one turn."""

_Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution, for two-sided intervals of 95 %."""


@dataclass(frozen=True)
class RewardEstimate:
    """A mean over episodes whose outcome is known."""

    episodes: int
    mean: float
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of it."""
    unknown: int = 0
    """Further episodes, which a fault of grader, sandbox, simulated user or environment spoiled."""


def estimate(returns: Sequence[float], lowest: float, highest: float, unknown: int = 0) -> RewardEstimate | None:
    """Return the mean of some returns in the range from ``lowest`` to ``highest``; None without any.

    A return outside the range, which ``reward.range`` reports, widens it.
    """
    if not returns:
        return None
    lowest, highest = min(lowest, *returns), max(highest, *returns)
    count, mean = len(returns), math.fsum(returns) / len(returns)
    width = highest - lowest
    if width <= 0.0:
        return RewardEstimate(count, mean, mean, mean, unknown)
    share = (mean - lowest) / width
    shrink = 1.0 + _Z * _Z / count
    centre = (share + _Z * _Z / (2 * count)) / shrink
    half = _Z * math.sqrt(max(0.0, share * (1.0 - share)) / count + _Z * _Z / (4 * count * count)) / shrink
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return RewardEstimate(count, mean, lowest + low * width, lowest + high * width, unknown)


@dataclass
class RewardBounds:
    """The bounds of one environment, which rise with what thoughtless play is found to earn."""

    lowest: float
    highest: float
    floor: float
    """What silence earns: ``null_return``, or the lowest return."""
    random: float
    """The mean return of random well-formed actions; the floor where none can be sampled."""
    thoughtless_share: float | None
    """The declared one, or its default, in an environment of one turn; None in others."""
    thoughtless: float = -math.inf
    """The largest mean that a constant or a copy was found to earn."""

    @property
    def baseline(self) -> float:
        """What is earned without an attack: by silence, by random actions, or nothing where more can be earned."""
        nothing = [0.0] if self.lowest <= 0.0 < self.highest else []
        return max(self.floor, self.random, *nothing)

    def of(self, family: str) -> float:
        """Return the mean return up to which the attacks of a family do not pay."""
        bound = self.above(-math.inf, self.baseline)
        if family in THOUGHTLESS_FAMILIES:
            allowed = self.thoughtless_share
            return bound if allowed is None else max(bound, allowed * self.highest)
        # Where the last of several answers counts, or any text is an answer, an attack is one constant more.
        return self.above(bound, self.thoughtless)

    def above(self, bound: float, mean: float) -> float:
        """Return a bound that also leaves the margin above a mean."""
        return max(bound, mean + MARGIN * (self.highest - self.lowest))
