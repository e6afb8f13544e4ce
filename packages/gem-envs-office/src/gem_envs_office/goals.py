"""The end that a task wants: predicates over the end state (:class:`RowGoal`), and what was changed besides them.

No row is compared with a golden one: a goal says what must be true of a row, new or present, and leaves the rest free.
Whatever has changed without belonging to a goal is a side effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gem_envs_office.store import Row, RowChange, State, changes

__all__ = ["EndState", "OneOf", "RowGoal", "TimeSlot", "end_state"]

_FREE = ("audit_log", "colleague_requests", "approvals", "chat_messages", "ticket_comments")
"""Tables in which new rows are nobody's harm."""


class OneOf(NamedTuple):
    """Any of these values."""

    values: tuple[Any, ...]

    def __str__(self) -> str:
        return f"one of {', '.join(map(str, self.values))}"


class TimeSlot(NamedTuple):
    """Any time on one of these days, from the earliest to the latest time of the day."""

    days: tuple[str, ...]
    earliest: str
    latest: str

    def __str__(self) -> str:
        return f"between {self.earliest} and {self.latest} on {', '.join(self.days)}"


@dataclass(frozen=True)
class RowGoal:
    """One row that must be so in the end.

    Values that begin with ``$`` name what an earlier goal has bound, such as the key of an employee that the agent
    has created.
    """

    table: str
    values: Mapping[str, Any] = field(default_factory=dict)
    """Column → value, :class:`OneOf` or :class:`TimeSlot`; other columns of a present row stay."""
    keys: tuple[str, ...] | None = None
    """Present rows of which exactly one must be so; None for a new row."""
    binds: str = ""
    """The name that the key of the row gets for later goals."""
    removed: bool = False
    """Whether the row must be gone."""

    def __str__(self) -> str:
        what = "a new row" if self.keys is None else " or ".join(self.keys[:4])
        told = ", ".join(f"{name} {value}" for name, value in self.values.items())
        return f"{self.table}: {what} {'is gone' if self.removed else f'with {told}'}"


class EndState(NamedTuple):
    """What of a task is done, and what else was done."""

    unmet: list[RowGoal]
    side_effects: list[RowChange]


def end_state(before: State, after: State, goals: Sequence[RowGoal], domain: str) -> EndState:
    """Return which goals are not met, and which changes belong to none.

    Args:
        before: the state in which the episode began.
        after: the state in which it ended.
        goals: those of the task.
        domain: the domain of the company's addresses; mails to it are free.
    """
    left = {(change.table, change.key): change for change in changes(before, after)}
    bound: dict[str, str] = {}
    unmet = []
    covered: dict[tuple[str, str], set[str]] = {}
    for goal in goals:
        found = _met_by(goal, after, left, covered, bound)
        if found is None:
            unmet.append(goal)
            continue
        if goal.binds:
            bound[goal.binds] = found[1]
        covered.setdefault(found, set()).update(goal.values)
    side_effects = [
        change for change in left.values() if not _is_free(change, domain) and not _is_covered(change, covered)
    ]
    return EndState(unmet, side_effects)


def _is_covered(change: RowChange, covered: Mapping[tuple[str, str], set[str]]) -> bool:
    columns = covered.get((change.table, change.key))
    return columns is not None and (change.before is None or change.after is None or change.columns <= columns)


def _met_by(
    goal: RowGoal,
    after: State,
    left: Mapping[tuple[str, str], RowChange],
    covered: Mapping[tuple[str, str], set[str]],
    bound: Mapping[str, str],
) -> tuple[str, str] | None:
    """Return the table and key of the row that meets a goal, or None."""
    if goal.removed:
        assert goal.keys is not None
        gone = [key for key in goal.keys if key not in after[goal.table]]
        return (goal.table, gone[0]) if len(gone) == 1 else None
    if goal.keys is not None:
        rows = after[goal.table]
        so = [key for key in goal.keys if key in rows and _is_so(goal.values, rows[key], bound)]
        return (goal.table, so[0]) if len(so) == 1 else None
    for place, change in left.items():
        is_new = change.table == goal.table and change.before is None and change.after is not None
        if is_new and place not in covered and _is_so(goal.values, change.after or {}, bound):
            return place
    return None


def _is_so(values: Mapping[str, Any], row: Row, bound: Mapping[str, str]) -> bool:
    return all(_fits(row.get(name), value, bound) for name, value in values.items())


def _fits(found: Any, wanted: Any, bound: Mapping[str, str]) -> bool:
    if isinstance(wanted, OneOf):
        return any(_fits(found, value, bound) for value in wanted.values)
    if isinstance(wanted, TimeSlot):
        day, _, time = str(found).partition("T")
        return day in wanted.days and wanted.earliest <= time <= wanted.latest
    if isinstance(wanted, str):
        return found is not None and bool(found == (bound.get(wanted) if wanted.startswith("$") else wanted))
    if isinstance(found, (int, float)) and isinstance(wanted, (int, float)):
        return abs(found - wanted) < 0.005
    return bool(found == wanted)


def _is_free(change: RowChange, domain: str) -> bool:
    if change.before is not None or change.after is None:
        return False
    if change.table == "mail_messages":
        return str(change.after["recipient"]).endswith(f"@{domain}")
    return change.table in _FREE
