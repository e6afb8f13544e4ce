"""Short solutions of sliding puzzles: weighted A* within a budget of moves.

A position is a ``bytes`` object, cell by cell, row by row: the number of the tile, or 0 for the gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from math import isqrt

__all__ = ["solve"]

_WEIGHT = 1.6
"""Weight of the estimate against the moves made. It finds a solution, not a shortest one, after far fewer positions."""
_MOST_POSITIONS = 100_000
"""Maximum number of positions in a search: about two seconds and 50 MB."""


def solve(position: bytes, sources: Sequence[Mapping[str, int]], budget: int) -> list[str]:
    """Return directions that solve a position within ``budget`` moves, at least one.

    If the search finds none within its limit of positions, return directions to the nearest position found.

    Weighted A* (I. Pohl, 1970). A position whose moves so far and estimate are more than the budget is dropped; the
    estimate never exceeds the moves needed, so that no solution within the budget is lost.

    Args:
        position: tiles cell by cell.
        sources: for each cell of the gap: direction → the cell of the tile that slides that way into the gap.
        budget: moves.
    """
    num_rows = isqrt(len(position))
    goal = bytes([*range(1, num_rows**2), 0])
    made = {position: 0}
    before: dict[bytes, tuple[bytes, str]] = {}
    start = _estimate(position, num_rows)
    # The second entry prefers the deeper of two equals; the third makes the order independent of the bytes.
    queue = [(_WEIGHT * start, 0, 0, start, position)]
    nearest, least = position, 1 << 30
    while queue:
        _, negative, _, estimate, position = heappop(queue)
        moves = -negative
        if moves > made[position]:
            continue
        gap = position.index(0)
        for direction, source in sources[gap].items():
            following = _slide(position, gap, source)
            if following in made and made[following] <= moves + 1:
                continue
            left = estimate + _change(position, following, gap, source, num_rows)
            if moves + 1 + left > budget:
                continue
            made[following] = moves + 1
            before[following] = position, direction
            if following == goal:
                return _path(before, following, moves + 1)
            if left < least:
                nearest, least = following, left
            heappush(queue, (moves + 1 + _WEIGHT * left, -moves - 1, len(made), left, following))
        if len(made) > _MOST_POSITIONS:
            break
    if nearest in before:
        return _path(before, nearest, made[nearest])
    return [next(iter(sources[position.index(0)]))]


def _path(before: dict[bytes, tuple[bytes, str]], position: bytes, length: int) -> list[str]:
    directions = []
    for _ in range(length):
        position, direction = before[position]
        directions.append(direction)
    return directions[::-1]


def _slide(position: bytes, gap: int, source: int) -> bytes:
    first, second = (gap, source) if gap < source else (source, gap)
    return b"".join(
        (
            position[:first],
            position[second : second + 1],
            position[first + 1 : second],
            position[first : first + 1],
            position[second + 1 :],
        )
    )


def _estimate(position: bytes, num_rows: int) -> int:
    """Return a lower bound on the moves needed: Manhattan distances and linear conflicts.

    Two tiles that are in their line, but in the wrong order, cannot pass without one of them leaving the line, which
    costs two moves more than its distance (O. Hansson, A. Mayer, M. Yung, 1992).
    """
    lines = range(num_rows)
    return (
        sum(_distance(tile, cell, num_rows) for cell, tile in enumerate(position) if tile)
        + sum(_row_conflicts(position[num_rows * row : num_rows * (row + 1)], row) for row in lines)
        + sum(_column_conflicts(position[column::num_rows], column) for column in lines)
    )


def _change(before: bytes, after: bytes, gap: int, source: int, num_rows: int) -> int:
    """Return the growth of the estimate when the tile in ``source`` slides into the gap.

    The order within the line along which it slides stays the same.
    """
    tile = before[source]
    change = _distance(tile, gap, num_rows) - _distance(tile, source, num_rows)
    if gap // num_rows == source // num_rows:
        for column in (gap % num_rows, source % num_rows):
            change += _column_conflicts(after[column::num_rows], column)
            change -= _column_conflicts(before[column::num_rows], column)
    else:
        for row in (gap // num_rows, source // num_rows):
            begin, end = num_rows * row, num_rows * (row + 1)
            change += _row_conflicts(after[begin:end], row) - _row_conflicts(before[begin:end], row)
    return change


def _distance(tile: int, cell: int, num_rows: int) -> int:
    row, column = divmod(cell, num_rows)
    own_row, own_column = divmod(tile - 1, num_rows)
    return abs(row - own_row) + abs(column - own_column)


@lru_cache(maxsize=1 << 16)
def _row_conflicts(line: bytes, row: int) -> int:
    return _extra_moves([(tile - 1) % len(line) for tile in line if tile and (tile - 1) // len(line) == row])


@lru_cache(maxsize=1 << 16)
def _column_conflicts(line: bytes, column: int) -> int:
    return _extra_moves([(tile - 1) // len(line) for tile in line if tile and (tile - 1) % len(line) == column])


def _extra_moves(order: list[int]) -> int:
    """Return two moves for each tile that must step aside before the others are in order."""
    longest: list[int] = []  # the longest rising sequence that ends with each tile
    for index, place in enumerate(order):
        longest.append(1 + max((longest[other] for other in range(index) if order[other] < place), default=0))
    return 2 * (len(order) - max(longest, default=0))
