"""Figures in the coordinate plane, drawn on a grid."""

from __future__ import annotations

import math
import random
from fractions import Fraction

from gem_envs_math.geometry.figure import Figure, point_names
from gem_envs_math.latex import number, surd
from gem_envs_math.problem import MathProblem, Rejected

__all__ = ["coordinate_area", "coordinate_distance", "grid_slope"]


def _lattice(rng: random.Random, count: int, size: int = 8) -> list[tuple[int, int]]:
    return [(rng.randint(-size, size), rng.randint(-size, size)) for _ in range(count)]


def _apart(points: list[tuple[int, int]], least: float) -> bool:
    return all(math.dist(p, q) >= least for i, p in enumerate(points) for q in points[:i])


def _on_grid(names: str, points: list[tuple[int, int]], path: str) -> tuple[Figure, str]:
    figure = Figure({name: (float(x), float(y)) for name, (x, y) in zip(names, points, strict=True)})
    low_x, high_x = min(0, *(x for x, _ in points)) - 1, max(0, *(x for x, _ in points)) + 1
    low_y, high_y = min(0, *(y for _, y in points)) - 1, max(0, *(y for _, y in points)) + 1
    figure.line(path).grid(low_x, low_y, high_x, high_y)
    given = [f"{name} = ({x}, {y})" for name, (x, y) in zip(names, points, strict=True)]
    return figure, ", ".join(given[:-1]) + f" and {given[-1]}"


def coordinate_area(rng: random.Random) -> MathProblem:
    """Return a problem on the area of a triangle or a quadrilateral on a grid."""
    count = rng.choice((3, 3, 4))
    names = "".join(point_names(rng)[:count])
    points = _lattice(rng, count)
    mx, my = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    points.sort(key=lambda point: math.atan2(point[1] - my, point[0] - mx))
    twice = sum(x * v - u * y for (x, y), (u, v) in zip(points, points[1:] + points[:1], strict=True))
    turns = []
    for i in range(count):
        (ax, ay), (bx, by), (cx, cy) = points[i - 1], points[i], points[(i + 1) % count]
        turns.append((bx - ax) * (cy - by) - (by - ay) * (cx - bx))
    if twice < 24 or min(turns) <= 3 or not _apart(points, 3):
        raise Rejected
    figure, given = _on_grid(names, points, names + names[0])
    kind = "triangle" if count == 3 else "quadrilateral"
    facts = f"In the coordinate plane, {given}."
    question = f"What is the area of {kind} {names}, if a square of the grid has side 1?"
    return figure.problem("coordinate_area", question, number(Fraction(twice, 2)), facts)


def coordinate_distance(rng: random.Random) -> MathProblem:
    """Return a problem on the length of a segment on a grid, or the perimeter of a triangle with a right angle."""
    names = "".join(point_names(rng)[:2])
    points = _lattice(rng, 2, 10)
    (a, b), (c, d) = points
    squared = (a - c) ** 2 + (b - d) ** 2
    if a == c or b == d or squared < 10:
        raise Rejected
    figure, given = _on_grid(names, points, names)
    facts = f"In the coordinate plane, {given}."
    question = f"How long is {names}, if a square of the grid has side 1?"
    return figure.problem("coordinate_distance", question, surd(1, squared), facts, plain=False, hidden=False)


def grid_slope(rng: random.Random) -> MathProblem:
    """Return a problem on the slope of a line, or where it meets an axis."""
    names = "".join(point_names(rng)[:2])
    points = _lattice(rng, 2, 10)
    (a, b), (c, d) = points
    if a == c or b == d or math.dist(*points) < 4:
        raise Rejected
    slope = Fraction(d - b, c - a)
    figure, given = _on_grid(names, points, names)
    facts = f"In the coordinate plane, {given}."
    if rng.random() < 0.5:
        return figure.problem(
            "grid_slope", f"What is the slope of the line {names}?", number(slope), facts, hidden=False
        )
    question = f"At which value of $y$ does the line {names} meet the $y$-axis?"
    return figure.problem("grid_slope", question, number(b - slope * a), facts, hidden=False)
