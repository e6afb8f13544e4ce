r"""Sudoku: fill the blank cells of a grid, one cell a turn.

Rewards: each correctly filled cell earns 1 / (cells that were blank at first), so that a full grid earns 1.0
in all; every other well-formed move earns 0.0 and changes nothing.

As in the original, ``clues`` is the number of cells that the generator tries to blank, not of those that it leaves.
Differs from the original: no more cells are blanked than there are turns, and every grid can be solved without
guessing (see :func:`gem_envs_games.sudoku_grid.make_blanks`; the original only made sure that there is one solution).
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import isqrt
from typing import Any, Literal, NamedTuple

from gem.action_forms import BoxedPattern
from gem.arguments import choice, integer
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.text_env import MAX_TURNS, MoveResult, illegal, legal, success
from gem_envs_games.game import Game, is_drawn, read_number, share
from gem_envs_games.sudoku_grid import is_full, layout, make_blanks, random_grid, solve

__all__ = ["SudokuEnv", "SudokuPolicy"]

_SCALES = (4, 9, 16, 25)
_SETTINGS = {4: (10, 15), 9: (50, 50)}
"""Clues and turns for the scales that are drawn at random, as in the original."""


class SudokuEnv(Game[re.Match[str]]):
    r"""Fill a grid of ``scale`` rows and columns with ``\boxed{row column number}``, all counted from 1.

    Args:
        scale: rows, columns and numbers: 4, 9, 16 or 25.
        clues: cells that the generator tries to blank, 1 … scale². It blanks as many as keep the grid
            solvable without guessing, and no more than ``max_turns``: nearly always 10 of 10 at scale 4, 43 to 50 of
            50 at scale 9.
        max_turns: moves that the instructions announce. ``"random"``: the turns of the drawn setting, or else as many
            as ``clues``.
        lenient: also take capitals, extra blanks, commas and LaTeX text; see :class:`gem_envs_games.game.Game`.

    ``scale`` and ``clues`` both ``"random"``: drawn at every reset, 4 and 10 (15 turns) or 9 and 50 (50 turns).
    """

    form = BoxedPattern(r"(\d+)\s(\d+)\s(\d+)")

    def __init__(
        self,
        scale: int | Literal["random"] | None = 9,
        clues: int | Literal["random"] | None = 30,
        max_turns: int | Literal["random"] | None = 100,
        lenient: bool = False,
    ) -> None:
        self._set_lenient(lenient)
        self._drawn = is_drawn(("scale", "clues"), (scale, clues))
        self._turns_drawn = is_drawn(("max_turns",), (max_turns,))
        if not self._drawn:
            self.scale = choice("scale", integer("scale", scale), _SCALES)
            self.clues = integer("clues", clues, minimum=1, maximum=self.scale**2)
            self.max_turns = self.clues
        if not self._turns_drawn:
            self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)

    def _begin(self) -> None:
        if self._drawn:
            self.scale = 4 if self.rng.random() < 0.5 else 9
            self.clues, turns = _SETTINGS[self.scale]
            if self._turns_drawn:
                self.max_turns = turns
        self._solution = random_grid(self.scale, self.rng)
        self._blanks = make_blanks(self._solution, min(self.clues, self.max_turns), self.rng)
        self._set_grid(filled=[])

    def _set_grid(self, filled: list[int]) -> None:
        self._filled = len(filled)
        self._grid = self._solution[:]
        for cell in set(self._blanks).difference(filled):
            self._grid[cell] = 0
        self._lines = list(_frame(self.scale).lines)
        for cell, number in enumerate(self._grid):
            if number:
                self._write(cell, number)

    def _write(self, cell: int, number: int) -> None:
        frame = _frame(self.scale)
        line, begin = frame.places[cell]
        text = self._lines[line]
        self._lines[line] = f"{text[:begin]}{number:>{frame.width}}{text[begin + frame.width :]}"

    def _instructions(self) -> str:
        return _rules(self.scale, self.max_turns, len(self._blanks))

    def _board(self) -> str:
        return "\n".join(self._lines)

    def _play(self, move: re.Match[str]) -> MoveResult:
        scale = self.scale
        row, column, number = map(read_number, move.groups())
        if not (1 <= row <= scale and 1 <= column <= scale and 1 <= number <= scale):
            return illegal(f"Row, column and number must each be from 1 to {scale}.")
        cell = (row - 1) * scale + column - 1
        if self._grid[cell]:
            return illegal(f"Row {row}, column {column} is filled already.")
        if number != self._solution[cell]:
            return self._refuse(cell, number)
        self._grid[cell] = number
        self._write(cell, number)
        before = self._filled
        self._filled = after = before + 1
        blanks = len(self._blanks)
        reward = share(after, blanks) - share(before, blanks)
        message = f"Row {row}, column {column} is {number}: right."
        return legal(message, reward) if after < blanks else success(message, reward)

    def _refuse(self, cell: int, number: int) -> MoveResult:
        units, units_of = layout(self.scale)
        for name, unit in zip(("row", "column", "box"), units_of[cell], strict=True):
            if any(self._grid[other] == number for other in units[unit]):
                return illegal(f"The {name} of that cell holds a {number} already.")
        return legal(f"The number of that cell is not {number}.")

    def _random_move(self) -> str:
        blanks = [cell for cell, number in enumerate(self._grid) if not number] or self._blanks
        draw = self.action_rng.random
        row, column = divmod(blanks[int(len(blanks) * draw())], self.scale)
        return f"{row + 1} {column + 1} {int(self.scale * draw()) + 1}"

    def _save(self) -> dict[str, Any]:
        return {
            "scale": self.scale,
            "clues": self.clues,
            "max_turns": self.max_turns,
            "solution": self._solution[:],
            "blanks": self._blanks[:],
            "filled": [cell for cell in self._blanks if self._grid[cell]],
        }

    def _load(self, episode: dict[str, Any]) -> None:
        scale = choice("scale", integer("scale", episode["scale"]), _SCALES)
        cells = scale**2
        clues = integer("clues", episode["clues"], minimum=1, maximum=cells)
        max_turns = integer("max_turns", episode["max_turns"], minimum=1, maximum=MAX_TURNS)
        if not self._drawn and (scale, clues) != (self.scale, self.clues):
            raise ArgumentError(f"made with scale={scale} and clues={clues}, not {self.scale} and {self.clues}")
        if not self._turns_drawn and max_turns != self.max_turns:
            raise ArgumentError(f"made with max_turns={max_turns}, not {self.max_turns}")
        solution = [integer("number", number, minimum=1, maximum=scale) for number in episode["solution"]]
        if len(solution) != cells or not is_full(solution):
            raise ArgumentError("solution is not a full grid")
        blanks, filled = (
            [integer("cell", cell, minimum=0, maximum=cells - 1) for cell in episode[key]]
            for key in ("blanks", "filled")
        )
        if not blanks or len(set(blanks)) < len(blanks):
            raise ArgumentError(f"blanks must be different cells, at least one, got {blanks}")
        if len(set(filled)) < len(filled) or not set(filled) <= set(blanks):
            raise ArgumentError(f"filled must be different cells out of blanks, got {filled}")
        self.scale, self.clues, self.max_turns = scale, clues, max_turns
        self._solution, self._blanks = solution, blanks
        self._set_grid(filled)


class SudokuPolicy(Policy[str, str]):
    """Solves the grid at the beginning, then fills the cells in the order of the solution."""

    _LINE = re.compile(r"^ *\d+ \|.*\|$", re.MULTILINE)

    def reset(self, observation: str, info: Info) -> None:
        # A line holds the row number, then the cells.
        lines = [line.replace("|", " ").split()[1:] for line in self._LINE.findall(observation)]
        self._moves = [
            f"{cell // len(lines) + 1} {cell % len(lines) + 1} {number}"
            for cell, number in solve([int(text) if text != "." else 0 for line in lines for text in line])
        ]
        self._moves.reverse()

    def act(self, observation: str, info: Info) -> str:
        return f"\\boxed{{{self._moves.pop()}}}"


class _Frame(NamedTuple):
    """A board of blank cells, and the place of each cell in its text."""

    lines: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    """Line of each cell, and the column at which the cell begins."""
    width: int
    """Number of characters of a cell."""


@lru_cache(maxsize=len(_SCALES))
def _frame(scale: int) -> _Frame:
    side, width = isqrt(scale), len(str(scale))
    boxes = [range(first, first + side) for first in range(0, scale, side)]
    margin = " " * width
    rule = f"{margin} {('+' + '-' * ((width + 1) * side + 1)) * side}+"
    lines = [f"{margin}   " + "   ".join(" ".join(f"{column + 1:>{width}}" for column in box) for box in boxes)]
    cells = " | ".join(" ".join("." * side).replace(".", f"{'.':>{width}}") for _ in boxes)
    for band in boxes:
        lines += [rule, *(f"{row + 1:>{width}} | {cells} |" for row in band)]
    places = tuple(
        (2 + row + row // side, width + 3 + (width + 1) * column + 2 * (column // side))
        for row in range(scale)
        for column in range(scale)
    )
    return _Frame((*lines, rule), places, width)


@lru_cache(maxsize=64)
def _rules(scale: int, max_turns: int, blanks: int) -> str:
    side = isqrt(scale)
    return (
        f"You are playing Sudoku on a grid of {scale} rows and {scale} columns; a dot is a blank cell. Each row, each "
        f"column and each {side}x{side} box must hold each of the numbers from 1 to {scale} once. There is one "
        f"solution. Fill all {blanks} blank cells within {counted(max_turns, 'turn')}, one cell a turn. A number that "
        "is not the solution's is not entered, and the turn is lost.\n"
        f"Put row, column and number in \\boxed{{}}, for example \\boxed{{1 {scale} 2}} for a 2 in row 1, column "
        f"{scale}. Rows are counted from the top and columns from the left, both from 1."
    )
