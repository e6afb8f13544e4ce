"""What scripted users understand: a table of agents' utterances, and of the kind of reply that each must get.

The table is ``desk_hearing.toml``.
"""

from __future__ import annotations

import json
import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.tables import read_table
from gem_envs_desk.airline.env import AirlineDomain
from gem_envs_desk.domain import DeskDomain, carried_out
from gem_envs_desk.facts import shows
from gem_envs_desk.retail.env import RetailDomain
from gem_envs_desk.task import DeskTask
from gem_envs_desk.telecom.env import TelecomDomain
from gem_envs_desk.users.scripted import ScriptedUser

DOMAINS: dict[str, DeskDomain] = {
    "retail": RetailDomain(),
    "airline": AirlineDomain(),
    "telecom": TelecomDomain(),
}
TABLES = read_table(__file__, "desk_hearing.toml")
KINDS: dict[str, str] = TABLES["kinds"]


@cache
def task_of(desk: str, kind: str, level: int) -> DeskTask:
    """Return the first task of a kind without wrong data."""
    domain = DOMAINS[desk]
    tasks = (domain.task(number, level, "train") for number in range(3000))
    return next(
        task for task in tasks
        if task.kind == kind and task.script is not None and not any(slot.wrong for slot in task.script.wishes[0].slots)
    )  # fmt: skip


def user_of(task: DeskTask, desk: str) -> ScriptedUser:
    """Return the user of a task; what they do, they do in a world of their own."""
    assert task.script is not None
    world = DOMAINS[desk].open(task.state)
    return ScriptedUser(task.script, lambda call: carried_out(world, call).text, task.aims)


def known_of(task: DeskTask) -> dict[str, str]:
    """Return the data that stand for the names in the table."""
    assert task.script is not None
    wish = task.script.wishes[0]
    said = {slot.name: slot.says for slot in (*wish.slots, *task.script.slots)}
    known = {"wish": wish.says, "reason": said.get("reason", ""), "change": wish.change, "protest": wish.protest}
    for name, slot in (
        ("order", "order"),
        ("email", "e-mail"),
        ("zip", "zip"),
        ("code", "booking"),
        ("number", "number"),
    ):
        known[name] = said[slot].split()[-1].rstrip(".") if slot in said else ""
    known["other"] = "tablet" if "tablet" not in said.get("item", "") else "keyboard"
    known["name"] = said["name"].removeprefix("My name is ").rstrip(".")
    known["first"], known["last"] = known["name"].split()
    place = re.match(r"The order goes to (.*), (\d+) (.*)\.", said.get("delivery address", ""))
    known["street"], known["zip_code"], known["city"] = place.groups() if place else ("", "", "")
    return known


def filled(text: str, known: dict[str, str], escape: bool = False) -> str:
    """Return a text with the data of the task in place of their names."""
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", re.escape(value) if escape else value)
    return text


CASES = [(kind, utterance) for kind, utterances in TABLES["cancel"].items() for utterance in utterances]


@pytest.mark.parametrize(("kind", "utterance"), CASES)
def test_a_customer_who_cancels_understands(kind: str, utterance: str) -> None:
    """The first message after the wish gets a reply of the right kind."""
    task = task_of("retail", "cancel", 1)
    known = known_of(task)
    reply = user_of(task, "retail").reply(filled(utterance, known))
    assert re.search(filled(KINDS[kind], known, escape=True), reply.text), reply.text
    assert reply.ends == (kind in ("bye", "pity, bye"))


@pytest.mark.parametrize(("desk", "kind", "level", "messages", "wanted"), TABLES["conversations"])
def test_customers_understand_in_the_course_of_a_conversation(
    desk: str, kind: str, level: int, messages: list[str], wanted: str
) -> None:
    """The last message gets a reply of the right kind, after others and at every desk."""
    task = task_of(desk, kind, level)
    known = known_of(task)
    user = user_of(task, desk)
    replies = [user.reply(filled(message, known)) for message in messages]
    assert re.search(filled(KINDS.get(wanted, wanted), known, escape=True), replies[-1].text), [
        reply.text for reply in replies
    ]
    assert not any(reply.ends for reply in replies[:-1])


def test_of_two_wishes_in_the_same_words_the_right_one_is_named() -> None:
    """The second of two orders to cancel is raised as another one, and named wherever the agent means the first."""
    task = task_of("retail", "cancel + order of somebody else", 2)
    assert task.script is not None
    first, second = (wish.slots[0].says for wish in task.script.wishes)
    user = user_of(task, "retail")
    replies = [user.reply(message).text for message in ("Which order is it?", "It is cancelled. Anything else?")]
    assert replies == [first, "Yes, there is. I would also like to cancel another order."]
    answers = {
        "Is there anything else?": "Wait, we are not finished yet. I would also like to cancel another order.",
        f"{first} Shall I cancel it?": f"No. {second}",
        "Which?": f"I am not sure what you need from me. I would also like to cancel another order. {second}",
        "Anything else?": f"Wait, we are not finished yet. I would also like to cancel another order. {second}",
    }
    assert {message: user.reply(message).text for message in answers} == answers


