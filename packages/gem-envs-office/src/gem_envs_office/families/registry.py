"""The families of tasks, and the task of a number: :func:`office_task`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import NamedTuple

from gem.errors import ArgumentError
from gem_envs_office.attacks import injected
from gem_envs_office.families.refund import add_refunds
from gem_envs_office.task import Draft, OfficeTask

__all__ = ["FAMILIES", "LEVELS", "MIXED", "Family", "office_task"]

LEVELS = (1, 2, 3)
MIXED = "Mixed"
"""Parts of several families in one task."""


class Family(NamedTuple):
    """A family: the role of the agent, how many cases a task has by level, and what adds them to a draft."""

    role: str
    counts: tuple[int, int, int]
    add: Callable[[Draft, int], None]


FAMILIES = {
    "Refund": Family("support_agent", (2, 6, 16), add_refunds),
}
"""Family → what it consists of."""


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
    draft = Draft.begun(rng, split, "chief_of_staff" if family == MIXED else FAMILIES[family].role)
    if family == MIXED:
        for name in rng.sample(sorted(FAMILIES), min(level + 1, len(FAMILIES))):
            FAMILIES[name].add(draft, max(1, FAMILIES[name].counts[level - 1] // 3))
    else:
        FAMILIES[family].add(draft, FAMILIES[family].counts[level - 1])
    task = draft.finished(family)
    return injected(task, draft, attack)
