"""The same service by other acts: :func:`in_other_order`, :func:`identified_otherwise`, :func:`with_detours`.

What must keep its order is said once, by the rules of :func:`kept_orders`; :func:`in_wrong_order` breaks one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import Any

from desk_served import Served, say

from gem_envs_desk.acts.language import ASK, DONE, PROPOSE, TELL
from gem_envs_desk.facts import shows
from gem_envs_desk.task import CASE, DeskCall

__all__ = ["identified_otherwise", "in_other_order", "in_wrong_order", "with_detours"]

_IDENTIFIES = {
    "retail": ("zip", "zip_code"),
    "airline": ("booking", "booking_code"),
    "telecom": ("number", "phone_number"),
    "library": ("card", "card"),
}
"""Desk → what a customer can be found by beside the e-mail address: the topic, and the argument of the tool."""


def wishes_of(actions: Sequence[DeskCall]) -> list[list[DeskCall]]:
    """Return the acts of each wish, with the question for further ones that ends it."""
    wishes: list[list[DeskCall]] = [[]]
    for action in actions:
        wishes[-1].append(action)
        if action == actions[-1]:
            wishes.append([])
    return wishes[:-1]


def kept_orders(own: Served, wish: Sequence[DeskCall]) -> dict[tuple[int, int], bool]:
    """Return the pairs of places of a wish whose acts must keep their order, and whether the other order costs.

    It does not where a call of the same tool has been made, where the customer may have said the same unasked, or where
    the later call fails and changes nothing.
    """
    found = {}
    for (one, first), (other, then) in combinations(enumerate(wish[:-1]), 2):
        if _keep_order(own, first, then):
            is_made = own.is_telling(then, DONE) and sum(call.tool == first.tool for call in wish) > 1
            may_be_known = first.tool == ASK and first.arguments["what"] != "e-mail"
            may_fail = (first.tool, then.tool) == ("pay_fine", "pay_all_fines") or (
                first.tool == then.tool == "set_bags" and first.arguments["charge"] == 0
            )
            found[one, other] = not is_made and not may_be_known and not may_fail
    return found


def _keep_order(own: Served, first: DeskCall, then: DeskCall) -> bool:
    if first.tool == "find_customer":
        is_public = own.is_telling(then, "price")
        return then.tool in own.writes or (then.tool in (PROPOSE, TELL) and not is_public)
    if then.tool == "find_customer":
        return first.tool == ASK
    if own.is_telling(then, DONE):
        return bool(first.tool == then.arguments["value"])
    deeds = _deed(first), _deed(then)
    if deeds in (("request_payment", "pay_bill"), ("pay_bill", "resume_line"), ("pay_fine", "pay_all_fines")):
        return not own.is_proposal(first) and not own.is_proposal(then)
    if own.is_write(first) and own.is_proposal(then):
        return False
    # The last proposal for a record is what the customer wants, or the next step.
    is_on = all(own.is_write(call) or own.is_proposal(call) for call in (first, then))
    return is_on and deeds[0] == deeds[1] and _record(first) == _record(then)


def _deed(call: DeskCall) -> str:
    """Return the tool of a call or of a proposal."""
    return str(call.arguments["action"] if call.tool == PROPOSE else call.tool)


def _record(call: DeskCall) -> Any:
    """Return what a call or a proposal is about, its first argument."""
    arguments = call.arguments["arguments"] if call.tool == PROPOSE else call.arguments
    return next(iter(arguments.values()))


def in_other_order(own: Served, actions: Sequence[DeskCall], rng: Random) -> list[DeskCall]:
    """Return a plan with the acts of each wish in an order that the policy allows."""
    found: list[DeskCall] = []
    for wish in wishes_of(actions):
        kept, left = kept_orders(own, wish), [*range(len(wish) - 1)]
        while left:
            free = [place for place in left if not any((one, place) in kept for one in left)]
            left.remove(place := rng.choice(free))
            found.append(wish[place])
        found.append(wish[-1])
    return found


def in_wrong_order(own: Served, actions: Sequence[DeskCall], rng: Random) -> list[DeskCall] | None:
    """Return a plan with one act moved behind one that must follow it; None if there is no such pair."""
    wishes = wishes_of(actions)
    pairs = [
        (number, *pair) for number, wish in enumerate(wishes) for pair, costs in kept_orders(own, wish).items() if costs
    ]
    if not pairs:
        return None
    number, first, then = rng.choice(pairs)
    wish = wishes[number]
    wishes[number] = [*wish[:first], *wish[first + 1 : then + 1], wish[first], *wish[then + 1 :]]
    return [action for wish in wishes for action in wish]


def identified_otherwise(own: Served, actions: Sequence[DeskCall]) -> list[DeskCall]:
    """Return a plan in which the customer is found by what they can say beside the e-mail address, if there is any."""
    script = own.task.script
    assert script is not None
    topic, name = _IDENTIFIES[own.desk]
    (customer,) = (row for row in own.task.state["customers"] if row["customer_id"] == own.task.customer)
    slots = (*script.slots, *script.wishes[0].slots)
    slot = next((slot for slot in slots if slot.name == topic), None)
    values = (
        [customer[topic]]
        if topic in customer
        else [row[name] for row in own.task.state[own.records.table] if row["customer_id"] == own.task.customer]
    )
    value = next((value for value in values if slot is not None and shows(slot.says, value)), None)
    if slot is None or value is None:
        return [*actions]
    data = {name: value} if own.desk == "telecom" else {"last_name": customer["last_name"], name: value}
    asked = ["name", topic, topic] if slot.wrong else ["name", topic]
    return [*(DeskCall(ASK, {"what": one}) for one in asked), DeskCall("find_customer", data), *actions[2:]]


def with_detours(own: Served, actions: Sequence[DeskCall], rng: Random) -> list[DeskCall]:
    """Return a plan with up to three acts more that lead nowhere, and change nothing."""
    found = [*actions]
    records = own.records
    row = next(row for row in own.task.state[records.table] if row["customer_id"] == own.task.customer)
    start = next(place for place, call in enumerate(found) if call.tool == "find_customer")
    nobody = {records.key: "X00000"}
    detours = (
        DeskCall(records.read, {records.key: row[records.key]}),
        DeskCall(records.read, nobody),  # fails
        DeskCall(CASE, {"subject": "X00000", "category": "refused request"}),  # fails
        DeskCall(ASK, {"what": "name"}),
        DeskCall(ASK, {"what": "the weather"}),
        DeskCall(PROPOSE, {"action": rng.choice(sorted(own.writes - {CASE})), "arguments": nobody}),  # denied
        say("Shall I proceed? It costs 9999 euros."),
    )
    for detour in rng.sample(detours, rng.randint(0, 3)):
        found.insert(rng.randint(start + 1, len(found) - 1), detour)
    return found
