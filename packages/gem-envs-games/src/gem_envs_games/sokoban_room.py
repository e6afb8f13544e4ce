"""A Sokoban position as bit sets, for the generator and the solver, and as rows of symbols, for everything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gem.errors import ArgumentError, ArgumentTypeError

__all__ = [
    "BOX",
    "BOX_ON_GOAL",
    "DIRECTIONS",
    "FLOOR",
    "GOAL",
    "LONGEST_SIDE",
    "PLAYER",
    "PLAYER_ON_GOAL",
    "SHORTEST_SIDE",
    "SYMBOLS",
    "WALL",
    "Room",
    "from_rows",
    "most_boxes",
    "neighbours",
    "single_cells",
    "to_rows",
]

WALL, FLOOR, GOAL, BOX, BOX_ON_GOAL, PLAYER, PLAYER_ON_GOAL = "#", "_", "O", "X", "√", "P", "+"
SYMBOLS = WALL + FLOOR + GOAL + BOX + BOX_ON_GOAL + PLAYER + PLAYER_ON_GOAL

DIRECTIONS = ("up", "down", "left", "right")

SHORTEST_SIDE, LONGEST_SIDE = 5, 20


class Room(NamedTuple):
    """A position. In each set of cells the bit ``row * columns + column`` stands for a cell; the rim is all wall."""

    rows: int
    columns: int
    floor: int
    """Every cell that is not a wall."""
    goals: int
    boxes: int
    player: int
    """A set of one cell."""


def most_boxes(rows: int, columns: int) -> int:
    """Return the maximum number of boxes for a room of this size: one for each four of its inner cells."""
    return (rows - 2) * (columns - 2) // 4


def single_cells(cells: int) -> Iterator[int]:
    """Yield each cell of a set as a set of its own, from the top left."""
    while cells:
        cell = cells & -cells
        yield cell
        cells ^= cell


def neighbours(cells: int, columns: int) -> int:
    """Return all cells beside those of a set; some may lie on the outer wall."""
    return (cells << 1) | (cells >> 1) | (cells << columns) | (cells >> columns)


def to_rows(room: Room) -> list[str]:
    """Return one string of symbols for each row."""
    symbols = [WALL] * (room.rows * room.columns)
    for cell in single_cells(room.floor):
        on_goal = cell & room.goals
        if cell & room.boxes:
            symbol = BOX_ON_GOAL if on_goal else BOX
        elif cell & room.player:
            symbol = PLAYER_ON_GOAL if on_goal else PLAYER
        else:
            symbol = GOAL if on_goal else FLOOR
        symbols[cell.bit_length() - 1] = symbol
    text = "".join(symbols)
    return [text[start : start + room.columns] for start in range(0, len(text), room.columns)]


def from_rows(rows: Sequence[str]) -> Room:
    """Undo :func:`to_rows`.

    Raises:
        ArgumentTypeError: if ``rows`` is not a list of strings.
        ArgumentError: if it is not a position: uneven rows, a side out of range, an unknown symbol, a gap in the outer
            wall, not exactly one player, or not as many boxes as goals (at least one).
    """
    if not isinstance(rows, (list, tuple)) or not all(isinstance(row, str) for row in rows):
        raise ArgumentTypeError(f"a room is a list of strings, got {type(rows).__name__}")
    columns = len(rows[0]) if rows else 0
    if not (SHORTEST_SIDE <= len(rows) <= LONGEST_SIDE and SHORTEST_SIDE <= columns <= LONGEST_SIDE):
        raise ArgumentError(f"a room has sides of {SHORTEST_SIDE} to {LONGEST_SIDE} cells")
    text = "".join(rows)
    if any(len(row) != columns for row in rows) or set(text) - set(SYMBOLS):
        raise ArgumentError(f"a room has rows of one length, made of the symbols {' '.join(SYMBOLS)}")
    if set(rows[0] + rows[-1]) != {WALL} or any(row[0] != WALL or row[-1] != WALL for row in rows):
        raise ArgumentError("a room is enclosed by walls")
    cells = {symbol: sum(1 << cell for cell, at in enumerate(text) if at == symbol) for symbol in SYMBOLS}
    boxes, player = cells[BOX] | cells[BOX_ON_GOAL], cells[PLAYER] | cells[PLAYER_ON_GOAL]
    goals = cells[GOAL] | cells[BOX_ON_GOAL] | cells[PLAYER_ON_GOAL]
    if player.bit_count() != 1 or not boxes or boxes.bit_count() != goals.bit_count():
        raise ArgumentError("a room has one player, at least one box, and as many boxes as goals")
    inside = (1 << len(text)) - 1
    return Room(len(rows), columns, inside & ~cells[WALL], goals, boxes, player)
