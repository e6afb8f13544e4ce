r"""Crosswords: find the words behind the clues and write them into the grid, one letter a turn.

Rewards: each cell pays ``1 / cells`` when its letter is written; all of them total 1.0. A wrong letter earns nothing,
costs a turn, and is not written down.

The original has other clues and words. Its words can stand side by side and so form strings that are not words, a
game can have more cells than turns, and a ``-random`` game cannot be made.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache, lru_cache
from operator import itemgetter
from random import Random
from typing import Any, Literal

from gem.action_forms import BoxedPattern
from gem.arguments import boolean, integer
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.text_env import MAX_TURNS, MoveResult, illegal, legal, success
from gem_envs_games.crossword_clues import LONGEST, SHORTEST, answers, clues
from gem_envs_games.crossword_layout import lay_out
from gem_envs_games.game import Game, is_drawn, read_number, share

__all__ = ["CrosswordsEnv", "CrosswordsPolicy"]

_MOST_WORDS = 30
_DRAWN_WORDS = 3
_DRAWN_TURNS = 20  # for three words, as in the original
_LARGEST_SIDE = 200  # no game comes near it
_LONGEST_CLUE = 200
_ANSWER = re.compile(f"[A-Z]{{{SHORTEST},{LONGEST}}}")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FREE, _NO_CELL = ord("_"), ord(".")
_ACROSS = 3  # characters from one cell of the drawn grid to the next


Slot = tuple[str, str, int, int, bool]
"""A word in the grid: answer, clue, row and column of its first letter, and whether it runs down."""


class CrosswordsEnv(Game[re.Match[str]]):
    r"""Write a letter with ``\boxed{row column letter}``, rows and columns counted from 0.

    Args:
        hardcore: use harder words, otherwise everyday words. ``"random"`` (or None): drawn at every
            reset.
        max_turns: turns that the instructions announce, at least as many as the shortest words have letters. Only games
            with at most that many cells are drawn. ``"random"``: 20 for three words, and in proportion.
        num_words: words in the grid, 1 … 30. ``"random"``: 3, the only number that the original drew.
        lenient: also take capitals, extra blanks, commas and LaTeX text; see :class:`gem_envs_games.game.Game`.
    """

    form = BoxedPattern(r"(\d+)\s+(\d+)\s+([a-zA-Z])", re.ASCII)
    request = "Which letter is next?"

    def __init__(
        self,
        hardcore: bool | Literal["random"] | None = False,
        max_turns: int | Literal["random"] | None = 30,
        num_words: int | Literal["random"] | None = 3,
        lenient: bool = False,
    ) -> None:
        self._set_lenient(lenient)
        self._hardcore_drawn = is_drawn(("hardcore",), (hardcore,))
        self._turns_drawn = is_drawn(("max_turns",), (max_turns,))
        number_drawn = is_drawn(("num_words",), (num_words,))
        if not self._hardcore_drawn:
            self.hardcore = boolean("hardcore", hardcore)
        self.num_words = (
            _DRAWN_WORDS if number_drawn else integer("num_words", num_words, minimum=1, maximum=_MOST_WORDS)
        )
        if self._turns_drawn:
            self.max_turns = -(-_DRAWN_TURNS * self.num_words // _DRAWN_WORDS)
            return
        self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)
        needed = fewest_letters(self._hardcore_drawn or self.hardcore, self.num_words)
        if self.max_turns < needed:
            raise ArgumentError(
                f"max_turns must be at least {needed} for {self.num_words} words, one letter a turn, got {max_turns}"
            )

    def _begin(self) -> None:
        rng = self.rng
        if self._hardcore_drawn:
            self.hardcore = rng.random() < 0.5
        answers = draw_answers(rng, self.hardcore, self.num_words, self.max_turns)
        clues_of = clues(self.hardcore)
        slots = []
        for answer, place in zip(answers, lay_out(rng, answers), strict=True):
            choices = clues_of[answer]
            slots.append((answer, choices[int(rng.random() * len(choices))], *place))
        self._set_puzzle(slots)

    def _set_puzzle(self, slots: list[Slot]) -> None:
        slots.sort(key=itemgetter(2, 3, 4))
        self._slots = slots
        height = width = 0
        lines = []
        for answer, clue, row, column, down in slots:
            length = len(answer)
            height = max(height, row + length if down else row + 1)
            width = max(width, column + 1 if down else column + length)
            direction = "Down" if down else "Across"
            lines.append(f"{direction} from row {row}, column {column} ({length} letters): {clue}")
        self._height, self._width = height, width
        self._clues = "\n".join(lines)
        # A cell is known by its position in the drawn grid.
        self._first, self._down, empty = _empty_grid(height, width)
        self._grid = grid = bytearray(empty)
        self._solution: dict[int, str] = {}
        for answer, _, row, column, down in slots:
            start, step = self._cell(row, column), self._down if down else _ACROSS
            self._solution.update(zip(range(start, start + len(answer) * step, step), answer, strict=True))
        for cell in self._solution:
            grid[cell] = _FREE
        self._left = len(self._solution)
        self._draw_board()

    def _cell(self, row: int, column: int) -> int:
        return self._first + row * self._down + column * _ACROSS

    def _instructions(self) -> str:
        return _rules(self.hardcore, self.num_words, self.max_turns)

    def _board(self) -> str:
        return self._drawn_board

    def _draw_board(self) -> None:
        """Draw the board again after a letter was written."""
        self._drawn_board = f"{self._grid.decode()}{self._clues}\nLetters left: {self._left}"

    def _play(self, move: re.Match[str]) -> MoveResult:
        row, column, letter = read_number(move[1]), read_number(move[2]), move[3].upper()
        if not (0 <= row < self._height and 0 <= column < self._width):
            ranges = f"Rows are numbered from 0 to {self._height - 1} and columns from 0 to {self._width - 1}."
            return illegal(ranges)
        cell = self._cell(row, column)
        solution = self._solution.get(cell)
        if solution is None:
            return illegal(f"No letter belongs in row {row}, column {column}.")
        if self._grid[cell] != _FREE:
            return illegal(f"Row {row}, column {column} has its letter already.")
        if letter != solution:
            return legal(f"{letter} is wrong for row {row}, column {column}.")
        self._write(cell)
        self._draw_board()
        cells = len(self._solution)
        reward = share(cells - self._left, cells) - share(cells - self._left - 1, cells)
        message = f"{letter} is right for row {row}, column {column}."
        return legal(message, reward) if self._left else success(message, reward)

    def _write(self, cell: int) -> None:
        self._grid[cell] = ord(self._solution[cell])
        self._left -= 1

    def _places(self, free: bool) -> list[list[int]]:
        """Return row and column of each letter still to be found, or of each letter already found."""
        cells = [cell for cell in self._solution if (self._grid[cell] == _FREE) == free]
        return [[(cell - self._first) // self._down, (cell - self._first) % self._down // _ACROSS] for cell in cells]

    def _random_move(self) -> str:
        rng = self.action_rng
        row, column = rng.choice(self._places(free=True) or self._places(free=False))
        return f"{row} {column} {rng.choice(_LETTERS)}"

    def _save(self) -> dict[str, Any]:
        return {
            "slots": [list(slot) for slot in self._slots],
            "filled": self._places(free=False),
            "hardcore": self.hardcore,
            "max_turns": self.max_turns,
        }

    def _load(self, episode: dict[str, Any]) -> None:
        slots = [_checked_slot(*fields) for fields in episode["slots"]]
        letters: dict[tuple[int, int], str] = {}
        for answer, _, row, column, down in slots:
            for cell, letter in zip(_cells(answer, row, column, down), answer, strict=True):
                if letters.setdefault(cell, letter) != letter:
                    raise ValueError(f"two words disagree on the letter at {cell}")
        self.num_words = integer("words", len(slots), minimum=1, maximum=_MOST_WORDS)
        self.hardcore = boolean("hardcore", episode["hardcore"])
        self.max_turns = integer("max_turns", episode["max_turns"], minimum=1, maximum=MAX_TURNS)
        self._set_puzzle(slots)
        for row, column in episode["filled"]:
            if (row, column) not in letters:
                raise ValueError(f"not a cell that could have been filled: {row!r}, {column!r}")
            del letters[row, column]
            self._write(self._cell(integer("row", row), integer("column", column)))
        self._draw_board()


class CrosswordsPolicy(Policy[str, str]):
    """Looks up the clues in this package's list, and writes the first missing letter."""

    _CLUE = re.compile(r"^(Across|Down) from row (\d+), column (\d+) \((\d+) letters\): (.+)$", re.MULTILINE)
    _ROW = re.compile(r"^ ?\d+  ([A-Z_.](?:  [A-Z_.])*)$", re.MULTILINE)

    def act(self, observation: str, info: Info) -> str:
        grid = [row.split() for row in self._ROW.findall(observation)]
        for direction, first_row, first_column, _, clue in self._CLUE.findall(observation):
            answer = _answer_to()[clue]
            cells = _cells(answer, int(first_row), int(first_column), direction == "Down")
            for (row, column), letter in zip(cells, answer, strict=True):
                if grid[row][column] == chr(_FREE):
                    return f"\\boxed{{{row} {column} {letter}}}"
        raise AssertionError(observation)


