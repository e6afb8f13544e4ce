"""Sokoban rooms that can be solved within a given number of moves.

A room is carved by a random walk and its goals are placed at random. Then the game is played backwards from the solved
position, with pulls instead of pushes: all positions one move away, all positions two moves away, and so on, up to the
drawn number of moves. The moves to a position found there, reversed, are a solution. In large rooms a layer keeps a
sample of its positions, so a shorter solution may exist; in rooms as small as 6 × 6 the layers are complete.
"""

from __future__ import annotations

import random

from gem_envs_games.sokoban_room import Room, neighbours, single_cells

__all__ = ["draw_room"]

Layer = dict[int, int]
"""For each set of boxes, the cells on which the player may stand."""

_LEAST_FLOOR, _MOST_FLOOR = 0.55, 0.8  # of the cells within the outer wall
_TURN, _WIDEN = 0.35, 0.3  # chances in each step of the walk

_FARTHEST = 100  # moves, even if more are allowed
_WIDTH = 64  # sets of boxes that a layer keeps
_ATTEMPTS = 8
_EFFORT = 20_000  # sets of boxes examined in all attempts together: 10 to 30 ms


def draw_room(rng: random.Random, rows: int, columns: int, num_boxes: int, max_moves: int) -> Room:
    """Return a room with at least one box off the goals and a solution of at most ``max_moves`` moves.

    The sides include the outer wall. The number of moves to go back is drawn from ``max_moves`` / 4 … ``max_moves``, at
    most 100; it is less only where several rooms in a row do not allow it.
    """
    farthest = min(max_moves, _FARTHEST)
    wanted = rng.randint((farthest + 3) // 4, farthest)
    effort, found, room = _EFFORT, 0, None
    for _ in range(_ATTEMPTS):
        floor = _carve(rng, rows, columns)
        cells = list(single_cells(floor))
        if len(cells) < 2 * num_boxes + 1:
            continue
        goals = sum(rng.sample(cells, num_boxes))
        moves, layer, effort = _play_backwards(rng, columns, floor, goals, wanted, effort)
        if moves > found:
            found, room = moves, _choose(rng, rows, columns, floor, goals, layer)
        if moves == wanted or effort <= 0:
            break
    return room or _open_room(rng, rows, columns, num_boxes)


def _carve(rng: random.Random, rows: int, columns: int) -> int:
    """Return the connected floor that a random walk has passed, here and there two cells wide."""
    chance = rng.random
    width, height = columns - 2, rows - 2
    inside = _rectangle(1, height, columns)
    wanted = int(width * height * (_LEAST_FLOOR + (_MOST_FLOOR - _LEAST_FLOOR) * chance()))
    steps = (1, columns, -1, -columns)
    step = steps[int(4 * chance())]
    cell = (1 + int(height * chance())) * columns + 1 + int(width * chance())
    floor = 1 << cell
    for _ in range(8 * width * height):
        if floor.bit_count() >= wanted:
            break
        if chance() < _TURN or not (inside >> (cell + step)) & 1:
            step = steps[int(4 * chance())]
            continue
        cell += step
        floor |= 1 << cell
        if chance() < _WIDEN:
            floor |= (1 << (cell + steps[int(4 * chance())])) & inside
    return floor


def _play_backwards(
    rng: random.Random, columns: int, floor: int, goals: int, wanted: int, effort: int
) -> tuple[int, Layer, int]:
    """Return the number of moves back (at most ``wanted``), the positions there, and the remaining effort."""
    layer = {goals: floor & ~goals}
    seen = dict(layer)
    for moves in range(wanted):
        before = _one_move_back(columns, floor, layer, seen)
        effort -= len(layer) + len(before)
        if not before:
            return moves, layer, effort
        if len(before) > _WIDTH:
            before = dict(rng.sample(list(before.items()), _WIDTH))
        layer = before
        if effort <= 0:
            return moves + 1, layer, effort
    return wanted, layer, effort


def _one_move_back(columns: int, floor: int, layer: Layer, seen: Layer) -> Layer:
    """Return the positions, not in ``seen``, from which one move leads into ``layer``; add them to ``seen``."""
    before: Layer = {}
    for boxes, players in layer.items():
        free = floor & ~boxes
        walked = neighbours(players, columns) & free & ~seen[boxes]
        if walked:
            seen[boxes] |= walked
            before[boxes] = before.get(boxes, 0) | walked
        for step in (1, columns):
            # A player beside a box, with a free cell behind: both go back by one.
            for player in single_cells(players & (boxes << step) & (free >> step)):
                _add(before, seen, boxes ^ (player >> step) ^ player, player << step)
            for player in single_cells(players & (boxes >> step) & (free << step)):
                _add(before, seen, boxes ^ (player << step) ^ player, player >> step)
    return before


def _add(layer: Layer, seen: Layer, boxes: int, player: int) -> None:
    known = seen.get(boxes, 0)
    if not known & player:
        seen[boxes] = known | player
        layer[boxes] = layer.get(boxes, 0) | player


def _choose(rng: random.Random, rows: int, columns: int, floor: int, goals: int, layer: Layer) -> Room:
    """Return one of the positions with the fewest boxes on goals."""
    fewest = min((boxes & goals).bit_count() for boxes in layer)
    boxes = rng.choice([boxes for boxes in layer if (boxes & goals).bit_count() == fewest])
    player = rng.choice(list(single_cells(layer[boxes])))
    return Room(rows, columns, floor, goals, boxes, player)


def _open_room(rng: random.Random, rows: int, columns: int, num_boxes: int) -> Room:
    """Return a room without inner walls, one push from solved.

    The goals fill the upper rows, at most one cell in four, so below the last goal there are two free rows.
    """
    floor = _rectangle(1, rows - 2, columns)
    goals = sum(list(single_cells(floor))[:num_boxes])
    layer = _one_move_back(columns, floor, {goals: floor & ~goals}, {goals: floor & ~goals})
    return _choose(rng, rows, columns, floor, goals, layer)


def _rectangle(first_row: int, height: int, columns: int) -> int:
    row = ((1 << (columns - 2)) - 1) << 1
    return sum(row << (columns * (first_row + number)) for number in range(height))
