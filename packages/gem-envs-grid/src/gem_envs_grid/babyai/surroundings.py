"""What an agent of BabyAI sees in front of it, in words, and the ways to what it sees.

All places are relative to the agent: steps ahead and steps to the right. The agent sees seven cells ahead, its own row
included, and three to each side, as far as no wall or closed door hides them.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

__all__ = ["SeenObject", "Sight", "look", "way_to"]

_LEFT, _RIGHT, _FORWARD = 0, 1, 2
_TURNS = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Steps ahead and to the right of the four directions, clockwise from straight ahead."""


class SeenObject(NamedTuple):
    """An object in sight."""

    name: str
    """Colour and kind, with the state of a door, and a number that tells equal ones apart, the nearest first."""
    kind: str
    state: str
    """``open``, ``closed`` or ``locked`` for a door, else empty."""
    color: str
    place: tuple[int, int]
    """Steps ahead and steps to the right."""


class Sight(NamedTuple):
    """All that is in sight."""

    things: list[SeenObject]
    """The nearest first."""
    free: set[tuple[int, int]]
    """Places that can be walked on."""
    wall_ahead: int | None
    """Steps to the first wall straight ahead; None if none is in sight."""


def look(level: Any) -> Sight:
    """Return what the agent of a level sees."""
    grid, visible = level.gen_obs_grid()
    middle, bottom = grid.width // 2, grid.height - 1
    found, free, walls = [], set(), []
    for row in range(grid.height):
        for column in range(grid.width):
            place = (bottom - row, column - middle)
            if place == (0, 0) or not visible[column, row]:
                continue
            cell = grid.get(column, row)
            if cell is None or cell.can_overlap():
                free.add(place)
            if cell is None:
                continue
            if cell.type == "wall":
                if place[1] == 0:
                    walls.append(place[0])
                continue
            state = ""
            if cell.type == "door":
                state = "open" if cell.is_open else "locked" if cell.is_locked else "closed"
            found.append((abs(place[0]) + abs(place[1]), place, cell.color, state, cell.type))
    counts: dict[str, int] = {}
    things = []
    for _, place, color, state, kind in sorted(found):
        name = " ".join(filter(None, (color, state, kind)))
        counts[name] = counts.get(name, 0) + 1
        things.append(SeenObject(f"{name} {counts[name]}", kind, state, color, place))
    return Sight(things, free, min(walls, default=None))


def way_to(sight: Sight, place: tuple[int, int], onto: bool = False) -> list[int] | None:
    """Return the fewest turns and steps that lead to a place in sight; None if no way is in sight.

    Args:
        sight: what is in sight.
        place: where to.
        onto: end on the place, and not in front of it, facing it.
    """
    start = (0, 0, 0)
    before: dict[tuple[int, int, int], tuple[tuple[int, int, int], int]] = {}
    seen, queue = {start}, deque([start])
    while queue:
        position = queue.popleft()
        ahead, right, facing = position
        front = (ahead + _TURNS[facing][0], right + _TURNS[facing][1])
        if place == ((ahead, right) if onto else front):
            way = []
            while position != start:
                position, primitive = before[position]
                way.append(primitive)
            return way[::-1]
        nexts = [(_LEFT, (ahead, right, (facing - 1) % 4)), (_RIGHT, (ahead, right, (facing + 1) % 4))]
        if front in sight.free or front == (0, 0):
            nexts.insert(0, (_FORWARD, (*front, facing)))
        for primitive, after in nexts:
            if after not in seen:
                seen.add(after)
                before[after] = position, primitive
                queue.append(after)
    return None
