"""Limits of an episode: :class:`EpisodeLimits`."""

from __future__ import annotations

from dataclasses import dataclass

from gem.arguments import integer, real

__all__ = ["EpisodeLimits"]

_LONGEST = 1e8  # seconds; a few years


@dataclass(frozen=True)
class EpisodeLimits:
    """What an episode may cost; None for no limit.

    An episode that reaches one of the first three ends there, truncated, and counts with the rewards that it has;
    ``Trajectory.stop_reason`` names the limit. A call that exceeds one of the last two is a failure of its episode.

    Raises:
        ArgumentError, ArgumentTypeError: for a number out of range.
    """

    max_turns: int | None = None
    """Turns; in an environment with several agents, steps of the environment (``turns``)."""
    max_tokens: int | None = None
    """Tokens that the model sampled in the whole episode; the turn that exceeds it is the last one (``tokens``)."""
    max_seconds: float | None = None
    """Wall-clock seconds since the reset. A policy is interrupted, a step of the environment is not (``seconds``)."""
    act_timeout: float | None = None
    """Seconds that a policy may take for one action."""
    step_timeout: float | None = None
    """Seconds that a step or reset may take, in modes that can enforce it."""

    def __post_init__(self) -> None:
        for name in ("max_turns", "max_tokens"):
            if getattr(self, name) is not None:
                integer(name, getattr(self, name), minimum=1)
        for name in ("max_seconds", "act_timeout", "step_timeout"):
            if getattr(self, name) is not None:
                real(name, getattr(self, name), minimum=0.001, maximum=_LONGEST)
