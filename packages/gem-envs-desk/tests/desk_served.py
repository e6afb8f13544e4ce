"""A task with the plan that serves its customer rightly: :class:`Served`, from which other ways to serve are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gem_envs_desk.acts.env import ActDeskEnv
from gem_envs_desk.acts.language import ASK, PROPOSE, SAY, TELL
from gem_envs_desk.acts.reference import plan
from gem_envs_desk.reference import call_text
from gem_envs_desk.task import CASE, DeskCall, DeskTask

__all__ = ["Action", "Served", "Way", "each", "propose", "say", "served", "tell", "texts", "without"]

Action = DeskCall | str
Way = list[Action] | None
"""What an agent does, one action a turn; None where the task gives no occasion."""


class _Records(NamedTuple):
    """Where a desk keeps what its customers have."""

    table: str
    key: str
    read: str
    """The tool that shows one."""
    shown: str
    """A column that it shows."""


_RECORDS = {
    "retail": _Records("orders", "order_id", "get_order", "street"),
    "airline": _Records("bookings", "booking_code", "get_booking", "fare_paid"),
    "telecom": _Records("lines", "phone_number", "get_line", "contract_ends"),
    "library": _Records("loans", "loan_id", "get_loan", "due_on"),
}


@dataclass(frozen=True)
class Served:
    """A task with the plan that solves it."""

    desk: str
    task: DeskTask
    writes: frozenset[str]
    topics: frozenset[str]
    facts: frozenset[str]
    grounds: tuple[str, ...]
    plan: tuple[DeskCall, ...]

    @property
    def records(self) -> _Records:
        return _RECORDS[self.desk]

    def where(self, holds: Callable[[DeskCall], bool]) -> list[int]:
        """Return the places of the plan whose call is so."""
        return [index for index, call in enumerate(self.plan) if holds(call)]

    def is_write(self, call: DeskCall) -> bool:
        return call.tool in self.writes and call.tool != CASE

    def is_proposal(self, call: DeskCall) -> bool:
        return call.tool == PROPOSE and call.arguments["action"] in self.writes

    def is_question(self, call: Action) -> bool:
        """Return whether an action asks for something that the desk's customers know, and so tells nothing itself."""
        return isinstance(call, DeskCall) and call.tool == ASK and call.arguments["what"] in self.topics

    def is_fact(self, call: DeskCall) -> bool:
        return call.tool == TELL and call.arguments["fact"] in self.facts

    def is_telling(self, call: DeskCall, fact: str) -> bool:
        return call.tool == TELL and call.arguments["fact"] == fact

    def rows(self, own: bool) -> Iterable[dict[str, Any]]:
        """Yield the records of a customer's, own or a stranger's, that no gold call is about."""
        table, key = self.records.table, self.records.key
        used = json.dumps([dict(call.arguments) for call in self.task.gold])
        for row in self.task.state[table]:
            if (row["customer_id"] == self.task.customer) == own and row[key] not in used:
                yield row

    def with_replaced(self, index: int, *actions: Action) -> list[Action]:
        return [*self.plan[:index], *actions, *self.plan[index + 1 :]]


def served(env: ActDeskEnv) -> Served:
    """Return the task of an environment in play, with its plan."""
    acts, task = env.domain.acts, env.current
    calls = tuple(plan(task, acts))
    writes, topics, facts = map(frozenset, (acts.writes, acts.topics, acts.facts))
    return Served(env.domain.name, task, writes, topics, facts, acts.grounds, calls)


def texts(actions: Sequence[Action]) -> list[str]:
    """Return actions as texts."""
    return [action if isinstance(action, str) else call_text(action) for action in actions]


def say(text: str) -> DeskCall:
    return DeskCall(SAY, {"text": text})


def tell(fact: str, value: Any) -> DeskCall:
    return DeskCall(TELL, {"fact": fact, "value": value})


def propose(call: DeskCall) -> DeskCall:
    return DeskCall(PROPOSE, {"action": call.tool, "arguments": dict(call.arguments)})


def without(own: Served, holds: Callable[[DeskCall], bool]) -> Way:
    left = [call for call in own.plan if not holds(call)]
    return None if len(left) == len(own.plan) else list(left)


def each(own: Served, holds: Callable[[DeskCall], bool], change: Callable[[DeskCall], list[Action]]):
    """Return the plan with each call that is so replaced; None if there is none."""
    if not own.where(holds):
        return None
    return [action for call in own.plan for action in (change(call) if holds(call) else [call])]
