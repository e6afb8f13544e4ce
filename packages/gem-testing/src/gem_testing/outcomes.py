"""The three outcomes of testing a clause: it holds, it is violated, or it could not be tested."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gem.errors import GemError

__all__ = ["ClauseOutcome", "ClauseResult", "NotTested", "Violation"]


class Violation(GemError, AssertionError):  # noqa: N818  # an outcome, reported by raising it
    """An environment breaks a clause. The message is one sentence: the step, the value, the remedy."""


class NotTested(GemError):  # noqa: N818  # the same
    """A clause cannot be tested on this environment.

    Args:
        reason: the obstacle.
        advice: the way to make the clause testable.
    """

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(f"{reason}; {advice}")
        self.reason = reason
        self.advice = advice


class ClauseOutcome(str, Enum):
    """The outcome of testing a clause."""

    HOLDS = "holds"
    VIOLATED = "violated"
    NOT_TESTED = "not tested"


@dataclass(frozen=True)
class ClauseResult:
    """The result of testing one clause on one environment."""

    clause: str
    outcome: ClauseOutcome
    message: str = ""
    """The violation, or the reason that the clause was not tested."""
    advice: str = ""
    """The way to make the clause testable, if it was not tested."""
    exempt: bool = False
    """The environment's manifest declares that it does not keep this clause; ``message`` is its reason."""
