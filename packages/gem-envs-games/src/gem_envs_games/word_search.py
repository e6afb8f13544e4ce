r"""WordSearch: find hidden words in a grid of letters, across or down.

Rewards: each word of the list pays ``1 / num_words`` once, wherever in the grid the given cells spell it, forwards or
backwards; all of them total 1.0.

The original pays a word again for its cells in the opposite order, does not count a word that occurs by chance
elsewhere, and does not show the words to find. ``hardcore`` words here have at most 10 letters, so their grids are
smaller.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isqrt
from random import Random
from typing import Any, Literal

from gem.action_forms import BoxedPattern
from gem.arguments import boolean, integer
from gem.core import Info
from gem.counts import counted
from gem.policies import Policy
from gem.text_env import MAX_TURNS, MoveResult, illegal, legal, success
from gem_envs_games.game import Game, is_drawn, read_number, share
from gem_envs_games.words import LONGEST, SHORTEST, all_words

__all__ = ["WordSearchEnv", "WordSearchPolicy", "find_word", "hide_words"]

Span = tuple[int, int, int, int]
"""First row, first column, last row, last column, counted from 0."""

_MOST_WORDS = 50
_DRAWN_WORDS = 5
_TURNS_PER_WORD = 4
_LARGEST_SIDE = 99  # so that two digits number the rows and columns
_CELLS_PER_LETTER = 3
_TRIES_PER_WORD = 200
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WORD = re.compile(f"[A-Z]{{{SHORTEST},{LONGEST}}}")


class WordSearchEnv(Game[re.Match[str]]):
    r"""Find words with ``\boxed{start_row start_col end_row end_col}``, counted from 0.

    Args:
        num_words: words to find, 1 … 50. ``"random"``: 5, the only number that the original drew.
        max_turns: turns that the instructions announce; a win takes one a word. ``"random"``: four a word.
        hardcore: draw the words from a large dictionary, otherwise from everyday English. ``"random"`` (or None):
            drawn at every reset.
        lenient: also take capitals, extra blanks, commas and LaTeX text; see :class:`gem_envs_games.game.Game`.
    """

    form = BoxedPattern(r"(\d+)\s+(\d+)\s+(\d+)\s+(\d+)")
    request = "Where is the next word?"

    def __init__(
        self,
        num_words: int | Literal["random"] | None = 5,
        max_turns: int | Literal["random"] | None = 20,
        hardcore: bool | Literal["random"] | None = False,
        lenient: bool = False,
    ) -> None:
        self._set_lenient(lenient)
        self._number_drawn = is_drawn(("num_words",), (num_words,))
        self._turns_drawn = is_drawn(("max_turns",), (max_turns,))
        self._hardcore_drawn = is_drawn(("hardcore",), (hardcore,))
        if not self._number_drawn:
            self.num_words = integer("num_words", num_words, minimum=1, maximum=_MOST_WORDS)
        if not self._turns_drawn:
            self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)
        if not self._hardcore_drawn:
            self.hardcore = boolean("hardcore", hardcore)

    def _begin(self) -> None:
        rng = self.rng
        if self._number_drawn:
            self.num_words = _DRAWN_WORDS
        if self._turns_drawn:
            self.max_turns = _TURNS_PER_WORD * self.num_words
        if self._hardcore_drawn:
            self.hardcore = rng.random() < 0.5
        words = _draw_words(rng, self.num_words, self.hardcore)
        self._lay_out(hide_words(rng, words), words)
        self._draw_board()

    def _lay_out(self, rows: Sequence[str], words: Sequence[str]) -> None:
        self._rows, self._words = tuple(rows), tuple(words)
        self._columns = tuple("".join(column) for column in zip(*rows, strict=True))
        self._left = set(words)
        self._tried: dict[Span, None] = {}  # in the order made
        self._marked: set[tuple[int, int]] = set()

    def _instructions(self) -> str:
        kind = "uncommon English words" if self.hardcore else "everyday English words"
        return (
            f"You are playing Word Search. {self.num_words} {kind} are hidden in a grid of letters, across or down. "
            f"Find all of them within {counted(self.max_turns, 'turn')}.\n"
            "Say where a word is by the row and column of its first letter and of its last letter, counted from 0, in "
            "the format \\boxed{start_row start_col end_row end_col}. For example, \\boxed{2 0 2 3} means the four "
            "letters in row 2 from column 0 to column 3. Do not repeat a guess.\n"
            "Words that were found, and their letters in the grid, are put in square brackets."
        )

    def _board(self) -> str:
        return self._drawn_board

    def _draw_board(self) -> None:
        """Draw the board again after a word was found."""
        marked, left = self._marked, self._left
        lines = ["   " + "".join([f"{column:2d} " for column in range(len(self._rows))]).rstrip()]
        for row, letters in enumerate(self._rows):
            if marked:
                cells = [f"[{x}]" if (row, column) in marked else f" {x} " for column, x in enumerate(letters)]
                lines.append(f"{row:2d} " + "".join(cells).rstrip())
            else:
                lines.append(f"{row:2d}  " + "  ".join(letters))
        listed = ", ".join([word if word in left else f"[{word}]" for word in self._words])
        found = len(self._words) - len(left)
        self._drawn_board = "\n".join([*lines, f"Words: {listed}", f"Found: {found} of {len(self._words)}"])

    def _play(self, move: re.Match[str]) -> MoveResult:
        side = len(self._rows)
        row, column, last_row, last_column = map(read_number, move.groups())
        if not (0 <= row < side and 0 <= column < side and 0 <= last_row < side and 0 <= last_column < side):
            return illegal(f"Rows and columns are numbered from 0 to {side - 1}.")
        if row != last_row and column != last_column:
            return illegal("A word is in one row or in one column.")
        # The same cells in the other order are the same guess.
        span = (row, column, last_row, last_column)
        if span > (last_row, last_column, row, column):
            span = (last_row, last_column, row, column)
        if span in self._tried:
            return illegal("You have tried these cells before.")
        word = self._try(span)
        if word is None:
            return legal("These cells hold no word that is left to find.")
        self._draw_board()
        found, total = len(self._words) - len(self._left), len(self._words)
        message, reward = f"You have found {word}.", share(found, total) - share(found - 1, total)
        return legal(message, reward) if self._left else success(message, reward)

    def _try(self, span: Span) -> str | None:
        """Look at the cells of a new span, given from the left or from the top; return the word found there."""
        row, column, last_row, last_column = span
        self._tried[span] = None
        if row == last_row:
            letters = self._rows[row][column : last_column + 1]
        else:
            letters = self._columns[column][row : last_row + 1]
        word = letters if letters in self._left else letters[::-1]
        if word not in self._left:
            return None
        self._left.discard(word)
        self._marked.update((r, c) for r in range(row, last_row + 1) for c in range(column, last_column + 1))
        return word

    def _random_move(self) -> str:
        """Return cells in a row or column, as many as a word still to be found has letters."""
        rng = self.action_rng
        length = len(rng.choice([word for word in self._words if word in self._left] or self._words))
        side = len(self._rows)
        start, line = rng.randrange(side - length + 1), rng.randrange(side)
        end = start + length - 1
        return f"{line} {start} {line} {end}" if rng.random() < 0.5 else f"{start} {line} {end} {line}"

    def _save(self) -> dict[str, Any]:
        return {
            "grid": list(self._rows),
            "words": list(self._words),
            "tried": [list(span) for span in self._tried],
            "hardcore": self.hardcore,
            "max_turns": self.max_turns,
        }

    def _load(self, episode: dict[str, Any]) -> None:
        rows, words = episode["grid"], episode["words"]
        side = integer("side", len(rows), minimum=SHORTEST, maximum=_LARGEST_SIDE)
        if not all(re.fullmatch("[A-Z]+", row) and len(row) == side for row in rows):
            raise ValueError("the grid is not a square of capitals")
        self.num_words = integer("words", len(words), minimum=1, maximum=_MOST_WORDS)
        if not all(_WORD.fullmatch(word) and find_word(rows, word) for word in words) or len(set(words)) < len(words):
            raise ValueError("the words are not all different words in the grid")
        self.hardcore = boolean("hardcore", episode["hardcore"])
        self.max_turns = integer("max_turns", episode["max_turns"], minimum=1, maximum=MAX_TURNS)
        self._lay_out(rows, words)
        for numbers in episode["tried"]:
            row, column, last_row, last_column = (integer("cell", n, minimum=0, maximum=side - 1) for n in numbers)
            aligned = row <= last_row and column <= last_column and (row == last_row or column == last_column)
            span = (row, column, last_row, last_column)
            if not aligned or span in self._tried or not self._left:
                raise ValueError(f"not a guess that could have been made: {numbers!r}")
            self._try(span)
        self._draw_board()


class WordSearchPolicy(Policy[str, str]):
    """Reads the grid and the list, and points at the first remaining word."""

    _ROW = re.compile(r"^ ?\d+ ((?:[ \[][A-Z][ \]]?)+)$", re.MULTILINE)
    _WORDS = re.compile(r"^Words: (.+)$", re.MULTILINE)

    def act(self, observation: str, info: Info) -> str:
        rows = [re.sub("[^A-Z]", "", row) for row in self._ROW.findall(observation)]
        listed = self._WORDS.search(observation)
        assert listed is not None, observation
        span = next(find_word(rows, word) for word in listed[1].split(", ") if word.isalpha())
        assert span is not None, observation
        return f"\\boxed{{{' '.join(map(str, span))}}}"


def find_word(rows: Sequence[str], word: str) -> Span | None:
    """Return the place of ``word`` in the grid, across or down, forwards or backwards, or None."""
    size = len(word) - 1
    for number, line in enumerate(rows):
        if (start := line.find(word)) >= 0:
            return number, start, number, start + size
        if (start := line.find(word[::-1])) >= 0:
            return number, start + size, number, start
    for number, line in enumerate(map("".join, zip(*rows, strict=True))):
        if (start := line.find(word)) >= 0:
            return start, number, start + size, number
        if (start := line.find(word[::-1])) >= 0:
            return start + size, number, start, number
    return None


def hide_words(rng: Random, words: Sequence[str]) -> list[str]:
    """Return the rows of a square grid that has every word across or down, words crossing now and then.

    The side is one and a half times the longest word, more if many words need the room.
    """
    side = max((3 * max(map(len, words)) + 1) // 2, isqrt(_CELLS_PER_LETTER * sum(map(len, words))) + 1)
    while (grid := _place(rng, words, side)) is None:
        side += 1
    noise = rng.choices(_LETTERS, k=side * side)
    letters = bytes([cell or other for cell, other in zip(grid, noise, strict=True)]).decode()
    return [letters[start : start + side] for start in range(0, side * side, side)]


def _place(rng: Random, words: Sequence[str], side: int) -> bytearray | None:
    """Put the words at random places that agree in shared cells; 0 is a free cell. None if a word finds no place."""
    grid = bytearray(side * side)
    for word in sorted(words, key=len, reverse=True):
        letters = word.encode()
        for _ in range(_TRIES_PER_WORD):
            start, line = rng.randrange(side - len(word) + 1), rng.randrange(side)
            first, step = (line * side + start, 1) if rng.random() < 0.5 else (start * side + line, side)
            cells = slice(first, first + step * (len(word) - 1) + 1, step)
            if all(there in (0, letter) for there, letter in zip(grid[cells], letters, strict=True)):
                grid[cells] = letters
                break
        else:
            return None
    return grid


def _draw_words(rng: Random, count: int, hardcore: bool) -> list[str]:
    """Draw words in capitals, none of which is part of another, forwards or backwards."""
    pool = all_words(hardcore)
    words: list[str] = []
    while len(words) < count:
        word = rng.choice(pool).upper()
        backwards = word[::-1]
        if not any(word in other or backwards in other or other in word or other in backwards for other in words):
            words.append(word)
    return words
