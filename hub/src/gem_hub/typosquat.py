"""Names that a reader could confuse with another package's."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["lookalikes", "one_edit_apart", "ultranormalised"]

_ALIKE = str.maketrans({"i": "1", "l": "1", "o": "0", "-": None, "_": None, ".": None})


def ultranormalised(name: str) -> str:
    """Return a name without easily confused differences: case, separators, and letters that look alike.

    These are ``l`` ``i`` ``1``, ``o`` ``0``, ``rn`` ``m``, and ``vv`` ``w``.

    Two names with one result look the same; package indexes compare new names in this form too.
    """
    return name.lower().replace("rn", "m").replace("vv", "w").translate(_ALIKE)


def lookalikes(name: str, others: Iterable[str]) -> list[str]:
    """Return the names, other than ``name`` itself, that could be taken for it, sorted.

    They look the same, are one edit apart, or have the same words in another order.
    """
    plain, words = ultranormalised(name), _words(name)
    return sorted(
        other
        for other in set(others) - {name}
        if one_edit_apart(plain, ultranormalised(other)) or (len(words) > 1 and _words(other) == words)
    )


def _words(name: str) -> list[str]:
    return sorted(re.split(r"[-_.]+", name.lower()))


def one_edit_apart(first: str, second: str) -> bool:
    """Return whether at most one edit lies between two texts (optimal string alignment).

    An edit inserts, deletes or replaces one character, or swaps two neighbours. One pass: whole hubs are compared.
    """
    if abs(len(first) - len(second)) > 1:
        return False
    if first == second:
        return True
    place = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    rest, other = first[place:], second[place:]
    if len(rest) == len(other):
        return rest[1:] == other[1:] or (rest[:2] == other[1::-1] and rest[2:] == other[2:])
    longer, shorter = (rest, other) if len(rest) > len(other) else (other, rest)
    return longer[1:] == shorter
