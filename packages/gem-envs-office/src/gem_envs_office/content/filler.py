"""Rows that no task is about, so that every table has some: :func:`fill`."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache
from random import Random
from typing import Any

from gem.tables import read_table
from gem_envs_office.content.tables import Tables
from gem_envs_office.declarations import OfficeColumn, company
from gem_envs_office.store import Row

__all__ = ["fill"]


def fill(rng: Random, tables: Tables, today: date) -> None:
    """Add rows that no task is about."""
    for table, spec in _filler().items():
        rows = spec["rows"]
        count = rows if isinstance(rows, int) else len(tables[rows])
        columns = [column for column in company().tables[table].columns.values() if column.kind != "key"]
        for place in range(count):
            row: Row = {}
            for column in columns:
                row[column.name] = _drawn(rng, tables, column, spec, row, today)
            if not isinstance(rows, int):
                key = company().tables[rows].key
                row[key] = tables[rows][place][key]
            tables.add(table, **row)


@lru_cache(maxsize=1)
def _filler() -> dict[str, dict[str, Any]]:
    filler: dict[str, dict[str, Any]] = read_table(__file__, "filler.toml")
    return filler


def _drawn(rng: Random, tables: Tables, column: OfficeColumn, spec: dict[str, Any], row: Row, today: date) -> Any:
    drawn = spec.get(column.name)
    if isinstance(drawn, str):  # such as "after issued_on"
        earlier = date.fromisoformat(row[drawn.removeprefix("after ")])
        return (earlier + timedelta(days=rng.randint(3, 30))).isoformat()
    if drawn is not None:
        return rng.choice(drawn)
    if column.kind == "seq" or column.optional:
        return None
    if column.kind == "ref":
        return rng.choice(tables[column.table])[company().tables[column.table].key]
    if column.kind == "choice":
        return rng.choice(column.choices)
    if column.kind in ("date", "time"):
        day = (today - timedelta(days=rng.randint(120, 500))).isoformat()
        return day if column.kind == "date" else f"{day}T{rng.randint(8, 18):02}:{rng.randrange(0, 60, 5):02}"
    if column.kind == "money":
        return float(rng.randint(40, 900))
    if column.kind == "int":
        return rng.randint(1, 9)
    if column.kind == "mail":
        return rng.choice(tables["employees"])["email"]
    return "–"
