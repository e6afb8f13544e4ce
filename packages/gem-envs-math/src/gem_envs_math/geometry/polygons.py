"""Quadrilaterals and other polygons, drawn to scale."""

from __future__ import annotations

import math
import random
from fractions import Fraction

from gem_envs_math.geometry.figure import Figure, Point, point_names, polar, randomly_turned, rotated
from gem_envs_math.latex import number, surd
from gem_envs_math.problem import MathProblem, Rejected

__all__ = ["l_shape", "parallel_lines", "parallelogram", "polygon_angles", "rhombus", "shaded_frame", "trapezium"]


def parallelogram(rng: random.Random) -> MathProblem:
    """Return a problem on the area of a parallelogram, or an angle of it."""
    a, b, c, d, e = point_names(rng)[:5]
    base, high, lean = rng.randint(8, 50), rng.randint(4, 40), rng.randint(2, 25)
    if not 0.3 < high / base < 1.5 or not 0.15 < lean / base < 0.6:
        raise Rejected
    points: dict[str, Point] = {a: (0, 0), b: (base, 0), c: (base + lean, high), d: (lean, high), e: (lean, 0)}
    figure = Figure(randomly_turned(rng, points)).line(a + b + c + d + a).line(d + e, dashed=True).right(d + e + b)
    figure.length(d + c, base).length(d + e, high).length(a + e, lean)
    facts = (
        f"In parallelogram {a}{b}{c}{d}, {d}{c} = {base}. {e} is the foot of the perpendicular from {d} to {a}{b}, "
        f"{d}{e} = {high} and {a}{e} = {lean}."
    )
    if rng.random() < 0.6:
        return figure.problem(
            "parallelogram", f"{a}{b}{c}{d} is a parallelogram. What is its area?", str(base * high), facts
        )
    return figure.problem(
        "parallelogram",
        f"{a}{b}{c}{d} is a parallelogram. How long is {a}{d}?",
        surd(1, high**2 + lean**2),
        facts,
        plain=False,
    )


def trapezium(rng: random.Random) -> MathProblem:
    """Return a problem on the area of a trapezium."""
    a, b, c, d, e = point_names(rng)[:5]
    long, short, high, lean = rng.randint(12, 60), rng.randint(5, 45), rng.randint(4, 30), rng.randint(1, 20)
    if long < short + lean + 1 or not 0.25 < high / long < 1.2 or lean / long < 0.12 or short / long < 0.25:
        raise Rejected
    points: dict[str, Point] = {a: (0, 0), b: (long, 0), c: (lean + short, high), d: (lean, high), e: (lean, 0)}
    figure = Figure(randomly_turned(rng, points)).line(a + b + c + d + a).line(d + e, dashed=True).right(d + e + b)
    figure.span(a + b, long).length(d + c, short).length(d + e, high)
    facts = (
        f"In trapezium {a}{b}{c}{d}, the sides {a}{b} and {d}{c} are parallel, {a}{b} = {long} and {d}{c} = {short}. "
        f"{e} is the foot of the perpendicular from {d} to {a}{b}, and {d}{e} = {high}."
    )
    return figure.problem(
        "trapezium",
        f"The sides {a}{b} and {d}{c} are parallel. What is the area of {a}{b}{c}{d}?",
        number(Fraction((long + short) * high, 2)),
        facts,
    )


def rhombus(rng: random.Random) -> MathProblem:
    """Return a problem on the area or side of a rhombus from its diagonals."""
    a, b, c, d, m = point_names(rng)[:5]
    p, q = rng.randint(3, 30), rng.randint(3, 30)
    if not 0.4 < p / q < 2.5:
        raise Rejected
    points: dict[str, Point] = {a: (-p, 0), b: (0, -q), c: (p, 0), d: (0, q), m: (0, 0)}
    figure = (
        Figure(randomly_turned(rng, points)).line(a + b + c + d + a).line(a + c, dashed=True).line(b + d, dashed=True)
    )
    figure.right(a + m + b).length(a + m, p).length(m + d, q)
    facts = f"The diagonals of rhombus {a}{b}{c}{d} meet at {m}; {a}{m} = {p} and {m}{d} = {q}."
    if rng.random() < 0.5:
        return figure.problem("rhombus", f"{a}{b}{c}{d} is a rhombus. What is its area?", str(2 * p * q), facts)
    return figure.problem(
        "rhombus", f"{a}{b}{c}{d} is a rhombus. What is its perimeter?", surd(4, p * p + q * q), facts, plain=False
    )


def l_shape(rng: random.Random) -> MathProblem:
    """Return a problem on the area or perimeter of a rectangle with a corner cut out."""
    a, b, c, d, e, f = point_names(rng)[:6]
    wide, high = rng.randint(8, 40), rng.randint(8, 40)
    x, y = rng.randint(3, wide - 3), rng.randint(3, high - 3)
    if not 0.5 < high / wide < 2 or not 0.25 < x / wide < 0.75 or not 0.25 < y / high < 0.75:
        raise Rejected
    points: dict[str, Point] = {a: (0, 0), b: (wide, 0), c: (wide, y), d: (x, y), e: (x, high), f: (0, high)}
    figure = Figure(rotated(points, rng.choice((0, 90, 180, 270)), rng.random() < 0.5)).line(a + b + c + d + e + f + a)
    figure.length(a + b, wide).length(b + c, y).length(e + f, x).length(f + a, high)
    facts = (
        f"All angles of the hexagon {a}{b}{c}{d}{e}{f} are right angles, the one at {d} turns inwards; "
        f"{a}{b} = {wide}, "
        f"{b}{c} = {y}, {e}{f} = {x} and {f}{a} = {high}."
    )
    for path in (f + a + b, a + b + c, b + c + d, d + e + f, e + f + a, c + d + e):
        figure.right(path)
    kind, answer = rng.choice((("area", wide * y + x * (high - y)), ("perimeter", 2 * (wide + high))))
    return figure.problem("l_shape", f"What is the {kind} of {a}{b}{c}{d}{e}{f}?", str(answer), facts)


