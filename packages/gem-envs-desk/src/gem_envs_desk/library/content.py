"""The library's tables, and their content for one task."""

from __future__ import annotations

from random import Random

from gem_envs_desk.content import DeskContent, columns, day
from gem_envs_desk.store import Row, TableSchema

__all__ = ["BRANCHES", "MOST_HOLDS", "SCHEMA", "Library"]

BRANCHES = ("Harbour", "Old Town", "Mill Hill", "Station", "Riverside")
MOST_HOLDS = 3
"""Holds, waiting or ready, that the policy allows a reader."""
SCHEMA = {
    "customers": TableSchema(columns("customer_id first_name last_name email card kind"), ("customer_id",)),
    "titles": TableSchema(columns("title_id name medium", "copies_in", "price"), ("title_id",)),
    "loans": TableSchema(columns("loan_id customer_id title_id due_on status", "renewals"), ("loan_id",)),
    "holds": TableSchema(columns("customer_id title_id branch status"), ("customer_id", "title_id")),
    "fines": TableSchema(columns("loan_id customer_id was_due_on status", real="amount"), ("loan_id",)),
    "closings": TableSchema(columns("closed_on why"), ("closed_on",)),
    "cases": TableSchema(columns("subject category"), ("subject", "category")),
}
_ADJECTIVES = ("Silent", "Golden", "Last", "Crooked", "Northern", "Hollow", "Painted", "Second")
_NOUNS = ("Harbour", "Orchard", "Lighthouse", "Winter", "Staircase", "Garden", "Compass", "Letter")
_MEDIA = ("book", "book", "book", "audiobook", "film")
_CLOSINGS = ("holiday", "stocktaking", "storm", "repairs")
_OWN = 20
"""Titles that other readers borrow and wait for; the rest is for the requests of a task."""


class Library(DeskContent):
    """The content of a library: ten readers with loans, holds and fines.

    Args:
        rng: makes it.
        split: decides the family names.
    """

    def __init__(self, rng: Random, split: str) -> None:
        super().__init__(SCHEMA, rng)
        self._amounts = rng.sample(range(4, 80), 50)
        for days, why in zip(rng.sample(range(12, 120), len(_CLOSINGS)), _CLOSINGS, strict=True):
            self.add("closings", closed_on=day(days), why=why)
        prices = rng.sample(range(80, 480), len(_ADJECTIVES) * len(_NOUNS))
        names = [f"The {adjective} {noun}" for adjective in _ADJECTIVES for noun in _NOUNS]
        for name, price in zip(rng.sample(names, 45), prices, strict=False):
            medium, identifier = rng.choice(_MEDIA), f"T{self.number()}"
            self.add("titles", title_id=identifier, name=name, medium=medium, copies_in=0, price=price / 10)
        self.free = self.tables["titles"][_OWN:]
        """Titles that nobody has borrowed or waits for; a request takes its own."""
        for _ in range(10):
            kind = "child" if rng.random() < 0.35 else "adult"
            customer = self.add("customers", **self.person(split), card=f"K{self.number()}", kind=kind)
            for title in rng.sample(self.tables["titles"][:_OWN], 2):
                self.add_loan(customer, title, -rng.randint(1, 20), rng.randint(0, 2))
            if rng.random() < 0.6:
                self.add_hold(customer, rng.choice(self.tables["titles"][:_OWN]))

    def add_histories(self) -> None:
        """Add what readers have done before: loans that came back, some of them with a fine that is paid."""
        rng = self.rng
        for customer in self.tables["customers"]:
            for _ in range(rng.randint(0, 3)):
                loan = self.add_loan(customer, rng.choice(self.tables["titles"][:_OWN]), rng.randint(130, 400), 0)
                loan["status"] = "returned"
                if rng.random() < 0.4:
                    self.add_fine(loan, status="paid")

    def take_title(self, medium: str = "", copies_in: int = 0) -> Row:
        """Return a title of its own for a request, of a medium if one is named."""
        title = self.free.pop()
        title.update(medium=medium or title["medium"], copies_in=copies_in)
        return title

    def add_loan(self, customer: Row, title: Row, days_ago: int, renewals: int) -> Row:
        """Add a loan that was due so many days ago."""
        return self.add(
            "loans",
            loan_id=f"L{self.number()}",
            customer_id=customer["customer_id"],
            title_id=title["title_id"],
            due_on=day(days_ago),
            status="open",
            renewals=renewals,
        )

    def add_hold(self, customer: Row, title: Row, status: str = "waiting") -> Row:
        """Add a hold."""
        branch, holder = self.rng.choice(BRANCHES), customer["customer_id"]
        return self.add("holds", customer_id=holder, title_id=title["title_id"], branch=branch, status=status)

    def add_fine(self, loan: Row, status: str = "open") -> Row:
        """Add a fine for a loan that came back late, of an amount that no other fine has."""
        return self.add(
            "fines",
            loan_id=loan["loan_id"],
            customer_id=loan["customer_id"],
            was_due_on=loan["due_on"],
            status=status,
            amount=self._amounts.pop() / 10,
        )
