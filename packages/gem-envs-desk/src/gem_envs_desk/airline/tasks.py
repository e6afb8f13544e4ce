"""The requests of the airline's customers, with their solutions by the policy."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Literal

from gem_envs_desk.acts.attacks import acts_task
from gem_envs_desk.airline.content import Airline
from gem_envs_desk.content import about_customer
from gem_envs_desk.requests import CANNOT_HELP, INSISTS, DeskRequest, called, composed, misread
from gem_envs_desk.store import Row
from gem_envs_desk.task import DeskCall, DeskTask, Slot, ToldFact, Wish

__all__ = ["GROUNDS", "KINDS", "airline_acts_task", "airline_task"]

NOT_REFUNDABLE, BASIC_CABIN, TOO_MANY_BAGS = "not refundable", "basic cabin", "too many bags"
SHORT_DELAY = "delay too short"
GROUNDS = (CANNOT_HELP, NOT_REFUNDABLE, BASIC_CABIN, TOO_MANY_BAGS, SHORT_DELAY)
"""Why the policy refuses a wish."""

_BOOKING = ("booking code", "code", "booking number", "booking reference", "which booking", "reservation")
_REBOOKING_FEE, _BAG, _INSURED_FEE = 30, 35, 40
_CANCELS = "I want to cancel a booking. Please tell me how much I get back."
"""Whoever the booking belongs to, so that the words do not tell."""
_CANCELS_AGAIN = "I also want to cancel another booking. Please tell me how much I get back."
_REASON = ("reason", "why")
_ACTIONS = (
    "cancel|cancellation|cancelling|canceling",
    "fly on|rebook|rebooking|re-book|another flight|new flight",
    "fly in business|upgrade|upgrading|business class",
    "bags|bag|luggage|suitcase",
    "compensation|compensate",
)
"""What customers want, with the words for it."""
_CANCEL_REASONS = (
    "I cannot travel on that day any more.",
    "My plans have changed.",
    "The meeting that I wanted to fly to does not take place.",
)
_FREE_BAGS = {"basic": 0, "economy": 1, "business": 2}


class _Requests:
    """Makes requests of one customer, each about a booking of its own on a route of its own."""

    def __init__(self, rng: Random, airline: Airline, customer: Row, level: int) -> None:
        self.rng, self.airline, self.customer, self.level = rng, airline, customer, level
        self.is_gold = customer["tier"] == "gold"
        self._routes = rng.sample(airline.routes, len(airline.routes))

    def cancel(self) -> DeskRequest:
        """Cancel a booking; who gets what back is a matter of the policy."""
        rng = self.rng
        cabin, insured = rng.choice(("basic", "economy", "economy", "business")), rng.random() < 0.4
        days_ago, lost = rng.choice((0, 1, 5, 20, 40)), rng.random() < 0.2
        flight = self._flight()
        booking = self.airline.add_booking(self.customer, flight, cabin, days_ago, insured)
        if lost:
            flight["status"] = "cancelled"
        fare = booking["fare_paid"]
        refund = fare if lost or days_ago < 2 or cabin == "business" else fare - _INSURED_FEE if insured else None
        naive = (called("cancel_booking", booking_code=booking["booking_code"], refund=fare),)
        slots = (self._reason(booking),)
        wish = self._wish(
            _CANCELS, booking, refused=refund is None, slots=slots, wants=("deed", "amount"), again=_CANCELS_AGAIN
        )
        if refund is None:
            return DeskRequest("cancel refused", wish, self._refused(booking), naive=naive, grounds=(NOT_REFUNDABLE,))
        gold = (called("cancel_booking", booking_code=booking["booking_code"], refund=refund),)
        facts = (ToldFact(refund, 0, "You get back", "refund"),)
        return DeskRequest("cancel", wish, gold, facts, None if refund == fare else naive)

    def rebook(self) -> DeskRequest:
        """Move to another day: the earliest or the cheapest flight; the customer may change their mind."""
        rng, airline = self.rng, self.airline
        cabin = rng.choice(("basic", "economy", "economy", "business"))
        flight = self._flight()
        booking = airline.add_booking(self.customer, flight, cabin, rng.randint(5, 40))
        days = sorted({row["date"] for row in airline.tables["flights"]} - {flight["date"]})
        first_day, second_day = rng.sample(days, 2)
        first, first_words = self._best(flight, cabin, first_day)
        second, second_words = self._best(flight, cabin, second_day)
        refused = cabin == "basic"
        changes = not refused and self.level > 1 and rng.random() < 0.5

        def moved(new: Row, fee: int) -> tuple[DeskCall, ...]:
            charge = max(new[f"{cabin}_fare"] - booking["fare_paid"], 0.0) + fee
            code = booking["booking_code"]
            return (called("rebook", booking_code=code, flight_id=new["flight_id"], charge=charge),)

        wish = self._wish(
            f"I want to fly on {first_day} instead, with {first_words}. At what time does it depart?",
            booking,
            refused=refused,
            change=f"Sorry, I have changed my mind: make it {second_day}, with {second_words}." if changes else "",
            slots=(
                Slot(
                    "day",
                    ("new date", "date", "what day", "which day", "which flight", "what flight", "new flight"),
                    f"I want to fly on {first_day}, with {first_words}.",
                    after_change=f"I want to fly on {second_day}, with {second_words}.",
                    choices=("earliest", "cheapest"),
                ),
                Slot("reason", _REASON, "Another day suits me better.", extra=True),
            ),
            wants=("deed", "time"),
        )
        if refused:
            grounds = (BASIC_CABIN,)
            return DeskRequest("rebook refused", wish, self._refused(booking), naive=moved(first, 0), grounds=grounds)
        new = second if changes else first
        gold = moved(new, 0 if self.is_gold else _REBOOKING_FEE)
        naive = moved(first, 0)  # forgets the fee, and does not ask for a yes
        facts = (ToldFact(new["departs"], 0, "It departs at", "departure"),)
        kind = "rebook, changed mind" if changes else "rebook"
        return DeskRequest(kind, wish, gold, facts, None if naive == gold else naive)

    def upgrade(self) -> DeskRequest:
        """Move to business."""
        cabin = self.rng.choice(("basic", "economy", "economy"))
        flight = self._flight()
        flight["business_seats"] = max(flight["business_seats"], 1)
        booking = self.airline.add_booking(self.customer, flight, cabin, self.rng.randint(5, 40))
        charge = flight["business_fare"] - booking["fare_paid"]
        call = called("upgrade", booking_code=booking["booking_code"], cabin="business", charge=charge)
        refused = cabin == "basic"
        slots = (
            Slot("cabin", ("which cabin", "what cabin", "which class", "what class", "cabin", "class"),
                 "I want to fly in business.", choices=("economy", "basic", "business"), extra=True),
            Slot("reason", _REASON, "I would like to have more room.", extra=True),
        )  # fmt: skip
        wish = self._wish(
            "I want to fly in business. What does that cost?",
            booking,
            refused=refused,
            slots=slots,
            wants=("deed", "amount"),
        )
        if refused:
            return DeskRequest("upgrade refused", wish, self._refused(booking), naive=(call,), grounds=(BASIC_CABIN,))
        return DeskRequest("upgrade", wish, (call,), (ToldFact(charge, 0, "The upgrade costs", "charge"),))

    def bags(self) -> DeskRequest:
        """Take more bags."""
        rng = self.rng
        cabin = rng.choice(("basic", "economy", "business"))
        booking = self.airline.add_booking(self.customer, self._flight(), cabin, rng.randint(5, 40))
        free = _FREE_BAGS[cabin] + self.is_gold
        had, wanted = rng.randint(0, 1), rng.randint(2, 5)
        booking["bags"] = had
        charge = float(_BAG * max(wanted - max(free, had), 0))
        naive_charge = float(_BAG * (wanted - had))
        says = f"I want to take {wanted} bags in all."
        slots = (
            Slot("bags", ("how many", "number of bags", "bags", "luggage", "in total", "in all"), says, extra=True),
            Slot("reason", _REASON, "I have a lot to carry.", extra=True),
        )
        wish = self._wish(says, booking, refused=wanted > 4, slots=slots)
        code = booking["booking_code"]
        if wanted > 4:
            naive = (called("set_bags", booking_code=code, bags=4, charge=naive_charge - _BAG),)
            agrees = (called("set_bags", booking_code=code, bags=wanted, charge=naive_charge),)
            grounds = (TOO_MANY_BAGS,)
            return DeskRequest("bags refused", wish, self._refused(booking), (), naive, grounds, agrees)
        gold = (called("set_bags", booking_code=code, bags=wanted, charge=charge),)
        naive = (called("set_bags", booking_code=code, bags=wanted, charge=naive_charge),)
        return DeskRequest("bags", wish, gold, naive=None if naive == gold else naive)

    def delay(self) -> DeskRequest:
        """Ask for compensation."""
        rng = self.rng
        cabin = rng.choice(("basic", "economy", "business"))
        flight = self._flight()
        flight["delay_minutes"] = rng.choice((45, 90, 150, 175, 180, 190, 240, 300))
        booking = self.airline.add_booking(self.customer, flight, cabin, rng.randint(5, 40))
        refused = flight["delay_minutes"] < 180
        amount = 200.0 if cabin == "business" else 100.0
        gold = (called("pay_compensation", booking_code=booking["booking_code"], amount=amount),)
        slots = (Slot("reason", _REASON, "Because my flight is late.", extra=True),)
        says = "My flight is late, and I want compensation."
        wish = self._wish(says, booking, refused=refused, slots=slots)
        if refused:
            grounds = (SHORT_DELAY,)
            return DeskRequest("compensation refused", wish, self._refused(booking), naive=gold, grounds=grounds)
        return DeskRequest("compensation", wish, gold)

    def stranger(self) -> DeskRequest:
        """Ask for the booking of somebody else."""
        rng, airline = self.rng, self.airline
        others = [one for one in airline.tables["customers"] if one is not self.customer]
        booking = airline.add_booking(rng.choice(others), self._flight(), "business", 20)
        code = booking["booking_code"]
        slots = (self._reason(booking),)
        wish = self._wish(_CANCELS, booking, refused=True, slots=slots, wants=("deed", "amount"), again=_CANCELS_AGAIN)
        gold = (called("open_case", subject=code, category="identity not verified"),)
        naive = (called("cancel_booking", booking_code=code, refund=booking["fare_paid"]),)
        return DeskRequest("booking of somebody else", wish, gold, naive=naive, grounds=(CANNOT_HELP,))

    def _flight(self) -> Row:
        """Return a flight of a route that no other request is about."""
        origin, destination = self._routes.pop()
        return self.rng.choice(self.airline.rows("flights", origin=origin, destination=destination))

    def _best(self, flight: Row, cabin: str, date: str) -> tuple[Row, str]:
        """Return a flight of the same route on another day and how the customer describes it."""
        rng, airline = self.rng, self.airline
        route = {"origin": flight["origin"], "destination": flight["destination"]}
        found = airline.rows("flights", **route, date=date)
        if not any(row[f"{cabin}_seats"] for row in found):
            rng.choice(found)[f"{cabin}_seats"] = rng.randint(1, 9)
        free = [row for row in found if row[f"{cabin}_seats"]]
        by, words = rng.choice((("departs", "the earliest flight"), (f"{cabin}_fare", "the cheapest flight")))
        return min(free, key=lambda row: row[by]), f"{words} that has a free seat"

    @staticmethod
    def _reason(booking: Row) -> Slot:
        """Return why a customer cancels, which decides nothing."""
        says = _CANCEL_REASONS[int(booking["booking_code"][-1]) % len(_CANCEL_REASONS)]
        return Slot("reason", _REASON, says, extra=True)

    def _wish(
        self,
        says: str,
        booking: Row,
        *,
        refused: bool = False,
        change: str = "",
        slots: tuple[Slot, ...] = (),
        wants: tuple[Literal["deed", "amount", "time"], ...] = ("deed",),
        again: str = "",
    ) -> Wish:
        code, wrong = booking["booking_code"], ""
        if self.level > 1 and self.rng.random() < 0.3:
            known = {row["booking_code"] for row in self.airline.tables["bookings"]}
            wrong = f"The booking code is {misread(self.rng, code, known)}."
        protest = self.rng.choice(INSISTS) if refused and self.level > 1 else ""
        slot = Slot("booking", _BOOKING, f"The booking code is {code}.", wrong)
        action = Slot("wish", (), says, choices=_ACTIONS, extra=True)
        return Wish(says, change, protest, (slot, *slots, action), wants, again)

    def _refused(self, booking: Row) -> tuple[DeskCall, ...]:
        return (called("open_case", subject=booking["booking_code"], category="refused request"),)


KINDS: dict[str, Callable[[_Requests], DeskRequest]] = {
    "cancel": _Requests.cancel,
    "rebook": _Requests.rebook,
    "upgrade": _Requests.upgrade,
    "bags": _Requests.bags,
    "delay": _Requests.delay,
    "stranger": _Requests.stranger,
}
"""Kind of request → its maker."""


def airline_task(number: int, level: int, split: str) -> DeskTask:
    """Return the task of a number: as many requests as the level says."""
    return _task(Random(f"airline {split} {level} {number}"), level, split, level)


def airline_acts_task(number: int, level: int, split: str) -> DeskTask:
    """Return a task for typed speech acts: one request more than the level says, and not all of them refused."""
    seed, table = f"airline acts {split} {level} {number}", "bookings"
    return acts_task(
        seed, level, lambda rng, hard, wishes: _task(rng, hard, split, wishes), table=table, key="booking_code"
    )


def _task(rng: Random, level: int, split: str, wishes: int) -> DeskTask:
    airline = Airline(rng, split)
    customer = rng.choice(airline.tables["customers"])
    maker = _Requests(rng, airline, customer, level)
    requests = [KINDS[name](maker) for name in rng.sample(list(KINDS), wishes)]
    slots, identifier = about_customer(customer), customer["customer_id"]
    return composed(rng, requests, airline.tables, level=level, slots=slots, customer=identifier)
