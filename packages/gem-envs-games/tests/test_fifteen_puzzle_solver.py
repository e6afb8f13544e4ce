"""The sliding-puzzle search: right, within its budget, and with an estimate that never promises too much."""

from __future__ import annotations

from collections import deque
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_games.fifteen_puzzle_solver import _change, _estimate, _slide, solve

Sources = list[dict[str, int]]


@cache
def moves_of(num_rows: int) -> Sources:
    steps = {"up": (1, 0), "down": (-1, 0), "left": (0, 1), "right": (0, -1)}
    return [
        {
            name: (row + down) * num_rows + column + right
            for name, (down, right) in steps.items()
            if 0 <= row + down < num_rows and 0 <= column + right < num_rows
        }
        for row in range(num_rows)
        for column in range(num_rows)
    ]


@cache
def distances(num_rows: int) -> dict[bytes, int]:
    """Moves needed from every position that can be solved, by breadth-first search from the goal."""
    goal = bytes([*range(1, num_rows**2), 0])
    found, queue = {goal: 0}, deque([goal])
    while queue:
        position = queue.popleft()
        gap = position.index(0)
        for source in moves_of(num_rows)[gap].values():
            following = _slide(position, gap, source)
            if following not in found:
                found[following] = found[position] + 1
                queue.append(following)
    return found


def follow(position: bytes, directions: list[str], num_rows: int) -> bytes:
    for direction in directions:
        gap = position.index(0)
        position = _slide(position, gap, moves_of(num_rows)[gap][direction])
    return position


def test_the_small_puzzles_are_all_there() -> None:
    """12 and 181,440 positions, at most 6 and 31 moves away: the figures from the literature."""
    assert (len(distances(2)), max(distances(2).values())) == (12, 6)
    assert (len(distances(3)), max(distances(3).values())) == (181_440, 31)


@pytest.mark.parametrize("num_rows", [2, 3])
def test_the_estimate_is_a_lower_bound(num_rows: int) -> None:
    """For no position (every seventh on three rows) does it exceed the moves needed; at the goal it is 0."""
    positions = list(distances(num_rows).items())
    assert _estimate(positions[0][0], num_rows) == 0
    assert all(_estimate(position, num_rows) <= moves for position, moves in positions[:: 1 if num_rows == 2 else 7])


def test_linear_conflicts_are_counted() -> None:
    """2 1 in the first row: each is one cell away, and one must step aside for the other, 1 + 1 + 2."""
    assert _estimate(bytes([2, 1, 3, 4, 5, 6, 7, 8, 0]), 3) == 4
    assert _estimate(bytes([4, 2, 3, 1, 5, 6, 7, 8, 0]), 3) == 4


@given(tiles=st.permutations(range(16)))
def test_a_slide_changes_the_estimate_by_what_is_said(tiles: list[int]) -> None:
    """The change along a slide equals the difference of the two estimates."""
    position = bytes(tiles)
    gap = position.index(0)
    for source in moves_of(4)[gap].values():
        following = _slide(position, gap, source)
        assert _change(position, following, gap, source, 4) == _estimate(following, 4) - _estimate(position, 4)


@pytest.mark.parametrize("num_rows", [2, 3])
def test_a_solution_within_the_budget_is_found_if_there_is_one(num_rows: int) -> None:
    """With exactly as many moves as are needed, the search finds a solution of that length."""
    for position, moves in list(distances(num_rows).items())[1 :: 1 if num_rows == 2 else 499]:
        directions = solve(position, moves_of(num_rows), moves)
        assert len(directions) == moves
        assert distances(num_rows)[follow(position, directions, num_rows)] == 0


def test_without_a_solution_in_time_it_comes_as_near_as_it_can() -> None:
    """Two moves short of the goal's distance there is no solution, but legal moves within the budget."""
    position, moves = max(distances(3).items(), key=lambda item: item[1])
    directions = solve(position, moves_of(3), moves - 2)
    assert 1 <= len(directions) <= moves - 2
    follow(position, directions, 3)


def test_with_no_hope_at_all_it_still_moves() -> None:
    """A budget below the estimate leaves nothing to search; one legal direction comes back."""
    position = bytes([8, 7, 6, 5, 4, 3, 2, 1, 0])
    (direction,) = solve(position, moves_of(3), 1)
    assert direction in moves_of(3)[8]


def test_hard_boards_end_with_an_answer() -> None:
    """A random five-row board is not solved, but the search stops and answers with legal moves."""
    position = bytes([(tile * 7 + 3) % 25 for tile in range(25)])
    assert follow(position, solve(position, moves_of(5), 1000), 5)
