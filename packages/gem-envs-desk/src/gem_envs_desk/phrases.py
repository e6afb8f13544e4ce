"""Sentences drawn from tables of alternatives: :class:`Phrases`, a small context-free grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random

__all__ = ["Phrases"]

_NAME = re.compile(r"\{(\w+)\}")
_SENTENCE = re.compile(r"(^|[.!?…] )(\w)")
_BLANKS = re.compile(r"\s+")


class Phrases:
    """Rows of alternatives, in which ``{name}`` stands for another row or for a value.

    Args:
        tables: name of a row → its alternatives; a later table replaces rows of an earlier one.

    Raises:
        ValueError: if a row has no alternative, or rows refer to each other in a circle.
    """

    def __init__(self, *tables: Mapping[str, Sequence[str]]) -> None:
        self._rows = {name: tuple(row) for table in tables for name, row in table.items()}
        for name, row in self._rows.items():
            if not row:
                raise ValueError(f"the row {name!r} of phrases has no alternative")
            self._follow(name, ())

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def drawn(self, rng: Random, name: str, values: Mapping[str, str]) -> str:
        """Return the text of a row, drawn; its sentences begin with capital letters.

        Args:
            rng: draws the alternatives.
            name: the row.
            values: name → text; they take precedence over rows.

        Raises:
            KeyError: if a name is neither a row nor a value.
        """
        text = _BLANKS.sub(" ", self._expanded(rng, name, values)).strip()
        return _SENTENCE.sub(lambda found: found[1] + found[2].upper(), text)

    def row(self, name: str) -> tuple[str, ...]:
        """Return the alternatives of a row."""
        return self._rows[name]

    def texts(self) -> Iterator[str]:
        """Yield all alternatives."""
        for row in self._rows.values():
            yield from row

    def values(self, name: str) -> set[str]:
        """Return the names of the values that the text of a row can need."""
        names = {inner for text in self._rows[name] for inner in _NAME.findall(text)}
        return {inner for inner in names if inner not in self._rows}.union(
            *(self.values(inner) for inner in names if inner in self._rows)
        )

    def _expanded(self, rng: Random, name: str, values: Mapping[str, str]) -> str:
        if name in values:
            return values[name]
        return _NAME.sub(lambda found: self._expanded(rng, found[1], values), rng.choice(self._rows[name]))

    def _follow(self, name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"the rows of phrases {' → '.join((*path, name))} form a circle")
        for text in self._rows.get(name, ()):
            for inner in _NAME.findall(text):
                self._follow(inner, (*path, name))
