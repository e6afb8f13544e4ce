"""The exact optimum of a slippery lake: transition probabilities, and value iteration over the turns that are left.

A lake is its rows, as in Gymnasium: ``S`` start, ``F`` frozen, ``H`` hole, ``G`` goal. Cells are numbered row by row.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["DIRECTIONS", "Values", "frozen_lake_optimum", "neighbours", "outcomes"]

DIRECTIONS = ("left", "down", "right", "up")
"""In Gymnasium's order, so that the two directions beside one are its neighbours in this tuple."""

Values = list[list[float]]
"""``values[turns][cell]``: the probability to reach the goal from a cell within so many turns."""


_SAME = 1e-12
"""Probabilities that differ by less differ by rounding alone."""
_HURRY = 0.9
"""What an arrival one turn later is worth, among ways with the same probability to arrive at all."""


def neighbours(rows: int, columns: int) -> list[tuple[int, ...]]:
    """Return for each cell the cell in each of :data:`DIRECTIONS`; at the edge it is the cell itself."""
    table: list[tuple[int, ...]] = []
    for cell in range(rows * columns):
        row, column = divmod(cell, columns)
        table.append(
            (
                cell - (column > 0),
                cell + columns * (row < rows - 1),
                cell + (column < columns - 1),
                cell - columns * (row > 0),
            )
        )
    return table


def outcomes(direction: int, success_rate: float) -> tuple[tuple[float, int], ...]:
    """Return the directions in which a move may go, with their probabilities: as meant, or to either side."""
    side = (1.0 - success_rate) / 2.0
    if not side:
        return ((1.0, direction),)
    return (success_rate, direction), (side, (direction - 1) % 4), (side, (direction + 1) % 4)


def frozen_lake_optimum(lake: Sequence[str], success_rate: float, turns: int) -> tuple[Values, list[list[int]]]:
    """Return the values of the best strategy, and its directions in the same arrangement.

    Args:
        lake: rows of the lake.
        success_rate: probability that a move goes as meant.
        turns: turns at the start.
    """
    cells = "".join(lake)
    table = neighbours(len(lake), len(lake[0]))
    ways = [outcomes(direction, success_rate) for direction in range(4)]
    goal = cells.index("G")
    open_cells = [cell for cell, symbol in enumerate(cells) if symbol in "SF"]
    values = [[float(cell == goal) for cell in range(len(cells))]]
    soon = values[0]
    best = [[0] * len(cells)]
    for _ in range(turns):
        before, now, choices, sooner = values[-1], values[0].copy(), [0] * len(cells), values[0].copy()
        for cell in open_cells:
            there = table[cell]
            gains = [sum(chance * before[there[way]] for chance, way in ways[direction]) for direction in range(4)]
            most = max(gains) - _SAME
            # Of directions with the same probability, the one that arrives sooner.
            hurries = [
                sum(chance * soon[there[way]] for chance, way in ways[direction]) if gains[direction] >= most else -1.0
                for direction in range(4)
            ]
            choices[cell] = max(range(4), key=hurries.__getitem__)
            now[cell] = max(gains)
            sooner[cell] = _HURRY * hurries[choices[cell]]
        values.append(now)
        best.append(choices)
        soon = sooner
    return values, best
