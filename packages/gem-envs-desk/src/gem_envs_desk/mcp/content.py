"""The content of a task's database, of one of several businesses: :func:`make_content`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from gem.tables import read_table

__all__ = ["BUSINESSES", "Business", "DatabaseContent", "TaskTable", "make_content"]


class TaskTable(NamedTuple):
    """A table with its rows."""

    name: str
    create: str
    """Its columns and constraints, in SQL that PostgreSQL and SQLite both read."""
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class DatabaseContent(NamedTuple):
    """A database before it is loaded into an engine."""

    business: Business
    tables: tuple[TaskTable, ...]
    after: tuple[str, ...] = ()
    """Statements after the rows: indexes, privileges, views."""

    def creates(self) -> list[str]:
        """Return the statements that create the tables."""
        return [f"CREATE TABLE {table.name} ({table.create})" for table in self.tables]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table as dicts."""
        found = next(one for one in self.tables if one.name == table)
        return [dict(zip(found.columns, row, strict=True)) for row in found.rows]

    def with_table(self, table: TaskTable) -> DatabaseContent:
        """Return the content with one more table, or another one in the place of its namesake."""
        others = [one if one.name != table.name else table for one in self.tables]
        return self._replace(tables=tuple(others if table in others else [*others, table]))


class Business(NamedTuple):
    """The words of a business; its tables have the same shape in all of them."""

    subject: str
    party: str
    """Table of people or places: id, name, region, tier, email."""
    party_one: str
    deal: str
    """Table of what they do: id, PARTY_id, status, amount, placed_on, note."""
    deal_one: str
    line: str
    """Table of parts of a deal: id, DEAL_id, item, quantity, unit_price."""
    line_one: str
    worker: str
    """Table of staff: id, name, team, salary, email."""
    worker_one: str
    regions: tuple[str, ...]
    tiers: tuple[str, ...]
    states: tuple[str, ...]
    items: tuple[str, ...]
    teams: tuple[str, ...]

    @property
    def party_id(self) -> str:
        """The column by which a deal refers to its party."""
        return f"{self.party_one}_id"

    @property
    def deal_id(self) -> str:
        """The column by which a line refers to its deal."""
        return f"{self.deal_one}_id"


def _business(row: dict[str, Any]) -> Business:
    words: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return Business(**words)


BUSINESSES = tuple(map(_business, read_table(__file__, "businesses.json")))

_STARTS = ("Al", "Bre", "Cor", "Da", "El", "Fio", "Gre", "Ha", "Il", "Jo", "Ka", "Lo", "Mi", "Nor", "Os", "Pe", "Qui",
           "Ro", "Sa", "Te", "Ul", "Ve", "Wi", "Ya", "Zo")  # fmt: skip
_MIDDLES = ("ba", "den", "fi", "gar", "la", "men", "ni", "ro", "sa", "tin", "vo", "ze")
_ENDS = ("da", "lin", "ma", "nor", "ra", "ric", "s", "ta", "van", "ya")


def person(rng: random.Random) -> str:
    """Return an invented name of two words."""

    def word() -> str:
        return rng.choice(_STARTS) + rng.choice(_MIDDLES) * rng.randrange(2) + rng.choice(_ENDS)

    return f"{word()} {word()}"


def money(rng: random.Random, lowest: int = 5, highest: int = 900) -> str:
    """Return an amount with two decimals, as text that both engines read as a number."""
    return f"{rng.randint(lowest, highest)}.{rng.choice(('00', '25', '40', '75', '90'))}"


def day(rng: random.Random) -> str:
    """Return a date of 2022 to 2024."""
    return f"{rng.randint(2022, 2024)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def email_of(name: str, number: int) -> str:
    """Return an address that no other number has."""
    return f"{name.lower().replace(' ', '.')}{number}@example.org"


def make_content(rng: random.Random) -> DatabaseContent:
    """Return the four tables of a business with random rows."""
    business = rng.choice(BUSINESSES)
    names: dict[str, None] = {}
    while len(names) < 40:
        names.setdefault(person(rng))
    people = iter(names)
    parties: list[tuple[Any, ...]] = []
    for number in range(1, rng.randint(12, 18) + 1):
        name = next(people)
        parties.append((number, name, rng.choice(business.regions), rng.choice(business.tiers), email_of(name, number)))
    deals = [
        # Some parties have many deals and some none.
        (number, 1 + int(len(parties) * rng.random() ** 1.6), rng.choice(business.states), money(rng), day(rng), None)
        for number in range(1, rng.randint(36, 50) + 1)
    ]
    lines = [
        (number, rng.randint(1, len(deals)), rng.choice(business.items), rng.randint(1, 9), money(rng, 1, 90))
        for number in range(1, rng.randint(60, 80) + 1)
    ]
    workers: list[tuple[Any, ...]] = []
    for number in range(1, rng.randint(8, 12) + 1):
        name = next(people)
        workers.append((number, name, rng.choice(business.teams), rng.randint(28, 70) * 1000, email_of(name, number)))
    return DatabaseContent(
        business,
        (
            TaskTable(
                business.party,
                "id integer PRIMARY KEY, name text NOT NULL, region text NOT NULL, tier text NOT NULL, email text",
                ("id", "name", "region", "tier", "email"),
                parties,
            ),
            TaskTable(
                business.deal,
                f"id integer PRIMARY KEY, {business.party_id} integer NOT NULL REFERENCES {business.party} (id), "
                "status text NOT NULL, amount numeric(10, 2) NOT NULL, placed_on date NOT NULL, note text",
                ("id", business.party_id, "status", "amount", "placed_on", "note"),
                deals,
            ),
            TaskTable(
                business.line,
                f"id integer PRIMARY KEY, {business.deal_id} integer NOT NULL REFERENCES {business.deal} (id), "
                "item text NOT NULL, quantity integer NOT NULL, unit_price numeric(10, 2) NOT NULL",
                ("id", business.deal_id, "item", "quantity", "unit_price"),
                lines,
            ),
            TaskTable(
                business.worker,
                "id integer PRIMARY KEY, name text NOT NULL, team text NOT NULL, salary integer NOT NULL, email text",
                ("id", "name", "team", "salary", "email"),
                workers,
            ),
        ),
    )


def replaced(table: TaskTable, column: str, values: Sequence[Any]) -> TaskTable:
    """Return the table with other values of a column, one for each row."""
    place = table.columns.index(column)
    rows = [(*row[:place], value, *row[place + 1 :]) for row, value in zip(table.rows, values, strict=True)]
    return table._replace(rows=rows)
