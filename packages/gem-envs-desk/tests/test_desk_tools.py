"""What the tools of shop and airline refuse: another's money, other states, amounts beyond limits."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gem_envs_desk.airline.env import AirlineDomain
from gem_envs_desk.domain import DeskDomain, DeskWorld, carried_out
from gem_envs_desk.retail.env import RetailDomain
from gem_envs_desk.task import DeskCall

HERS = {"customer_id": "C1", "first_name": "Ida", "last_name": "Rud", "email": "ida@mail.example", "tier": "standard"}
HIS = {**HERS, "customer_id": "C2", "first_name": "Leo", "last_name": "Moe", "email": "leo@mail.example"}
LAMP = {
    "item_id": "I1", "product": "desk lamp", "category": "home", "colour": "white", "size": "small", "stock": 1,
    "final_sale": 0, "price": 40.0,
}  # fmt: skip
ORDER: dict[str, Any] = {
    "customer_id": "C1", "placed_on": "2026-05-01", "delivered_on": None, "payment_id": "P1", "street": "1 Elm",
    "city": "Halden", "zip": "10000", "cancel_reason": None,
}  # fmt: skip
SHOP = {
    "customers": [{**HERS, "zip": "10000"}, {**HIS, "zip": "20000"}],
    "payment_methods": [
        {"payment_id": "P1", "customer_id": "C1", "kind": "card", "balance": None},
        {"payment_id": "P2", "customer_id": "C2", "kind": "card", "balance": None},
        {"payment_id": "P3", "customer_id": "C1", "kind": "gift_card", "balance": 5.0},
    ],
    "items": [LAMP, {**LAMP, "item_id": "I2", "price": 45.5}, {**LAMP, "item_id": "I3", "stock": 0}],
    "orders": [
        {**ORDER, "order_id": "R1", "status": "pending"},
        {**ORDER, "order_id": "R2", "status": "delivered"},
        {**ORDER, "order_id": "R3", "status": "shipped"},
    ],
    "order_lines": [
        *({"order_id": order, "item_id": "I1", "status": "ordered", "price": 40.0} for order in ("R1", "R2", "R3")),
        {"order_id": "R2", "item_id": "I2", "status": "returned", "price": 45.5},
    ],
    "refunds": [],
    "cases": [{"subject": "R2", "category": "lost parcel"}],
}
FLIGHT = {
    "origin": "Oslo", "destination": "Bergen", "date": "2026-05-16", "departs": "09:00", "status": "on time",
    "delay_minutes": 0, "basic_seats": 1, "economy_seats": 1, "business_seats": 0, "basic_fare": 100,
    "economy_fare": 150, "business_fare": 300,
}  # fmt: skip
BOOKING: dict[str, Any] = {
    "customer_id": "C1", "flight_id": "V1", "cabin": "basic", "booked_on": "2026-05-01", "status": "active",
    "insured": 0, "bags": 1, "fare_paid": 100.0, "charged": 0.0,
}  # fmt: skip
AIRLINE = {
    "customers": [HERS, HIS],
    "flights": [
        {**FLIGHT, "flight_id": "V1"},
        {**FLIGHT, "flight_id": "V2", "basic_seats": 0},
        {**FLIGHT, "flight_id": "V3"},
    ],
    "bookings": [
        {**BOOKING, "booking_code": "AAA111"},
        {**BOOKING, "booking_code": "BBB222", "status": "cancelled"},
        {**BOOKING, "booking_code": "CCC333", "customer_id": "C2", "bags": 4},
        {**BOOKING, "booking_code": "DDD444", "cabin": "economy", "charged": 30.0},
    ],
    "refunds": [],
    "compensations": [{"booking_code": "CCC333", "amount": 50.0}],
    "cases": [{"subject": "AAA111", "category": "refused request"}],
}
SWAP = ("swap_item", {"order_id": "R1", "old_item_id": "I1", "new_item_id": "I2"})
REFUND = ("refund_item", {"order_id": "R2", "item_id": "I1", "amount": 40.0, "payment_id": "P1"})
CANCEL = ("cancel_order", {"order_id": "R1", "reason": "other"})
MOVE = ("change_address", {"order_id": "R1", "street": "2 Oak", "city": "Halden", "zip_code": "10000"})
GIVE_UP = ("cancel_booking", {"booking_code": "AAA111", "refund": 100.0})
REBOOK = ("rebook", {"booking_code": "AAA111", "flight_id": "V3", "charge": 0.0})
UPGRADE = ("upgrade", {"booking_code": "AAA111", "cabin": "economy", "charge": 50.0})
BAGS = ("set_bags", {"booking_code": "AAA111", "bags": 2, "charge": 30.0})
COMPENSATE = ("pay_compensation", {"booking_code": "AAA111", "amount": 10_000.0})
ANY_AMOUNT = r"at least 0 and at most 10,000\.$"


def opened(call: tuple[str, dict[str, Any]], **changes: Any) -> tuple[DeskWorld, DeskCall]:
    """Return the world of a call, and the call with other arguments."""
    tool, arguments = call
    domain: DeskDomain = RetailDomain() if call in (SWAP, REFUND, CANCEL, MOVE) else AirlineDomain()
    return domain.open(SHOP if isinstance(domain, RetailDomain) else AIRLINE), DeskCall(tool, {**arguments, **changes})


@pytest.mark.parametrize(
    ("call", "changes", "table", "row"),
    [
        (SWAP, {}, "order_lines", {"order_id": "R1", "item_id": "I2", "price": 45.5, "status": "swapped"}),
        (REFUND, {}, "order_lines", {"order_id": "R2", "item_id": "I1", "status": "returned"}),
        (REFUND, {"amount": 0.01}, "refunds", {"order_id": "R2", "item_id": "I1", "amount": 0.01}),
        (REFUND, {"payment_id": "P3"}, "payment_methods", {"payment_id": "P3", "balance": 45.0}),
        (CANCEL, {}, "orders", {"order_id": "R1", "status": "cancelled", "cancel_reason": "other"}),
        (MOVE, {}, "orders", {"order_id": "R1", "street": "2 Oak"}),
        (GIVE_UP, {}, "refunds", {"booking_code": "AAA111", "amount": 100.0}),
        (GIVE_UP, {"refund": 0.0}, "bookings", {"booking_code": "AAA111", "status": "cancelled"}),
        (REBOOK, {}, "bookings", {"booking_code": "AAA111", "flight_id": "V3", "charged": 0.0}),
        (UPGRADE, {}, "bookings", {"booking_code": "AAA111", "cabin": "economy", "charged": 50.0}),
        (BAGS, {"bags": 4}, "bookings", {"booking_code": "AAA111", "bags": 4, "charged": 30.0}),
        (REBOOK, {"booking_code": "DDD444", "charge": 5.5}, "bookings", {"booking_code": "DDD444", "charged": 35.5}),
        (BAGS, {"booking_code": "DDD444", "charge": 5.5}, "bookings", {"booking_code": "DDD444", "charged": 35.5}),
        (COMPENSATE, {}, "compensations", {"booking_code": "AAA111", "amount": 10_000.0}),
    ],
)
def test_a_call_within_the_limits_changes_the_state(
    call: tuple[str, dict[str, Any]], changes: dict[str, Any], table: str, row: dict[str, Any]
) -> None:
    """The limits themselves are allowed: the last item in stock, the whole price, the last bag."""
    world, made = opened(call, **changes)
    result = carried_out(world, made)
    assert result.ok, result.text
    rows = [{**dict(found)} for found in world.store.find(table)]  # type: ignore[attr-defined]
    assert any(row.items() <= found.items() for found in rows), rows


@pytest.mark.parametrize(
    ("call", "changes", "refusal"),
    [
        (SWAP, {"new_item_id": "I3"}, r"^Item I3 is out of stock\.$"),
        (SWAP, {"new_item_id": "I1"}, r"has item I1 already"),
        (SWAP, {"old_item_id": "I2"}, r"^Order R1 has no item 'I2'\.$"),
        (SWAP, {"order_id": "R3"}, r"^Order R3 is shipped, not pending\.$"),
        (REFUND, {"payment_id": "P2"}, r"^Payment method P2 does not belong to the customer of order R2\.$"),
        (REFUND, {"amount": 40.01}, r"more than 0 and at most the price, 40\.00"),
        (REFUND, {"amount": 0.0}, r"more than 0"),
        (REFUND, {"amount": -1.0}, r"more than 0"),
        (REFUND, {"item_id": "I2"}, r"has come back already"),
        (REFUND, {"item_id": "I3"}, r"^Order R2 has no item 'I3'\.$"),
        (REFUND, {"order_id": "R3"}, r"^Order R3 is shipped; only what has been delivered"),
        (CANCEL, {"order_id": "R3"}, r"^Order R3 is shipped, not pending\.$"),
        (CANCEL, {"order_id": "R2"}, r"^Order R2 is delivered, not pending\.$"),
        (MOVE, {"order_id": "R3"}, r"^Order R3 is shipped, not pending\.$"),
        (GIVE_UP, {"refund": 100.01}, r"at least 0 and at most the fare, 100\.00"),
        (GIVE_UP, {"refund": -0.01}, r"at least 0"),
        (GIVE_UP, {"booking_code": "BBB222"}, r"^Booking BBB222 is cancelled\.$"),
        (REBOOK, {"flight_id": "V2"}, r"^Flight V2 has no free seat in basic\.$"),
        (REBOOK, {"flight_id": "V1"}, r"is for flight V1 already"),
        (REBOOK, {"charge": 20_000.0}, ANY_AMOUNT),
        (UPGRADE, {"cabin": "business"}, r"no free seat in business"),
        (UPGRADE, {"charge": -1.0}, ANY_AMOUNT),
        (UPGRADE, {"booking_code": "DDD444"}, r"^Booking DDD444 is in economy already\.$"),
        *(
            (call, {"booking_code": "BBB222"}, r"^Booking BBB222 is cancelled\.$")
            for call in (REBOOK, UPGRADE, BAGS, COMPENSATE)
        ),
        (BAGS, {"bags": 5}, r"has 1 bag; it can have up to 4"),
        (BAGS, {"bags": 1}, r"has 1 bag"),
        (BAGS, {"charge": 10_000.01}, ANY_AMOUNT),
        (COMPENSATE, {"booking_code": "CCC333"}, r"CCC333 has been paid already"),
        (COMPENSATE, {"amount": 10_001.0}, ANY_AMOUNT),
    ],
)
def test_a_call_beyond_a_limit_is_refused_and_changes_nothing(
    call: tuple[str, dict[str, Any]], changes: dict[str, Any], refusal: str
) -> None:
    """The message says which rule it broke; the store stays as it was."""
    world, made = opened(call, **changes)
    before = world.dump()
    result = carried_out(world, made)
    assert not result.ok
    assert re.search(refusal, result.text), result.text
    assert world.dump() == before


@pytest.mark.parametrize(
    ("domain", "state", "given", "found"),
    [
        (RetailDomain(), SHOP, {"email": " IDA@mail.example"}, "C1"),
        (RetailDomain(), SHOP, {"last_name": "rud", "zip_code": "10000"}, "C1"),
        (RetailDomain(), SHOP, {"last_name": "rud", "zip_code": "20000"}, None),
        (RetailDomain(), SHOP, {"last_name": "moe"}, None),
        (AirlineDomain(), AIRLINE, {"last_name": "rud", "booking_code": "aaa111"}, "C1"),
        (AirlineDomain(), AIRLINE, {"last_name": "rud", "booking_code": "CCC333"}, None),
    ],
)
def test_a_customer_is_found_by_her_own_data_alone(
    domain: DeskDomain, state: dict[str, Any], given: dict[str, str], found: str | None
) -> None:
    """Her name with another's zip code or booking finds nobody."""
    result = carried_out(domain.open(state), DeskCall("find_customer", given))
    assert result.ok == (found is not None)
    assert ("C1" in result.text, "C2" in result.text) == (found == "C1", found == "C2")
