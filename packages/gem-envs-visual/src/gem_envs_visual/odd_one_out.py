"""One figure in a field of figures is not like the others."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from gem.core import Info, Observation
from gem.policies import Policy
from gem_envs_visual.env import AnswerEnv
from gem_envs_visual.names import name_like, names
from gem_envs_visual.reading import Picture, look
from gem_questions.pictures.canvas import Canvas, Point

__all__ = ["ColouredShape", "FigureField", "OddOneOutEnv", "OddOneOutPolicy"]

WIDTH, HEIGHT = 480, 430
_COLOURS = ("orange", "sky", "green", "blue", "red", "pink")
_SQUARES = 6

Shape = tuple[Point, ...]
"""The squares of a figure by column and row, in order, the leftmost column and the top row being 0."""


class OddLevel(NamedTuple):
    """How large the field is, and what differs in it."""

    side: int
    square: int
    """Pixels of the side of a square that a figure is made of."""
    turned: bool
    """Whether the figures are turned by quarters and coloured by chance."""
    odd: str
    """``"colour"``, ``"shape"`` or ``"mirrored"``: how the odd figure differs, or ``"any"`` of the first two."""

    @property
    def above(self) -> int:
        """Pixels from the centre of a name up to that of its figure."""
        return 2 * self.square + 18


class ColouredShape(NamedTuple):
    """A figure of squares of one colour."""

    shape: Shape
    colour: str


@dataclass(frozen=True)
class FigureField:
    """Figures, row by row, and the odd one among them."""

    level: OddLevel
    figures: tuple[ColouredShape, ...]
    labels: tuple[str, ...]
    odd: int

    @property
    def question(self) -> str:
        """The question, with an example of an answer."""
        how = {
            "any": "All figures in the picture but one are alike: the odd one has another shape or another colour.",
            "shape": "All figures in the picture but one have the same shape, turned this way or that; their colours "
            "mean nothing. The odd one has another shape, which is no mirror image of it.",
            "mirrored": "All figures in the picture but one have the same shape, turned this way or that; their "
            "colours mean nothing. The odd one is its mirror image, and no turning makes it like the others.",
        }[self.level.odd]
        return f"{how} What is the name below the odd one? Put it in \\boxed{{}}, such as \\boxed{{KAP}}."

    @property
    def answer(self) -> str:
        """The name of the odd figure."""
        return self.labels[self.odd]

    def structure(self) -> object:
        """Return the figures."""
        return self.figures

    def guess(self, rng: random.Random) -> str:
        """Return any name."""
        return name_like(rng)

    def picture(self) -> Canvas:
        """Return the drawing."""
        canvas = Canvas(WIDTH, HEIGHT)
        side = self.level.side
        for number, (figure, name) in enumerate(zip(self.figures, self.labels, strict=True)):
            x = WIDTH * (2 * (number % side) + 1) // (2 * side)
            y = HEIGHT * (number // side + 1) // side - 12
            canvas.text(x, y, name, align="centre")
            unit = self.level.square
            wide, high = (max(square[axis] for square in figure.shape) + 1 for axis in (0, 1))
            left, top = x - wide * unit // 2, y - self.level.above - high * unit // 2
            for column, row in figure.shape:
                canvas.rectangle(left + unit * column, top + unit * row, unit, unit, figure.colour)
        return canvas


def _normal(squares: Iterable[Point]) -> Shape:
    found = list(squares)
    left, top = (min(square[axis] for square in found) for axis in (0, 1))
    return tuple(sorted((x - left, y - top) for x, y in found))


def _turned(shape: Shape) -> Shape:
    return _normal((-y, x) for x, y in shape)


def mirrored(shape: Shape) -> Shape:
    """Return the mirror image of a shape."""
    return _normal((-x, y) for x, y in shape)


def any_turn(shape: Shape) -> Shape:
    """Return the same shape for all that are equal but for quarter turns."""
    turns = [shape]
    for _ in range(3):
        turns.append(_turned(turns[-1]))
    return min(turns)


class OddOneOutEnv(AnswerEnv[FigureField]):
    """Find the figure that differs: in colour or shape, in shape under turning, or as a mirror image.

    The arguments are those of :class:`gem_envs_visual.env.AnswerEnv`.
    """

    levels: ClassVar[Mapping[str, OddLevel]] = {
        "easy": OddLevel(3, 22, False, "any"),
        "medium": OddLevel(4, 15, True, "shape"),
        "hard": OddLevel(5, 11, True, "mirrored"),
    }

    def _drawn(self, rng: random.Random) -> FigureField:
        level: OddLevel = self._level
        shape = _drawn_shape(rng)
        while any_turn(shape) == any_turn(mirrored(shape)):
            shape = _drawn_shape(rng)
        usual, other = rng.sample(_COLOURS, 2)
        if level.odd == "mirrored":
            odd = ColouredShape(mirrored(shape), other)
        elif level.odd == "any" and rng.random() < 0.5:
            odd = ColouredShape(shape, other)
        else:
            odd = ColouredShape(_another(rng, shape), usual)
        count = level.side**2
        place = rng.randrange(count)
        figures = [odd if number == place else ColouredShape(shape, usual) for number in range(count)]
        if level.turned:
            figures = [ColouredShape(_turned_by(one.shape, rng.randrange(4)), rng.choice(_COLOURS)) for one in figures]
        return FigureField(level, tuple(figures), tuple(names(rng, count)), place)


def _drawn_shape(rng: random.Random) -> Shape:
    """Return a connected shape that fits into four by four squares."""
    while True:
        squares = [(0, 0)]
        while len(squares) < _SQUARES:
            x, y = rng.choice(squares)
            dx, dy = rng.choice(((1, 0), (-1, 0), (0, 1), (0, -1)))
            if (x + dx, y + dy) not in squares:
                squares.append((x + dx, y + dy))
        shape = _normal(squares)
        if max(max(square) for square in shape) < 4:
            return shape


def _another(rng: random.Random, shape: Shape) -> Shape:
    """Return a shape that is neither the same nor its mirror image, however turned."""
    while True:
        other = _drawn_shape(rng)
        if any_turn(other) not in (any_turn(shape), any_turn(mirrored(shape))):
            return other


def _turned_by(shape: Shape, quarters: int) -> Shape:
    for _ in range(quarters):
        shape = _turned(shape)
    return shape


class OddOneOutPolicy(Policy[Observation, str]):
    """Cuts the figures out of the picture, and compares colours and shapes under turning."""

    def act(self, observation: Observation, info: Info) -> str:
        picture, _ = look(observation)
        labels = picture.texts()
        level = next(level for level in OddOneOutEnv.levels.values() if level.side**2 == len(labels))
        figures = [_figure_above(picture, label.x, label.y, level) for label in labels]
        shapes = [any_turn(shape) for shape, _ in figures]
        colours = [shade for _, shade in figures]
        for features in (shapes, colours):
            count = Counter(features)
            if sorted(count.values()) == [1, len(labels) - 1]:
                odd = next(number for number, feature in enumerate(features) if count[feature] == 1)
                return f"\\boxed{{{labels[odd].text}}}"
        return ""


def _figure_above(picture: Picture, x: int, y: int, level: OddLevel) -> tuple[Shape, int]:
    """Return the squares of the figure above a name, and their colour."""
    unit, middle = level.square, y - level.above
    reach = 2 * unit + 1
    seen = [
        (column, row, picture.at(column, row))
        for row in range(middle - reach, middle + reach)
        for column in range(x - reach, x + reach)
        if picture.at(column, row)
    ]
    left, top = min(one[0] for one in seen), min(one[1] for one in seen)
    squares = {((column - left) // unit, (row - top) // unit) for column, row, _ in seen}
    return _normal(squares), seen[0][2]
