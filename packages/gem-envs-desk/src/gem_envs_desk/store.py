"""A database in SQLite, in memory, that tools work on: :class:`DeskStore`, and its content as a value: ``Dump``."""

# ruff: noqa: S608  # names of tables and columns come from schemas, values are bound

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

__all__ = ["DeskStore", "Dump", "RefusedCallError", "Row", "TableSchema", "Tables", "differences"]

Row = dict[str, Any]
Tables = Mapping[str, Iterable[Mapping[str, Any]]]
"""Table → rows; JSON values."""
Dump = dict[str, dict[Any, Row]]
"""Table → key → row: a whole state, whatever the order of rows."""

_DIGITS = 6
"""Decimal places in which two numbers of a state must agree."""


class RefusedCallError(Exception):
    """A call that the data does not allow; the message tells the agent why. Nothing has been changed."""


class TableSchema(NamedTuple):
    """The columns of a table and its key."""

    columns: Mapping[str, str]
    """Column → its type in SQLite: ``TEXT``, ``INTEGER`` or ``REAL``."""
    key: tuple[str, ...]
    """The columns that identify a row. A natural key, so that the order of insertions leaves no trace."""


class DeskStore:
    """The tables of one episode.

    Args:
        schema: table → its schema.
        tables: the rows with which it begins.
    """

    def __init__(self, schema: Mapping[str, TableSchema], tables: Tables) -> None:
        self.schema = schema
        # Any thread may step an environment, one at a time.
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.row_factory = _row
        # SQLite's own leaves every letter beyond ASCII as it is, so that no Ö would be an ö.
        self._connection.create_function("lower", 1, _lower, deterministic=True)
        self._connection.execute("PRAGMA foreign_keys = OFF")
        self._connection.execute("BEGIN")
        for name, table in schema.items():
            columns = ", ".join(f'"{column}" {kind}' for column, kind in table.columns.items())
            keys = ", ".join(f'"{column}"' for column in table.key)
            self._connection.execute(f'CREATE TABLE "{name}" ({columns}, PRIMARY KEY ({keys})) WITHOUT ROWID')
            marks = ", ".join("?" * len(table.columns))
            rows = [tuple(row.get(column) for column in table.columns) for row in tables.get(name, ())]
            self._connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
        self._connection.execute("COMMIT")

    def query(self, statement: str, *values: Any) -> list[Row]:
        """Execute a statement and return its rows."""
        return self._connection.execute(statement, values).fetchall()

    def find(self, table: str, **equal: Any) -> list[Row]:
        """Return the rows whose columns have these values, in the order of their keys."""
        order = ", ".join(f'"{column}"' for column in self.schema[table].key)
        where = " AND ".join(f'"{column}" = ?' for column in equal) or "1"
        return self.query(f'SELECT * FROM "{table}" WHERE {where} ORDER BY {order}', *equal.values())

    def get(self, table: str, **key: Any) -> Row | None:
        """Return the first row whose columns have these values, or None."""
        return next(iter(self.find(table, **key)), None)

    def require(self, table: str, **key: str) -> Row:
        """Return the row with this key.

        Raises:
            RefusedCallError: if there is none.
        """
        row = self.get(table, **key)
        if row is None:
            (value,) = key.values()
            raise RefusedCallError(f"There is no {value!r:.60} among the {table.replace('_', ' ')}.")
        return row

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        """Add a row; a missing column is NULL.

        Raises:
            sqlite3.IntegrityError: if there is one with this key.
        """
        columns = self.schema[table].columns
        marks = ", ".join("?" * len(columns))
        self.query(f'INSERT INTO "{table}" VALUES ({marks})', *(row.get(column) for column in columns))

    def update(self, table: str, key: Mapping[str, Any], **values: Any) -> None:
        """Set columns of the rows that have these values."""
        sets = ", ".join(f'"{column}" = ?' for column in values)
        where = " AND ".join(f'"{column}" = ?' for column in key)
        self.query(f'UPDATE "{table}" SET {sets} WHERE {where}', *values.values(), *key.values())

    def delete(self, table: str, **equal: Any) -> None:
        """Delete the rows whose columns have these values."""
        where = " AND ".join(f'"{column}" = ?' for column in equal)
        self.query(f'DELETE FROM "{table}" WHERE {where}', *equal.values())

    def tables(self) -> dict[str, list[Row]]:
        """Return all rows, as JSON values."""
        return {name: self.find(name) for name in self.schema}

    def dump(self) -> Dump:
        """Return the whole content, to compare."""
        return {
            name: {tuple(row[column] for column in table.key): row for row in self.find(name)}
            for name, table in self.schema.items()
        }

    def close(self) -> None:
        """Discard the database. Calling it again does nothing."""
        self._connection.close()

    def __del__(self) -> None:
        # A copy of an environment may be forgotten without being closed, which is no fault.
        if hasattr(self, "_connection"):
            self._connection.close()


def differences(found: Dump, wanted: Dump, most: int = 20) -> list[str]:
    """Return what differs between two states, one sentence each, ``most`` at most; empty if they are equal.

    Rows are compared by their keys, and numbers by their value: 25 and 25.0 are equal.
    """
    lines: list[str] = []
    for table in sorted({*found, *wanted}, key=str):
        left, right = found.get(table, {}), wanted.get(table, {})
        for key in sorted({*left, *right}, key=repr):
            if key not in left:
                lines.append(f"{table} {key}: missing")
            elif key not in right:
                lines.append(f"{table} {key}: too many")
            else:
                lines += _of_rows(f"{table} {key}", left[key], right[key])
            if len(lines) >= most:
                return lines[:most]
    return lines


def _of_rows(name: str, found: Row, wanted: Row) -> list[str]:
    if found == wanted:
        return []
    columns = [*wanted, *(column for column in found if column not in wanted)]
    return [
        f"{name}: {column} is {found.get(column)!r} instead of {wanted.get(column)!r}"
        for column in columns
        if not _same(found.get(column), wanted.get(column))
    ]


def _lower(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return round(float(one), _DIGITS) == round(float(other), _DIGITS)
    return bool(one == other)


def _row(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> Row:
    return {column[0]: value for column, value in zip(cursor.description, values, strict=True)}
