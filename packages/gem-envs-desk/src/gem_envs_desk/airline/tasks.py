"""The requests of the airline's customers, with their solutions by the policy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import ClassVar, Literal

from gem.tables import read_table
from gem_envs_desk.airline.content import Airline
from gem_envs_desk.request_maker import Kinds, RequestMaker
from gem_envs_desk.requests import CANNOT_HELP, DeskRequest, Words, called, desk_phrases
from gem_envs_desk.store import Row
from gem_envs_desk.task import DeskCall, Slot, ToldFact, Wish

__all__ = ["GROUNDS", "PHRASES", "PassengerRequests", "is_recent"]

NOT_REFUNDABLE, BASIC_CABIN, TOO_MANY_BAGS = "not refundable", "basic cabin", "too many bags"
SHORT_DELAY = "delay too short"
GROUNDS = (CANNOT_HELP, NOT_REFUNDABLE, BASIC_CABIN, TOO_MANY_BAGS, SHORT_DELAY)
"""Why the policy refuses a wish."""

PHRASES = desk_phrases(read_table(__file__, "phrases.json"))
"""How customers raise their wishes where their words vary."""
_BOOKING = ("booking code", "code", "booking number", "booking reference", "which booking", "reservation")
_REBOOKING_FEE, _BAG, _INSURED_FEE = 30, 35, 40
_CANCELS = "I want to cancel a booking. Please tell me how much I get back."
"""Whoever the booking belongs to, so that the words do not tell."""
_CANCELS_AGAIN = "I also want to cancel another booking. Please tell me how much I get back."
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


class PassengerRequests(RequestMaker[Airline]):
    """Makes requests of one customer, each about a booking of its own on a route of its own."""

    table, slot, asks = "bookings", "booking", _BOOKING
    names = "The booking code is {}."

    def __init__(self, rng: Random, airline: Airline, customer: Row, level: int) -> None:
        super().__init__(rng, airline, customer, level)
        self.airline = airline
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
        refund = (
            fare if lost or is_recent(days_ago) or cabin == "business" else fare - _INSURED_FEE if insured else None
        )
        naive = (called("cancel_booking", booking_code=booking["booking_code"], refund=fare),)
        slots = (self._cancel_reason(booking),)
        words = Words("cancel")
        wish = self._wish(
            _CANCELS, booking, refused=refund is None, slots=slots, wants=("deed", "amount"), again=_CANCELS_AGAIN
        )
        if refund is None:
            gold, grounds = self.case(booking["booking_code"]), (NOT_REFUNDABLE,)
            return DeskRequest("cancel refused", wish, gold, naive=naive, grounds=grounds, words=words)
        gold = (called("cancel_booking", booking_code=booking["booking_code"], refund=refund),)
        facts = (ToldFact(refund, 0, "You get back", "refund"),)
        return DeskRequest("cancel", wish, gold, facts, None if refund == fare else naive, words=words)

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
                self.reason("Another day suits me better."),
            ),
            wants=("deed", "time"),
        )
        flights = {"day": first_day, "flight": first_words, "other_day": second_day, "other_flight": second_words}
        words = Words("rebook", flights)
        if refused:
            grounds = (BASIC_CABIN,)
            gold, naive = self.case(booking["booking_code"]), moved(first, 0)
            return DeskRequest("rebook refused", wish, gold, naive=naive, grounds=grounds, words=words)
        new = second if changes else first
        gold = moved(new, 0 if self.is_gold else _REBOOKING_FEE)
        naive = moved(first, 0)  # forgets the fee, and does not ask for a yes
        facts = (ToldFact(new["departs"], 0, "It departs at", "departure"),)
        kind = "rebook, changed mind" if changes else "rebook"
        return DeskRequest(kind, wish, gold, facts, None if naive == gold else naive, words=words)

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
            self.reason("I would like to have more room."),
        )  # fmt: skip
        words = Words("upgrade")
        wish = self._wish(
            "I want to fly in business. What does that cost?",
            booking,
            refused=refused,
            slots=slots,
            wants=("deed", "amount"),
        )
        if refused:
            gold, grounds = self.case(booking["booking_code"]), (BASIC_CABIN,)
            return DeskRequest("upgrade refused", wish, gold, naive=(call,), grounds=grounds, words=words)
        facts = (ToldFact(charge, 0, "The upgrade costs", "charge"),)
        return DeskRequest("upgrade", wish, (call,), facts, words=words)

    def bags(self) -> DeskRequest:
        """Take more bags, all at once or by steps."""
        rng = self.rng
        cabin = rng.choice(("basic", "economy", "business"))
        booking = self.airline.add_booking(self.customer, self._flight(), cabin, rng.randint(5, 40))
        free = _FREE_BAGS[cabin] + self.is_gold
        had, wanted = rng.randint(0, 1), rng.randint(2, 5)
        booking["bags"] = had
        steps = range(had + 1, wanted)
        gold, *ways = (
            self._more_bags(booking, free, (*some, wanted))
            for count in range(len(steps) + 1)
            for some in combinations(steps, count)
        )
        naive_charge = float(_BAG * (wanted - had))
        says = f"I want to take {wanted} bags in all."
        slots = (
            Slot("bags", ("how many", "number of bags", "bags", "luggage", "in total", "in all"), says, extra=True),
            self.reason("I have a lot to carry."),
        )
        wish = self._wish(says, booking, refused=wanted > 4, slots=slots)
        in_all = Slot("bags", (), f"{wanted} bags in all.", extra=True)
        words = Words("bags", {"count": str(wanted)}, (in_all,), ("luggage",))
        code = booking["booking_code"]
        if wanted > 4:
            naive = (called("set_bags", booking_code=code, bags=4, charge=naive_charge - _BAG),)
            agrees = (called("set_bags", booking_code=code, bags=wanted, charge=naive_charge),)
            grounds = (TOO_MANY_BAGS,)
            case = self.case(booking["booking_code"])
            return DeskRequest("bags refused", wish, case, (), naive, grounds, agrees, words=words)
        naive = (called("set_bags", booking_code=code, bags=wanted, charge=naive_charge),)
        return DeskRequest("bags", wish, gold, naive=None if naive == gold else naive, ways=tuple(ways), words=words)

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
        slots = (self.reason("Because my flight is late."),)
        says = "My flight is late, and I want compensation."
        wish = self._wish(says, booking, refused=refused, slots=slots)
        if refused:
            grounds = (SHORT_DELAY,)
            case = self.case(booking["booking_code"])
            return DeskRequest("compensation refused", wish, case, naive=gold, grounds=grounds, words=Words("delay"))
        return DeskRequest("compensation", wish, gold, words=Words("delay"))

    def stranger(self) -> DeskRequest:
        """Ask for the booking of somebody else."""
        rng, airline = self.rng, self.airline
        booking = airline.add_booking(rng.choice(self.others()), self._flight(), "business", 20)
        code = booking["booking_code"]
        slots = (self._cancel_reason(booking),)
        wish = self._wish(_CANCELS, booking, refused=True, slots=slots, wants=("deed", "amount"), again=_CANCELS_AGAIN)
        naive = called("cancel_booking", booking_code=code, refund=booking["fare_paid"])
        return self.of_somebody_else("booking of somebody else", wish, code, naive, Words("cancel"))

    def _more_bags(self, booking: Row, free: int, counts: Sequence[int]) -> tuple[DeskCall, ...]:
        """Return the calls that bring a booking to these numbers of bags, one after the other, with their charges."""
        has = (booking["bags"], *counts)
        return tuple(
            called(
                "set_bags",
                booking_code=booking["booking_code"],
                bags=count,
                charge=float(_BAG * max(count - max(free, had), 0)),
            )
            for had, count in zip(has, counts, strict=False)
        )

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

    def _cancel_reason(self, booking: Row) -> Slot:
        """Return why a customer cancels, which decides nothing."""
        return self.reason(_CANCEL_REASONS[int(booking["booking_code"][-1]) % len(_CANCEL_REASONS)])

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
        slot = self.record_slot(booking["booking_code"])
        action = Slot("wish", (), says, choices=_ACTIONS, extra=True)
        return Wish(says, change, self.protest(refused), (slot, *slots, action), wants, again)

    kinds: ClassVar[Kinds] = {
        "cancel": cancel,
        "rebook": rebook,
        "upgrade": upgrade,
        "bags": bags,
        "delay": delay,
        "stranger": stranger,
    }


def is_recent(days_ago: int) -> bool:
    """Return whether a booking was made today or yesterday."""
    return days_ago < 2
