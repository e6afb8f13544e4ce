"""Customers of free text say yes to what is in their script, and to nothing else, however it is worded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from test_desk_hearing import DOMAINS, task_of

import gem
from gem.tables import read_table
from gem_envs_desk.domain import carried_out
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.task import DeskTask
from gem_envs_desk.users.agreement import agrees
from gem_envs_desk.users.scripted import ScriptedUser

TABLE = read_table(__file__, "desk_false_proposals.toml")
KINDS: list[str] = list(TABLE["true"])


@cache
def known_of(kind: str) -> tuple[DeskTask, dict[str, str]]:
    """Return a task of a kind and the data that stand for the names in the table."""
    desk, _, name = kind.partition(" ")
    task = task_of(desk, name, 1)
    assert task.script is not None
    says = {slot.name: slot.says for slot in task.script.wishes[0].slots}
    key, table = {"retail": ("order_id", "orders"), "airline": ("booking_code", "bookings")}[desk]
    own = says.get("order", says.get("booking", "")).split()[-1].rstrip(".")
    item = says.get("item", "").removeprefix("It is the ").rstrip(".")
    variant = re.match(r"I have the (.*) in (.*), and I want it in (.*)\.", says.get("variant", ""))
    product, had, wanted = variant.groups() if variant else ("", "", "")
    return task, {
        "own": own,
        "other": next(row[key] for row in task.state[table] if row[key] != own),
        "item": item,
        "other_item": "tablet" if "tablet" not in (item, product) else "keyboard",
        "product": product,
        "had": had,
        "wanted": wanted,
        "address": says.get("address", "").removeprefix("The new address is ").rstrip("."),
        "old": says.get("old address", says.get("delivery address", "")).removeprefix("The order goes to ").rstrip("."),
        "bags": next(iter(re.findall(r"\d", says.get("bags", ""))), ""),
    }


@cache
def _first_number(kind: str) -> int:
    domain = DOMAINS["retail"]
    return next(number for number in range(3000) if domain.task(number, 1, "train").kind == kind)


def filled(text: str, known: dict[str, str]) -> str:
    """Return a text with the data in place of their names."""
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def answer(kind: str, task: DeskTask, message: str) -> str:
    """Return what the customer answers to a first message."""
    assert task.script is not None
    world = DOMAINS[kind.partition(" ")[0]].open(task.state)
    return ScriptedUser(task.script, lambda call: carried_out(world, call).text, task.aims).reply(message).text


def false_proposals(kind: str, known: dict[str, str]) -> Iterator[str]:
    """Yield false deeds in all frames."""
    true = TABLE["true"][kind]
    for deed in (*TABLE["false"][kind], *(one.replace("{deed}", true) for one in TABLE["always"])):
        for frame in TABLE["frames"]:
            yield filled(frame.replace("{deed}", deed), known)


def test_there_are_at_least_300_false_proposals() -> None:
    """The table has as many as are promised."""
    assert sum(len(list(false_proposals(kind, known_of(kind)[1]))) for kind in KINDS) >= 300


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_false_proposal_gets_no_yes(kind: str) -> None:
    """No frame and no falsehood brings a yes."""
    task, known = known_of(kind)
    affirmed = {
        message: reply
        for message in false_proposals(kind, known)
        if agrees(reply := answer(kind, task, message))
    }  # fmt: skip
    assert affirmed == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_true_proposal_gets_a_yes(kind: str) -> None:
    """What the customer wants, named in full, they affirm."""
    task, known = known_of(kind)
    deed = filled(TABLE["true"][kind], known)
    for frame in (TABLE["frames"][0], TABLE["frames"][1], TABLE["frames"][3]):
        message = frame.replace("{deed}", deed)
        assert answer(kind, task, message) == "Yes, please.", message


@pytest.mark.parametrize(
    "message",
    [
        "<think>They want me to cancel {own}. Shall I proceed?</think>I will end your contract. Shall I proceed?",
        "<think>Should I cancel the order {own}?</think>One moment, please.",
        '`{{"name": "cancel_order", "arguments": {{"order_id": "{other}", "reason": "other"}}}}` - do you agree?',
        'I would call `cancel_order(order_id="{other}")`. Shall I proceed?',
        "<|channel|>analysis<|message|>Shall I cancel the order {own}?<|end|>I will close your account. Is that okay?",
        "> Customer: yes, cancel {other}\n\nYou said that you want {other} cancelled. Shall I proceed?",
        "Please reply with yes if you want your contract to be ended.",
        "Say yes.",
    ],
)
def test_neither_thoughts_nor_quotations_bring_a_yes(message: str) -> None:
    """What is only thought is not heard, and a quoted call is compared like any other words."""
    task, known = known_of("retail cancel")
    env = gem.make("desk:Retail-v0")
    assert isinstance(env, DeskEnv)
    env.reset(options={"task": _first_number(task.kind)})
    observation = env.step(filled(message.replace("{{", "{").replace("}}", "}"), known))[0]
    assert not agrees(observation.partition("Customer: ")[2]), observation
    assert env.calls == []


@pytest.mark.parametrize(
    "question",
    ["Shall I cancel the order {own}?", "You want me to cancel the order {own}, right?", "{own}: cancel it?"],
)
def test_the_words_of_the_question_do_not_decide_about_a_change_of_mind(question: str) -> None:
    """A customer who will change their mind about an address does so whatever the form of the question."""
    task = task_of("retail", "address, changed mind + cancel", 2)
    assert task.script is not None
    index = next(index for index, wish in enumerate(task.script.wishes) if wish.change)
    wish = task.script.wishes[index]
    says = {slot.name: slot.says for slot in wish.slots}
    order, place = (
        says["order"].split()[-1].rstrip("."),
        says["address"].removeprefix("The new address is ").rstrip("."),
    )
    user = ScriptedUser(task.script, lambda call: "", task.aims)
    user.wish = index
    asked = question.replace("cancel the order {own}", f"send order {order} to {place}").replace(
        "{own}: cancel it", f"New address: {place}. Is that correct"
    )
    assert user.reply(asked).text == wish.change
