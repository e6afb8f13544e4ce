"""The company's state: :class:`OfficeStore`, an SQLite database in memory, and the difference of two states."""

# ruff: noqa: S608  # names of tables and columns come from the declarations, values are bound

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from gem_envs_office.declarations import OfficeTable, company

__all__ = ["OfficeStore", "Row", "RowChange", "State", "changes"]

IN_MEMORY = ":memory:"
_PATIENCE = 60.0
"""Seconds for which a process waits for another one that writes."""

Row = dict[str, Any]
State = Mapping[str, Mapping[str, Row]]
"""Table → key → row, JSON values."""


class RowChange(NamedTuple):
    """A difference of two states: a new row, a removed one, or a changed one."""

    table: str
    key: str
    before: Row | None
    after: Row | None

    @property
    def columns(self) -> set[str]:
        """The columns that differ, numbers of the log aside; all of a new or a removed row."""
        before, after = self.before or {}, self.after or {}
        columns = company().tables[self.table].columns.values()
        return {
            one.name for one in columns if one.kind != "seq" and not _same(before.get(one.name), after.get(one.name))
        }

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.table} {self.key} is new"
        if self.after is None:
            return f"{self.table} {self.key} is gone"
        told = ", ".join(f"{name} {self.before[name]!r} → {self.after[name]!r}" for name in sorted(self.columns))
        return f"{self.table} {self.key}: {told}"


class OfficeStore:
    """The tables of one episode.

    Args:
        tables: table → rows; a missing column is NULL. A file that has tables already keeps them.
        path: a file that several processes share; in memory without one.
    """

    def __init__(self, tables: Mapping[str, Iterable[Mapping[str, Any]]], path: str = IN_MEMORY) -> None:
        # Any thread may step an environment, one at a time.
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_PATIENCE)
        if path == IN_MEMORY and sys.version_info >= (3, 11):
            self._connection.deserialize(_empty())
        self._connection.row_factory = _row
        self._connection.execute("BEGIN EXCLUSIVE")
        declared = bool(self.query("SELECT 1 AS found FROM sqlite_master LIMIT 1"))
        if not declared:
            for statement in _schema():
                self._connection.execute(statement)
        if not declared or path == IN_MEMORY:
            self._fill(tables)
        self._connection.execute("COMMIT")

    def _fill(self, tables: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
        for name, rows in tables.items():
            columns = company().tables[name].columns
            marks = ", ".join("?" * len(columns))
            values = [tuple(row.get(column) for column in columns) for row in rows]
            self._connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', values)

    @property
    def writes(self) -> int:
        """The number of rows that have been written so far."""
        return self._connection.total_changes

    def query(self, statement: str, values: Any = ()) -> list[Row]:
        """Execute a statement and return its rows."""
        return self._connection.execute(statement, values).fetchall()

    def find(self, table: str, **equal: Any) -> list[Row]:
        """Return the rows whose columns have these values, in the order of their keys; None finds NULL."""
        where = " AND ".join(f'"{column}" IS ?' for column in equal) or "1"
        return self.query(f'SELECT * FROM "{table}" WHERE {where} ORDER BY rowid', tuple(equal.values()))

    def get(self, table: str, key: str) -> Row | None:
        """Return the row with this key, or None."""
        rows = self.query(f'SELECT * FROM "{table}" WHERE "{company().tables[table].key}" = ?', (key,))
        return rows[0] if rows else None

    def insert(self, table: str, **values: Any) -> str:
        """Add a row with the next key and return the key; a missing column is NULL."""
        declared = company().tables[table]
        key = self._next_key(declared)
        row = {declared.key: key, **values}
        marks = ", ".join("?" * len(declared.columns))
        self.query(f'INSERT INTO "{table}" VALUES ({marks})', tuple(row.get(name) for name in declared.columns))
        return key

    def update(self, table: str, key: str, **values: Any) -> None:
        """Set columns of the row with this key."""
        sets = ", ".join(f'"{column}" = ?' for column in values)
        self.query(f'UPDATE "{table}" SET {sets} WHERE "{company().tables[table].key}" = ?', (*values.values(), key))

    def delete(self, table: str, key: str) -> None:
        """Delete the row with this key."""
        self.query(f'DELETE FROM "{table}" WHERE "{company().tables[table].key}" = ?', (key,))

    def begin(self) -> None:
        """Begin what :meth:`end` keeps as a whole or discards; other processes wait meanwhile."""
        self._connection.execute("BEGIN IMMEDIATE")

    def end(self, *, keep: bool) -> None:
        """Keep or discard what was written since :meth:`begin`."""
        self._connection.execute("COMMIT" if keep else "ROLLBACK")

    def state(self) -> dict[str, dict[str, Row]]:
        """Return the whole content."""
        return {name: {row[table.key]: row for row in self.find(name)} for name, table in company().tables.items()}

    def close(self) -> None:
        """Discard the database. Calling it again does nothing."""
        self._connection.close()

    def __del__(self) -> None:
        # A copy of an environment may be forgotten without being closed, which is no fault.
        if hasattr(self, "_connection"):
            self._connection.close()

    def _next_key(self, table: OfficeTable) -> str:
        start = len(table.prefix) + 1
        found = self.query(f'SELECT MAX(CAST(SUBSTR("{table.key}", {start}) AS INTEGER)) AS last FROM "{table.name}"')
        return f"{table.prefix}{(found[0]['last'] or 100) + 1}"


def changes(before: State, after: State) -> list[RowChange]:
    """Return the differences of two states, ordered by table and key."""
    found = []
    for table in company().tables:
        left, right = before.get(table, {}), after.get(table, {})
        if left == right:
            continue
        for key in sorted({*left, *right}):
            change = RowChange(table, key, left.get(key), right.get(key))
            if change.columns:
                found.append(change)
    return found


@lru_cache(maxsize=1)
def _schema() -> list[str]:
    statements = []
    for table in company().tables.values():
        columns = ", ".join(f'"{one.name}" {one.sql}' for one in table.columns.values())
        statements.append(f'CREATE TABLE "{table.name}" ({columns}, UNIQUE ("{table.key}"))')
    return statements


if sys.version_info >= (3, 11):

    @lru_cache(maxsize=1)
    def _empty() -> bytes:
        """Return the database without rows; copying it is quicker than declaring its tables."""
        connection = sqlite3.connect(":memory:")
        try:
            connection.executescript(";\n".join(_schema()))
            return connection.serialize()
        finally:
            connection.close()


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return round(float(one), 2) == round(float(other), 2)
    return bool(one == other)


def _row(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> Row:
    return {column[0]: value for column, value in zip(cursor.description, values, strict=True)}
