"""Draws mazes: a spanning tree of corridors, doors on the only way, keys on the near side of their doors, loops.

A maze is a tuple of rows of symbols. Cell (row, column) is the symbol at (2 row + 1, 2 column + 1); the symbols between
two cells are walls, passages or doors.
"""

from __future__ import annotations

import random
from collections import deque
from typing import NamedTuple

__all__ = ["DOORS", "FLOOR", "GOAL", "KEYS", "WALL", "Maze", "draw_maze"]

WALL, FLOOR, GOAL = "#", ".", "*"
KEYS = "abcdef"
DOORS = KEYS.upper()
"""Key ``KEYS[i]`` opens door ``DOORS[i]``."""


class Maze(NamedTuple):
    """A maze as it is before the first move."""

    rows: tuple[str, ...]
    start: int
    """Place of the agent among all symbols, row by row."""


def draw_maze(rng: random.Random, height: int, width: int, doors: int, decoys: int, loops: float) -> Maze:
    """Return a maze in which the way from the start to the goal leads through every door.

    Args:
        rng: where all choices come from.
        height: rows of cells.
        width: columns of cells.
        doors: closed doors on the way. They need that many cells on it; a maze too small for them has fewer.
        decoys: keys without a door.
        loops: walls that are taken out of the tree, as a share of the cells; none that leads around a door.
    """
    cells = height * width
    passages = _tree(rng, height, width)
    start = rng.randrange(cells)
    parents, order = _search(passages, start)
    goal = order[-1]
    way = [goal]
    while way[-1] != start:
        way.append(parents[way[-1]])
    way.reverse()
    # The door edges cut the tree into regions, numbered from the start on.
    cuts = sorted(rng.sample(range(len(way) - 1), min(doors, len(way) - 1)))
    closed = [(way[cut], way[cut + 1]) for cut in cuts]
    region = [0] * cells
    for cell in order[1:]:
        region[cell] = region[parents[cell]] + ((parents[cell], cell) in closed)
    canvas = [[WALL] * (2 * width + 1) for _ in range(2 * height + 1)]
    for cell in range(cells):
        canvas[2 * (cell // width) + 1][2 * (cell % width) + 1] = FLOOR
        for near in passages[cell]:
            _draw_between(canvas, width, cell, near, FLOOR)
    for one, other in _loops(rng, height, width, passages, region, round(loops * cells)):
        _draw_between(canvas, width, one, other, FLOOR)
    letters = rng.sample(range(len(KEYS)), len(closed) + decoys)
    free = [cell for cell in order if cell not in (start, goal)]
    for number, letter in enumerate(letters):
        # The key of a door lies before it; a decoy anywhere.
        places = [cell for cell in free if number >= len(closed) or region[cell] <= number]
        if not places:
            continue
        cell = rng.choice(places)
        free.remove(cell)
        canvas[2 * (cell // width) + 1][2 * (cell % width) + 1] = KEYS[letter]
        if number < len(closed):
            _draw_between(canvas, width, *closed[number], DOORS[letter])
    canvas[2 * (goal // width) + 1][2 * (goal % width) + 1] = GOAL
    place = (2 * (start // width) + 1) * (2 * width + 1) + 2 * (start % width) + 1
    return Maze(tuple(map("".join, canvas)), place)


def _tree(rng: random.Random, height: int, width: int) -> list[list[int]]:
    """Return for each cell those that a passage leads to: a random tree with long corridors, made depth first."""
    passages: list[list[int]] = [[] for _ in range(height * width)]
    seen = [False] * (height * width)
    stack = [rng.randrange(height * width)]
    seen[stack[0]] = True
    while stack:
        cell = stack[-1]
        fresh = [near for near in _around(cell, height, width) if not seen[near]]
        if not fresh:
            stack.pop()
            continue
        near = fresh[int(rng.random() * len(fresh))]
        passages[cell].append(near)
        passages[near].append(cell)
        seen[near] = True
        stack.append(near)
    return passages


def _around(cell: int, height: int, width: int) -> list[int]:
    row, column = divmod(cell, width)
    near = []
    if row:
        near.append(cell - width)
    if column:
        near.append(cell - 1)
    if column < width - 1:
        near.append(cell + 1)
    if row < height - 1:
        near.append(cell + width)
    return near


def _search(passages: list[list[int]], start: int) -> tuple[dict[int, int], list[int]]:
    """Return each cell's parent on the way from ``start``, and the cells by their distance."""
    parents, order, queue = {start: start}, [], deque([start])
    while queue:
        cell = queue.popleft()
        order.append(cell)
        for near in passages[cell]:
            if near not in parents:
                parents[near] = cell
                queue.append(near)
    return parents, order


def _loops(
    rng: random.Random, height: int, width: int, passages: list[list[int]], region: list[int], count: int
) -> list[tuple[int, int]]:
    """Return pairs of neighbours with a wall between them that can go, because no door lies between them."""
    if not count:
        return []
    walls = [
        (cell, near)
        for cell in range(height * width)
        for near in _around(cell, height, width)
        if near > cell and near not in passages[cell] and region[near] == region[cell]
    ]
    return rng.sample(walls, min(count, len(walls)))


def _draw_between(canvas: list[list[str]], width: int, one: int, other: int, symbol: str) -> None:
    row = one // width + other // width + 1
    column = one % width + other % width + 1
    canvas[row][column] = symbol
