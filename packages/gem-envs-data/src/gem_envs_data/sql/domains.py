"""The subjects of databases: tables, columns, references, and the words that tasks have for them.

Every domain has the same shape. Rows of ``main`` belong to a row of ``owner``; ``event`` rows name a row of ``main``
and one of ``other``; ``note`` rows name a row of ``main``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gem.tables import read_table

__all__ = ["DOMAINS", "Column", "Domain", "SqlTable"]


class Column(NamedTuple):
    """A column with values that a question can ask about."""

    name: str
    kind: str
    """``word``: one of ``values``; ``place``: one of some invented names; ``number``; ``date``, as ISO text."""
    values: Sequence[str] = ()
    lowest: int = 0
    highest: int = 0
    may_be_null: bool = False

    @property
    def phrase(self) -> str:
        """Its name within a sentence."""
        return self.name.replace("_", " ")


class SqlTable(NamedTuple):
    """A table; its primary key is ``id``, and a reference to the table ``t`` is the column ``t_id``."""

    name: str
    plural: str
    label: str | None
    """The column with the unique name of a row; None for a table of events."""
    columns: tuple[Column, ...]
    references: tuple[str, ...] = ()

    @property
    def noun(self) -> str:
        """A row of it within a sentence."""
        return self.name.replace("_", " ")

    def column(self, name: str) -> Column:
        """Return a column by its name."""
        return next(column for column in self.columns if column.name == name)


class Domain(NamedTuple):
    """The tables of a subject."""

    subject: str
    owner: SqlTable
    main: SqlTable
    other: SqlTable
    event: SqlTable
    note: SqlTable

    @property
    def tables(self) -> tuple[SqlTable, ...]:
        """All tables, each after those to which it refers."""
        return self.owner, self.main, self.other, self.event, self.note


def _domain(subject: str, **tables: dict[str, Any]) -> Domain:
    owner, main, other = (tables[part]["name"] for part in ("owner", "main", "other"))
    references = {"main": (owner,), "event": (main, other), "note": (main,)}
    return Domain(subject, **{part: _table(references=references.get(part, ()), **row) for part, row in tables.items()})


def _table(
    name: str, plural: str, columns: dict[str, Any], references: tuple[str, ...], label: str | None = None
) -> SqlTable:
    return SqlTable(name, plural, label, tuple(Column(key, **row) for key, row in columns.items()), references)


DOMAINS = tuple(_domain(**row) for row in read_table(__file__, "domains.json"))
