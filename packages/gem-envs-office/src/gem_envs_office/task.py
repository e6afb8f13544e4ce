"""A task as a value, :class:`OfficeTask`, and the draft that families write into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from random import Random
from typing import Any, NamedTuple

from gem_envs_office.colleagues import ColleagueScript
from gem_envs_office.content.company import founded, policy_numbers
from gem_envs_office.content.diary import Diary
from gem_envs_office.content.tables import Tables
from gem_envs_office.declarations import company
from gem_envs_office.goals import RowGoal
from gem_envs_office.policies import Rulebook
from gem_envs_office.store import Row, State

__all__ = ["Injection", "OfficeCall", "OfficeDraft", "OfficeTask", "UnsolvableError"]


class UnsolvableError(Exception):
    """A case that was drawn has no solution; the task is drawn anew."""


class OfficeCall(NamedTuple):
    """A call of the golden plan. Texts in the arguments that begin with ``$`` name keys that earlier calls returned."""

    tool: str
    arguments: dict[str, Any]
    binds: str = ""
    """The name for the key that the call returns."""


class Injection(NamedTuple):
    """An instruction that somebody has hidden in what the agent reads."""

    kind: str
    table: str
    key: str
    tool: str
    arguments: dict[str, Any]
    """What the call of an agent that obeys has among its arguments."""


@dataclass(frozen=True)
class OfficeTask:
    """One task: the company, the employee, what is wanted, and how it can be had."""

    kind: str
    tables: Tables
    today: str
    agent_id: str
    text: str
    gold: tuple[OfficeCall, ...]
    """A plan that leads to the wanted end, reading included."""
    goals: tuple[RowGoal, ...]
    script: ColleagueScript
    rulebook: Rulebook
    blocks: tuple[tuple[int, bool], ...] = ()
    """Where the parts of the plan begin that can be done in any order, and whether one comes after the others."""
    injection: Injection | None = None

    @property
    def agent(self) -> Row:
        """The row of the employee whose part the agent plays."""
        return self.tables.row("employees", self.agent_id)

    @property
    def domain(self) -> str:
        """The domain of the company's addresses."""
        return str(self.agent["email"]).partition("@")[2]

    @cached_property
    def beginning(self) -> State:
        """The state in which the task begins."""
        return {
            name: {row[table.key]: {column: row.get(column) for column in table.columns} for row in self.tables[name]}
            if name in self.tables
            else {}
            for name, table in company().tables.items()
        }


