"""Jigsaws: pieces in disorder, whose edges continue in exactly one neighbour."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from gem.core import Info, Observation
from gem.policies import Policy
from gem_envs_visual.env import AnswerEnv
from gem_envs_visual.reading import Picture, look
from gem_questions.pictures.canvas import Canvas, Point, colour

__all__ = ["Jigsaw", "JigsawEnv", "JigsawPolicy"]

WIDTH, HEIGHT = 480, 400
SIDE = 80
"""Pixels of the side of a piece."""
_OFFSETS = (24, 40, 56)
"""Pixels from a corner to the middle of a band, along the edge that it crosses."""
_BAND = 11
"""Pixels of the width of a band."""
_COLOURS = ("orange", "sky", "green", "yellow", "blue", "red", "pink")

Edge = tuple[int, str] | None
"""Where a band crosses the edge, and its colour; None at the border of the whole."""


class JigsawLevel(NamedTuple):
    """The size of the jigsaws of a level."""

    rows: int
    columns: int
    colours: int
    """The fewer there are, the more often place and colour must be compared together."""


class Piece(NamedTuple):
    """The edges of a piece."""

    top: Edge
    right: Edge
    bottom: Edge
    left: Edge


@dataclass(frozen=True)
class Jigsaw:
    """The pieces as they lie there, and the order that restores the whole."""

    level: JigsawLevel
    pieces: tuple[Piece, ...]
    order: tuple[int, ...]
    """For each place of the whole, row by row, the number of its piece, from 1."""

    @property
    def question(self) -> str:
        """The question, with an example of an answer."""
        rows, columns = self.level.rows, self.level.columns
        example = " ".join(map(str, range(rows * columns, 0, -1)))
        return (
            f"The picture shows the {rows * columns} pieces of a jigsaw of {rows} rows and {columns} columns, in "
            "disorder and none turned, each above its number. Black edges belong to the border. Across every other "
            "edge a band runs on into the neighbour, in the same colour and at the same place of the edge. Which "
            "pieces, row by row from the top left, make the whole? Put their numbers in \\boxed{}, such as "
            f"\\boxed{{{example}}}."
        )

    @property
    def answer(self) -> str:
        """The numbers in order."""
        return " ".join(map(str, self.order))

    def structure(self) -> object:
        """Return the pieces."""
        return self.pieces

    def guess(self, rng: random.Random) -> str:
        """Return an order by chance."""
        return " ".join(map(str, rng.sample(range(1, len(self.pieces) + 1), len(self.pieces))))

    def picture(self) -> Canvas:
        """Return the drawing."""
        canvas = Canvas(WIDTH, HEIGHT)
        for number, (piece, (x, y)) in enumerate(zip(self.pieces, places(self.level), strict=True), start=1):
            _draw_piece(canvas, piece, x, y)
            canvas.text(x + SIDE // 2, y + SIDE + 14, str(number), align="centre")
        return canvas


def places(level: JigsawLevel) -> Iterator[Point]:
    """Yield the top left corners of the pieces."""
    wide, high = WIDTH // level.columns, HEIGHT // level.rows
    for row in range(level.rows):
        for column in range(level.columns):
            yield wide * column + (wide - SIDE) // 2, high * row + (high - SIDE - 24) // 2


def _draw_piece(canvas: Canvas, piece: Piece, x: int, y: int) -> None:
    middle = (x + SIDE // 2, y + SIDE // 2)
    canvas.rectangle(x, y, SIDE, SIDE, "shade")
    for edge, side in zip(piece, range(4), strict=True):
        if edge is None:
            continue
        offset, name = edge
        # A short way straight across the edge, then to the middle of the piece.
        outer = [(offset, 0), (SIDE - 1, offset), (offset, SIDE - 1), (0, offset)][side]
        inner = [(offset, 16), (SIDE - 17, offset), (offset, SIDE - 17), (16, offset)][side]
        start, bend = (x + outer[0], y + outer[1]), (x + inner[0], y + inner[1])
        canvas.line(start, bend, name, _BAND)
        canvas.line(bend, middle, name, _BAND)
        canvas.disc(bend, _BAND // 2, name)
    canvas.disc(middle, 13, "grey")
    for edge, (left, top, wide, high) in zip(
        piece, [(0, 0, SIDE, 4), (SIDE - 4, 0, 4, SIDE), (0, SIDE - 4, SIDE, 4), (0, 0, 4, SIDE)], strict=True
    ):
        if edge is None:
            canvas.rectangle(x + left, y + top, wide, high, "ink")


class JigsawEnv(AnswerEnv[Jigsaw]):
    """Put the pieces of a jigsaw in order.

    Every crossing of an edge is unlike all others of the same direction, so there is one solution. The arguments are
    those of :class:`gem_envs_visual.env.AnswerEnv`.
    """

    levels: ClassVar[Mapping[str, JigsawLevel]] = {
        "easy": JigsawLevel(2, 2, 7),
        "medium": JigsawLevel(2, 3, 5),
        "hard": JigsawLevel(3, 4, 4),
    }

    def _drawn(self, rng: random.Random) -> Jigsaw:
        level: JigsawLevel = self._level
        rows, columns = level.rows, level.columns
        kinds = [(offset, name) for offset in _OFFSETS for name in rng.sample(_COLOURS, level.colours)]
        beside = iter(rng.sample(kinds, rows * (columns - 1)))
        below = iter(rng.sample(kinds, (rows - 1) * columns))
        right = {(row, column): next(beside) for row in range(rows) for column in range(columns - 1)}
        bottom = {(row, column): next(below) for row in range(rows - 1) for column in range(columns)}
        whole = [
            Piece(
                bottom.get((row - 1, column)),
                right.get((row, column)),
                bottom.get((row, column)),
                right.get((row, column - 1)),
            )
            for row in range(rows)
            for column in range(columns)
        ]
        shuffled = rng.sample(range(len(whole)), len(whole))
        order = tuple(shuffled.index(place) + 1 for place in range(len(whole)))
        return Jigsaw(level, tuple(whole[place] for place in shuffled), order)


class JigsawPolicy(Policy[Observation, str]):
    """Compares the pixels along the edges, and begins with the piece that has black edges above and on its left."""

    def act(self, observation: Observation, info: Info) -> str:
        picture, text = look(observation)
        level = next(level for level in JigsawEnv.levels.values() if f"the {level.rows * level.columns} pieces" in text)
        pieces = [_seen(picture, place) for place in places(level)]
        ink = colour("ink")
        order: list[int] = []
        for place in range(level.rows * level.columns):
            above = pieces[order[place - level.columns]].bottom if place >= level.columns else None
            left = pieces[order[place - 1]].right if place % level.columns else None
            order.append(
                next(
                    number
                    for number, piece in enumerate(pieces)
                    if number not in order
                    and (piece.top == above if above else ink in piece.top)
                    and (piece.left == left if left else ink in piece.left)
                )
            )
        return f"\\boxed{{{' '.join(str(number + 1) for number in order)}}}"


class SeenEdges(NamedTuple):
    """The pixels along the edges of a piece, without its corners."""

    top: bytes
    right: bytes
    bottom: bytes
    left: bytes


def _seen(picture: Picture, place: Point) -> SeenEdges:
    x, y = place
    inside = range(5, SIDE - 5)
    end = SIDE - 1
    top, bottom = (bytes(picture.at(x + along, y + far) for along in inside) for far in (0, end))
    left, right = (bytes(picture.at(x + far, y + along) for along in inside) for far in (0, end))
    return SeenEdges(top, right, bottom, left)
