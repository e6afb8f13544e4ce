"""Plans ways through a maze as far as it is known: the fewest moves, with keys that are fetched on the way."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from gem_envs_grid.maze.generator import DOORS, GOAL, KEYS, WALL

__all__ = ["DIRECTIONS", "MOST_STEPS", "Place", "plan"]

Place = tuple[int, int]
"""Row and column of a symbol."""

DIRECTIONS: Mapping[str, Place] = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
MOST_STEPS = 9
"""The most steps of a move."""


def plan(known: Mapping[Place, str], start: Place, keys: frozenset[str]) -> list[tuple[str, int]]:
    """Return moves (direction and steps): to the goal, or else to where something unknown comes into view.

    Keys that open no known door are left where they are, unless they lie on the way. The list is empty if there is
    nowhere to go.

    Args:
        known: the symbols that have been seen, by place.
        start: place of the agent.
        keys: letters of the keys that it has.
    """
    wanted = {symbol.lower() for symbol in known.values() if symbol in DOORS}
    first = (start, keys)
    before: dict[tuple[Place, frozenset[str]], tuple[tuple[Place, frozenset[str]], tuple[str, int]]] = {}
    seen, queue = {first}, deque([first])
    unknown = None
    goal_seen = GOAL in known.values()
    while queue:
        state = queue.popleft()
        place, held = state
        if known[place] == GOAL:
            return _moves(before, first, state)
        if unknown is None and state != first and _sees_more(known, place, held):
            unknown = state
            if not goal_seen:
                break
        for direction, (down, right) in DIRECTIONS.items():
            (row, column), having = place, held
            for steps in range(1, MOST_STEPS + 1):
                between = known.get((row + down, column + right), WALL)
                row, column = row + 2 * down, column + 2 * right
                if not _open(between, having) or (row, column) not in known:
                    break
                symbol = known[row, column]
                if symbol in KEYS and symbol in wanted:
                    having = having | {symbol}
                after = ((row, column), having)
                if after not in seen:
                    seen.add(after)
                    before[after] = state, (direction, steps)
                    queue.append(after)
    return [] if unknown is None else _moves(before, first, unknown)


def _open(between: str, keys: frozenset[str]) -> bool:
    return between != WALL and (between not in DOORS or between.lower() in keys)


def _sees_more(known: Mapping[Place, str], place: Place, keys: frozenset[str]) -> bool:
    row, column = place
    return any(
        _open(known.get((row + down, column + right), WALL), keys) and (row + 2 * down, column + 2 * right) not in known
        for down, right in DIRECTIONS.values()
    )


def _moves(
    before: Mapping[tuple[Place, frozenset[str]], tuple[tuple[Place, frozenset[str]], tuple[str, int]]],
    first: tuple[Place, frozenset[str]],
    state: tuple[Place, frozenset[str]],
) -> list[tuple[str, int]]:
    moves = []
    while state != first:
        state, move = before[state]
        moves.append(move)
    return moves[::-1]
