"""The airline's tables, and their content for one task."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from gem_envs_desk.content import TODAY, DeskContent, columns, day
from gem_envs_desk.names import CITIES
from gem_envs_desk.store import Row, TableSchema

__all__ = ["CABINS", "SCHEMA", "Airline"]

CABINS = ("basic", "economy", "business")
SCHEMA = {
    "customers": TableSchema(columns("customer_id first_name last_name email tier"), ("customer_id",)),
    "flights": TableSchema(
        columns(
            "flight_id origin destination date departs status",
            "delay_minutes basic_seats economy_seats business_seats basic_fare economy_fare business_fare",
        ),
        ("flight_id",),
    ),
    "bookings": TableSchema(
        columns("booking_code customer_id flight_id cabin booked_on status", "insured bags", "fare_paid charged"),
        ("booking_code",),
    ),
    "refunds": TableSchema(columns("booking_code", real="amount"), ("booking_code",)),
    "compensations": TableSchema(columns("booking_code", real="amount"), ("booking_code",)),
    "cases": TableSchema(columns("subject category"), ("subject", "category")),
}
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_DAYS = 4
"""Days on which each route is flown, from tomorrow on."""


class Airline(DeskContent):
    """The content of an airline: four routes with flights on four days, ten customers with bookings.

    Args:
        rng: makes it.
        split: decides the family names.
    """

    def __init__(self, rng: Random, split: str) -> None:
        super().__init__(SCHEMA, rng)
        self._codes: set[str] = set()
        cities = rng.sample(CITIES, 5)
        self.routes = [(cities[0], city) for city in cities[1:]]
        self._fares = rng.sample(range(120, 460), 160)  # the cheapest is worth more than any fee
        for route in self.routes:
            for days in range(1, _DAYS + 1):
                times = rng.sample(range(5 * 12, 22 * 12), 3)
                for time in times:
                    self.add_flight(route, (TODAY + timedelta(days=days)).isoformat(), time)
        for _ in range(10):
            tier = "gold" if rng.random() < 0.35 else "standard"
            customer = self.add("customers", **self.person(split), tier=tier)
            for _ in range(2):
                self.add_booking(customer, rng.choice(self.tables["flights"]), rng.choice(CABINS), rng.randint(2, 60))

    def add_histories(self) -> None:
        """Add what customers have done before: bookings that they have cancelled, with and without a refund."""
        rng = self.rng
        for customer in self.tables["customers"]:
            for _ in range(rng.randint(0, 3)):
                cabin = rng.choice(CABINS)
                booking = self.add_booking(customer, rng.choice(self.tables["flights"]), cabin, rng.randint(5, 90))
                booking["status"] = "cancelled"
                if cabin == "business":
                    code, fare = booking["booking_code"], booking["fare_paid"]
                    self.add("refunds", booking_code=code, amount=fare)

    def add_flight(self, route: tuple[str, str], date: str, time: int) -> Row:
        """Add a flight whose fares nobody else has; ``time`` counts steps of five minutes from midnight."""
        rng, economy = self.rng, self._fares.pop()
        seats = {f"{cabin}_seats": 0 if rng.random() < 0.25 else rng.randint(1, 30) for cabin in CABINS}
        return self.add(
            "flights",
            flight_id=f"V{self.number()}",
            origin=route[0],
            destination=route[1],
            date=date,
            departs=f"{time // 12:02d}:{time % 12 * 5:02d}",
            status="scheduled",
            delay_minutes=0,
            **seats,
            basic_fare=economy - 23,
            economy_fare=economy,
            business_fare=2 * economy + 91,
        )

    def _new_code(self) -> str:
        """Return three letters and three digits that no booking has."""
        digits = f"{self.number() % 1000:03d}"
        while (code := "".join(self.rng.choices(_LETTERS, k=3)) + digits) in self._codes:
            pass
        self._codes.add(code)
        return code

    def add_booking(self, customer: Row, flight: Row, cabin: str, days_ago: int, insured: bool = False) -> Row:
        """Add a booking that was made so many days ago, for a fare a little below the present one."""
        rng = self.rng
        return self.add(
            "bookings",
            booking_code=self._new_code(),
            customer_id=customer["customer_id"],
            flight_id=flight["flight_id"],
            cabin=cabin,
            booked_on=day(days_ago),
            status="active",
            insured=int(insured),
            bags=0,
            fare_paid=float(flight[f"{cabin}_fare"] - rng.randint(3, 19)),
            charged=0.0,
        )
