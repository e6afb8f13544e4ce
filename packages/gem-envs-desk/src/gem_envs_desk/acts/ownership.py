"""Whose the values of a state are: :class:`Ownership`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from gem_envs_desk.facts import numbers_in, shows
from gem_envs_desk.store import TableSchema

__all__ = ["Ownership"]

_SHORTEST = 3
"""Letters of a text that tells something about somebody."""
_CODE = re.compile(r"[\w.]*\d[-:/]\w*\d[\w:/-]*")
"""A date, a time or a telephone number, whose parts are no amounts."""
Value = str | float


class Ownership:
    """The values that occur in the rows of one customer alone, and in no row that belongs to nobody.

    A row belongs to the customer in its column ``customer_id``, or to the one whose row has the key that it names.

    Args:
        schema: the tables.
        state: table → rows.
    """

    def __init__(self, schema: Mapping[str, TableSchema], state: Mapping[str, Any]) -> None:
        owners: dict[tuple[str, Any], str] = {}
        rows = [(table, row) for table in schema for row in state.get(table, ())]
        # Rows may come before the rows that they belong to: orders of a customer, then lines of an order.
        for _ in range(2):
            for table, row in rows:
                owner = _owner(owners, row)
                if owner and len(schema[table].key) == 1:
                    owners[schema[table].key[0], row[schema[table].key[0]]] = owner
        holders: dict[Value, dict[str, None]] = {}
        for _, row in rows:
            for value in row.values():
                if _tells(value):
                    holders.setdefault(value, {})[_owner(owners, row)] = None
        self._private = {
            value: (owner, value.casefold() if isinstance(value, str) else Decimal(str(value)))
            for value, (owner, *others) in holders.items()
            if owner and not others
        }
        self._keys = {str(key).casefold(): owner for (_, key), owner in owners.items()}

    def owner(self, key: object) -> str:
        """Return the customer to whom a key belongs, an order number for example; empty if to nobody."""
        return self._keys.get(str(key).strip().casefold(), "")

    def shown(self, text: str) -> list[tuple[str, Value]]:
        """Return the owners and the values of all that a text shows of somebody alone."""
        folded, numbers = text.casefold(), numbers_in(_CODE.sub(" ", text))
        return [
            (owner, value)
            for value, (owner, written) in self._private.items()
            if (written in folded and shows(text, value) if isinstance(written, str) else written in numbers)
        ]


def _owner(owners: Mapping[tuple[str, Any], str], row: Mapping[str, Any]) -> str:
    if row.get("customer_id"):
        return str(row["customer_id"])
    return next((owners[item] for item in row.items() if item in owners), "")


def _tells(value: object) -> bool:
    """Return whether a value tells something: a text, or an amount, rather than a count or a switch."""
    return isinstance(value, float) or (isinstance(value, str) and len(value) >= _SHORTEST)
