r"""Crosswords: find the words behind the clues and write them into the grid, one letter a turn.

Rewards: each cell pays ``1 / cells`` when its letter is written; all of them total 1.0. A wrong letter earns nothing,
costs a turn, and is not written down.

In the original the clues and words were others, words could stand side by side and so form strings that were no words,
a game could have more cells than turns, and a ``-random`` game could not be made.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from random import Random
from typing import Any, Literal, NamedTuple

from gem.arguments import boolean, integer
from gem.core import Info
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.text import boxed_pattern
from gem_envs_games.crossword_clues import LONGEST, SHORTEST, answers, clues
from gem_envs_games.crossword_layout import lay_out
from gem_envs_games.game import ILLEGAL, LEGAL, MAX_TURNS, WON, Game, is_drawn, read_number, share

__all__ = ["CrosswordsEnv", "CrosswordsPolicy", "Slot"]

_MOST_WORDS = 30
_DRAWN_WORDS = 3
_DRAWN_TURNS = 20  # for three words, as in the original
_LARGEST_SIDE = 400  # 30 words of 12 letters in one line, and a free line after each
_LONGEST_CLUE = 200
_ANSWER = re.compile(f"[A-Z]{{{SHORTEST},{LONGEST}}}")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FREE, _NO_CELL = "_", "."


class Slot(NamedTuple):
    """A word in the grid."""

    answer: str
    clue: str
    row: int
    column: int
    down: bool

    def cells(self) -> list[tuple[int, int]]:
        """Row and column of each letter."""
        row, column, length = self.row, self.column, len(self.answer)
        if self.down:
            return [(row + place, column) for place in range(length)]
        return [(row, column + place) for place in range(length)]

    def __str__(self) -> str:
        direction = "Down" if self.down else "Across"
        return f"{direction} from row {self.row}, column {self.column} ({len(self.answer)} letters): {self.clue}"


class CrosswordsEnv(Game):
    r"""Write a letter with ``\boxed{row column letter}``, rows and columns counted from 0.

    Args:
        hardcore: take words that need some schooling, otherwise everyday words. ``"random"`` (or None): drawn at every
            reset.
        max_turns: turns that the agent is told it has, at least as many as the shortest words have letters. Only games
            with at most that many cells are drawn. ``"random"``: 20 for three words, and in proportion.
        num_words: words in the grid, 1 … 30. ``"random"``: 3, the only number that the original drew.
    """

    pattern = boxed_pattern(r"(\d+)\s+(\d+)\s+([a-zA-Z])", re.ASCII)
    _request = "Which letter is next?"

    def __init__(
        self,
        hardcore: bool | Literal["random"] | None = False,
        max_turns: int | Literal["random"] | None = 30,
        num_words: int | Literal["random"] | None = 3,
    ) -> None:
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
        words = draw_answers(rng, self.hardcore, self.num_words, self.max_turns)
        clues_of = clues(self.hardcore)
        places = lay_out(rng, words)
        self._set_puzzle([Slot(word, rng.choice(clues_of[word]), *at) for word, at in zip(words, places, strict=True)])

    def _set_puzzle(self, slots: Sequence[Slot]) -> None:
        self._slots = sorted(slots, key=lambda slot: slot[2:])
        self._solution = {
            cell: letter for slot in self._slots for cell, letter in zip(slot.cells(), slot.answer, strict=True)
        }
        self._height = max(row for row, _ in self._solution) + 1
        self._width = max(column for _, column in self._solution) + 1
        self._filled: dict[tuple[int, int], None] = {}  # in the order filled
        grid = [[_NO_CELL] * self._width for _ in range(self._height)]
        for row, column in self._solution:
            grid[row][column] = _FREE
        self._grid = grid
        self._rows = [_row(number, cells) for number, cells in enumerate(grid)]
        self._header = "   " + " ".join([f"{column:2d}" for column in range(self._width)])
        self._clues = "\n".join(map(str, self._slots))
        self._draw_board()

    def _instructions(self) -> str:
        return _rules(self.hardcore, self.num_words, self.max_turns)

    def _board(self) -> str:
        return self._drawn_board

    def _draw_board(self) -> None:
        """Draw the board anew; needed after a letter was written."""
        left = len(self._solution) - len(self._filled)
        self._drawn_board = "\n".join([self._header, *self._rows, self._clues, f"Letters left: {left}", ""])

    def _play(self, move: re.Match[str]) -> tuple[str, float, int]:
        row, column, letter = read_number(move[1]), read_number(move[2]), move[3].upper()
        solution = self._solution.get((row, column))
        if solution is None:
            if 0 <= row < self._height and 0 <= column < self._width:
                return f"No letter belongs to row {row}, column {column}.", 0.0, ILLEGAL
            return (
                f"Rows are numbered from 0 to {self._height - 1} and columns from 0 to {self._width - 1}.",
                0.0,
                ILLEGAL,
            )
        if (row, column) in self._filled:
            return f"Row {row}, column {column} holds its letter already.", 0.0, ILLEGAL
        if letter != solution:
            return f"{letter} is wrong for row {row}, column {column}.", 0.0, LEGAL
        self._write((row, column))
        self._draw_board()
        done, cells = len(self._filled), len(self._solution)
        reward = share(done, cells) - share(done - 1, cells)
        return f"{letter} is right for row {row}, column {column}.", reward, WON if done == cells else LEGAL

    def _write(self, cell: tuple[int, int]) -> None:
        row, column = cell
        self._filled[cell] = None
        self._grid[row][column] = self._solution[cell]
        self._rows[row] = _row(row, self._grid[row])

    def _random_move(self) -> str:
        rng = self.action_rng
        free = [cell for cell in self._solution if cell not in self._filled] or list(self._solution)
        row, column = rng.choice(free)
        return f"{row} {column} {rng.choice(_LETTERS)}"

    def _save(self) -> dict[str, Any]:
        return {
            "slots": [list(slot) for slot in self._slots],
            "filled": [list(cell) for cell in self._filled],
            "hardcore": self.hardcore,
            "max_turns": self.max_turns,
        }

    def _load(self, episode: dict[str, Any]) -> None:
        slots = [_checked_slot(*fields) for fields in episode["slots"]]
        self.num_words = integer("words", len(slots), minimum=1, maximum=_MOST_WORDS)
        letters: dict[tuple[int, int], str] = {}
        for slot in slots:
            for cell, letter in zip(slot.cells(), slot.answer, strict=True):
                if letters.setdefault(cell, letter) != letter:
                    raise ValueError(f"two words disagree on the letter at {cell}")
        self.hardcore = boolean("hardcore", episode["hardcore"])
        self.max_turns = integer("max_turns", episode["max_turns"], minimum=1, maximum=MAX_TURNS)
        self._set_puzzle(slots)
        for row, column in episode["filled"]:
            if (row, column) not in self._solution or (row, column) in self._filled:
                raise ValueError(f"not a cell that could have been filled: {row!r}, {column!r}")
            self._write((integer("row", row), integer("column", column)))
        self._draw_board()


class CrosswordsPolicy(Policy[str, str]):
    """Looks the clues up among those of this package, and writes the first letter that is missing."""

    _CLUE = re.compile(r"^(Across|Down) from row (\d+), column (\d+) \((\d+) letters\): (.+)$", re.MULTILINE)
    _ROW = re.compile(r"^ ?\d+  ([A-Z_.](?:  [A-Z_.])*)$", re.MULTILINE)

    def act(self, observation: str, info: Info) -> str:
        grid = [row.split() for row in self._ROW.findall(observation)]
        for direction, row, column, _, clue in self._CLUE.findall(observation):
            slot = Slot(_answer_to()[clue], clue, int(row), int(column), direction == "Down")
            for (r, c), letter in zip(slot.cells(), slot.answer, strict=True):
                if grid[r][c] == _FREE:
                    return f"\\boxed{{{r} {c} {letter}}}"
        raise AssertionError(observation)


@cache
def fewest_letters(hardcore: bool, num_words: int) -> int:
    """Return how many letters the shortest words have together."""
    return sum(map(len, answers(hardcore)[:num_words]))


def draw_answers(rng: Random, hardcore: bool, num_words: int, max_letters: int) -> list[str]:
    """Draw different words with at most ``max_letters`` letters in all, which is at least ``fewest_letters``."""
    pool = answers(hardcore)
    if num_words * LONGEST <= max_letters:
        return rng.sample(pool, num_words)
    left = list(pool)
    drawn: list[str] = []
    for missing in reversed(range(num_words)):
        # The shortest words that are left are kept for those still to be drawn.
        reserved = sum(map(len, left[:missing]))
        longest = max_letters - reserved
        choices = max(bisect_right(left, longest, key=len), missing + 1)
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
        "You are playing Crosswords. Write the words behind the clues into the grid, one letter a turn, and complete it "
        f"within {max_turns} turns. Number of words: {num_words} ({kind}).\n"
        "Each clue says where its word begins, by row and column counted from 0, which way it runs, how many letters "
        f"it has, and what it means. In the grid, {_FREE} is a letter to be found and {_NO_CELL} is no part of any "
        "word. A wrong letter is not written down but costs its turn.\n"
        "Write a letter in the format \\boxed{row column letter}. For example, \\boxed{0 2 E} writes E into row 0, "
        "column 2. Earlier turns are shown to you as the game goes on."
    )


def _row(number: int, cells: Sequence[str]) -> str:
    return f"{number:2d}  " + "  ".join(cells)


def _checked_slot(answer: Any, clue: Any, row: Any, column: Any, down: Any) -> Slot:
    """Undo ``list(slot)``; raise an ordinary error for what cannot be one."""
    if not _ANSWER.fullmatch(answer) or len(clue) > _LONGEST_CLUE or not clue.isprintable():
        raise ValueError(f"not an answer with its clue: {answer!r}, {clue!r}")
    row = integer("row", row, minimum=0, maximum=_LARGEST_SIDE)
    column = integer("column", column, minimum=0, maximum=_LARGEST_SIDE)
    return Slot(answer, clue, row, column, boolean("down", down))
