"""Names that a reader could confuse with another package's."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["Lookalikes", "lookalikes", "one_edit_apart", "ultranormalised"]

_ALIKE = str.maketrans({"i": "1", "l": "1", "o": "0", "-": None, "_": None, ".": None})


def ultranormalised(name: str) -> str:
    """Return a name without easily confused differences: case, separators, and letters that look alike.

    These are ``l`` ``i`` ``1``, ``o`` ``0``, ``rn`` ``m``, and ``vv`` ``w``.

    Two names with one result look the same; package indexes compare new names in this form too.
    """
    return name.lower().replace("rn", "m").replace("vv", "w").translate(_ALIKE)


class Lookalikes:
    """Names among which those that could be taken for a given one are found without looking at all of them.

    Two texts that are one edit apart have one half in common, or are equal but for two neighbours at the middle; so
    each name is filed under its halves.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._plain: dict[str, list[str]] = {}
        self._halves: dict[tuple[int, bool, str], list[str]] = {}
        self._words: dict[tuple[str, ...], list[str]] = {}
        self._names: set[str] = set()
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        """Add a name; once is enough."""
        if name in self._names:
            return
        self._names.add(name)
        plain, words = ultranormalised(name), _words(name)
        if len(words) > 1:
            self._words.setdefault(words, []).append(name)
        if plain not in self._plain:
            for key in _halves(plain, len(plain)):
                self._halves.setdefault(key, []).append(plain)
        self._plain.setdefault(plain, []).append(name)

    def of(self, name: str) -> list[str]:
        """Return the names, other than ``name`` itself, that could be taken for it, sorted.

        They look the same, are one edit apart, or have the same words in another order.
        """
        plain, words = ultranormalised(name), _words(name)
        middle = len(plain) // 2
        candidates: set[str] = set()
        if middle:
            candidates.add(plain[: middle - 1] + plain[middle] + plain[middle - 1] + plain[middle + 1 :])
        for length in range(max(0, len(plain) - 1), len(plain) + 2):
            for key in _halves(plain, length):
                candidates.update(self._halves.get(key, ()))
        alike = {plain, *(other for other in candidates if one_edit_apart(plain, other))}
        found = {other for one in alike for other in self._plain.get(one, ())}
        found.update(self._words.get(words, ()) if len(words) > 1 else ())
        return sorted(found - {name})


def lookalikes(name: str, others: Iterable[str]) -> list[str]:
    """Return those of some names that could be taken for one; see :meth:`Lookalikes.of`."""
    return Lookalikes(others).of(name)


def _halves(text: str, length: int) -> tuple[tuple[int, bool, str], tuple[int, bool, str]]:
    """Return the keys of the two halves that a text of some length shares with this one, if it shares one."""
    middle = length // 2
    return (length, False, text[:middle]), (length, True, text[len(text) - (length - middle) :])


def _words(name: str) -> tuple[str, ...]:
    return tuple(sorted(re.split(r"[-_.]+", name.lower())))


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
