"""The tables of the desks before a task changes them: how many rows there are, how they are, and how often."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import cache
from random import Random
from typing import Any

import pytest

from gem_envs_desk.airline.content import CABINS, Airline
from gem_envs_desk.content import TODAY, DeskContent
from gem_envs_desk.library.content import Library
from gem_envs_desk.retail.content import PRODUCTS, Shop
from gem_envs_desk.telecom.content import Network

SEEDS = range(12)


@cache
def made(content: type[Any]) -> list[Any]:
    """Return some contents of a desk, to be read alone."""
    return [content(Random(seed), "train") for seed in SEEDS]


def all_rows(content: type[Any], table: str) -> Iterator[tuple[DeskContent, dict[str, Any]]]:
    """Yield the rows of a table, each with its content."""
    yield from ((one, row) for one in made(content) for row in one.tables[table])


def share(content: type[Any], table: str, column: str, value: Any) -> float:
    """Return in which share of the rows a column has a value."""
    values = [row[column] for _, row in all_rows(content, table)]
    return values.count(value) / len(values)


def days_ago(text: str) -> int:
    """Return how many days before today a date is."""
    return (TODAY - date.fromisoformat(text)).days


def test_a_desk_begins_with_as_many_rows_as_it_says() -> None:
    """Ten customers or twelve, with what each of them has."""
    for shop in made(Shop):
        assert {name: len(rows) for name, rows in shop.tables.items() if not name.startswith("order_l")} == {
            "customers": 10, "payment_methods": 20, "items": 54, "orders": 30, "refunds": 0, "cases": 0,
        }  # fmt: skip
        for customer in shop.tables["customers"]:
            owner = {"customer_id": customer["customer_id"]}
            kinds = [row["kind"] for row in shop.rows("payment_methods", **owner)]
            states = Counter(row["status"] for row in shop.rows("orders", **owner))
            assert sorted(kinds) == ["card", "gift_card"]
            assert states["pending"] == 1
            assert states["delivered"] in (1, 2)
    for airline in made(Airline):
        assert [len(airline.tables[name]) for name in ("customers", "flights", "bookings")] == [10, 48, 20]
    for network in made(Network):
        assert [len(network.tables[name]) for name in ("customers", "lines", "phones", "bills")] == [12, 12, 12, 24]
    for library in made(Library):
        assert [len(library.tables[name]) for name in ("customers", "titles", "loans", "closings")] == [10, 45, 20, 4]
    holds = sum(len(library.tables["holds"]) for library in made(Library))
    assert 0.5 < holds / (10 * len(SEEDS)) < 0.7


@pytest.mark.parametrize(
    ("content", "table", "column", "value", "wanted"),
    [
        (Shop, "customers", "tier", "plus", 0.4),
        (Shop, "items", "final_sale", 1, 0.15),
        (Shop, "items", "stock", 0, 1 / 6),
        (Airline, "customers", "tier", "gold", 0.35),
        (Airline, "flights", "basic_seats", 0, 0.25),
        (Airline, "flights", "business_seats", 0, 0.25),
        (Library, "customers", "kind", "child", 0.35),
        (Library, "titles", "medium", "film", 0.2),
    ],
)
def test_what_a_policy_favours_or_forbids_is_as_frequent_as_meant(
    content: type[Any], table: str, column: str, value: Any, wanted: float
) -> None:
    """Fewer than half of the customers are of the better tier, and most seats and items can be had."""
    assert abs(share(content, table, column, value) - wanted) < 0.09


def test_an_order_was_placed_three_days_before_it_came() -> None:
    """Only what is delivered has a day of delivery; each line was bought at the price of its item."""
    for shop, order in all_rows(Shop, "orders"):
        assert (order["delivered_on"] is not None) == (order["status"] == "delivered")
        if order["delivered_on"]:
            assert days_ago(order["placed_on"]) - days_ago(order["delivered_on"]) == 3
        assert 7 <= days_ago(order["placed_on"]) <= 93
        lines = shop.rows("order_lines", order_id=order["order_id"])
        assert len(lines) in (2, 3)
        for line in lines:
            item = shop.row("items", item_id=line["item_id"])
            assert (line["status"], line["price"]) == ("bought", item["price"])


def test_a_gift_card_has_a_balance_and_a_card_has_none() -> None:
    """From 5 to 120 euros."""
    for _, payment in all_rows(Shop, "payment_methods"):
        balance = payment["balance"]
        assert balance is None if payment["kind"] == "card" else 5 <= balance <= 120


def test_a_product_has_six_variants_of_which_four_can_be_had() -> None:
    """At prices near each other that end as prices do, unless a size has the same number."""
    sizes = {30.0, 45.0, 64.0, 256.0, 500.0, 750.0}
    for shop in made(Shop):
        for product in PRODUCTS:
            items = shop.rows("items", product=product)
            assert len(items) == 6
            assert sum(item["stock"] > 0 for item in items) >= 4
            prices = [item["price"] for item in items]
            assert max(prices) - min(prices) < 20
            for price in prices:
                was_moved = {round(price - 0.3, 2), round((price - 0.3) * 0.9, 2)} & sizes
                assert round(price % 1, 2) in {0.0, 0.2, 0.4, 0.5, 0.8, 0.9} or was_moved


def test_flights_are_of_four_routes_on_four_days_from_tomorrow() -> None:
    """Three a day by day, on time, at whole five minutes; business costs 91 more than twice economy, basic 23 less."""
    for airline in made(Airline):
        flights = airline.tables["flights"]
        counts = Counter((row["origin"], row["destination"], row["date"]) for row in flights)
        assert len({origin for origin, _, _ in counts}) == 1
        assert not {origin for origin, _, _ in counts} & {destination for _, destination, _ in counts}
        assert len({destination for _, destination, _ in counts}) == 4
        assert {day for _, _, day in counts} == {f"2026-05-{day}" for day in (16, 17, 18, 19)}
        assert {*counts.values()} == {3}
        for row in flights:
            assert (row["status"], row["delay_minutes"]) == ("scheduled", 0)
            assert re.fullmatch(r"\d\d:[0-5][05]", row["departs"])
            assert "05:00" <= row["departs"] < "22:00"
            economy = row["economy_fare"]
            assert (row["basic_fare"], row["business_fare"]) == (economy - 23, 2 * economy + 91)
            assert all(row[f"{cabin}_seats"] >= 0 for cabin in CABINS)


def test_a_booking_is_active_and_was_a_little_cheaper_than_today() -> None:
    """By 3 to 19 euros; it has no bags and nothing was charged."""
    for airline, booking in all_rows(Airline, "bookings"):
        fare = airline.row("flights", flight_id=booking["flight_id"])[f"{booking['cabin']}_fare"]
        assert 3 <= fare - booking["fare_paid"] <= 19
        assert (booking["status"], booking["bags"], booking["charged"], booking["insured"]) == ("active", 0, 0.0, 0)
        assert re.fullmatch(r"[A-HJ-NP-Z]{3}\d{3}", booking["booking_code"])


def test_a_booking_code_ends_in_three_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever number it is drawn from: 11,000 gives three zeros."""
    airline = Airline(Random(0), "train")
    monkeypatch.setattr(airline, "number", lambda: 11_000)
    (customer, *_), (flight, *_) = airline.tables["customers"], airline.tables["flights"]
    assert airline.add_booking(customer, flight, "basic", 1)["booking_code"].endswith("000")