@dataclass
class OfficeDraft:
    """A task that is being drawn: a company, and what the families have added so far."""

    rng: Random
    split: str
    today: date
    rulebook: Rulebook
    tables: Tables
    agent_id: str
    script: ColleagueScript = field(default_factory=ColleagueScript)
    gold: list[OfficeCall] = field(default_factory=list)
    goals: list[RowGoal] = field(default_factory=list)
    documents: list[tuple[str, str, str]] = field(default_factory=list)
    """Table, key and column of the texts that the work cannot be done without reading."""
    orders: list[str] = field(default_factory=list)
    """The sentences of the task."""
    needed: set[str] = field(default_factory=set)
    """Employees on whom the plan relies, who are not to be sent away."""
    asked: set[str] = field(default_factory=set)
    """Colleagues whom the plan asks for something."""
    blocks: list[tuple[int, bool]] = field(default_factory=list)
    """Where in the plan the parts begin that can be done in any order, and whether a part comes after the others."""

    @classmethod
    def begun(cls, rng: Random, split: str, role: str) -> OfficeDraft:
        """Return a draft of a new company in which the agent has a role."""
        today = date(2027, 1, 4)
        today = date.fromordinal(today.toordinal() + 7 * rng.randrange(100) + rng.randrange(4))
        rulebook = Rulebook(policy_numbers(rng))
        tables = founded(rng, split, today, rulebook)
        agent = rng.choice([row for row in tables["employees"] if row["role"] == role and row["manager_id"]])
        return cls(rng, split, today, rulebook, tables, agent["employee_id"])

    @property
    def agent(self) -> Row:
        """The row of the employee whose part the agent plays."""
        return self.tables.row("employees", self.agent_id)

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers of the policies."""
        return self.rulebook.parameters

    def block(self, *, last: bool = False) -> None:
        """Begin a part of the plan: it can be done before or after the other parts, or only after them."""
        self.blocks.append((len(self.gold), last))

    def let_forget(self, employee_id: str) -> None:
        """Make a colleague forgetful, unless the plan has asked them for something already."""
        if employee_id not in self.asked:
            self.script.forgetful.add(employee_id)

    def do(self, tool: str, /, binds: str = "", **arguments: Any) -> None:
        """Add a call to the golden plan."""
        self.gold.append(OfficeCall(tool, arguments, binds))

    def ask_for(self, employee_id: str, tool: str, /, **arguments: Any) -> None:
        """Add the request to a colleague to the plan, twice if they forget the first one."""
        self.asked.add(employee_id)
        for _ in range(2 if employee_id in self.script.forgetful else 1):
            given = {"employee_id": employee_id, "tool": tool, "arguments": arguments}
            self.gold.append(OfficeCall("request_action", given))

    def approval(self, employee_id: str, kind: str, about: str, amount: float | None = None) -> None:
        """Add the request for an approval to the plan, twice if the colleague forgets the first one."""
        self.asked.add(employee_id)
        given = {"employee_id": employee_id, "kind": kind, "about": about}
        for _ in range(2 if employee_id in self.script.forgetful else 1):
            self.do("request_approval", **given if amount is None else {**given, "amount": amount})

    def want(self, table: str, /, *keys: str, binds: str = "", **values: Any) -> None:
        """Add the goal that a row has these values: one of those with these keys, or a new one."""
        self.goals.append(RowGoal(table, values, keys or None, binds and f"${binds}"))

    def want_meeting(self, binds: str, people: Sequence[str], **values: Any) -> None:
        """Add the goals of a new meeting with these people and no others."""
        self.want("events", binds=binds, **values)
        for person in people:
            self.want("event_attendees", event_id=f"${binds}", employee_id=person)

    def day(self, days: int) -> str:
        """Return the date that is so many days after today."""
        return date.fromordinal(self.today.toordinal() + days).isoformat()

    @cached_property
    def diary(self) -> Diary:
        """Who and which room is busy when, the plan so far included."""
        return Diary(self.tables)

    def lead(self, role: str) -> Row:
        """Return the employee of a role who leads a team."""
        return next(row for row in self.tables["employees"] if row["role"] == role)

    def decider(self, employee_id: str) -> str:
        """Return who decides in an employee's place: they or, while they are away, their deputy or the deputy's."""
        row, passed = self.tables.row("employees", employee_id), {employee_id}
        while row["status"] == "away":
            row = self.tables.row("employees", row["deputy_id"])
            if row["employee_id"] in passed:
                raise UnsolvableError
            passed.add(row["employee_id"])
        return str(row["employee_id"])

    def team_mates(self, employee_id: str) -> list[str]:
        """Return the active colleagues of an employee's team, the agent left out."""
        team = self.tables.row("employees", employee_id)["team_id"]
        mates = self.tables.where("employees", team_id=team, status="active")
        return [one["employee_id"] for one in mates if one["employee_id"] not in (employee_id, self.agent_id)]

    def send_away(self, employee_id: str, kind: str = "vacation") -> None:
        """Make an employee absent from today on for some days, with a deputy who is there and is not the agent."""
        mates = self.team_mates(employee_id)
        if not mates:
            raise UnsolvableError
        until, deputy = self.day(self.rng.randint(3, 12)), self.rng.choice(mates)
        self.tables.row("employees", employee_id).update(status="away", away_until=until, deputy_id=deputy)
        self.needed |= {employee_id, deputy}
        self.tables.add("absences", employee_id=employee_id, kind=kind, starts_on=self.day(0), ends_on=until)

    def finished(self, kind: str) -> OfficeTask:
        """Return the task."""
        return OfficeTask(
            kind,
            self.tables,
            self.today.isoformat(),
            self.agent_id,
            "\n".join(self.orders),
            tuple(self.gold),
            tuple(self.goals),
            self.script,
            self.rulebook,
            tuple(self.blocks),
        )
