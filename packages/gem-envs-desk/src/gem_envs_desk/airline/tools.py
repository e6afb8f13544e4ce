"""The tools of the airline's agents. They keep the data whole; what is allowed beyond that, the policy says."""

# ruff: noqa: D417  # the episode fills the argument store, which the agent does not see

from __future__ import annotations

from typing import Literal

from gem.counts import counted
from gem.tools import tool
from gem_envs_desk.domain import Db, RefusedCallError
from gem_envs_desk.records import chargeable, file_case, find_customers, with_status
from gem_envs_desk.store import DeskStore, Row

_CASES = Literal["refused request", "identity not verified"]
_MOST_BAGS = 4


@tool
def find_customer(store: Db, email: str = "", last_name: str = "", booking_code: str = "") -> list[Row]:
    """Find customers by e-mail address, or by last name and the code of a booking of theirs.

    Args:
        email: the e-mail address; leave it out to search by name.
        last_name: with booking_code, instead of the e-mail address.
        booking_code: with last_name.
    """
    return find_customers(
        store,
        email,
        "SELECT c.* FROM customers c JOIN bookings b USING (customer_id) "
        "WHERE lower(c.last_name) = lower(?) AND b.booking_code = upper(?)",
        last_name,
        booking_code,
        second="booking code",
    )


@tool
def list_bookings(store: Db, customer_id: str) -> list[Row]:
    """List the bookings of a customer.

    Args:
        customer_id: such as C12345.
    """
    store.require("customers", customer_id=customer_id)
    return store.find("bookings", customer_id=customer_id)


@tool
def get_booking(store: Db, booking_code: str) -> dict[str, object]:
    """Show a booking with its flight and the fares of today.

    Args:
        booking_code: such as ABC123.
    """
    booking = store.require("bookings", booking_code=booking_code)
    return {**booking, "flight": store.get("flights", flight_id=booking["flight_id"])}


@tool
def search_flights(store: Db, origin: str, destination: str, date: str) -> list[Row]:
    """List the flights of a route on a day, with free seats and fares.

    Args:
        origin: the city.
        destination: the city.
        date: such as 2026-05-16.
    """
    return store.query(
        "SELECT * FROM flights WHERE lower(origin) = lower(?) AND lower(destination) = lower(?) AND date = ? "
        "ORDER BY departs",
        origin.strip(),
        destination.strip(),
        date.strip(),
    )


@tool
def cancel_booking(store: Db, booking_code: str, refund: float) -> str:
    """Cancel a booking and pay a refund.

    Args:
        booking_code: such as ABC123.
        refund: what the customer gets back.
    """
    booking = _active(store, booking_code)
    if not 0 <= refund <= booking["fare_paid"]:
        raise RefusedCallError(f"The refund must be at least 0 and at most the fare, {booking['fare_paid']:.2f}.")
    store.insert("refunds", {"booking_code": booking_code, "amount": round(refund, 2)})
    store.update("bookings", {"booking_code": booking_code}, status="cancelled")
    return f"Booking {booking_code} is cancelled; {refund:.2f} are refunded."


@tool
def rebook(store: Db, booking_code: str, flight_id: str, charge: float) -> str:
    """Move a booking to another flight, in the same cabin, and charge the customer.

    Args:
        booking_code: such as ABC123.
        flight_id: the new flight, such as V12345.
        charge: what the customer pays for it.
    """
    booking, flight = _active(store, booking_code), store.require("flights", flight_id=flight_id)
    charge = chargeable(charge)
    if flight["flight_id"] == booking["flight_id"]:
        raise RefusedCallError(f"Booking {booking_code} is for flight {flight_id} already.")
    if flight[f"{booking['cabin']}_seats"] < 1:
        raise RefusedCallError(f"Flight {flight_id} has no free seat in {booking['cabin']}.")
    _charge(store, booking, charge, flight_id=flight_id)
    return f"Booking {booking_code} is for flight {flight_id} at {flight['departs']} now; {charge:.2f} are charged."


@tool
def upgrade(store: Db, booking_code: str, cabin: Literal["economy", "business"], charge: float) -> str:
    """Move a booking to another cabin of its flight, and charge the customer.

    Args:
        booking_code: such as ABC123.
        cabin: the new cabin.
        charge: what the customer pays for it.
    """
    booking = _active(store, booking_code)
    charge = chargeable(charge)
    flight = store.require("flights", flight_id=booking["flight_id"])
    if booking["cabin"] == cabin:
        raise RefusedCallError(f"Booking {booking_code} is in {cabin} already.")
    if flight[f"{cabin}_seats"] < 1:
        raise RefusedCallError(f"The flight has no free seat in {cabin}.")
    _charge(store, booking, charge, cabin=cabin)
    return f"Booking {booking_code} is in {cabin} now; {charge:.2f} are charged."


@tool
def set_bags(store: Db, booking_code: str, bags: int, charge: float) -> str:
    """Set the number of bags of a booking, and charge the customer.

    Args:
        booking_code: such as ABC123.
        bags: all bags of the booking, from 1 to 4.
        charge: what the customer pays for it.
    """
    booking = _active(store, booking_code)
    charge = chargeable(charge)
    if not booking["bags"] < bags <= _MOST_BAGS:
        raise RefusedCallError(f"The booking has {counted(booking['bags'], 'bag')}; it can have up to {_MOST_BAGS}.")
    _charge(store, booking, charge, bags=bags)
    return f"Booking {booking_code} has {counted(bags, 'bag')} now; {charge:.2f} are charged."


@tool
def pay_compensation(store: Db, booking_code: str, amount: float) -> str:
    """Pay compensation for a delay.

    Args:
        booking_code: such as ABC123.
        amount: what the customer gets.
    """
    _active(store, booking_code)
    amount = chargeable(amount)
    if store.find("compensations", booking_code=booking_code):
        raise RefusedCallError(f"A compensation for booking {booking_code} has been paid already.")
    store.insert("compensations", {"booking_code": booking_code, "amount": amount})
    return f"{amount:.2f} are paid for booking {booking_code}."


@tool
def open_case(store: Db, subject: str, category: _CASES) -> str:
    """File a case for the back office.

    Args:
        subject: the code of the booking that it is about.
        category: what it is about.
    """
    return file_case(store, "bookings", subject, category)


def _charge(store: DeskStore, booking: Row, charge: float, **changes: object) -> None:
    """Change a booking, and charge its customer."""
    charged = round(booking["charged"] + charge, 2)
    store.update("bookings", {"booking_code": booking["booking_code"]}, charged=charged, **changes)


def _active(store: DeskStore, booking_code: str) -> Row:
    return with_status(store, "bookings", "active", booking_code=booking_code)
