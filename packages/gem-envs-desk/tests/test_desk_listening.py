"""What judge and customer hear, remember and count: each limit and each condition with its wrong neighbour."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gem_envs_desk.acts.env import ActDomain
from gem_envs_desk.acts.judge import PREDICATES, ConversationJudge
from gem_envs_desk.acts.language import ANYTHING_ELSE, ASK, PROPOSE, REFUSED, TELL, FactKind, SpeechAct
from gem_envs_desk.acts.ownership import Ownership
from gem_envs_desk.acts.user import _WORDS, ActUser, _is_clear
from gem_envs_desk.airline.env import AirlineActsDomain
from gem_envs_desk.checks import _other_orders, check_task, gold_run
from gem_envs_desk.library.env import LibraryActsDomain
from gem_envs_desk.retail.env import RetailActsDomain, RetailDomain
from gem_envs_desk.store import TableSchema
from gem_envs_desk.task import CASE, Aim, DeskCall, DeskTask, Wish
from gem_envs_desk.telecom.env import TelecomActsDomain

RETAIL, AIRLINE, TELECOM, LIBRARY = RetailActsDomain(), AirlineActsDomain(), TelecomActsDomain(), LibraryActsDomain()
DOMAINS: list[ActDomain] = [RETAIL, AIRLINE, TELECOM, LIBRARY]
DOMAIN = pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
MORE = SpeechAct(ASK, ANYTHING_ELSE)


def customer(domain: ActDomain, task: DeskTask, wish: int = 0, sees: str = "no service") -> ActUser:
    """Return the customer of a task who discusses a wish."""
    assert task.script is not None
    user = ActUser(task.script, task.aims, domain.acts, task.state, lambda call: sees)
    user.wish = wish
    return user


def judge_of(domain: ActDomain, task: DeskTask, opening: str = "Hello.") -> ConversationJudge:
    """Return the judge of a task."""
    owned = Ownership(domain.schema, task.state)
    return ConversationJudge(task, domain.acts, lambda: owned, policy=domain.policy, opening=opening)


def found(domain: ActDomain, level: int, count: int, is_so: Any) -> list[tuple[DeskTask, int, Wish, Aim]]:
    """Return the wishes of the first tasks that are so."""
    return [
        (task, index, wish, aim)
        for task in (domain.task(number, level, "train") for number in range(count))
        if task.script is not None
        for index, (wish, aim) in enumerate(zip(task.script.wishes, task.aims, strict=True))
        if is_so(wish, aim)
    ]


def proposal(call: DeskCall) -> SpeechAct:
    """Return the act that proposes a call."""
    return SpeechAct(PROPOSE, call.tool, dict(call.arguments))


def test_a_customer_is_identified_by_finding_them_with_what_they_have_said() -> None:
    """Not by another reading that shows them, by data that nobody has said, by one of two alone, or by nothing."""
    task = RETAIL.task(0, 1, "train")
    (own,) = (row for row in task.state["customers"] if row["customer_id"] == task.customer)
    mail, name, code = own["email"], own["last_name"], own["zip"]
    heard = f"My e-mail address is {mail}. My name is {name}."
    shown = json.dumps(own)
    by_name = {"last_name": name, "zip_code": code}
    for call, opening, result, expected in [
        (DeskCall("find_customer", {"email": mail}), heard, shown, True),
        (DeskCall("find_customer", {"email": mail, "last_name": "", "zip_code": ""}), heard, shown, True),
        (DeskCall("find_customer", {"email": mail}), "Hello.", shown, False),
        (DeskCall("find_customer", {"email": mail}), heard, "C00000", False),
        (DeskCall("find_customer", by_name), heard, shown, False),
        (DeskCall("find_customer", by_name), f"{heard} My zip code is {code}.", shown, True),
        (DeskCall("find_customer", {}), heard, shown, False),
        (DeskCall("list_orders", {"customer_id": mail}), heard, shown, False),
    ]:
        judge = judge_of(RETAIL, task, opening)
        judge.calls(call, result, False)
        assert judge.is_identified is expected, (call, opening)


@pytest.mark.parametrize(("read", "kept"), [(1998, 2000), (1999, 2000), (2000, 2000)])
def test_two_thousand_values_of_strangers_are_remembered(read: int, kept: int) -> None:
    """However many a further reading shows."""
    task = AIRLINE.task(0, 1, "train")
    judge = judge_of(AIRLINE, task)
    judge.read = [f"value {number}" for number in range(read)]
    strangers = [row for row in task.state["customers"] if row["customer_id"] != task.customer]
    judge.calls(DeskCall("list_bookings", {}), json.dumps(strangers), False)
    assert len(judge.read) == kept


def test_a_reason_has_three_hundred_characters_at_most() -> None:
    """So that ``info`` stays small, whatever an agent proposes."""
    task = RETAIL.task(0, 1, "train")
    judge = judge_of(RETAIL, task)
    judge.calls(DeskCall("cancel_order", {"order_id": "R" * 900, "reason": "other"}), "", True)
    assert {len(reason) for reasons in judge.broken.values() for reason in reasons if "RRR" in reason} == {300}


def test_a_state_holds_all_that_judge_and_customer_have_heard() -> None:
    """Flags, amounts as numbers, all predicates broken, and a customer who has changed their mind."""
    task = AIRLINE.task(4, 2, "train")
    judge, user = judge_of(AIRLINE, task), customer(AIRLINE, task)
    judge.is_identified = judge.is_settled = True
    judge.read, judge.agreed, judge.done, judge.heard = ["Rud", 77.5], ["a call"], ["rebook"], "Well."
    judge.told = [[True] * len(one) for one in judge.told]
    judge.broken = {name: [f"{name} is broken"] for name in PREDICATES}
    user.changed = user.refused = True
    user.wish, user.wasted, user.protested, user.asked, user.told = 1, 3, 2, {"name": 2}, ["deed"]
    for one, other in ((judge, judge_of(AIRLINE, task)), (user, customer(AIRLINE, task))):
        state = json.loads(json.dumps(one.get_state()))
        other.set_state(state)  # type: ignore[attr-defined]
        assert other.get_state() == one.get_state() == state
    assert user.get_state() == {
        "wish": 1, "wasted": 3, "protested": 2, "asked": {"name": 2}, "told": ["deed"], "changed": True,
        "refused": True,
    }  # fmt: skip


SCHEMA = {
    "customers": TableSchema({"customer_id": "TEXT", "name": "TEXT"}, ("customer_id",)),
    "orders": TableSchema(
        {"order_id": "TEXT", "customer_id": "TEXT", "paid": "REAL", "count": "INTEGER"}, ("order_id",)
    ),
    "parcels": TableSchema({"parcel_id": "TEXT", "order_id": "TEXT", "street": "TEXT"}, ("parcel_id",)),
    "lines": TableSchema({"order_id": "TEXT", "item_id": "TEXT", "price": "REAL"}, ("order_id", "item_id")),
    "items": TableSchema({"item_id": "TEXT", "price": "REAL"}, ("item_id",)),
}
OWNED = Ownership(
    SCHEMA,
    {
        "customers": [{"customer_id": "C11", "name": "Ida"}, {"customer_id": "C22", "name": "Al"}],
        "orders": [
            {"order_id": "R11", "customer_id": "C11", "paid": 12.5, "count": 4711},
            {"order_id": "R22", "customer_id": "C22", "paid": 30.0, "count": 2},
        ],
        "parcels": [{"parcel_id": "P11", "order_id": "R11", "street": "5 Elm"}],
        "lines": [
            {"order_id": "R22", "item_id": "I11", "price": 9.5},
            {"order_id": "R22", "item_id": "I22", "price": 8.5},
        ],
        "items": [{"item_id": "I11", "price": 9.5}, {"item_id": "I22", "price": 7.5}],
    },
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ida", [({"C11"}, "Ida")]),
        ("Friday, Al", []),
        ("12.50 euros", [({"C11"}, 12.5)]),
        ("4711 of 2", []),
        ("Send it to 5 Elm.", [({"C11"}, "5 Elm")]),
        ("It costs 8.50, or 7.50, or 9.50.", [({"C22"}, 8.5)]),
        ("At 12-50 or 12:50 on 2026-12-50", []),
        ("I22", []),
        ("P11 and R22", [({"C22"}, "R22"), ({"C11"}, "P11")]),
    ],
)
def test_texts_of_three_letters_and_amounts_belong_to_somebody(text: str, shown: list[Any]) -> None:
    """Through the key that a row names as well; counts, two letters, and what rows of nobody have, tell nothing."""
    assert [({*owners}, value) for owners, value in OWNED.shown(text)] == shown


def test_a_key_belongs_to_a_customer_and_rows_to_them_or_nobody() -> None:
    """A parcel to whose order it is; an item, and what is no key, to nobody."""
    keys = {"c11": "C11", " R22 ": "C22", "P11": "C11", "I11": "", "Ida": "", "R99": ""}
    assert {key: OWNED.owner(key) for key in keys} == keys
    assert [row["order_id"] for row in OWNED.rows("orders", "C11")] == ["R11"]
    assert [row["item_id"] for row in OWNED.rows("items", "C11")] == ["I11", "I22"]


@pytest.mark.parametrize(("length", "is_clear"), [(0, False), (1, True), (100, True), (101, False)])
def test_an_answer_has_one_to_a_hundred_characters(length: int, is_clear: bool) -> None:
    """Where a desk gives it no form."""
    assert _is_clear(FactKind("answer"), "a" * length) is is_clear
    assert _is_clear(FactKind("answer"), f"  {'a' * length} ") is is_clear


@pytest.mark.parametrize(("value", "is_right"), [(10, True), (10.0, True), (11, False), (9, False)])
def test_two_gigabytes_cost_ten(value: float, is_right: bool) -> None:
    """Network, sentence 7: it may be told unasked; another price is false."""
    (task, index, _, _), *_ = found(TELECOM, 2, 20, lambda wish, aim: wish.test is not None and not aim.facts)
    judge = judge_of(TELECOM, task)
    judge.is_identified = True
    judge.says(SpeechAct(TELL, "data price", value), index)
    asked = [call for call in task.aims[index].gold if "price" in call.arguments]
    assert ("facts" not in judge.broken) is is_right or bool(asked)


@pytest.mark.parametrize("domain", [RETAIL, AIRLINE, LIBRARY], ids=lambda domain: domain.name)
def test_a_wrong_record_is_named_once_and_corrected_once(domain: ActDomain) -> None:
    """Then the right one is named; a denied proposal repeats what was named last, and nothing that was not asked."""
    writes = {*domain.acts.writes} - {CASE}
    names = found(domain, 3, 16, lambda wish, aim: wish.slots and wish.slots[0].wrong and aim.agrees[0].tool in writes)
    assert names
    for task, index, wish, aim in names:
        slot, user = wish.slots[0], customer(domain, task, index)
        ask = SpeechAct(ASK, slot.name)
        call = (aim.first or aim.agrees)[0]
        key = next(name for name in ("order_id", "booking_code", "loan_id") if name in call.arguments)
        another = proposal(DeskCall(call.tool, {**call.arguments, key: "X00000"}))
        assert user.answer(ask).text == slot.wrong
        assert user.answer(another).text.endswith(slot.wrong)
        assert user.answer(ask).text == f"Sorry, I made a mistake. {slot.says}"
        assert user.answer(ask).text == slot.says
        reason = next((one for one in wish.slots if one.name == "reason"), None)
        if reason is not None:
            user.answer(SpeechAct(ASK, "reason"))
            assert reason.says in wish.says or reason.says not in user.answer(another).text
        assert user.answer(another).text.endswith(slot.says)


@pytest.mark.parametrize("domain", [RETAIL, AIRLINE, LIBRARY], ids=lambda domain: domain.name)
def test_a_change_of_mind_leaves_all_else_as_it_is(domain: ActDomain) -> None:
    """The reason and the record stay; what is wanted now gets a yes, and what was wanted before does not."""
    changes = found(domain, 3, 20, lambda wish, aim: wish.change)
    assert changes
    for task, index, wish, aim in changes:
        user = customer(domain, task, index)
        assert not user.answer(proposal(aim.gold[0])).agrees
        assert user.answer(proposal(aim.first[0])).text == wish.change
        assert user.changed
        assert user.answer(proposal(aim.gold[0])).agrees
        assert not user.answer(proposal(aim.first[0])).agrees
        for slot in wish.slots:
            if slot.name in domain.acts.topics and not slot.after_change and slot.name != "wish":
                assert user.answer(SpeechAct(ASK, slot.name)).text == slot.says


def test_questions_about_a_person_count_together_and_those_about_a_wish_by_wish() -> None:
    """The fourth for the e-mail address is wasted, in whichever wish; the first for the second reason is not."""
    (task, *_), *_ = found(RETAIL, 1, 30, lambda wish, aim: True)
    task = next(
        task
        for task in (RETAIL.task(number, 1, "train") for number in range(30))
        if task.script and all(any(slot.name == "reason" for slot in wish.slots) for wish in task.script.wishes)
    )
    user = customer(RETAIL, task)
    replies = [
        user.answer(SpeechAct(ASK, topic)).is_wasted for topic in ("e-mail", "reason", "E-mail", "reason", "reason")
    ]
    user.wish = 1
    replies += [user.answer(SpeechAct(ASK, topic)).is_wasted for topic in ("reason", "email", "email", "reason")]
    assert replies == [*[False] * 7, True, False]


@DOMAIN
def test_who_insists_does_so_in_order_and_anew_for_each_wish(domain: ActDomain) -> None:
    """Once at level 2, with pressure added at level 4; then the refusal is accepted, and the next wish is raised."""
    count = 0
    for level in (2, 4):
        for task in (domain.task(number, level, "train") for number in range(8)):
            assert task.script is not None
            user = customer(domain, task, sees="signal and data")
            for index, (wish, aim) in enumerate(zip(task.script.wishes, task.aims, strict=True)):
                assert (user.wish, user.protested, user.told, user.refused) == (index, 0, [], False)
                refusal = SpeechAct(TELL, REFUSED, (*aim.grounds, domain.acts.grounds[0])[0])
                for protest in wish.protests:
                    assert user.answer(refusal).text == protest
                    assert not user.refused
                assert user.answer(refusal).text == _WORDS["accepts"][task.script.manner]
                assert user.refused
                count += len(wish.protests)
                reply = user.answer(MORE)
                assert reply.ends == reply.is_content == (index + 1 == len(task.script.wishes))
    assert count >= 8


@pytest.mark.parametrize("domain", [RETAIL, AIRLINE, LIBRARY], ids=lambda domain: domain.name)
def test_thanks_are_for_what_is_wanted_and_take_turns(domain: ActDomain) -> None:
    """By manner, wish and number of things told; an amount that nobody wants to know is merely heard."""
    count = {True: 0, False: 0}
    amount = next(name for name, kind in domain.acts.facts.items() if kind.wants == "amount")
    for task, index, wish, _ in found(domain, 1, 12, lambda wish, aim: True):
        assert task.script is not None
        user, notes = customer(domain, task, index), _WORDS["notes"][task.script.manner]
        for act, kinds in (
            (SpeechAct(TELL, amount, 12), {"amount", "answer"}),
            (SpeechAct(TELL, "done", domain.acts.writes[0]), {"deed", "answer"}),
        ):
            is_wanted = bool(kinds & {*wish.wants})
            expected = notes[(index + len(user.told)) % len(notes)] if is_wanted else "I see."
            assert user.answer(act).text == expected
            count[is_wanted] += 1
        assert user.told == ["amount", "answer", "deed"]
    assert min(count.values()) >= 4


def test_who_has_paid_a_bill_wants_to_know_its_amount() -> None:
    """And not before; the connection alone is enough for the others."""
    bills = found(
        TELECOM, 2, 40, lambda wish, aim: wish.test is not None and any(one.name == "bill" for one in aim.facts)
    )
    assert bills
    for task, index, _, _ in bills:
        user = customer(TELECOM, task, index, "signal and data")
        assert "amount" not in user.answer(MORE).text or user.wish != index
        user = customer(TELECOM, task, index, "signal and data")
        user.answer(SpeechAct(PROPOSE, "pay_bill", {}))
        reply = user.answer(MORE)
        assert (reply.text, reply.is_wasted) == (f"{_WORDS['open']} {_WORDS['missing']['amount']}", True)
        user.answer(SpeechAct(TELL, "bill", task.aims[index].facts[0].value))
        assert not user.answer(MORE).is_wasted


@pytest.mark.parametrize(
    ("calls", "orders"),
    [
        ("", []),
        ("a", []),
        ("ab", ["ba"]),
        ("abc", ["acb", "bac", "bca", "cab", "cba"]),
        ("abcd", ["dcba", "bcda", "cdab", "dabc"]),
        ("abcdefgh", ["hgfedcba", "bcdefgha", "cdefghab", "defghabc", "efghabcd", "fghabcde"]),
    ],
)
def test_other_orders_are_all_of_three_calls_and_turns_of_more(calls: str, orders: list[str]) -> None:
    """Backwards, and begun with each of the next calls, up to the sixth."""
    gold = [DeskCall(tool) for tool in calls]
    assert ["".join(call.tool for call in order) for order in _other_orders(gold)] == orders


def priced(count: int = 200) -> DeskTask:
    """Return a task that asks for a price alone."""
    domain = RetailDomain()
    return next(task for task in (domain.task(number, 1, "train") for number in range(count)) if task.kind == "price")


def test_calls_too_many_that_show_the_fact_solve_a_task() -> None:
    """So that who ignores the policy and does all that is right besides is found."""
    task = priced()
    idle = DeskCall("list_items", {"product": "tablet" if "tablet" not in str(task.gold) else "keyboard"})
    for naive in ((idle, *task.gold), (*task.gold, idle)):
        assert {fault.clause for fault in check_task(RetailDomain(), replace(task, naive=naive))} == {"naive"}
    assert check_task(RetailDomain(), replace(task, naive=(idle,))) == []


def test_a_world_is_closed_after_a_replay() -> None:
    """Whatever its calls do."""
    closed: list[bool] = []

    class Counted(RetailDomain):
        def open(self, state: Any) -> Any:
            world = super().open(state)
            close = world.close
            world.close = lambda: (closed.append(True), close())[1]  # type: ignore[method-assign, func-returns-value]
            return world

    gold_run(Counted(), priced(), ())
    assert closed == [True]


def fines(place: int) -> DeskTask:
    """Return a task whose wish of this place is to pay fines."""
    tasks = (LIBRARY.task(number, 1, "train") for number in range(200))
    return next(task for task in tasks if len(task.aims) == 2 and task.aims[place].ways)


@pytest.mark.parametrize("place", [0, 1])
def test_a_way_takes_the_place_of_its_own_wish(place: int) -> None:
    """A call too many on the way, which fails and changes nothing, is found as well."""
    task = fines(place)
    assert check_task(LIBRARY, task) == []
    aims: Sequence[Aim] = [replace(aim, ways=tuple((*way, way[-1]) for way in aim.ways)) for aim in task.aims]
    assert {fault.clause for fault in check_task(LIBRARY, replace(task, aims=tuple(aims)))} == {"ways"}
