"""Sudoku grids: full, varied, blanked with one solution, and solved."""

from __future__ import annotations

import random
from collections import Counter
from math import isqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_games.sudoku_grid import is_full, layout, make_blanks, random_grid, solve

SCALES = (4, 9, 16, 25)


def blanked(grid: list[int], cells: list[int]) -> list[int]:
    return [0 if cell in set(cells) else number for cell, number in enumerate(grid)]


def count_solutions(grid: list[int], limit: int) -> int:
    """Solutions of a grid, at most ``limit``, by plain search that knows nothing of singles."""
    units, units_of = layout(isqrt(len(grid)))
    numbers = set(range(1, isqrt(len(grid)) + 1))
    fewest: tuple[int, set[int]] | None = None
    for cell, number in enumerate(grid):
        if not number:
            options = numbers - {grid[other] for unit in units_of[cell] for other in units[unit]}
            if fewest is None or len(options) < len(fewest[1]):
                fewest = cell, options
    if fewest is None:
        return 1
    found = 0
    for number in fewest[1]:
        found += count_solutions([*grid[: fewest[0]], number, *grid[fewest[0] + 1 :]], limit - found)
        if found >= limit:
            break
    return found


@pytest.mark.parametrize("scale", SCALES)
def test_layout_has_each_cell_in_a_row_a_column_and_a_box(scale: int) -> None:
    """All units have ``scale`` cells, and the units of a cell all hold it."""
    units, units_of = layout(scale)
    assert [len(unit) for unit in units] == [scale] * (3 * scale)
    for cell, (row, column, box) in enumerate(units_of):
        assert row < scale <= column < 2 * scale <= box
        assert all(cell in units[unit] for unit in (row, column, box))


def test_boxes_are_square() -> None:
    """The box in the middle of a 9x9 grid holds rows and columns 3 to 5."""
    assert layout(9).units[2 * 9 + 4] == (30, 31, 32, 39, 40, 41, 48, 49, 50)


@given(scale=st.sampled_from(SCALES), seed=st.integers(0))
def test_random_grids_are_full(scale: int, seed: int) -> None:
    """Each row, column and box holds each number once."""
    assert is_full(random_grid(scale, random.Random(seed)))


@pytest.mark.parametrize("cell", [0, 40, 80])
def test_a_wrong_number_anywhere_is_noticed(cell: int) -> None:
    """is_full refuses a grid with one number changed."""
    grid = random_grid(9, random.Random(0))
    grid[cell] = grid[cell] % 9 + 1
    assert not is_full(grid)


def test_all_small_grids_come_up_equally_often() -> None:
    """Of the 288 full 4x4 grids none is missing, and the counts are those of a fair draw."""
    rng, each = random.Random(0), 40
    counts = Counter(tuple(random_grid(4, rng)) for _ in range(288 * each))
    assert len(counts) == 288
    # Chi-square with 287 degrees of freedom: mean 287, standard deviation 24.
    assert sum((count - each) ** 2 / each for count in counts.values()) < 287 + 5 * 24


def test_large_grids_are_no_relabelled_patterns() -> None:
    """The rows of a band seldom are shifts of each other, as they are in the grid that the generator starts from."""
    rng = random.Random(0)
    kept = 0
    for _ in range(100):
        grid = random_grid(9, rng)
        following = dict(zip(grid[0:9], grid[9:18], strict=True))
        kept += all(following[following[following[number]]] == number for number in following)
    assert kept < 10


@given(scale=st.sampled_from([4, 9]), seed=st.integers(0), share=st.floats(0.01, 1.0))
def test_blanked_grids_have_one_solution(scale: int, seed: int, share: float) -> None:
    """However many cells are to be blanked, a search that tries everything finds one solution, the original."""
    rng = random.Random(seed)
    grid = random_grid(scale, rng)
    count = max(1, int(share * scale**2))
    blanks = make_blanks(grid, count, rng)
    assert 1 <= len(blanks) <= count
    assert len(set(blanks)) == len(blanks)
    assert count_solutions(blanked(grid, blanks), 2) == 1


@given(scale=st.sampled_from(SCALES), seed=st.integers(0))
def test_solve_restores_what_was_blanked(scale: int, seed: int) -> None:
    """No cell is left, and each gets the number that it had."""
    rng = random.Random(seed)
    grid = random_grid(scale, rng)
    blanks = make_blanks(grid, scale**2, rng)
    moves = solve(blanked(grid, blanks))
    assert sorted(cell for cell, _ in moves) == sorted(blanks)
    assert all(grid[cell] == number for cell, number in moves)


def test_solve_stops_where_nothing_is_forced() -> None:
    """An empty grid has no forced cell; it is no error and no endless loop."""
    assert solve([0] * 16) == []


def test_half_or_more_of_a_grid_can_be_blanked() -> None:
    """Of 50 cells asked for on 9x9, 43 to 50 are blanked, as the documentation says; of 10 on 4x4, nearly always 10."""
    rng = random.Random(0)
    large = {len(make_blanks(random_grid(9, rng), 50, rng)) for _ in range(200)}
    small = {len(make_blanks(random_grid(4, rng), 10, rng)) for _ in range(200)}
    assert large <= set(range(43, 51))
    assert max(large) == 50
    assert small <= {8, 9, 10}
