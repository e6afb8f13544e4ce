"""Names that a reader could confuse with another package's."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["lookalikes", "one_edit_apart", "ultranormalised"]

_ALIKE = str.maketrans({"i": "1", "l": "1", "o": "0", "-": None, "_": None, ".": None})


def ultranormalised(name: str) -> str:
    """Return a name without easily confused differences: case, separators, ``l`` ``i`` ``1``, and ``o`` ``0``.

    Two names with one result look the same; package indexes compare new names in this form too.
    """
    return name.lower().translate(_ALIKE)


def lookalikes(name: str, others: Iterable[str]) -> list[str]:
    """Return the names, other than ``name`` itself, that are one edit from it or look the same, sorted."""
    plain = ultranormalised(name)
    return sorted(other for other in set(others) - {name} if one_edit_apart(plain, ultranormalised(other)))


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
