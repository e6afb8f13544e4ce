"""Whose the values of a state are: :class:`Ownership`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from gem_envs_desk.facts import as_read, has_words, numbers_in
from gem_envs_desk.store import TableSchema

__all__ = ["Ownership"]

_SHORTEST = 3
"""Letters of a text that tells something about somebody."""
_CODE = re.compile(r"\d[-:/]\d")
"""Occurs in a date, a time or a telephone number, whose parts are no amounts."""
_BETWEEN = "\0"
Value = str | float


class Ownership:
    """The values that occur in the rows of customers alone, and in no row that belongs to nobody.

    A row belongs to the customer in its column ``customer_id``, or to the one whose row has the key that it names.

    Args:
        schema: the tables; those that name the key of a row come after its table.
        state: table → rows.
    """

    def __init__(self, schema: Mapping[str, TableSchema], state: Mapping[str, Any]) -> None:
        self._schema, self._state = schema, state
        owners: dict[str, dict[Any, str]] = {}
        private: dict[Value, set[str]] = {}
        for table, (columns, key) in schema.items():
            is_customers = "customer_id" in columns
            named = next((column for column in columns if column in owners), "")
            known = owners.setdefault(key[0], {}) if is_customers or (named and len(key) == 1) else {}
            # Counts and switches tell nothing.
            telling = [column for column, kind in columns.items() if kind != "INTEGER"]
            for row in state.get(table, ()):
                owner = row["customer_id"] if is_customers else owners[named].get(row[named], "") if named else ""
                if len(key) == 1:
                    known[row[key[0]]] = owner
                for column in telling:
                    value = row.get(column)
                    if isinstance(value, float) or (isinstance(value, str) and len(value) >= _SHORTEST):
                        private.setdefault(value, set()).add(owner)
        owned: list[tuple[frozenset[str], Value]] = [
            (frozenset(names), value) for value, names in private.items() if "" not in names
        ]
        texts = [one for one in owned if isinstance(one[1], str)]
        # All at once, since each call has its cost.
        words = as_read(_BETWEEN.join(str(value) for _, value in texts)).split(_BETWEEN)
        self._texts = list(zip(words, texts, strict=True))
        self._amounts = {Decimal(str(one[1])): one for one in owned if isinstance(one[1], float)}
        self._keys = {str(key).casefold(): owner for known in owners.values() for key, owner in known.items()}

    def owner(self, key: object) -> str:
        """Return the customer to whom a key belongs, an order number for example; empty if to nobody."""
        return self._keys.get(str(key).strip().casefold(), "")

    def rows(self, table: str, customer: str) -> list[Mapping[str, Any]]:
        """Return the rows of a table that belong to a customer or to nobody."""
        key = self._schema[table].key[0]
        return [row for row in self._state[table] if self.owner(row[key]) in ("", customer)]

    def shown(self, text: str) -> list[tuple[frozenset[str], Value]]:
        """Return the owners and the values of all that a text shows of customers."""
        amounts = numbers_in(" ".join(word for word in text.split() if not _CODE.search(word)))
        read = as_read(text)
        texts = [found for words, found in self._texts if words in read and has_words(read, words)]
        return [*texts, *(self._amounts[amount] for amount in sorted(amounts & self._amounts.keys()))]
