"""Sudoku grids: random full grids, the blanking of cells, and the solution of the blanks.

A grid is a list of ``scale * scale`` numbers, row by row: 1 … scale, or 0 for a blank cell. A *unit* is a row, a
column or a box. A blank cell is *forced* if it has one candidate left (a naked single), or if it is the only cell of
a unit that can take some number (a hidden single).
"""

from __future__ import annotations

import random
from functools import cache
from math import isqrt
from typing import NamedTuple

__all__ = ["Layout", "is_full", "layout", "make_blanks", "random_grid", "solve"]

_ROUNDS = 6
"""Rounds of switches in :func:`random_grid`. After six, the frequency of each 4x4 grid and the number of row cycles
of a 9x9 grid do not differ measurably from those after fifty rounds."""


class Layout(NamedTuple):
    """The cells and units of a grid of one scale."""

    units: tuple[tuple[int, ...], ...]
    """The cells of each unit: first all rows, then all columns, then all boxes."""
    units_of: tuple[tuple[int, int, int], ...]
    """The row, the column and the box of each cell, as indices into ``units``."""


@cache
def layout(scale: int) -> Layout:
    """Return the layout of a grid of ``scale`` rows; ``scale`` is a perfect square."""
    side = isqrt(scale)
    units_of = tuple(
        (row, scale + column, 2 * scale + row // side * side + column // side)
        for row in range(scale)
        for column in range(scale)
    )
    units: list[list[int]] = [[] for _ in range(3 * scale)]
    for cell, of_cell in enumerate(units_of):
        for unit in of_cell:
            units[unit].append(cell)
    return Layout(tuple(map(tuple, units)), units_of)


def random_grid(scale: int, rng: random.Random) -> list[int]:
    """Return a random full grid, in a time that depends only on ``scale``.

    Begins with a cyclic grid and makes random switches, none of which breaks a rule. Take two rows of one band of
    boxes. They split the columns into cycles: the smallest sets of columns in which both rows hold the same numbers.
    Exchanging the two rows within one cycle leaves every row, column and box complete (the cycle switches of Latin
    squares, I. M. Wanless 2004, kept within a band for the sake of the boxes). The same holds for columns. Each switch
    undoes itself and is drawn with the same probability from either side, so the walk favours no grid that it reaches;
    on 4x4 it reaches all 288.
    """
    side = isqrt(scale)
    numbers = list(range(1, scale + 1))
    rng.shuffle(numbers)
    doubled = numbers * 2
    # Shifts by whole boxes within a band and by one more from band to band.
    shifts = [side * (row % side) + row // side for row in range(scale)]
    rows = [doubled[shift : shift + scale] for shift in shifts]
    for _ in range(2 * _ROUNDS):
        for band in range(0, scale, side):
            for lower in range(band + 1, band + side):
                for upper in range(band, lower):
                    # Every second draw switches nothing; otherwise the parity of their number would show in the grid.
                    start = int(2 * scale * rng.random())
                    if start < scale:
                        _switch_cycle(rows[upper], rows[lower], start)
        rows = [list(column) for column in zip(*rows, strict=True)]
    return [number for row in rows for number in row]


def _switch_cycle(upper: list[int], lower: list[int], start: int) -> None:
    """Exchange two rows within the cycle that column ``start`` belongs to."""
    column, first = start, upper[start]
    while True:
        leaving, arriving = upper[column], lower[column]
        # Where ``arriving`` stands in the upper row until its own column is switched.
        following = start if arriving == first else upper.index(arriving)
        upper[column], lower[column] = arriving, leaving
        if following == start:
            return
        column = following


class _Candidates:
    """The candidates of each blank cell of a grid; number n is bit n of a mask."""

    def __init__(self, scale: int) -> None:
        self._units, self._units_of = layout(scale)
        self._blank = [False] * len(self._units_of)
        self._missing = [0] * len(self._units)

    def open(self, cell: int, number: int) -> None:
        """Blank a cell that held ``number``."""
        for unit in self._units_of[cell]:
            self._missing[unit] |= 1 << number
        self._blank[cell] = True

    def fill(self, cell: int, number: int) -> None:
        """Put ``number`` into a blank cell."""
        for unit in self._units_of[cell]:
            self._missing[unit] &= ~(1 << number)
        self._blank[cell] = False

    def forced(self, cell: int) -> int:
        """Return the number that a blank cell is forced to hold, or 0."""
        missing, blank, units_of = self._missing, self._blank, self._units_of
        row, column, box = units_of[cell]
        own = missing[row] & missing[column] & missing[box]
        if own & (own - 1) == 0:
            return own.bit_length() - 1
        for unit in units_of[cell]:
            left = own
            for other in self._units[unit]:
                if blank[other] and other != cell:
                    row, column, box = units_of[other]
                    left &= ~(missing[row] & missing[column] & missing[box])
                    if not left:
                        break
            else:
                return left.bit_length() - 1
        return 0


def make_blanks(grid: list[int], count: int, rng: random.Random) -> list[int]:
    """Return up to ``count`` random cells of a full grid whose blanking leaves one solution.

    A cell is blanked only if it is forced at that moment. Hence the cells can be filled in the reverse order, each
    one forced: the solution is unique by construction, and a beginner can find it.
    """
    candidates = _Candidates(isqrt(len(grid)))
    blanks: list[int] = []
    cells = list(range(len(grid)))
    rng.shuffle(cells)
    # A cell that is not forced now would not be so later, with more blanks around it: one pass finds all.
    for cell in cells:
        if len(blanks) == count:
            break
        candidates.open(cell, grid[cell])
        if candidates.forced(cell):
            blanks.append(cell)
        else:
            candidates.fill(cell, grid[cell])
    return blanks


def solve(grid: list[int]) -> list[tuple[int, int]]:
    """Return (cell, number) for the blanks of a grid, in an order in which each one is forced.

    Complete for the grids of :func:`make_blanks`; the list ends where no cell is forced.
    """
    scale = isqrt(len(grid))
    candidates = _Candidates(scale)
    for cell in range(len(grid)):
        for number in range(1, scale + 1):
            candidates.open(cell, number)
    for cell, number in enumerate(grid):
        if number:
            candidates.fill(cell, number)
    blanks = [cell for cell, number in enumerate(grid) if not number]
    moves: list[tuple[int, int]] = []
    while blanks:
        left = []
        for cell in blanks:
            number = candidates.forced(cell)
            if number:
                candidates.fill(cell, number)
                moves.append((cell, number))
            else:
                left.append(cell)
        if len(left) == len(blanks):
            break
        blanks = left
    return moves


def is_full(grid: list[int]) -> bool:
    """Return whether each unit of a grid holds each number once."""
    scale = isqrt(len(grid))
    numbers = set(range(1, scale + 1))
    return all({grid[cell] for cell in unit} == numbers for unit in layout(scale).units)