def test_who_has_paid_a_bill_asks_for_its_amount() -> None:
    """The price of more data, named before, is not the amount of the bill."""
    task = task_of("telecom", "overdue bill", 1)
    world = DOMAINS["telecom"].open(task.state)
    assert task.script is not None
    user = ScriptedUser(task.script, lambda call: carried_out(world, call).text)
    request, _, resume = task.gold
    user.reply("If your data are used up, may I add 2 GB for 10 euros?")
    assert carried_out(world, request).ok
    assert user.reply("Please pay the bill that I have just sent you.").text.startswith("I have paid bill")
    assert carried_out(world, resume).ok
    assert user.reply("It is done. Anything else?").text == "You have not told me the amount yet."
    assert user.reply("The bill was 22.50 euros. Anything else?").ends


def test_who_has_agreed_to_an_offer_agrees_to_it_once_more() -> None:
    """To the same numbers on the own line; other numbers, or an offer that was never made, are the agent's to know."""
    task = task_of("telecom", "used-up data", 1)
    assert task.script is not None
    number = next(slot.says for slot in task.script.wishes[0].slots if slot.name == "number").split()[-1].rstrip(".")
    proposed = f"I will add data: phone number {number}, 2 GB, price 10.00. Shall I proceed?"
    for offer, message, is_agreed in (
        ("If your data are used up, may I add 2 GB for 10 euros?", proposed, True),
        (f"If your data are used up, may I add 2 GB for 10 euros to {number}?", proposed, True),
        ("One moment, please.", proposed, False),
        ("If your data are used up, may I add 2 GB for 10 euros?", proposed.replace("2 GB", "5 GB"), False),
        ("If your data are used up, may I add 2 GB for 10 euros?", proposed.replace("10.00", "15.00"), False),
    ):
        user = user_of(task, "telecom")
        agreed = user.reply(offer).text == "Yes, I agree to that."
        assert agreed is ("2 GB" in offer)
        assert user.reply(message).text.startswith("Yes") is is_agreed, message


@pytest.mark.sampled(1)
@pytest.mark.parametrize("desk", DOMAINS)
def test_no_utterance_makes_a_customer_tell_the_solution(desk: str) -> None:
    """Whatever an agent says, the customer says no fact that the agent must find, and names no tool of the agent."""
    tasks = [DOMAINS[desk].task(number, 3, "train") for number in range(12)]
    for task in (task for task in tasks if task.facts):
        user = user_of(task, desk)
        for _, utterance in CASES:
            if "{" in utterance:
                continue
            start = user.get_state()
            reply = user.reply(utterance).text
            assert not any(shows(reply, fact.value) and not shows(utterance, fact.value) for fact in task.facts), reply
            assert not any(call.tool in reply for call in task.gold if "_" in call.tool), reply
            user.set_state(start)


@given(st.text() | st.from_regex(r"[A-Za-z0-9 ?.,:;*#'\"{}\[\]@€$/\n-]{0,300}", fullmatch=True))
def test_any_message_gets_a_reply(message: str) -> None:
    """Any text gets a reply, the same one from the same state, and what the customer remembers is JSON."""
    for desk, kind in (("retail", "refund"), ("airline", "rebook"), ("telecom", "airplane mode")):
        script = task_of(desk, kind, 1).script
        assert script is not None
        one, other = (ScriptedUser(script, lambda call: f"({call.tool})") for _ in range(2))
        assert one.reply(message) == other.reply(message)
        assert one.reply(message).text
        state = json.loads(json.dumps(one.get_state()))
        other.set_state(state)
        assert other.get_state() == state
        assert one.reply("Shall I proceed?") == other.reply("Shall I proceed?")


@pytest.mark.parametrize(
    "part", ["a", "please check ", "12345 ", "- a\n", '"', "cannot without ", "a@b.c ", "Mr. X Y "]
)
def test_a_long_message_is_read_up_to_its_limit(part: str) -> None:
    """Of 100 kB, the customer understands the first 8,000 characters, as if the others were not there."""
    message = part * (100_000 // len(part))
    replies = [user_of(task_of("retail", "cancel", 1), "retail").reply(text) for text in (message, message[:8000])]
    assert replies[0] == replies[1]