def test_a_line_has_data_left_and_a_phone_that_works() -> None:
    """Its limit is that of its plan; nothing has been asked for, and the open bill is due later."""
    limits = {"small": 3.0, "medium": 10.0, "large": 40.0}
    works = {
        "network_mode": "automatic", "access_point": "intact", "sim_card": "well", "airplane_mode": 0,
        "mobile_data": 1, "vpn": 0, "wifi_calling": 1, "is_abroad": 0,
    }  # fmt: skip
    for network, line in all_rows(Network, "lines"):
        assert (line["status"], line["roaming"], line["data_limit_gb"]) == ("active", 0, limits[line["plan"]])
        assert 0 < line["data_used_gb"] < line["data_limit_gb"]
        assert line["data_used_gb"] == round(line["data_used_gb"], 1)
        assert 60 <= -days_ago(line["contract_ends"]) <= 600
        assert works.items() <= network.row("phones", phone_number=line["phone_number"]).items()
        bills = network.rows("bills", phone_number=line["phone_number"])
        assert sorted((bill["status"], bill["requested"]) for bill in bills) == [("open", 0), ("paid", 0)]
        (due,) = (bill["due_on"] for bill in bills if bill["status"] == "open")
        assert 3 <= -days_ago(due) <= 20


def test_an_older_bill_was_due_in_its_month() -> None:
    """Two months ago at the latest day, or a month before."""
    for seed in SEEDS:
        network = Network(Random(seed), "train")
        known = len(network.tables["bills"])
        network.add_histories()
        for bill in network.tables["bills"][known:]:
            assert days_ago(bill["due_on"]) in (*range(66, 82), *range(97, 113))


def test_titles_for_requests_are_nobodys() -> None:
    """Twenty-five of them; no copy of any title is in before a request says so; loans are open and not yet due."""
    for library in made(Library):
        free = {title["title_id"] for title in library.free}
        assert len(free) == 25
        assert not free & {row["title_id"] for row in (*library.tables["loans"], *library.tables["holds"])}
        assert {title["copies_in"] for title in library.tables["titles"]} == {0}
        assert {row["status"] for row in library.tables["holds"]} == {"waiting"}
        for loan in library.tables["loans"]:
            assert loan["status"] == "open"
            assert 1 <= -days_ago(loan["due_on"]) <= 20


def test_a_loan_that_came_back_was_never_renewed() -> None:
    """Those of the histories."""
    library = Library(Random(0), "train")
    known = len(library.tables["loans"])
    library.add_histories()
    older = library.tables["loans"][known:]
    assert older
    assert {(loan["status"], loan["renewals"]) for loan in older} == {("returned", 0)}
