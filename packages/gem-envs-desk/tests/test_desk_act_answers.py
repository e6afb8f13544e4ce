"""What customers of typed speech acts answer: what they are asked for, and nothing that jars with itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from test_desk_phrases import DESKS

from gem_envs_desk.acts.env import ActDomain
from gem_envs_desk.acts.language import ANYTHING_ELSE, ASK, PROPOSE, SAY, TELL, SpeechAct
from gem_envs_desk.acts.user import ActUser
from gem_envs_desk.phrases import Phrases
from gem_envs_desk.retail.content import PRODUCTS
from gem_envs_desk.task import DeskCall, DeskTask, Slot, UserScript, Wish

DOMAINS = {domain.name: domain for domain, _ in DESKS}
MORE = SpeechAct(ASK, ANYTHING_ELSE)
_UNNAMED = re.compile(
    r"\b(?:for|to|with|without|at|about|of) (?:it|that|them)\b|^(?:it|that)\b|^(?:all|the whole|part) ", re.IGNORECASE
)
REMINDER = "Wait, we are not finished yet."


def script_of(task: DeskTask) -> UserScript:
    """Return the script of a task."""
    assert task.script is not None
    return task.script


def customer(domain: ActDomain, task: DeskTask, wish: int) -> ActUser:
    """Return the customer of a task who discusses a wish."""
    user = ActUser(script_of(task), task.aims, domain.acts, task.state, lambda call: "no service")
    user.wish = wish
    return user


def wishes(name: str, level: int, numbers: range) -> Iterator[tuple[ActUser, Wish]]:
    """Yield the customers of tasks, each with every wish that they discuss."""
    domain = DOMAINS[name]
    for number in numbers:
        task = domain.task(number, level, "train")
        for index, wish in enumerate(script_of(task).wishes):
            yield customer(domain, task, index), wish


def proposal(call: DeskCall) -> SpeechAct:
    """Return the act that proposes a call."""
    return SpeechAct(PROPOSE, call.tool, dict(call.arguments))


def slot_of(wish: Wish, name: str) -> Slot:
    """Return what the customer knows of a topic."""
    return next(slot for slot in wish.slots if slot.name == name)


@pytest.mark.parametrize("name", ["retail", "airline"])
def test_who_is_asked_for_the_wish_says_it(name: str) -> None:
    """Whatever the wish, also a question for a price or a parcel that is missing."""
    asked = [(user.answer(SpeechAct(ASK, "wish")), wish) for user, wish in wishes(name, 2, range(12))]
    assert all(reply.text == wish.says and not reply.is_wasted for reply, wish in asked)


@pytest.mark.parametrize("name", ["retail", "airline", "library"])
def test_who_has_agreed_to_the_right_record_names_no_other(name: str) -> None:
    """A customer who has seen the record in a proposal makes no mistake about it afterwards."""
    count = 0
    for user, wish in wishes(name, 2, range(40)):
        slot, aim = next(iter(wish.slots), None), user.aims[user.wish]
        if slot is None or not slot.wrong or wish.change or not user.answer(proposal(aim.gold[0])).agrees:
            continue
        for _ in range(2):
            assert user.answer(SpeechAct(ASK, slot.name)).text == slot.says
        count += 1
    assert count >= 3


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("text", ["I'll end your contract. Shall I proceed?", "May I?", "It costs 9999 euros, yes?"])
def test_a_question_that_is_merely_said_gets_nothing_like_a_yes(name: str, text: str) -> None:
    """Who reads a yes into the answer would make a change that was not agreed to."""
    for user, _ in wishes(name, 1, range(3)):
        answer = user.answer(SpeechAct(SAY, value=text)).text
        assert not re.match(r"(?:yes|all right|ok|okay|sure|fine|good|go|please|of course)\b", answer, re.IGNORECASE)


@pytest.mark.parametrize("name", ["retail", "airline", "library"])
def test_a_change_of_mind_is_repeated_as_the_new_wish(name: str) -> None:
    """It is said once in the words in which it comes; asked again, the customer says what they want now."""
    count = 0
    for user, wish in wishes(name, 3, range(24)):
        if not wish.change:
            continue
        first = proposal(user.aims[user.wish].first[0])
        assert user.answer(first).text == wish.change
        now = next(slot.after_change for slot in wish.slots if slot.after_change)
        assert user.answer(first).text == f"No, that is not what I want. {now}"
        if "wish" in user.acts.topics:
            assert user.answer(SpeechAct(ASK, "wish")).text == now
        count += 1
    assert count >= 4


def test_who_goes_on_to_another_record_says_so_once() -> None:
    """Not again when reminding the agent, denying a proposal or answering for the wish."""
    count = 0
    for user, wish in wishes("retail", 3, range(24)):
        if not wish.lead:
            continue
        user.wish -= 1
        user.refused = True
        assert user.answer(MORE).text.endswith(f" {wish.lead} {wish.says}")
        said = [user.answer(act).text for act in (MORE, SpeechAct(ASK, "wish"), proposal(DeskCall("swap_item")))]
        assert all(wish.says in text and wish.lead not in text for text in said)
        count += 1
    assert count >= 3


def test_a_topic_of_no_list_is_asked_back() -> None:
    """What free text asks for, such as a yes to more data, is no topic of the desk."""
    for user, wish in wishes("telecom", 2, range(6)):
        if any(slot.name == "data" for slot in wish.slots):
            reply = user.answer(SpeechAct(ASK, "data"))
            assert (reply.text, reply.is_wasted) == ("I am not sure what you want to know.", True)
            break
    else:
        raise AssertionError("no customer has an opinion on data")


@pytest.mark.parametrize("name", ["retail", "airline", "library"])
def test_what_has_not_been_proposed_cannot_be_done(name: str) -> None:
    """The customer reminds the agent of the wish, and asks whether it is done only after a yes."""
    count = 0
    for user, wish in wishes(name, 1, range(12)):
        aim = user.aims[user.wish]
        if "deed" not in wish.wants or wish.change or not aim.agrees or aim.agrees[0].tool == "open_case":
            continue
        assert user.answer(MORE).text == f"{REMINDER} {wish.says}"
        assert user.answer(proposal(aim.agrees[0])).agrees
        assert user.answer(MORE).text == f"{REMINDER} Is it done, then? You have not told me yet."
        count += 1
    assert count >= 8


@pytest.mark.parametrize(
    ("name", "fact", "value", "is_clear"),
    [
        ("airline", "departure", "14:40", True),
        ("airline", "departure", "2 pm", True),
        ("airline", "departure", "it is a lot", False),
        ("airline", "departure", "", False),
        ("airline", "departure", 1440, False),
        ("telecom", "due date", " 2026-05-20 ", True),
        ("telecom", "due date", "I do not know yet", False),
        ("telecom", "due date", 20260520, False),
        ("telecom", "contract end", "soon", False),
        ("telecom", "plan", "Medium", True),
        ("telecom", "plan", "one moment", False),
        ("library", "due date", "2026-06-22", True),
        ("library", "due date", "2026-06-22 or 2026-06-23", False),
    ],
)
def test_a_fact_is_told_in_its_form(name: str, fact: str, value: Any, is_clear: bool) -> None:
    """Who wants to know a time, a date or the name of a plan is not content with other words."""
    user = next(
        user for user, _ in wishes(name, 1, range(60)) if any(one.name == fact for one in user.aims[user.wish].facts)
    )
    reply = user.answer(SpeechAct(TELL, fact, value))
    assert ("answer" in user.told) is is_clear
    assert reply.is_wasted is not is_clear


@pytest.mark.parametrize(("name", "topic"), [("retail", "order"), ("airline", "booking"), ("library", "loan")])
def test_who_has_named_a_record_says_so_when_another_is_proposed(name: str, topic: str) -> None:
    """With a no; not if the record is right and something else is wrong."""
    key = {"order": "order_id", "booking": "booking_code", "loan": "loan_id"}[topic]
    count = 0
    for user, wish in wishes(name, 3, range(24)):
        aim = user.aims[user.wish]
        wanted = next((call for call in aim.first or aim.agrees if call.tool in user.acts.writes), None)
        if wanted is None or key not in wanted.arguments or wish.slots[0].wrong:
            continue
        record = wish.slots[0].says
        another = proposal(DeskCall(wanted.tool, {**wanted.arguments, key: "X00000"}))
        other = next(one for one in user.acts.writes if one != wanted.tool)
        something_else = proposal(DeskCall(other, wanted.arguments))
        named = wish.says.count(record)
        assert user.answer(another).text.count(record) == named
        user.answer(SpeechAct(ASK, topic))
        assert user.answer(another).text.count(record) == 1
        assert user.answer(something_else).text.count(record) == named
        count += 1
    assert count >= 8


def test_an_argument_that_is_empty_is_missing() -> None:
    """Also one that the customer would believe, such as the id of a bill."""
    for user, _ in wishes("telecom", 2, range(12)):
        call = next((call for call in user.aims[user.wish].agrees if call.tool == "request_payment"), None)
        if call is not None:
            assert "all of it" in user.answer(proposal(DeskCall(call.tool, {"bill_id": ""}))).text
            assert user.answer(proposal(DeskCall(call.tool, {"bill_id": "B12345"}))).agrees
            break
    else:
        raise AssertionError("no customer agrees to a bill")


@pytest.mark.parametrize(
    ("name", "topic", "named"),
    [("library", "title", r"\bThe [A-Z]\w+ [A-Z]\w+"), ("retail", "item", "|".join(PRODUCTS))],
)
def test_customers_answer_for_what_their_wish_names(name: str, topic: str, named: str) -> None:
    """Who names a title or a product in the wish can be asked for it."""
    count = 0
    for user, wish in wishes(name, 3, range(24)):
        if found := re.search(named, wish.says):
            assert found[0] in user.answer(SpeechAct(ASK, topic)).text
            count += 1
    assert count >= 24


def test_who_is_asked_for_bags_tells_their_number_alone() -> None:
    """Neither the booking nor the reason comes with it."""
    asked = [user for user, wish in wishes("airline", 1, range(24)) if any(slot.name == "bags" for slot in wish.slots)]
    assert len(asked) >= 4
    assert all(re.fullmatch(r"\d bags in all\.", user.answer(SpeechAct(ASK, "bags")).text) for user in asked)


@pytest.mark.parametrize(
    ("name", "rows"), [("library", ["gone"]), ("airline", ["luggage"]), ("retail", ["moving", "moving_first"])]
)
def test_a_customer_has_one_reason(name: str, rows: list[str]) -> None:
    """The reason with which a wish is raised is the one that is told when asked for."""
    phrases = next(phrases for domain, phrases in DESKS if domain.name == name)
    reasons = [text for row in rows for text in phrases.row(row) if text]
    given = [
        (slot_of(wish, "reason").says, reason)
        for _, wish in wishes(name, 3, range(40))
        for reason in reasons
        if reason in wish.says
    ]
    assert len(given) >= 4
    assert all(told == reason for told, reason in given)


def test_who_has_told_their_number_is_not_mistaken_about_it_later() -> None:
    """A line of somebody else may be named wrongly at any time, the own one only in the first wish."""
    first = other = 0
    for number in range(60):
        task = DOMAINS["telecom"].task(number, 3, "train")
        own = next(row["phone_number"] for row in task.state["lines"] if row["customer_id"] == task.customer)
        numbers = [slot_of(wish, "number") for wish in script_of(task).wishes]
        assert not any(slot.wrong for slot in numbers[1:] if own in slot.says)
        first += bool(numbers[0].wrong)
        other += any(slot.wrong for slot in numbers[1:])
    assert min(first, other) >= 2


@pytest.mark.parametrize(("domain", "phrases"), DESKS, ids=lambda one: getattr(one, "name", ""))
def test_no_wish_begins_with_a_word_for_what_has_not_been_named(domain: ActDomain, phrases: Phrases) -> None:
    """A sentence that stands before the wish says neither "it" nor "that", unless the wish says what it means."""
    fronts = {
        found[1]
        for text in phrases.texts()
        if (found := re.match(r"\{(\w+)\} ", text)) and found[1] in phrases and "I mean" not in text
    }
    sentences = [text for front in fronts for text in phrases.row(front) if text.endswith(".") and "hello" not in front]
    assert sentences
    for text in sentences:
        assert not _UNNAMED.search(text), text


def test_who_agrees_to_either_of_two_calls_agrees_to_each() -> None:
    """Whatever arguments the other one has; a mixture of both is not all of either."""
    user, _ = next(wishes("retail", 1, range(1)))
    calls = [{"order_id": "R1", "reason": "other"}, {"order_id": "R1"}]
    aim = replace(user.aims[0], first=(), agrees=tuple(DeskCall("cancel_order", one) for one in calls))
    script = replace(user.script, wishes=(replace(user.script.wishes[0], change=""), *user.script.wishes[1:]))
    user = ActUser(script, (aim, *user.aims[1:]), user.acts, {}, lambda call: "")
    assert all(user.answer(SpeechAct(PROPOSE, "cancel_order", one)).agrees for one in calls)
    assert "all of it" in user.answer(SpeechAct(PROPOSE, "cancel_order", {"reason": "other"})).text


def test_a_yes_is_given_three_times() -> None:
    """To the same proposal; the fourth time it brings nothing."""
    user, wish = next((user, wish) for user, wish in wishes("airline", 1, range(12)) if user.aims[user.wish].agrees)
    assert not wish.change
    replies = [user.answer(proposal(user.aims[user.wish].agrees[0])) for _ in range(4)]
    assert [(reply.agrees, reply.is_wasted) for reply in replies] == [*[(True, False)] * 3, (True, True)]


def test_who_will_not_pay_agrees_to_no_bill() -> None:
    """A customer who wants data for nothing says no to their price and to a request for a payment."""
    count = 0
    for user, wish in wishes("telecom", 2, range(40)):
        if user.aims[user.wish].grounds != ("not for nothing",):
            continue
        number = slot_of(wish, "number").says.split()[-1].rstrip(".")
        paid = {"phone_number": number, "gigabytes": 2.0, "price": 10.0}
        for call in (DeskCall("request_payment", {"bill_id": "B12345"}), DeskCall("add_data", paid)):
            assert not user.answer(proposal(call)).agrees
        assert user.answer(proposal(DeskCall("add_data", {**paid, "price": 0.0}))).agrees
        count += 1
    assert count >= 2
