"""Words behind a number that change its value, and nouns for counted objects, which do not."""

from __future__ import annotations

from gem.tables import read_table

__all__ = ["ADJECTIVES", "COUNTED", "NO_UNITS", "singular"]

_TABLES = read_table(__file__, "counted.json")
ADJECTIVES = frozenset(_TABLES["adjectives"])
"""Words between a number and a noun that change neither: "5 different ways"."""

NO_UNITS = frozenset(_TABLES["no_units"])
"""Words behind a number that may change its value: numbers, fractions, operations, words that begin a remark."""

COUNTED = frozenset(_TABLES["counted"])
"""Counted objects in the singular; the text of the question may bring others."""


def singular(word: str) -> str:
    """Return the singular of a regular English plural, in lower case."""
    low = word.lower()
    if low.endswith("ies") and len(low) > 4:
        return low[:-3] + "y"
    if low.endswith("s") and not low.endswith("ss") and len(low) > 3:
        return low[:-1]
    return low