def _cells(answer: str, row: int, column: int, down: bool) -> list[tuple[int, int]]:
    """Return row and column of each letter."""
    return [(row + place, column) if down else (row, column + place) for place in range(len(answer))]


@cache
def fewest_letters(hardcore: bool, num_words: int) -> int:
    """Return the total number of letters of the shortest words."""
    return sum(map(len, answers(hardcore)[:num_words]))


def draw_answers(rng: Random, hardcore: bool, num_words: int, max_letters: int) -> list[str]:
    """Draw different words with at most ``max_letters`` letters in all, which is at least ``fewest_letters``."""
    left = list(answers(hardcore))
    ample = num_words * len(left[-1]) <= max_letters
    drawn: list[str] = []
    for missing in range(num_words - 1, -1, -1):
        choices = len(left)
        if not ample:
            # The shortest remaining words are kept for the draws to come.
            longest = max_letters - sum(map(len, left[:missing]))
            choices = bisect_right(left, longest, key=len)
        word = left.pop(int(rng.random() * choices))
        drawn.append(word)
        max_letters -= len(word)
    return drawn


@cache
def _answer_to() -> dict[str, str]:
    return {clue: answer for hardcore in (False, True) for answer, given in clues(hardcore).items() for clue in given}


@lru_cache(maxsize=32)
def _rules(hardcore: bool, num_words: int, max_turns: int) -> str:
    kind = "words that take some schooling" if hardcore else "everyday words"
    return (
        "You are playing Crosswords. Write the words behind the clues into the grid, one letter a turn, and complete "
        f"it within {counted(max_turns, 'turn')}. Number of words: {num_words} ({kind}).\n"
        "Each clue says where its word begins, by row and column counted from 0, which way it runs, how many letters "
        f"it has, and what it means. In the grid, {_FREE:c} is a letter to be found and {_NO_CELL:c} is no part of any "
        "word. A wrong letter is not written down but costs its turn.\n"
        "Write a letter in the format \\boxed{row column letter}. For example, \\boxed{0 2 E} writes E into row 0, "
        "column 2."
    )


@lru_cache(maxsize=256)
def _empty_grid(height: int, width: int) -> tuple[int, int, bytes]:
    """Return the place of the first cell, the characters from one row to the next, and the drawn grid."""
    margin = len(str(height))
    lines = [" " * margin + "".join([f"{column:{_ACROSS}d}" for column in range(width)])]
    lines += [f"{row:{margin}d}" + f"{_NO_CELL:{_ACROSS}c}" * width for row in range(height)]
    line = len(lines[0]) + 1
    return line + margin + _ACROSS - 1, line, "\n".join([*lines, ""]).encode()


def _checked_slot(answer: Any, clue: Any, row: Any, column: Any, down: Any) -> Slot:
    """Undo ``list(slot)``; raise an ordinary error for anything else."""
    if not _ANSWER.fullmatch(answer) or len(clue) > _LONGEST_CLUE or not clue.isprintable():
        raise ValueError(f"not an answer with its clue: {answer!r}, {clue!r}")
    row = integer("row", row, minimum=0, maximum=_LARGEST_SIDE)
    column = integer("column", column, minimum=0, maximum=_LARGEST_SIDE)
    return answer, clue, row, column, boolean("down", down)
