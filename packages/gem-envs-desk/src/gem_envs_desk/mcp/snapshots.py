"""What is compared of two databases: the same facts for every engine, as JSON-like values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

__all__ = ["Probe", "Snapshot", "row_counts"]

Snapshot = dict[str, Any]
"""Part (tables, constraints …) → what is there. Two databases are the same if their snapshots are equal."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?", re.ASCII)


class Probe(NamedTuple):
    """Statements that show how a database behaves, executed on it and undone.

    What no catalogue says in one way, such as the condition of a policy or the body of a trigger, is compared by its
    effect.
    """

    statements: tuple[str, ...]
    """The rows of each are compared, or the class of its error."""
    role: str | None = None
    """The shared role that executes them; None for the owner."""


def row_counts(rows: Iterable[Sequence[Any]]) -> Counter[tuple[Any, ...]]:
    """Return rows as a multiset in which numbers are equal by value."""
    return Counter(tuple(map(_value, row)) for row in rows)


def _value(value: Any) -> Any:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return Decimal(value)
    return Decimal(repr(value)) if isinstance(value, float) and value == value and abs(value) < 1e15 else value
