"""Tables that are being drawn: :class:`Tables`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_envs_office.declarations import company
from gem_envs_office.store import Row

__all__ = ["Tables"]


class Tables(dict[str, list[Row]]):
    """Table → rows, to which rows are added with the next key."""

    def __init__(self, rows: Mapping[str, list[Row]] | None = None) -> None:
        super().__init__(rows or {})
        self._last: dict[str, int] = {}
        """Table → the number of its last key."""

    def add(self, table: str, **row: Any) -> str:
        """Add a row and return its key."""
        declared = company().tables[table]
        rows = self.setdefault(table, [])
        last = self._last.get(table)
        if last is None:
            last = max((int(row[declared.key].removeprefix(declared.prefix)) for row in rows), default=100)
        self._last[table] = last + 1
        key = f"{declared.prefix}{last + 1}"
        rows.append({declared.key: key, **row})
        return key

    def where(self, table: str, **equal: Any) -> list[Row]:
        """Return the rows whose columns have these values."""
        found = self.get(table, [])
        for name, value in equal.items():
            found = [row for row in found if row.get(name) == value]
        return list(found)

    def row(self, table: str, key: str) -> Row:
        """Return the row with this key."""
        name = company().tables[table].key
        return next(row for row in self[table] if row[name] == key)
