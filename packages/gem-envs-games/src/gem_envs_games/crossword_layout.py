"""Laying out the words of a crossword.

Words cross where they can. Two words touch only where they cross: no letter stands beside, before or after a word
that it does not belong to. A word that crosses no other stands by itself, one free line away from the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

__all__ = ["Place", "lay_out"]

Place = tuple[int, int, bool]
"""Row and column of a word's first letter, counted from 0, and whether it runs down."""

# A cell is numbered row * _DOWN + column, so that a step across adds 1 and a step down adds _DOWN.
_ACROSS, _DOWN = 1, 4096
_OTHER = _ACROSS + _DOWN  # less one direction's step: the other one's
_ORIGIN = 2048 * _DOWN + 2048
_CROSSED = 0


def lay_out(rng: Random, words: Sequence[str]) -> list[Place]:
    """Return a place for each word; the smallest row is 0 and so is the smallest column.

    The words are all different and together have at most 2,000 letters.
    """
    grid = _Grid()
    starts: dict[str, tuple[int, int]] = {}
    waiting = list(words)
    while waiting:
        for word in waiting:
            crossings = grid.crossings(word)
            if crossings:
                start, step = crossings[int(rng.random() * len(crossings))]
                break
        else:
            word = waiting[0]
            start, step = grid.aside(rng, word) if starts else (_ORIGIN, rng.choice((_ACROSS, _DOWN)))
        grid.put(word, start, step)
        starts[word] = start, step
        waiting.remove(word)
    top, left = min(grid.rows()), min(grid.columns())
    placed = [starts[word] for word in words]
    return [(start // _DOWN - top, start % _DOWN - left, step == _DOWN) for start, step in placed]


class _Grid:
    """The words put down so far."""

    def __init__(self) -> None:
        self._letters: dict[int, str] = {}  # cell: letter
        self._steps: dict[int, int] = {}  # cell: step of its word, or _CROSSED
        self._cells: dict[str, list[int]] = {}  # letter: cells

    def rows(self) -> set[int]:
        return {cell // _DOWN for cell in self._letters}

    def columns(self) -> set[int]:
        return {cell % _DOWN for cell in self._letters}

    def put(self, word: str, start: int, step: int) -> None:
        for cell, letter in zip(range(start, start + len(word) * step, step), word, strict=True):
            if cell in self._letters:
                self._steps[cell] = _CROSSED
            else:
                self._letters[cell] = letter
                self._steps[cell] = step
                self._cells.setdefault(letter, []).append(cell)

    def crossings(self, word: str) -> list[tuple[int, int]]:
        """Every first cell and step at which the word crosses others and touches them nowhere else."""
        found: dict[tuple[int, int], None] = {}
        for place, letter in enumerate(word):
            for cell in self._cells.get(letter, ()):
                crossed = self._steps[cell]
                if crossed != _CROSSED:
                    step = _OTHER - crossed
                    if self._fits(word, cell - place * step, step):
                        found[cell - place * step, step] = None
        return list(found)

    def _fits(self, word: str, start: int, step: int) -> bool:
        letters, beside = self._letters, _OTHER - step
        end = start + len(word) * step
        if start - step in letters or end in letters:
            return False
        for cell, letter in zip(range(start, end, step), word, strict=True):
            there = letters.get(cell)
            if there is None:
                if cell - beside in letters or cell + beside in letters:
                    return False
            elif there != letter or self._steps[cell] != beside:
                return False
        return True

    def aside(self, rng: Random, word: str) -> tuple[int, int]:
        """A first cell and a step one free line below or to the right of everything, whichever side is shorter."""
        rows, columns = self.rows(), self.columns()
        top, bottom, left, right = min(rows), max(rows), min(columns), max(columns)
        if bottom - top <= right - left:
            slack = max(right - left + 1 - len(word), 0)
            return (bottom + 2) * _DOWN + left + int(rng.random() * (slack + 1)), _ACROSS
        slack = max(bottom - top + 1 - len(word), 0)
        return (top + int(rng.random() * (slack + 1))) * _DOWN + right + 2, _DOWN
