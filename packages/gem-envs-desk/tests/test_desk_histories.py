"""What customers have done before: older rows that are as the policies leave them, and that no wish is about."""

from __future__ import annotations

from datetime import date
from random import Random
from typing import Any

import pytest

from gem_envs_desk.airline.content import Airline
from gem_envs_desk.content import TODAY, DeskContent
from gem_envs_desk.library.content import Library
from gem_envs_desk.retail.content import Shop
from gem_envs_desk.telecom.content import Network

SEEDS = range(6)


def older(content: type[Any], table: str) -> list[tuple[DeskContent, dict[str, Any]]]:
    """Return the rows of a table that the histories have added, each with its content."""
    found = []
    for seed in SEEDS:
        made = content(Random(seed), "train")
        known = len(made.tables[table])
        made.add_histories()
        found += [(made, row) for row in made.tables[table][known:]]
    assert len(found) >= 20
    return found


def test_an_older_order_is_cancelled_for_a_reason_or_delivered_and_perhaps_returned() -> None:
    """What has come back was refunded at its price, to where it was paid from; nothing else was."""
    seen = set()
    for shop, order in older(Shop, "orders"):
        assert order["status"] in ("delivered", "cancelled")
        assert (order["cancel_reason"] is not None) == (order["status"] == "cancelled")
        assert order["placed_on"] < TODAY.isoformat()
        for line in shop.rows("order_lines", order_id=order["order_id"]):
            refunds = shop.rows("refunds", order_id=order["order_id"], item_id=line["item_id"])
            amounts = [(row["amount"], row["payment_id"]) for row in refunds]
            is_back = line["status"] == "returned"
            assert amounts == ([(line["price"], order["payment_id"])] if is_back else [])
            seen.add((order["status"], is_back))
    assert seen == {("delivered", True), ("delivered", False), ("cancelled", False)}


def test_an_older_booking_is_cancelled_and_refunded_in_business_alone() -> None:
    """Its whole fare; the other cabins got nothing."""
    seen = set()
    for airline, booking in older(Airline, "bookings"):
        refunds = [row["amount"] for row in airline.rows("refunds", booking_code=booking["booking_code"])]
        assert booking["status"] == "cancelled"
        assert refunds == ([booking["fare_paid"]] if booking["cabin"] == "business" else [])
        seen.add(booking["cabin"])
    assert len(seen) == 3


def test_an_older_bill_is_paid() -> None:
    """It was due in an earlier month, of an amount that no other bill of the line has."""
    for network, bill in older(Network, "bills"):
        assert (bill["status"], bill["requested"]) == ("paid", 0)
        assert bill["due_on"] < TODAY.isoformat()
        amounts = [row["amount"] for row in network.rows("bills", phone_number=bill["phone_number"])]
        assert amounts.count(bill["amount"]) == 1


def test_a_line_has_one_bill_a_month() -> None:
    """Two of them are due more than half a month apart."""
    for network, bill in older(Network, "bills"):
        others = [row for row in network.rows("bills", phone_number=bill["phone_number"]) if row is not bill]
        due = date.fromisoformat(bill["due_on"])
        assert all(abs((date.fromisoformat(row["due_on"]) - due).days) > 15 for row in others)


def test_an_older_loan_has_come_back_and_its_fine_is_paid() -> None:
    """If there is one, for the day on which the loan was due."""
    fined = 0
    for library, loan in older(Library, "loans"):
        assert loan["status"] == "returned"
        fines = library.rows("fines", loan_id=loan["loan_id"])
        whole = [(row["status"], row["was_due_on"], row["customer_id"]) for row in fines]
        assert whole in ([], [("paid", loan["due_on"], loan["customer_id"])])
        fined += len(whole)
    assert fined >= 5


def test_who_has_been_charged_nothing_has_no_more_bags_than_are_free() -> None:
    """None in basic, so that each bag there has been paid for."""
    for seed in SEEDS:
        airline = Airline(Random(seed), "train")
        airline.add_histories()
        bookings = airline.tables["bookings"]
        assert {(row["bags"], row["charged"]) for row in bookings if row["cabin"] == "basic"} == {(0, 0.0)}


@pytest.mark.parametrize("content", [Shop, Airline, Network, Library])
def test_every_column_is_filled(content: type[Any]) -> None:
    """Each row has the columns of its table and no other; each column has a value in some row."""
    made = [content(Random(seed), "train") for seed in SEEDS]
    for one in made:
        one.add_histories()
    for table, (columns, _) in made[0].schema.items():
        rows = [row for one in made for row in one.tables[table]]
        assert all(set(row) == set(columns) for row in rows)
        assert not rows or {name for row in rows for name in row if row[name] is not None} == set(columns), table


def test_lines_work_and_amounts_are_of_everyday_size() -> None:
    """Before a task breaks one, a line is active and does not roam; a bill is below 100 euros, a title 50, a fine 8."""
    for seed in SEEDS:
        network, library = Network(Random(seed), "train"), Library(Random(seed), "train")
        network.add_histories()
        library.add_histories()
        assert all(0.4 <= row["amount"] < 8 for row in library.tables["fines"])
        assert {(row["status"], row["roaming"]) for row in network.tables["lines"]} == {("active", 0)}
        assert all(15 <= row["amount"] < 100 for row in network.tables["bills"])
        assert all(8 <= row["price"] < 50 for row in library.tables["titles"])
