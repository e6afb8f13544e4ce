"""The library's policy, sentence by sentence: what a task demands where the records are so, and what its tools do."""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from itertools import permutations
from random import Random
from typing import Any

import pytest

from gem_envs_desk.domain import DeskWorld, carried_out
from gem_envs_desk.library.content import MOST_HOLDS, Library
from gem_envs_desk.library.env import LibraryActsDomain
from gem_envs_desk.library.tasks import ReaderRequests
from gem_envs_desk.requests import DeskRequest
from gem_envs_desk.task import DeskCall

TODAY = date(2026, 5, 15)
DOMAIN = LibraryActsDomain()
DRAWS = 120

Drawn = tuple[DeskRequest, Library, dict[str, Any]]


def drawn(kind: str, seed: int, level: int = 2) -> Drawn:
    """Return a request of a kind, the tables, and the reader."""
    rng = Random(seed)
    library = Library(rng, "train")
    reader = rng.choice(library.tables["customers"])
    return ReaderRequests.kinds[kind](ReaderRequests(rng, library, reader, level)), library, reader


def all_drawn(kind: str) -> list[Drawn]:
    """Return many requests of a kind."""
    return [drawn(kind, seed) for seed in range(DRAWS)]


def subject(request: DeskRequest) -> str:
    """Return the loan or title that a request is about."""
    (call,) = request.gold
    return str(call.arguments.get("subject") or call.arguments.get("loan_id") or call.arguments["title_id"])


def test_a_loan_is_renewed_by_21_days_from_its_due_date_unless_a_rule_forbids_it() -> None:
    """Sentence 3: renewed twice, wanted by another reader, due more than 7 days ago; each by itself is enough."""
    seen = set()
    for request, library, reader in all_drawn("renew"):
        loan = library.row("loans", loan_id=subject(request))
        holders = {row["customer_id"] for row in library.rows("holds", title_id=loan["title_id"])}
        due = date.fromisoformat(loan["due_on"])
        grounds = set()
        if loan["renewals"] >= 2:
            grounds.add("renewed twice")
        if holders - {reader["customer_id"]}:
            grounds.add("reserved")
        if TODAY - due > timedelta(days=7):
            grounds.add("too late")
        assert set(request.grounds) == grounds
        if not grounds:
            due_on = (due + timedelta(days=21)).isoformat()
            assert request.gold == (DeskCall("renew", {"loan_id": loan["loan_id"], "due_on": due_on}),)
            assert [fact.value for fact in request.facts] == [due_on]
        seen |= grounds or {f"allowed after {(TODAY - due).days} days and {loan['renewals']} renewals"}
    # The limits themselves are among the draws: 7 days late and one renewal are allowed.
    assert {"renewed twice", "reserved", "too late"} < seen
    assert any(one.startswith("allowed after 7 days") for one in seen)
    assert any(one.endswith("1 renewals") for one in seen)


def test_a_title_is_put_on_hold_unless_a_rule_forbids_it() -> None:
    """Sentence 4: a copy is in, three holds are waiting or ready, a film for a child's card."""
    seen: set[str] = set()
    for request, library, reader in all_drawn("hold"):
        title_id = subject(request)
        title = library.row("titles", title_id=title_id)
        assert {row["medium"] for row in library.tables["titles"]} <= {"book", "audiobook", "film"}
        holds = library.rows("holds", customer_id=reader["customer_id"])
        expected = {
            "copy is in": title["copies_in"] > 0,
            "too many holds": len(holds) >= 3,
            "not for children": title["medium"] == "film" and reader["kind"] == "child",
        }
        assert set(request.grounds) == {ground for ground, holds_ in expected.items() if holds_}
        seen |= set(request.grounds)
        if not request.grounds:
            (call,) = request.gold
            assert (call.tool, call.arguments["customer_id"]) == ("place_hold", reader["customer_id"])
            seen |= {f"{len(holds)} holds", f"{title['medium']} for {reader['kind']}"}
    assert {"copy is in", "too many holds", "not for children", "film for adult", "book for child"} < seen
    assert MOST_HOLDS == 3


def test_a_hold_that_is_ready_stays_where_it_is() -> None:
    """Sentence 5: one that is waiting moves to the branch that the reader names last."""
    seen = set()
    for request, library, reader in all_drawn("pick-up"):
        hold = library.row("holds", customer_id=reader["customer_id"], title_id=subject(request))
        assert set(request.grounds) == ({"ready for pick-up"} if hold["status"] == "ready" else set())
        if not request.grounds:
            branch = request.gold[0].arguments["branch"]
            last = next(slot for slot in request.wish.slots if slot.name == "branch")
            assert branch in ((last.after_change or last.says) if request.wish.change else last.says)
            assert branch != hold["branch"]
        seen.add((hold["status"], bool(request.wish.change)))
    assert seen == {("ready", False), ("waiting", False), ("waiting", True)}


