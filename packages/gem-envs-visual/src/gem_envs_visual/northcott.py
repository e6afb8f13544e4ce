"""Northcott's game without retreat, on a board that is shown as a picture before each move.

In each row a disc of each player faces the other. In turn the players slide an own disc towards the other one, over any
number of free squares. Who cannot move loses. The distances are the heaps of Nim (Bouton, 1901), so the player to move
wins exactly if their exclusive or is not zero.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import xor
from typing import ClassVar, NamedTuple

from gem.action_forms import BoxedNumbers, LenientForm
from gem.core import Info, Observation
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.state_fields import StateFields
from gem.text_env import MoveResult, failure, legal, malformed, success
from gem_envs_visual.env import PictureEnv
from gem_envs_visual.reading import Picture, look
from gem_questions.pictures.canvas import Canvas, Point, colour

__all__ = ["Board", "NorthcottEnv", "NorthcottPolicy", "winning_slide"]

WIDTH, HEIGHT = 480, 340
_MINE, _THEIRS = "blue", "orange"

Slide = tuple[int, int]
"""A row, counted from 0, and a number of squares."""


class BoardLevel(NamedTuple):
    """The size of the boards of a level."""

    rows: int
    columns: int
    turns: int

    @property
    def side(self) -> int:
        """Pixels of the side of a square."""
        return min((WIDTH - 60) // self.columns, (HEIGHT - 20) // self.rows)


@dataclass(frozen=True)
class Board:
    """Where the discs lie: for each row the columns of the agent's and of the opponent's."""

    mine: tuple[int, ...]
    theirs: tuple[int, ...]

    @property
    def gaps(self) -> list[int]:
        """The free squares between the discs of each row."""
        return [abs(a - b) - 1 for a, b in zip(self.mine, self.theirs, strict=True)]

    def structure(self) -> object:
        """Return the board."""
        return self.mine, self.theirs


def winning_slide(gaps: Sequence[int]) -> Slide | None:
    """Return a move after which the exclusive or of the gaps is zero; None if there is none."""
    total = reduce(xor, gaps)
    return next(((row, gap - (gap ^ total)) for row, gap in enumerate(gaps) if gap ^ total < gap), None)


def _slid(own: Sequence[int], other: Sequence[int], slide: Slide) -> tuple[int, ...]:
    row, squares = slide
    step = squares if own[row] < other[row] else -squares
    return tuple(column + step * (number == row) for number, column in enumerate(own))


class NorthcottEnv(PictureEnv[tuple[int, ...], Board]):
    r"""Win against a perfect opponent with moves such as ``\boxed{2 3}``: in row 2, three squares.

    Every board can be won. Rewards: 1.0 for a victory, 0.0 for anything else. A forbidden move loses the game, and an
    action without a move costs a turn.

    Args:
        level: ``"easy"``, ``"medium"`` or ``"hard"``.
        split: ``"train"`` or ``"test"``. No board is in both.
        max_turns: turns that the instructions announce; None: by the level.
    """

    levels: ClassVar[Mapping[str, BoardLevel]] = {
        "easy": BoardLevel(3, 7, 15),
        "medium": BoardLevel(4, 9, 20),
        "hard": BoardLevel(6, 11, 40),
    }
    saved = StateFields(task=int, mine=tuple[int, ...], theirs=tuple[int, ...])
    request = "What is your move?"
    closings: ClassVar[dict[str, str]] = {
        **PictureEnv.closings,
        "success": "Your opponent cannot move. You have won.",
        "failure": "You have lost.",
    }

    def __init__(self, level: str = "medium", split: str = "train", max_turns: int | None = None) -> None:
        super().__init__(level, split, max_turns)
        self.form = LenientForm(BoxedNumbers((1, self._level.rows), (1, self._level.columns)))

    def _drawn(self, rng: random.Random) -> Board:
        level: BoardLevel = self._level
        while True:
            pairs = [rng.sample(range(level.columns), 2) for _ in range(level.rows)]
            board = Board(tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))
            # A first move that wins by chance must be rare.
            if sum(gap > 0 for gap in board.gaps) > level.rows // 2 + 1 and winning_slide(board.gaps):
                return board

    def _start(self) -> None:
        self.mine, self.theirs = self._task.mine, self._task.theirs

    def _load(self, episode: dict[str, object]) -> None:
        super()._load(episode)
        rows, columns, _ = self._level
        for own in (self.mine, self.theirs):
            if len(own) != rows or not all(0 <= column < columns for column in own):
                raise ArgumentError(f"mine and theirs must hold {rows} columns from 0 to {columns - 1}, got {own}")
        if any(a == b for a, b in zip(self.mine, self.theirs, strict=True)):
            raise ArgumentError("mine and theirs must not share a square")

    def _instructions(self) -> str:
        return (
            "You play a board game, and the picture shows the board. In each row lie a blue disc, which is yours, "
            "and an orange disc of your opponent. In turn, each player slides one own disc towards the other disc "
            "of its row, over one or more free squares, and never over the other disc or away from it. Who cannot "
            f"move loses. You begin, and have {self.max_turns} moves. A forbidden move loses the game. Give the row, "
            "as numbered on the left, and the number of squares: \\boxed{2 3} slides your disc in row 2 by three "
            "squares."
        )

    def _picture(self) -> Canvas:
        level: BoardLevel = self._level
        canvas = Canvas(WIDTH, HEIGHT)
        side = level.side
        for row in range(level.rows):
            canvas.text(36, square(level, row, 0)[1], str(row + 1), align="right")
            for column in range(level.columns):
                x, y = square(level, row, column)
                left, top = x - side // 2, y - side // 2
                if (row + column) % 2:
                    canvas.rectangle(left, top, side, side, "shade")
                canvas.frame(left, top, side + 1, side + 1, "grey", 1)
            for own, name in ((self.mine, _MINE), (self.theirs, _THEIRS)):
                canvas.disc(square(level, row, own[row]), side * 3 // 8, name)
        return canvas

    def _play(self, move: tuple[int, ...]) -> MoveResult:
        row, squares = move[0] - 1, move[1]
        board = Board(self.mine, self.theirs)
        if squares > board.gaps[row]:
            message, reward, _, ending = failure("That move is forbidden.")
            return message, reward, "illegal", ending
        self.mine = _slid(self.mine, self.theirs, (row, squares))
        gaps = Board(self.mine, self.theirs).gaps
        if not any(gaps):
            return success("You slide your disc.")
        widest = gaps.index(max(gaps))
        self.theirs = _slid(self.theirs, self.mine, winning_slide(gaps) or (widest, 1))
        if not any(Board(self.mine, self.theirs).gaps):
            return failure("You slide your disc, your opponent slides one, and you cannot move.")
        return legal("You slide your disc, and your opponent slides one.")

    def _malformed(self) -> MoveResult:
        return malformed("There is no move in a box.", 0.0, ends=False)


def square(level: BoardLevel, row: int, column: int) -> Point:
    """Return the centre of a square, in pixels."""
    side = level.side
    top = (HEIGHT - side * level.rows) // 2
    return 46 + side * column + side // 2, top + side * row + side // 2


class NorthcottPolicy(Policy[Observation, str]):
    """Finds the discs in the picture, and plays perfectly."""

    def act(self, observation: Observation, info: Info) -> str:
        picture, _ = look(observation)
        rows = len(picture.texts())
        level = next(level for level in NorthcottEnv.levels.values() if level.rows == rows)
        mine, theirs = (
            tuple(_column(picture, level, row, colour(name)) for row in range(rows)) for name in (_MINE, _THEIRS)
        )
        slide = winning_slide(Board(mine, theirs).gaps)
        return "" if slide is None else f"\\boxed{{{slide[0] + 1} {slide[1]}}}"


def _column(picture: Picture, level: BoardLevel, row: int, shade: int) -> int:
    return next(column for column in range(level.columns) if picture.at(*square(level, row, column)) == shade)
