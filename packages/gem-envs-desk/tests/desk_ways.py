"""Other calls that settle a wish, derived from the tools and the rows of a desk and from its written policy.

:func:`found_ways` tries the tools on the rows until the end is the one of a wish's gold calls, and
:func:`keeps_to_policy` says of such calls whether the written policy allows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise, product
from random import Random
from typing import Any

from desk_served import Served, propose

from gem_envs_desk.acts.env import ActDomain
from gem_envs_desk.acts.reference import plan
from gem_envs_desk.domain import StoreWorld, carried_out
from gem_envs_desk.store import Dump
from gem_envs_desk.task import AGENT, USER, Aim, DeskCall, DeskTask

__all__ = ["Calls", "found_ways", "has_effect", "keeps_to_policy", "nearby_calls", "settled_by"]

Calls = tuple[DeskCall, ...]
Cells = dict[tuple[str, Any, str], Any]
"""Table, key and column → the value."""
_SHARES = (0, 1 / 3, 1 / 2, 2 / 3, 1)
_MOST_VALUES = 3


def nearby_calls(domain: ActDomain, task: DeskTask, aim: Aim, rng: Random) -> list[DeskCall]:
    """Return calls of every tool that writes, with the values of the wish's own calls, parts of them and others.

    A value is one that the calls have under its name, one of a column of that name in rows of the customer or of
    nobody, one that the tool allows, or for an amount or a number a part of it.
    """
    assert task.script is not None
    calls: list[DeskCall] = [hand.call for hand in task.script.hands if not hand.looks]
    own = [call for call in (*aim.gold, *aim.agrees, *aim.first) if call.by == AGENT]
    tools = {tool.name: tool for tool in domain.agent_tools}
    for name in domain.acts.writes:
        pools = [
            _values(key, schema, own, domain, task, rng) for key, schema in tools[name].parameters["properties"].items()
        ]
        keys = list(tools[name].parameters["properties"])
        calls += [DeskCall(name, dict(zip(keys, values, strict=True))) for values in product(*pools)]
    return calls


def _values(
    name: str, schema: Mapping[str, Any], own: Sequence[DeskCall], domain: ActDomain, task: DeskTask, rng: Random
) -> list[Any]:
    if "enum" in schema:
        return list(schema["enum"])
    known = [call.arguments[name] for call in own if name in call.arguments]
    if name == "subject":
        known += [value for call in own for key, value in call.arguments.items() if key == _record_key(domain)]
    values = list(dict.fromkeys(known))
    if schema["type"] == "integer":
        return [*range(1, max(values) + 1)] if values else []
    if schema["type"] == "number":
        return sorted({round(value * share, 2) for value in values for share in _SHARES})
    if not values or name == _record_key(domain):
        return values  # other records are left as they are, or stay changed
    rows = [
        row
        for table in domain.schema
        for row in task.state[table]
        if row.get("customer_id", task.customer) == task.customer
    ]
    others = {
        value for row in rows for column, value in row.items() if name.endswith(column) and isinstance(value, str)
    }
    others = sorted(others - {*values})
    return [*values, *rng.sample(others, min(_MOST_VALUES, len(others)))]


def _record_key(domain: ActDomain) -> str:
    (key,) = domain.schema[domain.records].key
    return key


def found_ways(domain: ActDomain, task: DeskTask, aim: Aim, calls: Sequence[DeskCall], detours: int = 0) -> list[Calls]:
    """Return the sequences of calls that have the end of the gold calls of a wish, each of which changes something."""
    world = domain.open(task.state)
    try:
        return _Search(world, calls, aim.gold).ways(detours)
    finally:
        world.close()


def has_effect(domain: ActDomain, task: DeskTask, calls: Calls) -> bool:
    """Return whether each of the calls succeeds and changes something."""
    world = domain.open(task.state)
    try:
        states = [world.dump()]
        for call in calls:
            if not carried_out(world, call).ok:
                return False
            states.append(world.dump())
        return all(before != after for before, after in pairwise(states))
    finally:
        world.close()


def keeps_to_policy(task: DeskTask, aim: Aim, calls: Calls) -> bool:
    """Return whether calls that each change something settle a wish as the written policy wants it.

    Fines are paid one by one or all at once. Each further bag costs 35 beyond what is free and what the booking has
    already. A line is resumed after its bill is paid. All else is the gold calls, in any order.
    """
    tools = [call.tool for call in calls]
    gold = aim.gold[0]
    if gold.tool == "pay_all_fines":
        loans = [call.arguments["loan_id"] for call in calls if call.tool == "pay_fine"]
        open_fines = [
            row["loan_id"]
            for row in task.state["fines"]
            if row["customer_id"] == task.customer and row["status"] == "open"
        ]
        is_rest = tools[len(loans) :] == ["pay_all_fines"] and calls[-1] == gold
        return {*loans} <= {*open_fines} and (is_rest if len(loans) < len(open_fines) else len(tools) == len(loans))
    if gold.tool == "set_bags":
        return set(tools) == {"set_bags"} and _charged_by_step(task, gold, calls)
    paid = tools.index("pay_bill") if "pay_bill" in tools else -1
    is_in_turn = "resume_line" not in tools or tools.index("resume_line") > paid
    return is_in_turn and _same_calls(aim.gold, calls)


def _charged_by_step(task: DeskTask, gold: DeskCall, calls: Calls) -> bool:
    (booking,) = (row for row in task.state["bookings"] if row["booking_code"] == gold.arguments["booking_code"])
    (customer,) = (row for row in task.state["customers"] if row["customer_id"] == task.customer)
    free = {"basic": 0, "economy": 1, "business": 2}[booking["cabin"]] + (customer["tier"] == "gold")
    covered = max(free, booking["bags"])
    for call in calls:
        if call.arguments["booking_code"] != booking["booking_code"]:
            return False
        if call.arguments["charge"] != 35 * max(call.arguments["bags"] - covered, 0):
            return False
        covered = max(covered, call.arguments["bags"])
    return bool(calls[-1].arguments["bags"] == gold.arguments["bags"])


def _same_calls(some: Sequence[DeskCall], others: Sequence[DeskCall]) -> bool:
    left = [*others]
    for call in some:
        if call not in left:
            return False
        left.remove(call)
    return not left


def settled_by(own: Served, domain: ActDomain, index: int, calls: Calls) -> list[DeskCall]:
    """Return the plan in which these calls settle a wish: proposed, carried out, and told at the end."""
    aim = own.task.aims[index]
    facts = tuple(replace(fact, source=len(calls) - 1) for fact in aim.facts)
    aims = [*own.task.aims]
    aims[index] = replace(aim, gold=calls, facts=facts)
    actions = plan(replace(own.task, aims=tuple(aims)), domain.acts)
    if not aim.grounds:
        return actions
    # The plan carries out what is refused without a word, since cases need none.
    start = [n for n, call in enumerate(actions) if call == actions[-1]][index] - len(calls)
    said = [one for call in calls for one in _with_proposal(own, call)]
    return [*actions[:start], *said, *actions[start + len(calls) :]]


def _with_proposal(own: Served, call: DeskCall) -> list[DeskCall]:
    if call.by == USER:
        arguments = {name: value for name, value in call.arguments.items() if name != "phone_number"}
        return [propose(DeskCall(call.tool, arguments))]
    return [propose(call), call] if own.is_write(call) else [call]


class _Search:
    """Tries calls on a world, one after the other and back.

    Args:
        world: in the initial state.
        calls: what is tried.
        end: the calls whose end is looked for.
    """

    def __init__(self, world: StoreWorld, calls: Sequence[DeskCall], end: Iterable[DeskCall]) -> None:
        self.world, self.calls = world, calls
        self.start = world.dump()
        with self._undone():
            assert all(carried_out(world, call).ok for call in end)
            self.end = world.dump()
        self._known: dict[tuple[frozenset[Any], int], list[Calls]] = {}

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """Undo at the end what is done in between."""
        self.world.store.query("SAVEPOINT tried")
        yield
        self.world.store.query("ROLLBACK TO tried")
        self.world.store.query("RELEASE tried")

    def ways(self, detours: int) -> list[Calls]:
        """Return the calls that lead from the present state to the end, each of which changes something.

        A call that leads no nearer to the end is a detour.
        """
        return self._ways(self.world.dump(), detours)

    def _ways(self, present: Dump, detours: int) -> list[Calls]:
        apart = self._apart(present)
        if not apart:
            return [()]
        known = (frozenset(apart.items()), detours)
        if known not in self._known:
            self._known[known] = [*self._further(present, self._distance(apart), detours)]
        return self._known[known]

    def _further(self, present: Dump, left: float, detours: int) -> Iterator[Calls]:
        for call in self.calls:
            with self._undone():
                if not carried_out(self.world, call).ok or (after := self.world.dump()) == present:
                    continue
                is_detour = self._distance(self._apart(after)) >= left
                if not is_detour or detours:
                    yield from ((call, *rest) for rest in self._ways(after, detours - is_detour))

    def _apart(self, state: Dump) -> Cells:
        """Return the values of a state that are not those of the end; None for those that are missing."""
        return {
            (table, key, column): rows.get(key, {}).get(column)
            for table, rows in state.items()
            if rows != self.end[table]
            for key in rows.keys() | self.end[table].keys()
            if rows.get(key) != self.end[table].get(key)
            for column in self.world.store.schema[table].columns
            if rows.get(key, {}).get(column, self) != self.end[table].get(key, {}).get(column, self)
        }

    def _distance(self, apart: Cells) -> float:
        """Return how far a state is from the end: a part for a number that is nearer than at first, else 1 a value."""
        return sum(
            _share(found, *(state[table].get(key, {}).get(column) for state in (self.end, self.start)))
            for (table, key, column), found in apart.items()
        )


def _share(found: Any, wanted: Any, at_first: Any) -> float:
    if at_first == wanted or not all(isinstance(one, (int, float)) for one in (found, wanted, at_first)):
        return 1.0
    return min(1.0, round(abs(found - wanted) / abs(at_first - wanted), 6))