def parallel_lines(rng: random.Random) -> MathProblem:
    """Return a problem on two parallel lines and a point, between or beside them, joined to both."""
    a, b, c, d, e = point_names(rng)[:5]
    alpha, gamma = rng.randint(25, 75), rng.randint(25, 75)
    one, two = rng.randint(4, 6), rng.randint(4, 6)
    # The rays a→b (below) and d→e (above) run in the same direction; c lies between, to their left or right.
    points: dict[str, Point] = {c: (0, 0)}
    points[a] = polar(-alpha, one)
    points[d] = polar(gamma, two)
    points[b] = (points[a][0] - 7, points[a][1])
    points[e] = (points[d][0] - 7, points[d][1])
    figure = Figure(randomly_turned(rng, points)).line(b + a + c + d + e)
    figure.angle(b + a + c, f"{alpha}°").angle(e + d + c, f"{gamma}°")
    facts = (
        f"The rays {a}{b} and {d}{e} are parallel and run in the same direction; "
        f"{c} lies between the two lines, so that "
        f"angle {b}{a}{c} is {alpha}° and angle {e}{d}{c} is {gamma}°."
    )
    question = f"The lines {a}{b} and {d}{e} are parallel. How many degrees is angle {a}{c}{d}?"
    return figure.problem("parallel_lines", question, str(alpha + gamma), facts)


def polygon_angles(rng: random.Random) -> MathProblem:
    """Return a problem on the last angle of a convex quadrilateral, pentagon or hexagon."""
    count = rng.randint(4, 6)
    names = "".join(point_names(rng)[:count])
    # Corners of an ellipse-like ring, rounded so that all the angles shown are whole.
    total = 180 * (count - 2)
    angles = [rng.randint(62, 150) for _ in range(count - 1)]
    last = total - sum(angles)
    if not 62 <= last <= 150:
        raise Rejected
    angles.append(last)
    # Sides of free length but the last two, which close the polygon.
    headings, heading = [], 0.0
    for angle in angles:
        headings.append(heading)
        heading += 180 - angle
    sides = [rng.uniform(4, 8) for _ in range(count - 2)]
    x = sum(side * math.cos(math.radians(turn)) for side, turn in zip(sides, headings, strict=False))
    y = sum(side * math.sin(math.radians(turn)) for side, turn in zip(sides, headings, strict=False))
    (ux, uy), (vx, vy) = polar(headings[-2]), polar(headings[-1])
    determinant = ux * vy - uy * vx
    s, t = (-x * vy + y * vx) / determinant, (-ux * y + uy * x) / determinant
    if not 3.5 < s < 10 or not 3.5 < t < 10:
        raise Rejected
    points, place = {}, (0.0, 0.0)
    # The angle between side i and the next one is angles[i]; it lies at the end of side i.
    for name, side, turn in zip(names, [*sides, s, t], headings, strict=True):
        place = polar(turn, side, place)
        points[name] = place
    figure = Figure(randomly_turned(rng, points)).line(names + names[0])
    given = []
    for i in range(count - 1):
        path = names[i - 1] + names[i] + names[(i + 1) % count]
        figure.angle(path, f"{angles[i]}°")
        given.append(f"angle {path} is {angles[i]}°")
    facts = f"In the convex polygon {names}, {', '.join(given[:-1])} and {given[-1]}."
    question = f"How many degrees is angle {names[-2]}{names[-1]}{names[0]}?"
    return figure.problem("polygon_angles", question, str(last), facts)


def shaded_frame(rng: random.Random) -> MathProblem:
    """Return a problem on a rectangle without a triangle or a smaller rectangle."""
    a, b, c, d, e = point_names(rng)[:5]
    wide, high = rng.randint(8, 50), rng.randint(6, 40)
    x = rng.randint(2, wide - 2)
    if not 0.45 < high / wide < 1.6 or not 0.2 < x / wide < 0.8:
        raise Rejected
    points: dict[str, Point] = {a: (0, 0), b: (wide, 0), c: (wide, high), d: (0, high), e: (x, high)}
    figure = Figure(rotated(points, rng.choice((0, 90, 180, 270)), rng.random() < 0.5))
    figure.line(a + b + c + d + a).line(a + e)
    figure.shade(a + b + c + e).length(a + b, wide).length(b + c, high).length(d + e, x)
    facts = f"In rectangle {a}{b}{c}{d}, {a}{b} = {wide} and {b}{c} = {high}. {e} lies on {c}{d} with {d}{e} = {x}."
    answer = Fraction(wide * high) - Fraction(x * high, 2)
    figure.right(d + a + b)
    question = f"{a}{b}{c}{d} is a rectangle. What is the area of {a}{b}{c}{e}?"
    return figure.problem("shaded_frame", question, number(answer), facts)
