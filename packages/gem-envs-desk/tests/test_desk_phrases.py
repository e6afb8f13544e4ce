"""The words of customers: a grammar that ends, tables that give nothing away, and histories behind them."""

from __future__ import annotations

import re
from random import Random

import pytest

from gem_envs_desk.acts.env import ActDomain
from gem_envs_desk.airline.content import Airline
from gem_envs_desk.airline.env import AirlineActsDomain
from gem_envs_desk.airline.tasks import PHRASES as AIRLINE
from gem_envs_desk.library.env import LibraryActsDomain
from gem_envs_desk.library.tasks import PHRASES as LIBRARY
from gem_envs_desk.phrases import Phrases
from gem_envs_desk.retail.env import RetailActsDomain
from gem_envs_desk.retail.tasks import PHRASES as RETAIL
from gem_envs_desk.telecom.env import TelecomActsDomain
from gem_envs_desk.telecom.tasks import PHRASES as TELECOM

DESKS = [(RetailActsDomain(), RETAIL), (AirlineActsDomain(), AIRLINE), (TelecomActsDomain(), TELECOM),
         (LibraryActsDomain(), LIBRARY)]  # fmt: skip
DESK = pytest.mark.parametrize(("domain", "phrases"), DESKS, ids=lambda one: getattr(one, "name", ""))


def test_no_two_bookings_have_one_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the same letters and digits come again."""
    airline = Airline(Random(0), "train")
    monkeypatch.setattr("gem_envs_desk.airline.content._LETTERS", "AB")
    monkeypatch.setattr(airline, "number", lambda: 7)
    (customer, *_), (flight, *_) = airline.tables["customers"], airline.tables["flights"]
    codes = {airline.add_booking(customer, flight, "basic", 1)["booking_code"] for _ in range(8)}
    assert len(codes) == 8


def test_a_row_is_drawn_with_its_values() -> None:
    """Rows may name rows; values take precedence; blanks are closed up, and each sentence begins with a capital."""
    phrases = Phrases({"wish": ["{lead} want {what}. {end}"], "lead": ["i"], "end": [""]}, {"end": ["now? yes"]})
    assert phrases.drawn(Random(0), "wish", {"what": "tea"}) == "I want tea. Now? Yes"
    assert phrases.drawn(Random(0), "wish", {"what": "tea", "end": ""}) == "I want tea."
    assert phrases.values("wish") == {"what"}
    with pytest.raises(KeyError):
        phrases.drawn(Random(0), "wish", {})


def test_a_table_that_never_ends_or_is_empty_is_refused() -> None:
    """When it is read, not when it is drawn from."""
    with pytest.raises(ValueError, match="one → two → one form a circle"):
        Phrases({"one": ["{two}"], "two": ["{one}"]})
    with pytest.raises(ValueError, match="'one' of phrases has no alternative"):
        Phrases({"one": []})


@DESK
def test_phrases_name_no_number_and_no_tool(domain: ActDomain, phrases: Phrases) -> None:
    """What a customer must be told cannot stand in them, and tools have names that no customer knows."""
    for text in phrases.texts():
        assert not re.search(r"\d", text.replace("2 GB", "").replace("2 gigabytes", "")), text
        assert not any(tool in text for tool in domain.acts.writes if "_" in tool), text


@pytest.mark.parametrize(
    ("domain", "tool", "noun"),
    [
        (DESKS[0][0], "cancel_order", "order"),
        (DESKS[1][0], "cancel_booking", "booking"),
        (DESKS[3][0], "renew", "loan"),
    ],
)
def test_who_wants_the_same_of_two_records_says_so(domain: ActDomain, tool: str, noun: str) -> None:
    """Else it would sound like the wish that has been settled; the first of them is not "another"."""
    repeated = 0
    for number in range(30):
        task = domain.task(number, 3, "train")
        assert task.script is not None
        pairs = zip(task.script.wishes, task.aims, strict=True)
        leads = [wish.lead for wish, aim in pairs if any(call.tool == tool for call in aim.agrees)]
        assert leads == [f"Now to another {noun}." if index else "" for index in range(len(leads))]
        repeated += len(leads) > 1
    assert repeated >= 3


@DESK
def test_no_two_wishes_of_a_task_are_in_the_same_words(domain: ActDomain, phrases: Phrases) -> None:
    """Nor does a wish lack a word, and what the customer says when asked for the wish is the wish."""
    for number in range(12):
        script = domain.task(number, 3, "train").script
        assert script is not None
        says = [wish.says for wish in script.wishes]
        assert len(set(says)) == len(says) == (3 if domain.name == "telecom" else 4)
        assert not any(mark in text for text in (script.opening, *says) for mark in ("{", "}", "  ", " ."))
        asked = [(slot.says, wish.says) for wish in script.wishes for slot in wish.slots if slot.name == "wish"]
        assert all(slot == wish for slot, wish in asked)


@DESK
def test_customers_have_a_history(domain: ActDomain, phrases: Phrases) -> None:
    """Between tasks, the number of records that a customer has differs by more than the wishes."""
    table = {"retail": "orders", "airline": "bookings", "telecom": "bills", "library": "loans"}[domain.name]
    sizes = {len(domain.task(number, 1, "train").state[table]) for number in range(8)}
    assert len(sizes) > 3