def test_a_fine_is_waived_only_for_a_day_on_which_the_library_was_closed() -> None:
    """Sentence 6; the day after a closing is none."""
    seen = set()
    for request, library, _ in all_drawn("fine"):
        if request.kind == "fines":
            continue
        due_on = library.row("fines", loan_id=subject(request))["was_due_on"]
        closings = {row["closed_on"] for row in library.tables["closings"]}
        assert set(request.grounds) == (set() if due_on in closings else {"library was open"})
        assert library.row("loans", loan_id=subject(request))["due_on"] == due_on
        seen.add(bool(request.grounds))
    assert seen == {True, False}


def test_all_fines_are_paid_at_once_or_one_by_one() -> None:
    """Sentence 6: the sum is that of the open fines; some are paid one by one, in any order, or all of them."""
    seen = set()
    for request, library, reader in all_drawn("fine"):
        if request.kind != "fines":
            continue
        fines = library.rows("fines", customer_id=reader["customer_id"], status="open")
        assert [fact.value for fact in request.facts] == [round(sum(fine["amount"] for fine in fines), 2)]
        assert request.gold == (DeskCall("pay_all_fines", {"customer_id": reader["customer_id"]}),)
        everything = request.gold[0]
        orders = {tuple(call.arguments["loan_id"] for call in way if call != everything) for way in request.ways}
        loans = [fine["loan_id"] for fine in fines]
        assert orders == {one for count in range(1, len(loans) + 1) for one in permutations(loans, count)}
        assert len(orders) == len(request.ways)
        for way in request.ways:
            singly = [call for call in way if call != everything]
            assert way == (*singly, *([everything] if len(singly) < len(loans) else []))
        assert all(call in request.aim.agrees for way in request.ways for call in way)
        seen.add(len(fines))
    assert seen == {2, 3}


def test_a_lost_loan_costs_its_price_and_5_more_for_adults() -> None:
    """Sentence 7: a child pays the price alone."""
    seen = set()
    for request, library, reader in all_drawn("lost"):
        loan = library.row("loans", loan_id=subject(request))
        price = library.row("titles", title_id=loan["title_id"])["price"]
        charge = price if reader["kind"] == "child" else round(price + 5, 2)
        assert request.gold[0].arguments["charge"] == charge
        assert [fact.value for fact in request.facts] == [charge]
        seen.add(reader["kind"])
    assert seen == {"child", "adult"}


def test_a_loan_of_somebody_else_gets_a_case_and_nothing_more() -> None:
    """Sentence 1: its category is that of strangers, and the reader is told only that nobody can help."""
    for seed in range(10):
        request, library, reader = drawn("stranger", seed)
        assert library.row("loans", loan_id=subject(request))["customer_id"] != reader["customer_id"]
        assert request.gold[0].arguments["category"] == "identity not verified"
        assert (request.grounds, request.facts) == (("cannot help",), ())


@pytest.mark.parametrize("kind", ["renew", "hold", "pick-up"])
def test_a_refusal_leaves_a_case_and_a_reader_who_insists(kind: str) -> None:
    """Sentence 8, from level 2 on; at level 1 readers accept it."""
    for level in (1, 2):
        refused = [request for seed in range(40) if (request := drawn(kind, seed, level)[0]).grounds]
        assert refused
        for request in refused:
            (call,) = request.gold
            assert (call.tool, call.arguments["category"]) == ("open_case", "refused request")
            assert bool(request.wish.protest) == (level > 1)
            assert request.naive is not None
            assert all(naive.tool != "open_case" for naive in request.naive)


READER = {"first_name": "Ida", "last_name": "Rud", "email": "ida@mail.example", "card": "K1", "kind": "adult"}
LOAN = {"customer_id": "C1", "title_id": "T1", "due_on": "2026-05-20", "status": "open", "renewals": 0}
FINE = {"customer_id": "C1", "was_due_on": "2026-01-01", "status": "open", "amount": 2.4}
STATE: dict[str, Any] = {
    "customers": [
        {**READER, "customer_id": "C1"},
        {**READER, "customer_id": "C2", "email": "leo@mail.example", "card": "K2", "last_name": "Moe"},
    ],
    "titles": [{"title_id": "T1", "name": "The Last Letter", "medium": "book", "copies_in": 0, "price": 20.5}],
    "loans": [
        {**LOAN, "loan_id": "L1"},
        {**LOAN, "loan_id": "L2", "status": "returned"},
        {**LOAN, "loan_id": "L3", "status": "returned"},
        {**LOAN, "loan_id": "L4", "customer_id": "C2"},
    ],
    "holds": [{"customer_id": "C2", "title_id": "T1", "branch": "Station", "status": "waiting"}],
    "fines": [
        {**FINE, "loan_id": "L2"},
        {**FINE, "loan_id": "L3", "status": "paid", "amount": 1.1},
        {**FINE, "loan_id": "L5", "amount": 3.3},
        {**FINE, "loan_id": "L6", "customer_id": "C2", "amount": 7.7},
    ],
    "closings": [],
    "cases": [{"subject": "L1", "category": "refused request"}],
}


