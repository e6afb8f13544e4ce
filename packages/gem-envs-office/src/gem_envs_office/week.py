"""A company that goes on from episode to episode: :class:`OfficeWeekEnv`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta
from random import Random
from typing import Any

from gem.arguments import boolean, integer
from gem.core import Info
from gem.errors import ArgumentError
from gem.numbered_tasks import TASKS
from gem.state_fields import StateFields
from gem_envs_office.attacks import NO_ATTACK, injected
from gem_envs_office.content.company import working_days
from gem_envs_office.content.tables import Tables
from gem_envs_office.declarations import company
from gem_envs_office.env import OfficeEnv
from gem_envs_office.families.registry import FAMILIES, first_solvable
from gem_envs_office.policies import Rulebook
from gem_envs_office.store import Row
from gem_envs_office.task import OfficeDraft, OfficeTask

__all__ = ["OfficeWeekEnv"]

_FAMILIES = tuple(name for name in FAMILIES if name != "MonthEnd")
"""What can happen on any day."""
_PARTS = ("day", "today", "numbers", "agent_id", "tables")


class OfficeWeekEnv(OfficeEnv):
    """A day's work an episode, as chief of staff of a company that goes on: what was done yesterday, right or wrong, is
    there today.

    ``reset(seed=…)`` begins a new company; ``reset()`` goes on in the present one, on its next working day. Colleagues
    have taken over what was left of the day before: tickets of the agent, customers' orders, alerts and incidents.
    ``snapshot()`` returns the company, and the reset option ``snapshot`` goes on from one. The option
    ``new_company=True`` begins a new one without a seed, and ``task``, an int below 2⁴⁸, chooses what happens on the
    day. ``info["day"]`` on reset counts the days of the company from 1.

    Args:
        level: 1 to 3: refunds, new colleagues, incidents, or what has to be re-planned, more of them with the level.
        split: ``"train"`` or ``"test"``. No company is in both.
        attack: see :class:`gem_envs_office.env.OfficeEnv`, as for the other arguments.
        reward: see there.
        max_turns: see there.
        tool_instructions: see there.
    """

    follows_order = True
    saved = OfficeEnv.saved | StateFields(start=dict[str, Any])

    def __init__(
        self,
        level: int = 1,
        split: str = "train",
        attack: str = NO_ATTACK,
        reward: str = "all",
        max_turns: int | None = None,
        tool_instructions: bool = True,
    ) -> None:
        super().__init__("Mixed", level, split, attack, reward, max_turns, tool_instructions)
        self.start: dict[str, Any] | None = None
        self._is_new = True

    def snapshot(self) -> dict[str, Any]:
        """Return the present state of the company, JSON values."""
        assert self.start is not None
        tables = {name: list(rows.values()) for name, rows in self.world.store.state().items()}
        return {**self.start, "today": self.current.today, "tables": tables}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """Begin the next day; with a seed, the first one of a new company."""
        self._is_new = seed is not None
        observation, info = super().reset(seed, options)
        assert self.start is not None
        return observation, {**info, "day": self.start["day"]}

    def _begin(self, task: int | None = None, snapshot: Any = None, new_company: bool = False) -> None:
        if snapshot is not None and boolean("new_company", new_company):
            raise ArgumentError("give snapshot or new_company, not both")
        if snapshot is not None:
            yesterday = _checked(snapshot)
        elif self._is_new or boolean("new_company", new_company) or self.start is None:
            yesterday = _founded(self.rng.getrandbits(48), self.split)
        else:
            yesterday = self.snapshot()
        number = self.rng.getrandbits(48)
        super()._begin(number if task is None else integer("task", task, minimum=0, maximum=TASKS - 1))
        self.start = _next_morning(yesterday)

    def _drawn(self) -> OfficeTask:
        rng = Random(f"office week {self.split} {self.level} {self.task}")
        return first_solvable(lambda: self._day(rng))

    def _day(self, rng: Random) -> OfficeTask:
        assert self.start is not None
        start = self.start
        draft = OfficeDraft(
            rng,
            self.split,
            date.fromisoformat(start["today"]),
            Rulebook(start["numbers"]),
            Tables(_copied(start["tables"])),  # a task that cannot be solved leaves nothing in them
            start["agent_id"],
        )
        name = rng.choice(_FAMILIES)
        FAMILIES[name].add(draft, FAMILIES[name].counts[self.level - 1])
        return injected(draft.finished(name), draft, self.attack)

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        self.start = _checked(self.start)


def _founded(number: int, split: str) -> dict[str, Any]:
    """Return a company on the evening before its first day."""
    draft = OfficeDraft.begun(Random(f"office company {split} {number}"), split, "chief_of_staff")
    tables: dict[str, Any] = dict(draft.tables)
    parts = (0, draft.day(-1), draft.numbers, draft.agent_id, tables)
    return dict(zip(_PARTS, parts, strict=True))


def _next_morning(yesterday: Mapping[str, Any]) -> dict[str, Any]:
    """Return the company on the next working day, when colleagues have taken over what was left."""
    evening = date.fromisoformat(yesterday["today"])
    today = working_days(evening + timedelta(days=1), 1)[0]
    tables = _copied(yesterday["tables"])
    for name, table in company().tables.items():
        numbers = [column.name for column in table.columns.values() if column.kind == "seq"]
        for row in tables.get(name, ()) if numbers else ():
            row.update(dict.fromkeys(numbers))  # what is older than the day is not judged again
    tables["audit_log"], tables["colleague_requests"] = [], []
    for row in tables["tickets"]:
        if row["status"] == "open" and row["assignee_id"] == yesterday["agent_id"]:
            row.update(status="resolved", resolution="done")
    for row in tables["sales_orders"]:
        if row["status"] == "open":
            row["status"] = "shipped"
    for row in (*tables["alerts"], *tables["incidents"]):
        if row["status"] != "dismissed":
            row["status"] = "resolved"
    for row in tables["employees"]:
        if row.get("away_until") and row["away_until"] < today:
            row.update(status="active", away_until=None)
    return {**yesterday, "day": yesterday["day"] + 1, "today": today, "tables": tables}


def _copied(tables: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    return {name: [dict(row) for row in rows] for name, rows in tables.items()}


def _checked(snapshot: Any) -> dict[str, Any]:
    """Return a copy of a snapshot.

    Raises:
        ArgumentError: if it is none.
    """
    try:
        copied = {name: json.loads(json.dumps(snapshot[name])) for name in _PARTS}
        integer("day", copied["day"], minimum=0)
        date.fromisoformat(copied["today"])
        if unknown := set(copied["tables"]) - set(company().tables):
            raise ArgumentError(f"there is no table {', '.join(sorted(unknown))}")
        for name, rows in copied["tables"].items():
            table = company().tables[name]
            if any(not set(row) <= set(table.columns) or table.key not in row for row in rows):
                raise ArgumentError(f"the table {name} has other columns")
        if not any(row["employee_id"] == copied["agent_id"] for row in copied["tables"]["employees"]):
            raise ArgumentError(f"there is no employee {copied['agent_id']!r:.40}")
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise ArgumentError(f"snapshot must be one of this environment: {error}") from error
    return copied
