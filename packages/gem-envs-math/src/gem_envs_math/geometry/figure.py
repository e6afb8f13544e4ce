"""Figures as plain JSON values: points, lines, circles and labels."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from gem_envs_math.problem import MathProblem

__all__ = ["Figure", "Point", "at", "point_names", "polar", "randomly_turned"]

Point = tuple[float, float]

_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Without I, which looks like a line, and O, which is a centre."""

_TURNS = (0, 0, 90, 180, 270, 15, -20, 35, 160, 200)


class Figure:
    """A figure under construction; a row holds its :attr:`data`.

    ``points``: name → [x, y], y upwards, in the units of the lengths; ``named``: points whose names are shown.
    ``segments`` and ``dashed``: [from, to]. ``lengths`` and ``spans``: [from, to, label].
    ``angles``: [arm, vertex, arm, label]; ``right``: [arm, vertex, arm]. ``circles``: [centre, radius].
    ``ellipses``: [centre, half width, half height], the upper half dashed. ``shaded``: a list of points.
    ``grid``: [x0, y0, x1, y1]. ``scale``: false where the drawing is a sketch.
    """

    def __init__(self, points: dict[str, Point], named: Iterable[str] | None = None) -> None:
        self.data: dict[str, Any] = {
            "points": {name: [round(x, 9), round(y, 9)] for name, (x, y) in points.items()},
            "named": sorted(points) if named is None else sorted(named),
        }

    def _add(self, key: str, item: list[Any]) -> Figure:
        self.data.setdefault(key, []).append(item)
        return self

    def line(self, path: str, dashed: bool = False) -> Figure:
        """Draw segments along a path of one-letter points: ``"ABCA"`` is a triangle."""
        for a, b in pairwise(path):
            self._add("dashed" if dashed else "segments", [a, b])
        return self

    def length(self, ends: str, label: object) -> Figure:
        return self._add("lengths", [ends[0], ends[1], str(label)])

    def span(self, ends: str, label: object) -> Figure:
        """Label the length of a side on which another point lies, with a dimension line for the whole side."""
        return self._add("spans", [ends[0], ends[1], str(label)])

    def angle(self, path: str, label: object) -> Figure:
        """Label the angle at the middle letter, which is smaller than 180°."""
        return self._add("angles", [*path, str(label)])

    def right(self, path: str) -> Figure:
        return self._add("right", [*path])

    def circle(self, centre: str, radius: float) -> Figure:
        return self._add("circles", [centre, round(radius, 9)])

    def ellipse(self, centre: str, wide: float, high: float) -> Figure:
        return self._add("ellipses", [centre, round(wide, 9), round(high, 9)])

    def shade(self, path: str) -> Figure:
        return self._add("shaded", [*path])

    def grid(self, low_x: int, low_y: int, high_x: int, high_y: int) -> Figure:
        self.data["grid"] = [low_x, low_y, high_x, high_y]
        return self

    def sketch(self) -> Figure:
        self.data["scale"] = False
        return self

    def problem(
        self, kind: str, question: str, answer: str, facts: str, *, plain: bool = True, hidden: bool = True
    ) -> MathProblem:
        """Return a problem on the figure; the arguments are those of :class:`MathProblem`."""
        return MathProblem(kind, question, answer, plain, hidden, self.data, facts)


def polar(degrees: float, radius: float = 1.0, centre: Point = (0.0, 0.0)) -> Point:
    """Return the point at an angle and a distance."""
    turn = math.radians(degrees)
    return centre[0] + radius * math.cos(turn), centre[1] + radius * math.sin(turn)


def at(a: Point, b: Point, share: float) -> Point:
    """Return the point at a fraction of the way from a to b."""
    return a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share


def rotated(points: dict[str, Point], degrees: float, mirrored: bool = False) -> dict[str, Point]:
    """Return the points after a turn about the origin, mirrored first if asked for."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    flip = -1.0 if mirrored else 1.0
    return {name: (flip * x * cos - y * sin, flip * x * sin + y * cos) for name, (x, y) in points.items()}


def point_names(rng: random.Random) -> list[str]:
    """Return seven names of points, often in alphabetical order."""
    if rng.random() < 0.5:
        first = rng.randint(0, len(_ALPHABET) - 7)
        return list(_ALPHABET[first : first + 7])
    return rng.sample(_ALPHABET, 7)


def randomly_turned(rng: random.Random, points: dict[str, Point]) -> dict[str, Point]:
    """Return the points after a turn by a random angle about the origin, perhaps mirrored."""
    return rotated(points, rng.choice(_TURNS) + rng.choice((0, 0, rng.randint(-10, 10))), rng.random() < 0.5)