def opened() -> DeskWorld:
    """Return a library of two readers."""
    return DOMAIN.open(STATE)


def rows(world: DeskWorld, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    return list(world.dump()[table].values())


@pytest.mark.parametrize(
    ("tool", "arguments", "table", "row"),
    [
        (
            "renew",
            {"loan_id": "L1", "due_on": "2026-05-21"},
            "loans",
            {"loan_id": "L1", "due_on": "2026-05-21", "renewals": 1},
        ),
        ("renew", {"loan_id": "L1", "due_on": "2026-12-31"}, "loans", {"loan_id": "L1", "due_on": "2026-12-31"}),
        (
            "place_hold",
            {"customer_id": "C1", "title_id": "T1", "branch": "Harbour"},
            "holds",
            {"customer_id": "C1", "title_id": "T1", "branch": "Harbour", "status": "waiting"},
        ),
        (
            "move_hold",
            {"customer_id": "C2", "title_id": "T1", "branch": "Old Town"},
            "holds",
            {"customer_id": "C2", "branch": "Old Town", "status": "waiting"},
        ),
        ("pay_fine", {"loan_id": "L2"}, "fines", {"loan_id": "L2", "status": "paid"}),
        ("pay_all_fines", {"customer_id": "C1"}, "fines", {"loan_id": "L5", "status": "paid"}),
        ("pay_all_fines", {"customer_id": "C1"}, "fines", {"loan_id": "L6", "status": "open"}),
        ("waive_fine", {"loan_id": "L2"}, "fines", {"loan_id": "L2", "status": "waived"}),
        (
            "report_lost",
            {"loan_id": "L1", "charge": 10_000.0},
            "fines",
            {"loan_id": "L1", "amount": 10_000.0, "status": "lost item"},
        ),
        ("report_lost", {"loan_id": "L1", "charge": 0.0}, "loans", {"loan_id": "L1", "status": "lost"}),
        ("open_case", {"subject": "T1", "category": "refused request"}, "cases", {"subject": "T1"}),
        (
            "open_case",
            {"subject": "L1", "category": "identity not verified"},
            "cases",
            {"subject": "L1", "category": "identity not verified"},
        ),
    ],
)
def test_a_call_within_the_limits_changes_its_row_alone(
    tool: str, arguments: dict[str, Any], table: str, row: dict[str, Any]
) -> None:
    """The row that is named, and no other customer's."""
    world = opened()
    before = {key: found for key, found in world.dump()[table].items() if found.get("customer_id") == "C2"}
    result = carried_out(world, DeskCall(tool, arguments))
    assert result.ok, result.text
    assert any(row.items() <= found.items() for found in rows(world, table)), rows(world, table)
    if arguments.get("customer_id") != "C2":
        assert before.items() <= world.dump()[table].items()


@pytest.mark.parametrize(
    ("tool", "arguments", "refusal"),
    [
        ("renew", {"loan_id": "L1", "due_on": "2026-05-20"}, r"due on 2026-05-20; the new date must be later"),
        ("renew", {"loan_id": "L1", "due_on": "2027-01-01"}, r"must be later, in 2026"),
        ("renew", {"loan_id": "L2", "due_on": "2026-06-01"}, r"^Loan L2 is returned\.$"),
        ("renew", {"loan_id": "L9", "due_on": "2026-06-01"}, r"There is no 'L9' among the loans"),
        ("place_hold", {"customer_id": "C2", "title_id": "T1", "branch": "Harbour"}, r"C2 has a hold on T1 already"),
        ("place_hold", {"customer_id": "C1", "title_id": "T9", "branch": "Harbour"}, r"no 'T9' among the titles"),
        ("place_hold", {"customer_id": "C9", "title_id": "T1", "branch": "Harbour"}, r"no 'C9' among the customers"),
        ("move_hold", {"customer_id": "C1", "title_id": "T1", "branch": "Harbour"}, r"C1 has no hold on 'T1'"),
        ("pay_fine", {"loan_id": "L3"}, r"^Fine L3 is paid\.$"),
        ("waive_fine", {"loan_id": "L3"}, r"^Fine L3 is paid\.$"),
        ("pay_all_fines", {"customer_id": "C9"}, r"'C9' has no open fine"),
        ("report_lost", {"loan_id": "L2", "charge": 5.0}, r"^Loan L2 is returned\.$"),
        ("report_lost", {"loan_id": "L1", "charge": -0.01}, r"at least 0 and at most 10,000\.$"),
        ("report_lost", {"loan_id": "L1", "charge": 10_000.01}, r"at least 0 and at most 10,000\.$"),
        ("open_case", {"subject": "L1", "category": "refused request"}, r"such a case about L1 already"),
        ("open_case", {"subject": "C1", "category": "refused request"}, r"There is no 'C1' among the loans"),
        ("find_title", {"name": "The First Letter"}, r"There is no title"),
        ("find_customer", {"last_name": "Rud"}, r"both the last name and the card number"),
        ("find_customer", {"last_name": "Rud", "card": "K2"}, r"No customer has these data"),
    ],
)
def test_a_call_beyond_a_limit_is_refused_and_changes_nothing(
    tool: str, arguments: dict[str, Any], refusal: str
) -> None:
    """The message says which rule it broke."""
    world = opened()
    before = world.dump()
    result = carried_out(world, DeskCall(tool, arguments))
    assert not result.ok
    assert re.search(refusal, result.text), result.text
    assert world.dump() == before


def test_readers_are_found_and_records_shown() -> None:
    """By e-mail address or by name and card; an account has the own records, a loan the readers who wait for it."""
    world = opened()

    def shown(tool: str, **arguments: str) -> Any:
        result = carried_out(world, DeskCall(tool, arguments))
        assert result.ok, result.text
        return json.loads(result.text)

    for given in ({"email": " IDA@mail.example"}, {"last_name": "rud", "card": "k1"}):
        assert [row["customer_id"] for row in shown("find_customer", **given)] == ["C1"]
    account = shown("get_account", customer_id="C1")
    assert [row["loan_id"] for row in account["loans"]] == ["L1", "L2", "L3"]
    assert account["holds"] == []
    assert [row["loan_id"] for row in account["fines"]] == ["L2", "L3", "L5"]
    assert [shown("get_loan", loan_id=loan)["others_waiting"] for loan in ("L1", "L4")] == [1, 0]
    assert shown("find_title", name="the last letter ")["title_id"] == "T1"
    assert shown("list_closings") == []


def test_a_reader_whose_title_is_ready_waits_no_more() -> None:
    """A loan shows how many wait, and not who has only to come."""
    (waiting,) = STATE["holds"]
    world = DOMAIN.open({**STATE, "holds": [waiting, {**waiting, "customer_id": "C3", "status": "ready"}]})
    result = carried_out(world, DeskCall("get_loan", {"loan_id": "L1"}))
    assert json.loads(result.text)["others_waiting"] == 1


def test_the_holds_of_all_wishes_count_for_a_new_one() -> None:
    """A hold that another wish of the same reader is about is one of the three, in whatever order they are raised."""
    seen = set()
    for number in range(100):
        task = DOMAIN.task(number, 3, "train")
        holds = sum(row["customer_id"] == task.customer for row in task.state["holds"])
        for aim in task.aims:
            if aim.gold[0].tool == "place_hold":
                assert holds < MOST_HOLDS
                seen.add(holds)
            elif "too many holds" in aim.grounds:
                assert holds == MOST_HOLDS
    assert seen == {0, 1, 2}


def test_a_reader_may_have_holds_on_several_titles() -> None:
    """What another title, or another reader, has on hold is no obstacle to the tool."""
    titles = [*STATE["titles"], {**STATE["titles"][0], "title_id": "T2", "name": "The Golden Garden"}]
    world = DOMAIN.open({**STATE, "titles": titles})
    for title in ("T1", "T2"):
        hold = {"customer_id": "C1", "title_id": title, "branch": "Harbour"}
        assert carried_out(world, DeskCall("place_hold", hold)).ok


def test_the_sum_of_all_fines_is_that_of_the_open_ones() -> None:
    """Of the reader's own; who has only fines that are paid has none to pay."""
    result = carried_out(opened(), DeskCall("pay_all_fines", {"customer_id": "C1"}))
    assert result.text == "All fines of C1 are paid, 5.70 in all."
    paid = [{**row, "status": "paid"} for row in STATE["fines"]]
    assert not carried_out(DOMAIN.open({**STATE, "fines": paid}), DeskCall("pay_all_fines", {"customer_id": "C1"})).ok
