r"""Minesweeper: reveal every safe cell of a grid without touching a mine.

Rewards: a reveal earns the cells that it uncovers / (cells - mines), so that revealing all safe cells earns 1.0 in
all; a mine, a flag, and any other well-formed move earn 0.0. Mines are laid at the first reveal, outside the block of
3x3 cells around it. A flag is a mark for the player alone: a flagged cell is not revealed, but trying to reveal a
flagged mine still loses, as in the original.

Differs from the original: revealing all safe cells wins, whatever the flags; the original also wanted every mine
flagged, and looked only after a reveal.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal

from gem.arguments import integer
from gem.core import Info
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.text import boxed_pattern
from gem_envs_games.game import ILLEGAL, LEGAL, LOST, MAX_TURNS, WON, Game, is_drawn, read_number, share
from gem_envs_games.minesweeper_solver import best_cell, neighbours

__all__ = ["MinesweeperEnv", "MinesweeperPolicy"]

_LONGEST_SIDE = 50
_HIDDEN, _FLAG, _MINE = ".", "F", "*"
_REVEAL_SHARE = 0.9  # of the random moves


class MinesweeperEnv(Game):
    r"""Uncover cells with ``\boxed{reveal row column}``, mark mines with ``\boxed{flag row column}``, counted from 0.

    Args:
        rows: 1 … 50.
        cols: 1 … 50.
        num_mines: at least 1, and few enough to leave the 3x3 block around any first reveal free.
        max_turns: moves that the agent is told it has; with one for each safe cell, any board can be won.
            ``"random"``: one for each cell.

    ``rows``, ``cols`` and ``num_mines`` all ``"random"``: a square of n = 5 … 8 rows, drawn at every reset, with
    n² // 5 mines.
    """

    pattern = boxed_pattern(r"([a-zA-Z]+)\s(\d+)\s(\d+)")

    def __init__(
        self,
        rows: int | Literal["random"] | None = 8,
        cols: int | Literal["random"] | None = 8,
        num_mines: int | Literal["random"] | None = 10,
        max_turns: int | Literal["random"] | None = 64,
    ) -> None:
        self._drawn = is_drawn(("rows", "cols", "num_mines"), (rows, cols, num_mines))
        self._turns_drawn = is_drawn(("max_turns",), (max_turns,))
        if not self._drawn:
            self._set_size(*_check_size(rows, cols, num_mines))
        if not self._turns_drawn:
            self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)

    def _set_size(self, rows: int, cols: int, num_mines: int) -> None:
        self.rows, self.cols, self.num_mines = rows, cols, num_mines
        if self._turns_drawn:
            self.max_turns = rows * cols

    def _begin(self) -> None:
        if self._drawn:
            side = 5 + int(4 * self.rng.random())
            self._set_size(side, side, side**2 // 5)
        self._mines: frozenset[int] = frozenset()  # empty until the first reveal
        self._numbers: list[int] = []
        self._flags: set[int] = set()
        self._revealed: set[int] = set()
        self._lines = list(_empty_board(self.rows, self.cols))

    def _write(self, cell: int, text: str) -> None:
        row, column = divmod(cell, self.cols)
        line = self._lines[row + 1]
        self._lines[row + 1] = line
