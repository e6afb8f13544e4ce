"""What a clause of the conformance kit is, and what can come of testing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from gem.errors import GemError

if TYPE_CHECKING:
    from gem_testing.subject import Subject

__all__ = ["Clause", "NotTested", "Outcome", "Result", "Violation", "clauses_of"]


class Violation(GemError, AssertionError):  # noqa: N818  # an outcome that is told by raising
    """An environment breaks a clause; one sentence with the step, the value and what to do."""


class NotTested(GemError):  # noqa: N818  # the same
    """A clause cannot be tested on this environment.

    Args:
        reason: why, one sentence.
        advice: how to make it testable.
    """

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(f"{reason}; {advice}")
        self.reason = reason
        self.advice = advice


class Outcome(str, Enum):
    """What came of testing a clause."""

    HOLDS = "holds"
    VIOLATED = "violated"
    NOT_TESTED = "not tested"


@dataclass(frozen=True)
class Result:
    """What came of testing one clause on one environment."""

    clause: str
    outcome: Outcome
    message: str = ""
    """The violation, or why it was not tested."""
    advice: str = ""
    """How to make it testable, where it was not tested."""
    exempt: bool = False
    """The environment's manifest declares that it does not keep this clause; ``message`` is its reason."""


@dataclass(frozen=True)
class Clause:
    """One promise that every environment keeps, and the function that tests it."""

    name: str
    """``"group.name"``."""
    promise: str
    """The promise in one sentence."""
    check: Callable[[Subject], None]
    """Returns if the promise is kept; raises :class:`Violation` or :class:`NotTested` otherwise."""
    plays: bool = True
    """Whether it needs an environment that can be made and reset."""
    processes: bool = False
    """Whether it plays in other processes, to which the environment must be importable."""


def clauses_of(
    group: str, *checks: Callable[[Subject], None], plays: bool = True, processes: bool = False
) -> tuple[Clause, ...]:
    """Return the clauses that functions test, named after them; the first paragraph of the docstring is the promise."""
    return tuple(
        Clause(
            name=f"{group}.{check.__name__.rstrip('_')}",  # reward.range_ would hide a built-in otherwise
            promise=" ".join((check.__doc__ or "").partition("\n\n")[0].split()),
            check=check,
            plays=plays,
            processes=processes,
        )
        for check in checks
    )
