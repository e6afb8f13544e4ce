"""The families of tasks, and the task of a number: :func:`office_task`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import NamedTuple

from gem.errors import ArgumentError
from gem_envs_office.attacks import injected
from gem_envs_office.families.incident import add_incidents
from gem_envs_office.families.month_end import add_month_end
from gem_envs_office.families.onboarding import add_onboarding
from gem_envs_office.families.refund import add_refunds
from gem_envs_office.families.replan import add_replanning
from gem_envs_office.task import OfficeDraft, OfficeTask, UnsolvableError

__all__ = ["FAMILIES", "LEVELS", "MIXED", "Family", "first_solvable", "office_task"]

LEVELS = (1, 2, 3)
MIXED = "Mixed"
"""Parts of several families in one task."""


class Family(NamedTuple):
    """A family: the role of the agent, how many cases a task has by level, and what adds them to a draft."""

    role: str
    counts: tuple[int, int, int]
    add: Callable[[OfficeDraft, int], None]


FAMILIES = {
    "Refund": Family("support_agent", (2, 6, 16), add_refunds),
    "Replan": Family("planner", (3, 8, 20), add_replanning),
    "Onboarding": Family("people_coordinator", (1, 3, 7), add_onboarding),
    "Incident": Family("engineer", (1, 2, 4), add_incidents),
    "MonthEnd": Family("accountant", (1, 5, 16), add_month_end),
}
"""Family → what it consists of, in the order in which a mixed task adds them."""

_MOST_DRAWS = 100


# Copies and states of one episode need it again and again.
@lru_cache(maxsize=32)
def office_task(family: str, number: int, level: int, split: str, attack: str) -> OfficeTask:
    """Return the task of a number, always the same one; it is not to be changed.

    Raises:
        ArgumentError: if there is no such family.
    """
    if family != MIXED and family not in FAMILIES:
        raise ArgumentError(f"there is no family {family!r:.40}; there are {', '.join([*FAMILIES, MIXED])}")
    rng = Random(f"office {family} {split} {level} {number}")
    return first_solvable(lambda: _drawn(rng, family, level, split, attack))


def first_solvable(draw: Callable[[], OfficeTask]) -> OfficeTask:
    """Return the first task that can be solved of those that are drawn one after the other."""
    for _ in range(_MOST_DRAWS):
        try:
            return draw()
        except UnsolvableError:
            continue
    raise AssertionError(f"of {_MOST_DRAWS} tasks in a row, none can be solved")


def _drawn(rng: Random, family: str, level: int, split: str, attack: str) -> OfficeTask:
    if family != MIXED:
        draft = OfficeDraft.begun(rng, split, FAMILIES[family].role)
        FAMILIES[family].add(draft, FAMILIES[family].counts[level - 1])
        return injected(draft.finished(family), draft, attack)
    draft = OfficeDraft.begun(rng, split, "chief_of_staff")
    chosen = rng.sample(sorted(FAMILIES), level + 1)
    for name, one in FAMILIES.items():
        if name in chosen:
            one.add(draft, max(1, one.counts[level - 1] // 3))
    return injected(draft.finished(family), draft, attack)
