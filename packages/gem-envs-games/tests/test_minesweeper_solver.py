"""Probabilities of mines, against counting all layouts one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_games.minesweeper_solver import HIDDEN, mine_chances


def around_cells(rows: int, cols: int) -> list[list[int]]:
    cells = [(row, column) for row in range(rows) for column in range(cols)]
    return [[i for i, (r, c) in enumerate(cells) if max(abs(r - row), abs(c - column)) == 1] for row, column in cells]


def chances_by_counting(board: list[int], around: list[list[int]], num_mines: int) -> dict[int, float]:
    hidden = [cell for cell, number in enumerate(board) if number == HIDDEN]
    layouts = [
        mines
        for mines in map(set, combinations(hidden, num_mines))
        if all(n == HIDDEN or sum(other in mines for other in around[cell]) == n for cell, n in enumerate(board))
    ]
    return {cell: float(Fraction(sum(cell in mines for mines in layouts), len(layouts))) for cell in hidden}


@given(data=st.data())
def test_chances_are_those_of_counting_every_layout(data: st.DataObject) -> None:
    """On boards of up to 4x5 cells, whatever is revealed, the probabilities equal a brute-force count."""
    rows, cols = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    cells = list(range(rows * cols))
    mines = data.draw(st.sets(st.sampled_from(cells), min_size=1, max_size=6))
    shown = data.draw(st.sets(st.sampled_from(cells))) - mines
    around = around_cells(rows, cols)
    board = [sum(other in mines for other in around[cell]) if cell in shown else HIDDEN for cell in cells]
    chances = mine_chances(board, around, len(mines))
    assert chances == pytest.approx(chances_by_counting(board, around, len(mines)), abs=1e-12)
    assert all((chances[cell] == 0.0) == (chance == 0.0) for cell, chance in chances.items())


def test_the_total_of_mines_matters() -> None:
    """On 1 . . . with a single mine, the 1 has it next to itself, so that the far cells are safe."""
    assert mine_chances([1, HIDDEN, HIDDEN, HIDDEN], around_cells(1, 4), 1) == {1: 1.0, 2: 0.0, 3: 0.0}


def test_chances_of_cells_far_from_numbers_are_the_rest_of_the_mines() -> None:
    """With two mines, the other one is in either of the far cells with equal probability."""
    assert mine_chances([1, HIDDEN, HIDDEN, HIDDEN], around_cells(1, 4), 2) == {1: 1.0, 2: 0.5, 3: 0.5}


def test_a_contradiction_raises() -> None:
    """A board that no layout explains is an error, not a guess."""
    with pytest.raises(ZeroDivisionError):
        mine_chances([2, HIDDEN], around_cells(1, 2), 1)


def test_long_borders_stay_cheap() -> None:
    """A row of 60 numbers above 60 hidden cells has a few layouts for each of 2^60 subsets; it is solved at once."""
    cols = 60
    around = around_cells(2, cols)
    mines = set(range(cols, 2 * cols, 3))
    board = [sum(other in mines for other in around[cell]) for cell in range(cols)] + [HIDDEN] * cols
    chances = mine_chances(board, around, len(mines))
    assert {cell for cell, chance in chances.items() if chance == 1.0} == mines
