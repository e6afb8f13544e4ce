"""What the reading tools of the desks show: the rows of whom or what they are asked for, whole, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from gem_envs_desk.airline.env import AirlineActsDomain
from gem_envs_desk.domain import StoreWorld, carried_out
from gem_envs_desk.library.env import LibraryActsDomain
from gem_envs_desk.retail.env import RetailActsDomain
from gem_envs_desk.task import DeskCall
from gem_envs_desk.telecom.env import TelecomActsDomain

RETAIL, AIRLINE, TELECOM, LIBRARY = RetailActsDomain(), AirlineActsDomain(), TelecomActsDomain(), LibraryActsDomain()
Tables = dict[str, list[dict[str, Any]]]
Expected = Iterator[tuple[DeskCall, Any]]


def having(rows: list[dict[str, Any]], **equal: Any) -> list[dict[str, Any]]:
    """Return the rows with these values."""
    return [row for row in rows if equal.items() <= row.items()]


def some(row: dict[str, Any], columns: str) -> dict[str, Any]:
    """Return some columns of a row."""
    return {column: row[column] for column in columns.split()}


def shop(tables: Tables) -> Expected:
    """Orders and payment methods of each customer, an order with its items, a product in its variants."""
    for one in tables["customers"]:
        owner = {"customer_id": one["customer_id"]}
        orders = [some(row, "order_id status placed_on delivered_on") for row in having(tables["orders"], **owner)]
        yield DeskCall("list_orders", owner), orders
        yield DeskCall("list_payment_methods", owner), having(tables["payment_methods"], **owner)
        yield DeskCall("find_customer", {"last_name": one["last_name"].upper(), "zip_code": one["zip"]}), [one]
    for order in tables["orders"]:
        lines = []
        for line in having(tables["order_lines"], order_id=order["order_id"]):
            (item,) = having(tables["items"], item_id=line["item_id"])
            lines.append(
                {**some(item, "item_id product category colour size final_sale"), **some(line, "price status")}
            )
        refunds = having(tables["refunds"], order_id=order["order_id"])
        yield DeskCall("get_order", some(order, "order_id")), {**order, "items": lines, "refunds": refunds}
    for product in {item["product"] for item in tables["items"]}:
        yield DeskCall("list_items", {"product": f" {product.title()} "}), having(tables["items"], product=product)


def airline(tables: Tables) -> Expected:
    """Bookings of each customer, a booking with its flight, the flights of a route on a day, the earliest first."""
    for one in tables["customers"]:
        yield (
            DeskCall("list_bookings", some(one, "customer_id")),
            having(tables["bookings"], **some(one, "customer_id")),
        )
    for booking in tables["bookings"]:
        (flight,) = having(tables["flights"], flight_id=booking["flight_id"])
        yield DeskCall("get_booking", some(booking, "booking_code")), {**booking, "flight": flight}
        (one,) = having(tables["customers"], customer_id=booking["customer_id"])
        code = booking["booking_code"].lower()
        yield DeskCall("find_customer", {"last_name": one["last_name"].upper(), "booking_code": code}), [one]
    for flight in tables["flights"]:
        day = some(flight, "origin destination date")
        flights = sorted(having(tables["flights"], **day), key=lambda row: row["departs"])
        yield DeskCall("search_flights", {**day, "origin": f" {day['origin'].upper()} "}), flights


def network(tables: Tables) -> Expected:
    """A customer with their lines, a line, the bills of a line."""
    for line in tables["lines"]:
        number = some(line, "phone_number")
        (one,) = having(tables["customers"], customer_id=line["customer_id"])
        lines = [row["phone_number"] for row in having(tables["lines"], customer_id=line["customer_id"])]
        yield DeskCall("find_customer", number), {**one, "lines": lines}
        yield DeskCall("find_customer", {"email": f" {one['email'].upper()} "}), {**one, "lines": lines}
        yield DeskCall("get_line", number), line
        yield DeskCall("list_bills", number), having(tables["bills"], **number)


def library(tables: Tables) -> Expected:
    """Loans, holds and fines of each reader; a loan with its title and the others who wait; a title; the closings."""
    for one in tables["customers"]:
        owner = some(one, "customer_id")
        yield (
            DeskCall("get_account", owner),
            {name: having(tables[name], **owner) for name in ("loans", "holds", "fines")},
        )
        yield DeskCall("find_customer", {"last_name": one["last_name"].upper(), "card": one["card"].lower()}), [one]
    for loan in tables["loans"]:
        (title,) = having(tables["titles"], title_id=loan["title_id"])
        waiting = having(tables["holds"], title_id=loan["title_id"], status="waiting")
        others = sum(row["customer_id"] != loan["customer_id"] for row in waiting)
        yield DeskCall("get_loan", some(loan, "loan_id")), {**loan, "title": title, "others_waiting": others}
    for title in tables["titles"]:
        yield DeskCall("find_title", {"name": f" {title['name'].upper()} "}), title
    yield DeskCall("list_closings"), tables["closings"]


@pytest.mark.parametrize(
    ("domain", "expected"),
    [(RETAIL, shop), (AIRLINE, airline), (TELECOM, network), (LIBRARY, library)],
    ids=lambda one: getattr(one, "name", ""),
)
def test_reading_tools_show_all_of_what_they_are_asked_for_and_nothing_else(domain: Any, expected: Any) -> None:
    """Rows in the order of their keys, names and titles whatever their case, and the state stays as it was."""
    world: StoreWorld = domain.open(domain.task(3, 3, "train").state)
    before = world.dump()
    read = set()
    for call, rows in expected(world.store.tables()):
        result = carried_out(world, call)
        assert result.data == rows, (call, result.text)
        read.add(call.tool)
    assert read == set(world.tools["agent"]) - set(domain.acts.writes)
    assert world.dump() == before


@pytest.mark.parametrize("domain", [RETAIL, AIRLINE, TELECOM, LIBRARY], ids=lambda domain: domain.name)
def test_who_or_what_does_not_exist_is_not_found(domain: Any) -> None:
    """No tool of the agent answers for an id, a name or a product that the state does not have, or changes anything."""
    world: StoreWorld = domain.open(domain.task(3, 2, "train").state)
    before = world.dump()
    values = {"string": "X0", "number": 1.0, "integer": 2}
    for name, tool in world.tools["agent"].items():
        if name in ("list_closings", "search_flights"):
            continue
        properties = tool.parameters["properties"]  # type: ignore[index]
        arguments = {key: one.get("enum", [values.get(one.get("type", ""))])[0] for key, one in properties.items()}
        result = carried_out(world, DeskCall(name, arguments))
        assert not result.ok, (name, arguments, result.text)
    assert world.dump() == before


@pytest.mark.parametrize(
    ("domain", "second"), [(RETAIL, "zip code"), (AIRLINE, "booking code"), (LIBRARY, "card number")]
)
def test_who_gives_a_name_alone_is_told_what_is_missing(domain: Any, second: str) -> None:
    """The message names both data by which a customer is found without the e-mail address."""
    world = domain.open(domain.task(3, 1, "train").state)
    result = carried_out(world, DeskCall("find_customer", {"last_name": "Rud"}))
    assert result.text == f"Give the e-mail address, or both the last name and the {second}."


@pytest.mark.parametrize(
    ("domain", "numbers"),
    [
        (RETAIL, {5: [], 6: [30, 60], 7: [10], 8: [14]}),
        (AIRLINE, {3: [40], 4: [0, 30], 6: [35], 7: [180, 100, 200]}),
        (TELECOM, {7: [2, 10, 2]}),
        (LIBRARY, {3: [7, 21], 7: [5.0]}),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_the_numbers_of_the_policy_are_those_that_tasks_are_reckoned_by(domain: Any, numbers: Any) -> None:
    """By the sentences of the written policy; ``test_desk_rules`` and ``test_desk_library`` reckon with the same."""
    sentences = dict(re.findall(r"^(\d+)\. (.*(?:\n {3}.*)*)", domain.policy, re.MULTILINE))
    found = {
        int(place): [float(number) for number in re.findall(r"(?<![\w.-])\d+(?:\.\d\d)?\b", text)]
        for place, text in sentences.items()
    }
    assert {place: one for place, one in found.items() if one} == {place: one for place, one in numbers.items() if one}
