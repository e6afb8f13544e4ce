"""Results of statements and contents of databases, in the same form for every engine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

__all__ = ["MOST_ROWS", "Dump", "SqlResult", "StatementError", "normal_dump", "shown"]

MOST_ROWS = 50
"""Maximum number of rows that the agent sees."""
_WIDEST = 300
"""Maximum number of characters of a value that the agent sees."""

Dump = dict[str, tuple[tuple[str, ...], Counter[tuple[Any, ...]]]]
"""Table → its columns, sorted, and its rows in that order of columns, as a multiset."""


class StatementError(Exception):
    """A statement failed; the message tells the agent why."""


class SqlResult(NamedTuple):
    """The rows of a statement, or the number of rows that it changed."""

    columns: list[str]
    rows: list[Sequence[Any]]
    """At most one more than the agent sees."""
    changed: int | None
    """Number of rows written; None for a statement that only reads."""


def shown(result: SqlResult) -> str:
    """Return a result as text: a line with the columns, and one for each row."""
    if not result.columns and result.changed is not None:
        return f"Done. Rows changed: {result.changed}."
    if not result.rows:
        return "No rows."
    lines = [" | ".join(result.columns), *(" | ".join(map(_cell, row)) for row in result.rows[:MOST_ROWS])]
    if len(result.rows) > MOST_ROWS:
        lines.append(f"… (only the first {MOST_ROWS} rows are shown)")
    return "\n".join(lines)


def normal_dump(tables: Mapping[str, tuple[Sequence[str], Sequence[Sequence[Any]]]]) -> Dump:
    """Return the content of tables, whatever the order of rows and columns and the types of numbers."""
    dump: Dump = {}
    for name, (columns, rows) in tables.items():
        order = sorted(range(len(columns)), key=lambda place: columns[place].lower())
        content = Counter(tuple(_value(row[place]) for place in order) for row in rows)
        dump[name.lower()] = tuple(columns[place].lower() for place in order), content
    return dump


def _value(value: Any) -> Any:
    """Return a number that equals all others of its value; NaN equals no other, and an infinity stays."""
    if isinstance(value, (float, Decimal)) and math.isfinite(value) and value == int(value):
        return int(value)
    return float(value) if isinstance(value, Decimal) else value


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return str(_value(value)) if abs(value) < 1e15 else repr(value)
    text = f"(a blob of {len(value)} bytes)" if isinstance(value, bytes) else str(value)
    text = text.replace("\n", " ").encode(errors="replace").decode()
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"
