"""The rows of a task while it is generated: :class:`DeskContent`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from random import Random
from typing import Any

from gem_envs_desk.names import FIRST_NAMES, family_name
from gem_envs_desk.store import Row, TableSchema
from gem_envs_desk.task import Slot

__all__ = ["TODAY", "DeskContent", "about_customer", "columns", "day", "later"]

TODAY = date(2026, 5, 15)
"""The date of every episode; the policies state it."""


class DeskContent:
    """Tables that grow while a task is generated, with numbers that are never used twice.

    Args:
        schema: the tables.
        rng: draws everything.
    """

    def __init__(self, schema: Mapping[str, TableSchema], rng: Random) -> None:
        self.schema, self.rng = schema, rng
        self.tables: dict[str, list[Row]] = {name: [] for name in schema}
        self._numbers = rng.sample(range(10_000, 100_000), 400)

    def number(self) -> int:
        """Return a number of five digits that no row has."""
        return self._numbers.pop()

    def rows(self, table: str, **equal: Any) -> list[Row]:
        """Return the rows whose columns have these values."""
        found = list(self.tables[table])
        for name, value in equal.items():
            found = [row for row in found if row[name] == value]
        return found

    def row(self, table: str, **equal: Any) -> Row:
        """Return the one row whose columns have these values."""
        (row,) = self.rows(table, **equal)
        return row

    def add(self, table: str, **row: Any) -> Row:
        """Add a row and return it."""
        self.tables[table].append(row)
        return row

    def add_histories(self) -> None:
        """Add what customers have done before; a desk may have nothing of the kind."""

    def person(self, split: str) -> Row:
        """Return the columns that the customers of every desk have."""
        rng = self.rng
        first, last, number = rng.choice(FIRST_NAMES), family_name(rng, split), self.number()
        return {
            "customer_id": f"C{number}",
            "first_name": first,
            "last_name": last,
            "email": f"{first.lower()}.{last.lower().replace('ö', 'o')}{number % 1000}@mail.example",
        }


def about_customer(customer: Row) -> tuple[Slot, ...]:
    """Return what every customer says about themselves."""
    first, last = customer["first_name"], customer["last_name"]
    return (
        Slot(
            "e-mail",
            ("e-mail", "email", "mail address", "e-mail address", "email address"),
            f"My e-mail address is {customer['email']}.",
        ),
        Slot("name", ("name", "full name", "last name", "who are you", "who am i"), f"My name is {first} {last}."),
    )


def columns(text: str = "", whole: str = "", real: str = "") -> dict[str, str]:
    """Return the columns of a table, from their names separated by blanks."""
    kinds = (("TEXT", text), ("INTEGER", whole), ("REAL", real))
    return {name: kind for kind, names in kinds for name in names.split()}


def day(days_ago: int) -> str:
    """Return the date so many days before today, as text."""
    return (TODAY - timedelta(days=days_ago)).isoformat()


def later(date_: str, days: int) -> str:
    """Return the date so many days after another one, both as text."""
    return (date.fromisoformat(date_) + timedelta(days=days)).isoformat()
