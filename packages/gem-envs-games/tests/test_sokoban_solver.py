"""The Sokoban solver, against an exhaustive search that plays by the rules cell by cell."""

from __future__ import annotations

import random
from collections import deque

import pytest

from gem_envs_games import sokoban_solver
from gem_envs_games.sokoban_generator import draw_room
from gem_envs_games.sokoban_room import Room, from_rows, single_cells
from gem_envs_games.sokoban_solver import solve


def steps_of(room: Room) -> dict[str, int]:
    return {"up": -room.columns, "down": room.columns, "left": -1, "right": 1}


def cells_of(cells: int) -> frozenset[int]:
    return frozenset(cell.bit_length() - 1 for cell in single_cells(cells))


def moved(room: Room, boxes: frozenset[int], player: int, step: int) -> tuple[frozenset[int], int] | None:
    """Boxes and player after a move, or None if it is impossible."""
    floor = cells_of(room.floor)
    target = player + step
    if target not in floor:
        return None
    if target in boxes:
        if target + step not in floor or target + step in boxes:
            return None
        boxes = boxes - {target} | {target + step}
    return boxes, target


def shortest_length(room: Room) -> int | None:
    """Moves of a shortest solution, by breadth-first search over all positions."""
    goals = cells_of(room.goals)
    start = cells_of(room.boxes), room.player.bit_length() - 1
    distances = {start: 0}
    queue = deque([start])
    while queue:
        boxes, player = here = queue.popleft()
        if boxes == goals:
            return distances[here]
        for step in steps_of(room).values():
            there = moved(room, boxes, player, step)
            if there is not None and there not in distances:
                distances[there] = distances[here] + 1
                queue.append(there)
    return None


def solves(room: Room, directions: list[str]) -> bool:
    boxes, player = cells_of(room.boxes), room.player.bit_length() - 1
    for direction in directions:
        after = moved(room, boxes, player, steps_of(room)[direction])
        assert after is not None, (room, directions)
        boxes, player = after
    return boxes == cells_of(room.goals)


@pytest.mark.parametrize("seed", range(40))
def test_solutions_are_as_short_as_possible(seed: int) -> None:
    """On small rooms the solution solves the room, in exactly as many moves as exhaustive search needs."""
    rng = random.Random(seed)
    room = draw_room(rng, *rng.choice([(6, 6, 2), (5, 7, 2), (7, 5, 1), (6, 6, 3)]), 30)
    solution = solve(room, 30)
    assert solution is not None
    assert solves(room, solution)
    assert len(solution) == shortest_length(room)


@pytest.mark.parametrize("seed", range(200, 240))
def test_random_positions_are_judged_rightly(seed: int) -> None:
    """Boxes and player put anywhere: None exactly where exhaustive search finds no solution either."""
    rng = random.Random(seed)
    floor = draw_room(rng, 6, 6, 2, 20).floor
    cells = rng.sample(list(single_cells(floor)), 3)
    room = Room(6, 6, floor, sum(rng.sample(list(single_cells(floor)), 2)), cells[0] | cells[1], cells[2])
    solution, shortest = solve(room, 10**9), shortest_length(room)
    assert (None if solution is None else len(solution)) == shortest


@pytest.mark.parametrize(
    "rows",
    [
        ["#####", "#X_P#", "#__O#", "#___#", "#####"],  # in a corner
        ["######", "#_XX_#", "#_P__#", "#_OO_#", "######"],  # two against a wall
        ["######", "#O__P#", "#_XX_#", "#_XX_#", "#_OOO#", "######"],  # a block of four
        ["#######", "#P_#X_#", "#__#_O#", "#__#__#", "#######"],  # out of reach
    ],
)
def test_rooms_without_a_solution_give_none(rows: list[str]) -> None:
    """Stuck boxes, boxes that no push can bring to a goal and boxes out of reach have no solution."""
    room = from_rows(rows)
    assert solve(room, 1000) is None
    assert shortest_length(room) is None


def test_a_box_stuck_on_its_goal_is_no_obstacle() -> None:
    """A box in a corner that is its goal may stay there."""
    room = from_rows(["#####", "#√_P#", "#__X#", "#__O#", "#####"])
    assert solve(room, 10) == ["down"]


def test_a_solved_room_needs_no_moves() -> None:
    """The solution of a solved room is empty, which is not None."""
    assert solve(from_rows(["#####", "#__P#", "#_√_#", "#___#", "#####"]), 10) == []


def test_solutions_that_are_too_long_are_not_given() -> None:
    """With fewer moves than a shortest solution has, there is none."""
    room = draw_room(random.Random(4), 6, 6, 2, 20)
    shortest = solve(room, 20)
    assert shortest is not None
    assert solve(room, len(shortest)) == shortest
    assert solve(room, len(shortest) - 1) is None


@pytest.mark.parametrize("seed", range(10))
def test_a_bounded_effort_still_solves_within_the_moves(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search for a shortest solution gives up, the greedy one keeps to the number of moves."""
    room = draw_room(random.Random(seed), 8, 8, 4, 50)
    runs = []
    search = sokoban_solver._Search.run

    def run(self: sokoban_solver._Search, weight: int) -> list[str] | None:
        runs.append(weight)
        return None if weight == 1 else search(self, weight)

    monkeypatch.setattr(sokoban_solver._Search, "run", run)
    solution = solve(room, 50)
    assert runs == [1, sokoban_solver._GREEDY]
    assert solution is not None
    assert len(solution) <= 50
    assert solves(room, solution)
