"""Triangles, circles, polygons and coordinates, drawn to scale."""

from __future__ import annotations

import math
import random
from fractions import Fraction

from gem_envs_math.geometry.figure import Figure, Point, at, polar, rotated
from gem_envs_math.latex import number, surd
from gem_envs_math.problem import MathProblem, Rejected

__all__ = [
    "angle_at_centre", "bisector", "chord", "chords", "coordinate_area", "coordinate_distance", "cyclic_quadrilateral",
    "exterior_angle", "grid_slope", "isosceles", "l_shape", "legs_and_hypotenuse", "parallel_lines", "parallelogram",
    "polygon_angles", "rhombus", "right_triangle_parts", "sector", "shaded_frame", "similar", "tangent", "trapezium",
    "triangle_angles", "triangle_area",
]  # fmt: skip

_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Without I and O: the one looks like a line, the other is a centre."""

_TURNS = (0, 0, 90, 180, 270, 15, -20, 35, 160, 200)


def _letters(rng: random.Random) -> list[str]:
    """Seven names of points, often in the order of the alphabet."""
    if rng.random() < 0.5:
        first = rng.randint(0, len(_ALPHABET) - 7)
        return list(_ALPHABET[first : first + 7])
    return rng.sample(_ALPHABET, 7)


def _turned(rng: random.Random, points: dict[str, Point]) -> dict[str, Point]:
    return rotated(points, rng.choice(_TURNS) + rng.choice((0, 0, rng.randint(-10, 10))), rng.random() < 0.5)


def _triangle(alpha: float, beta: float, base: float = 10.0) -> tuple[Point, Point, Point]:
    """A triangle with the angles alpha and beta at the ends of its base."""
    gamma = 180 - alpha - beta
    side = base * math.sin(math.radians(beta)) / math.sin(math.radians(gamma))
    return (0.0, 0.0), (base, 0.0), polar(alpha, side)


def triangle_angles(rng: random.Random) -> MathProblem:
    """The third angle of a triangle."""
    a, b, c = _letters(rng)[:3]
    alpha, beta = rng.randint(24, 110), rng.randint(24, 110)
    if not 180 - alpha - beta >= 24:
        raise Rejected
    pa, pb, pc = _triangle(alpha, beta)
    figure = Figure(_turned(rng, {a: pa, b: pb, c: pc})).line(a + b + c + a)
    figure.angle(c + a + b, f"{alpha}°").angle(a + b + c, f"{beta}°")
    facts = f"In triangle {a}{b}{c}, angle {c}{a}{b} is {alpha}° and angle {a}{b}{c} is {beta}°."
    return MathProblem(
        "triangle_angles",
        f"How many degrees is angle {b}{c}{a}?",
        str(180 - alpha - beta),
        figure=figure.data,
        facts=facts,
    )


def exterior_angle(rng: random.Random) -> MathProblem:
    """An angle of a triangle from an exterior angle and another one."""
    a, b, c, d = _letters(rng)[:4]
    alpha, gamma = rng.randint(24, 85), rng.randint(24, 85)
    outer = alpha + gamma
    beta = 180 - outer
    if not 26 <= beta <= 120:
        raise Rejected
    pa, pb, pc = _triangle(alpha, beta)
    points = {a: pa, b: pb, c: pc, d: (pb[0] + 4.5, 0.0)}
    figure = Figure(_turned(rng, points)).line(a + d).line(a + c + b)
    figure.angle(c + b + d, f"{outer}°").angle(c + a + b, f"{alpha}°")
    facts = (
        f"In triangle {a}{b}{c}, the side {a}{b} is extended beyond {b} to {d}. Angle {c}{b}{d} is {outer}° and angle "
        f"{c}{a}{b} is {alpha}°."
    )
    return MathProblem(
        "exterior_angle", f"How many degrees is angle {a}{c}{b}?", str(gamma), figure=figure.data, facts=facts
    )


def isosceles(rng: random.Random) -> MathProblem:
    """Two equal sides, one angle; another one is asked for."""
    a, b, c = _letters(rng)[:3]
    base, side = rng.randint(26, 76), rng.randint(5, 40)
    apex = 180 - 2 * base
    pa, pb, pc = _triangle(base, base, 2 * side * math.cos(math.radians(base)))
    figure = Figure(_turned(rng, {a: pa, b: pb, c: pc})).line(a + b + c + a).length(a + c, side).length(b + c, side)
    facts = f"In triangle {a}{b}{c}, {a}{c} = {side} and {b}{c} = {side}."
    if rng.random() < 0.5:
        figure.angle(a + c + b, f"{apex}°")
        facts += f" Angle {a}{c}{b} is {apex}°."
        return MathProblem(
            "isosceles", f"How many degrees is angle {c}{a}{b}?", str(base), figure=figure.data, facts=facts
        )
    figure.angle(c + a + b, f"{base}°")
    facts += f" Angle {c}{a}{b} is {base}°."
    return MathProblem("isosceles", f"How many degrees is angle {a}{c}{b}?", str(apex), figure=figure.data, facts=facts)


def _right_triangle(rng: random.Random, low: int = 3, high: int = 40) -> tuple[int, int]:
    p, q = rng.randint(low, high), rng.randint(low, high)
    if not 0.3 < p / q < 3.4:
        raise Rejected
    return p, q


def legs_and_hypotenuse(rng: random.Random) -> MathProblem:
    """A side of a right-angled triangle, whole or a root."""
    a, b, c = _letters(rng)[:3]
    p, q = _right_triangle(rng)
    figure = Figure(_turned(rng, {a: (p, 0), b: (0, q), c: (0, 0)})).line(a + b + c + a).right(a + c + b)
    facts = f"Triangle {a}{b}{c} has a right angle at {c}."
    squared = p * p + q * q
    if math.isqrt(squared) ** 2 == squared and rng.random() < 0.8:
        figure.length(a + c, p).length(a + b, math.isqrt(squared))
        facts += f" {a}{c} = {p} and {a}{b} = {math.isqrt(squared)}."
        return MathProblem("legs_and_hypotenuse", f"How long is {b}{c}?", str(q), figure=figure.data, facts=facts)
    figure.length(a + c, p).length(b + c, q)
    facts += f" {a}{c} = {p} and {b}{c} = {q}."
    return MathProblem(
        "legs_and_hypotenuse", f"How long is {a}{b}?", surd(1, squared), plain=False, figure=figure.data, facts=facts
    )


def right_triangle_parts(rng: random.Random) -> MathProblem:
    """Area, perimeter or altitude of a right-angled triangle with whole sides."""
    a, b, c, d = _letters(rng)[:4]
    m, n, k = rng.randint(2, 7), rng.randint(1, 6), rng.randint(1, 9)
    if m <= n:
        raise Rejected
    p, q, r = k * (m * m - n * n), 2 * k * m * n, k * (m * m + n * n)
    if not 0.3 < p / q < 3.4:
        raise Rejected
    foot = at((p, 0), (0, q), p * p / (r * r))
    kind = rng.choice(("area", "perimeter", "altitude"))
    points: dict[str, Point] = {a: (p, 0), b: (0, q), c: (0, 0)}
    if kind == "altitude":
        points[d] = foot
    figure = Figure(_turned(rng, points)).line(a + b + c + a).right(a + c + b)
    facts = f"Triangle {a}{b}{c} has a right angle at {c}."
    if kind == "altitude":
        figure.line(c + d, dashed=True).right(c + d + b).length(a + c, p).length(b + c, q)
        facts += f" {a}{c} = {p} and {b}{c} = {q}. {d} is the foot of the perpendicular from {c} to {a}{b}."
        return MathProblem(
            "right_triangle_parts", f"How long is {c}{d}?", number(Fraction(p * q, r)), figure=figure.data, facts=facts
        )
    figure.length(a + b, r).length(a + c, p)
    facts += f" {a}{b} = {r} and {a}{c} = {p}."
    answer = Fraction(p * q, 2) if kind == "area" else p + q + r
    return MathProblem(
        "right_triangle_parts",
        f"What is the {kind} of triangle {a}{b}{c}?",
        number(answer),
        figure=figure.data,
        facts=facts,
    )


def triangle_area(rng: random.Random) -> MathProblem:
    """Base and altitude, or from the area to one of them."""
    a, b, c, d = _letters(rng)[:4]
    base, high, split = rng.randint(6, 60), rng.randint(4, 50), rng.randint(20, 80)
    if not 0.35 < high / base < 1.6:
        raise Rejected
    points: dict[str, Point] = {a: (0, 0), b: (base, 0), c: (base * split / 100, high), d: (base * split / 100, 0)}
    figure = Figure(_turned(rng, points)).line(a + b + c + a).line(c + d, dashed=True).right(c + d + b)
    figure.span(a + b, base).length(c + d, high)
    facts = (
        f"In triangle {a}{b}{c}, {a}{b} = {base}. {d} is the foot of the "
        f"perpendicular from {c} to {a}{b}, and {c}{d} = {high}."
    )
    return MathProblem(
        "triangle_area",
        f"What is the area of triangle {a}{b}{c}?",
        number(Fraction(base * high, 2)),
        figure=figure.data,
        facts=facts,
    )


def parallelogram(rng: random.Random) -> MathProblem:
    """The area of a parallelogram, or an angle of it."""
    a, b, c, d, e = _letters(rng)[:5]
    base, high, lean = rng.randint(8, 50), rng.randint(4, 40), rng.randint(2, 25)
    if not 0.3 < high / base < 1.5 or not 0.15 < lean / base < 0.6:
        raise Rejected
    points: dict[str, Point] = {a: (0, 0), b: (base, 0), c: (base + lean, high), d: (lean, high), e: (lean, 0)}
    figure = Figure(_turned(rng, points)).line(a + b + c + d + a).line(d + e, dashed=True).right(d + e + b)
    figure.length(d + c, base).length(d + e, high).length(a + e, lean)
    facts = (
        f"In parallelogram {a}{b}{c}{d}, {d}{c} = {base}. {e} is the foot of the perpendicular from {d} to {a}{b}, "
        f"{d}{e} = {high} and {a}{e} = {lean}."
    )
    if rng.random() < 0.6:
        return MathProblem(
            "parallelogram",
            f"{a}{b}{c}{d} is a parallelogram. What is its area?",
            str(base * high),
            figure=figure.data,
            facts=facts,
        )
    return MathProblem(
        "parallelogram",
        f"{a}{b}{c}{d} is a parallelogram. How long is {a}{d}?",
        surd(1, high**2 + lean**2),
        plain=False,
        figure=figure.data,
        facts=facts,
    )


def trapezium(rng: random.Random) -> MathProblem:
    """The area of a trapezium."""
    a, b, c, d, e = _letters(rng)[:5]
    long, short, high, lean = rng.randint(12, 60), rng.randint(5, 45), rng.randint(4, 30), rng.randint(1, 20)
    if long < short + lean + 1 or not 0.25 < high / long < 1.2 or lean / long < 0.12 or short / long < 0.25:
        raise Rejected
    points: dict[str, Point] = {a: (0, 0), b: (long, 0), c: (lean + short, high), d: (lean, high), e: (lean, 0)}
    figure = Figure(_turned(rng, points)).line(a + b + c + d + a).line(d + e, dashed=True).right(d + e + b)
    figure.span(a + b, long).length(d + c, short).length(d + e, high)
    facts = (
        f"In trapezium {a}{b}{c}{d}, the sides {a}{b} and {d}{c} are parallel, {a}{b} = {long} and {d}{c} = {short}. "
        f"{e} is the foot of the perpendicular from {d} to {a}{b}, and {d}{e} = {high}."
    )
    return MathProblem(
        "trapezium",
        f"The sides {a}{b} and {d}{c} are parallel. What is the area of {a}{b}{c}{d}?",
        number(Fraction((long + short) * high, 2)),
        figure=figure.data,
        facts=facts,
    )


def rhombus(rng: random.Random) -> MathProblem:
    """Area or side of a rhombus from its diagonals."""
    a, b, c, d, m = _letters(rng)[:5]
    p, q = rng.randint(3, 30), rng.randint(3, 30)
    if not 0.4 < p / q < 2.5:
        raise Rejected
    points: dict[str, Point] = {a: (-p, 0), b: (0, -q), c: (p, 0), d: (0, q), m: (0, 0)}
    figure = Figure(_turned(rng, points)).line(a + b + c + d + a).line(a + c, dashed=True).line(b + d, dashed=True)
    figure.right(a + m + b).length(a + m, p).length(m + d, q)
    facts = f"The diagonals of rhombus {a}{b}{c}{d} meet at {m}; {a}{m} = {p} and {m}{d} = {q}."
    if rng.random() < 0.5:
        return MathProblem(
            "rhombus", f"{a}{b}{c}{d} is a rhombus. What is its area?", str(2 * p * q), figure=figure.data, facts=facts
        )
    return MathProblem(
        "rhombus",
        f"{a}{b}{c}{d} is a rhombus. What is its perimeter?",
        surd(4, p * p + q * q),
        plain=False,
        figure=figure.data,
        facts=facts,
    )


def l_shape(rng: random.Random) -> MathProblem:
    """Area or perimeter of a rectangle with a corner cut out."""
    a, b, c, d, e, f = _letters(rng)[:6]
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
    return MathProblem(
        "l_shape", f"What is the {kind} of {a}{b}{c}{d}{e}{f}?", str(answer), figure=figure.data, facts=facts
    )


def parallel_lines(rng: random.Random) -> MathProblem:
    """Two parallel lines, and a point between or beside them joined to both."""
    a, b, c, d, e = _letters(rng)[:5]
    alpha, gamma = rng.randint(25, 75), rng.randint(25, 75)
    one, two = rng.randint(4, 6), rng.randint(4, 6)
    # The rays a→b (below) and d→e (above) run in the same direction; c lies between, to their left or right.
    points: dict[str, Point] = {c: (0, 0)}
    points[a] = polar(-alpha, one)
    points[d] = polar(gamma, two)
    points[b] = (points[a][0] - 7, points[a][1])
    points[e] = (points[d][0] - 7, points[d][1])
    figure = Figure(_turned(rng, points)).line(b + a + c + d + e)
    figure.angle(b + a + c, f"{alpha}°").angle(e + d + c, f"{gamma}°")
    facts = (
        f"The rays {a}{b} and {d}{e} are parallel and run in the same direction; "
        f"{c} lies between the two lines, so that "
        f"angle {b}{a}{c} is {alpha}° and angle {e}{d}{c} is {gamma}°."
    )
    question = f"The lines {a}{b} and {d}{e} are parallel. How many degrees is angle {a}{c}{d}?"
    return MathProblem("parallel_lines", question, str(alpha + gamma), figure=figure.data, facts=facts)


def polygon_angles(rng: random.Random) -> MathProblem:
    """The last angle of a convex quadrilateral, pentagon or hexagon."""
    count = rng.randint(4, 6)
    names = "".join(_letters(rng)[:count])
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
    figure = Figure(_turned(rng, points)).line(names + names[0])
    given = []
    for i in range(count - 1):
        path = names[i - 1] + names[i] + names[(i + 1) % count]
        figure.angle(path, f"{angles[i]}°")
        given.append(f"angle {path} is {angles[i]}°")
    facts = f"In the convex polygon {names}, {', '.join(given[:-1])} and {given[-1]}."
    question = f"How many degrees is angle {names[-2]}{names[-1]}{names[0]}?"
    return MathProblem("polygon_angles", question, str(last), figure=figure.data, facts=facts)


def similar(rng: random.Random) -> MathProblem:
    """A line parallel to a side of a triangle."""
    a, b, c, d, e = _letters(rng)[:5]
    low = rng.randint(3, 9)
    top = rng.randint(2, low - 1)
    ab, bc = rng.randint(2, 12) * low, rng.randint(2, 12) * low
    share = Fraction(top, low)
    angle = rng.randint(45, 100)
    if not 0.35 <= share <= 0.75 or not 0.5 < ab / bc < 1.8:
        raise Rejected
    pb, pa = (0.0, 0.0), polar(angle, ab)
    pc = (float(bc), 0.0)
    points = {a: pa, b: pb, c: pc, d: at(pa, pb, float(share)), e: at(pa, pc, float(share))}
    figure = Figure(_turned(rng, points)).line(a + b + c + a).line(d + e)
    ad, de = share * ab, share * bc
    facts = f"In triangle {a}{b}{c}, {d} lies on {a}{b} and {e} on {a}{c}, and {d}{e} is parallel to {b}{c}."
    figure.length(a + d, ad).length(d + b, ab - ad)
    facts += f" {a}{d} = {ad}, {d}{b} = {ab - ad}"
    question = f"The lines {d}{e} and {b}{c} are parallel. How long is "
    if rng.random() < 0.5:
        figure.length(b + c, bc)
        return MathProblem(
            "similar", f"{question}{d}{e}?", number(de), figure=figure.data, facts=f"{facts} and {b}{c} = {bc}."
        )
    figure.length(d + e, de)
    return MathProblem(
        "similar", f"{question}{b}{c}?", str(bc), figure=figure.data, facts=f"{facts} and {d}{e} = {de}."
    )


def bisector(rng: random.Random) -> MathProblem:
    """The bisector of an angle divides the opposite side in the ratio of the others."""
    a, b, c, d = _letters(rng)[:4]
    ab, ac, bc = rng.randint(6, 50), rng.randint(6, 50), rng.randint(6, 60)
    bd = Fraction(bc * ab, ab + ac)
    sides = sorted((ab, ac, bc))
    if sides[0] + sides[1] < 1.2 * sides[2] or sides[0] < 0.4 * sides[2] or bd.denominator > 2:
        raise Rejected
    x = (ab * ab + bc * bc - ac * ac) / (2 * bc)
    pa: Point = (x, math.sqrt(ab * ab - x * x))
    points: dict[str, Point] = {a: pa, b: (0, 0), c: (bc, 0), d: (float(bd), 0)}
    if min(bd, bc - bd) < 0.25 * bc or bd.denominator > 1:
        raise Rejected
    figure = Figure(_turned(rng, points)).line(a + b + c + a).line(a + d)
    figure.length(a + b, ab).length(a + c, ac).length(b + d, bd)
    facts = (
        f"In triangle {a}{b}{c}, {d} is the point of {b}{c} on the bisector of angle "
        f"{b}{a}{c}. {a}{b} = {ab}, {a}{c} = {ac} and {b}{d} = {bd}."
    )
    question = f"{a}{d} bisects angle {b}{a}{c}. How long is {d}{c}?"
    return MathProblem("bisector", question, number(bc - bd), figure=figure.data, facts=facts)


def chord(rng: random.Random) -> MathProblem:
    """Radius, chord and distance from the centre."""
    a, b = _letters(rng)[:2]
    m, o = "M", "O"
    if m in (a, b):
        raise Rejected
    half, apart = _right_triangle(rng, 3, 40)
    squared = half * half + apart * apart
    points: dict[str, Point] = {o: (0, 0), m: (0, -apart), a: (-half, -apart), b: (half, -apart)}
    radius = math.sqrt(squared)
    figure = Figure(_turned(rng, points)).circle(o, radius).line(a + b).line(o + m, dashed=True).right(o + m + b)
    figure.line(o + a, dashed=True)
    facts = (
        f"{a}{b} is a chord of a circle with centre {o}, and {m} is the foot of the perpendicular from {o} to {a}{b}."
    )
    if math.isqrt(squared) ** 2 == squared:
        figure.length(o + a, math.isqrt(squared)).length(o + m, apart)
        facts += f" {o}{a} = {math.isqrt(squared)} and {o}{m} = {apart}."
        return MathProblem(
            "chord",
            f"{o} is the centre of the circle. How long is {a}{b}?",
            str(2 * half),
            figure=figure.data,
            facts=facts,
        )
    figure.length(m + a, half).length(o + m, apart)
    facts += f" {m}{a} = {half} and {o}{m} = {apart}."
    return MathProblem(
        "chord",
        f"{o} is the centre of the circle. How long is {o}{a}?",
        surd(1, squared),
        plain=False,
        figure=figure.data,
        facts=facts,
    )


def chords(rng: random.Random) -> MathProblem:
    """Two chords that cross."""
    a, b, c, d, p = _letters(rng)[:5]
    pa, pb, pc = rng.randint(2, 30), rng.randint(2, 30), rng.randint(2, 30)
    if pa * pb % pc:
        raise Rejected
    pd = pa * pb // pc
    if max(pa, pb, pc, pd) > 3.2 * min(pa, pb, pc, pd) or {pa, pb} == {pc, pd}:
        raise Rejected
    angle = rng.randint(55, 125)
    points: dict[str, Point] = {
        p: (0, 0),
        a: polar(180, pa),
        b: polar(0, pb),
        c: polar(180 + angle, pc),
        d: polar(angle, pd),
    }
    centre, radius = _through(points[a], points[b], points[c])
    turned = _turned(rng, {**points, "*": centre})
    figure = Figure(turned, [name for name in turned if name != "*"]).circle("*", radius).line(a + b).line(c + d)
    figure.length(p + a, pa).length(p + b, pb).length(p + c, pc)
    facts = f"The chords {a}{b} and {c}{d} of a circle meet at {p}. {p}{a} = {pa}, {p}{b} = {pb} and {p}{c} = {pc}."
    return MathProblem("chords", f"How long is {p}{d}?", str(pd), figure=figure.data, facts=facts)


def _through(a: Point, b: Point, c: Point) -> tuple[Point, float]:
    """Centre and radius of the circle through three points."""
    (ax, ay), (bx, by), (cx, cy) = a, b, c
    d = 2 * (ax * (by - cy) + bx * (cy - ay) + cx * (ay - by))
    a2, b2, c2 = ax * ax + ay * ay, bx * bx + by * by, cx * cx + cy * cy
    x = (a2 * (by - cy) + b2 * (cy - ay) + c2 * (ay - by)) / d
    y = (a2 * (cx - bx) + b2 * (ax - cx) + c2 * (bx - ax)) / d
    return (x, y), math.dist((x, y), a)


def angle_at_centre(rng: random.Random) -> MathProblem:
    """Angles over one arc: at the centre and on the circle."""
    a, b, c = _letters(rng)[:3]
    o = "O"
    on_circle = rng.randint(28, 80)
    middle = rng.randint(-25, 25)
    radius = rng.randint(3, 60)
    points: dict[str, Point] = {
        o: (0, 0),
        a: polar(-90 - on_circle, radius),
        b: polar(-90 + on_circle, radius),
        c: polar(90 + middle, radius),
    }
    figure = Figure(_turned(rng, points)).circle(o, radius).line(a + o + b).line(a + c + b).length(o + b, radius)
    facts = (
        f"{a}, {b} and {c} lie on a circle with centre {o}, {c} on the longer arc from {a} to {b}. {o}{b} = {radius}."
    )
    if rng.random() < 0.5:
        figure.angle(a + o + b, f"{2 * on_circle}°")
        facts += f" Angle {a}{o}{b} is {2 * on_circle}°."
        ask, answer = f"angle {a}{c}{b}", on_circle
    else:
        figure.angle(a + c + b, f"{on_circle}°")
        facts += f" Angle {a}{c}{b} is {on_circle}°."
        ask, answer = f"angle {a}{o}{b}", 2 * on_circle
    question = f"{o} is the centre of the circle. How many degrees is {ask}?"
    return MathProblem("angle_at_centre", question, str(answer), figure=figure.data, facts=facts)


def cyclic_quadrilateral(rng: random.Random) -> MathProblem:
    """Opposite angles of a quadrilateral in a circle."""
    names = "".join(_letters(rng)[:4])
    arcs = [rng.randint(25, 70) * 2 for _ in range(3)]
    arcs.append(360 - sum(arcs))
    if not 50 <= arcs[3] <= 150:
        raise Rejected
    places, turn = [], 0.0
    for arc in arcs:
        places.append(polar(turn, 10))
        turn += arc
    turned = _turned(rng, {**dict(zip(names, places, strict=True)), "*": (0.0, 0.0)})
    figure = Figure(turned, names).circle("*", 10).line(names + names[0])
    a, b, c, d = tuple(names)
    at_a, at_b = (arcs[1] + arcs[2]) // 2, (arcs[2] + arcs[3]) // 2
    figure.angle(d + a + b, f"{at_a}°").angle(a + b + c, f"{at_b}°")
    facts = (
        f"The corners of quadrilateral {names} lie on a circle. Angle "
        f"{d}{a}{b} is {at_a}° and angle {a}{b}{c} is {at_b}°."
    )
    ask, answer = rng.choice(((b + c + d, 180 - at_a), (c + d + a, 180 - at_b)))
    question = f"How many degrees is angle {ask}?"
    return MathProblem("cyclic_quadrilateral", question, str(answer), figure=figure.data, facts=facts)


def tangent(rng: random.Random) -> MathProblem:
    """A tangent from a point outside."""
    p, t = _letters(rng)[:2]
    o = "O"
    radius, long = _right_triangle(rng, 4, 40)
    squared = radius * radius + long * long
    points: dict[str, Point] = {o: (0, 0), t: (0, radius), p: (long, radius)}
    figure = (
        Figure(_turned(rng, points)).circle(o, radius).line(t + p).line(o + t, dashed=True).line(o + p).right(o + t + p)
    )
    facts = f"The line {p}{t} touches a circle with centre {o} at {t}."
    question = f"{o} is the centre of the circle, and {p}{t} touches it at {t}. How long is "
    if math.isqrt(squared) ** 2 == squared:
        figure.length(o + t, radius).length(o + p, math.isqrt(squared))
        facts += f" {o}{t} = {radius} and {o}{p} = {math.isqrt(squared)}."
        return MathProblem("tangent", f"{question}{p}{t}?", str(long), figure=figure.data, facts=facts)
    figure.length(o + t, radius).length(t + p, long)
    facts += f" {o}{t} = {radius} and {t}{p} = {long}."
    return MathProblem("tangent", f"{question}{o}{p}?", surd(1, squared), plain=False, figure=figure.data, facts=facts)


def _pi(value: Fraction) -> str:
    if value.denominator == 1:
        return f"{value.numerator if value != 1 else ''}\\pi"
    return f"\\frac{{{value.numerator if value.numerator != 1 else ''}\\pi}}{{{value.denominator}}}"


def sector(rng: random.Random) -> MathProblem:
    """The area of a sector or the length of its arc, in terms of π."""
    a, b = _letters(rng)[:2]
    o = "O"
    radius, angle = rng.randint(3, 60), rng.randint(6, 33) * 5
    points: dict[str, Point] = {o: (0, 0), a: polar(0, radius), b: polar(angle, radius)}
    figure = (
        Figure(_turned(rng, points))
        .circle(o, radius)
        .line(a + o + b)
        .angle(a + o + b, f"{angle}°")
        .length(o + a, radius)
    )
    facts = f"{a} and {b} lie on a circle with centre {o}; {o}{a} = {radius}, and angle {a}{o}{b} is {angle}°."
    start = f"{o} is the centre of the circle. In terms of $\\pi$, what is "
    if rng.random() < 0.5:
        area = Fraction(angle * radius * radius, 360)
        return MathProblem(
            "sector",
            f"{start}the area of the sector {a}{o}{b}?",
            _pi(area),
            plain=False,
            figure=figure.data,
            facts=facts,
        )
    arc = Fraction(angle * radius, 180)
    return MathProblem(
        "sector",
        f"{start}the length of the shorter arc from {a} to {b}?",
        _pi(arc),
        plain=False,
        figure=figure.data,
        facts=facts,
    )


def shaded_frame(rng: random.Random) -> MathProblem:
    """A rectangle from which a triangle or a smaller rectangle is taken."""
    a, b, c, d, e = _letters(rng)[:5]
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
    return MathProblem("shaded_frame", question, number(answer), figure=figure.data, facts=facts)


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
    """The area of a triangle or a quadrilateral on a grid."""
    count = rng.choice((3, 3, 4))
    names = "".join(_letters(rng)[:count])
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
    return MathProblem("coordinate_area", question, number(Fraction(twice, 2)), figure=figure.data, facts=facts)


def coordinate_distance(rng: random.Random) -> MathProblem:
    """The length of a segment on a grid, or the perimeter of a triangle with a right angle."""
    names = "".join(_letters(rng)[:2])
    points = _lattice(rng, 2, 10)
    (a, b), (c, d) = points
    squared = (a - c) ** 2 + (b - d) ** 2
    if a == c or b == d or squared < 10:
        raise Rejected
    figure, given = _on_grid(names, points, names)
    facts = f"In the coordinate plane, {given}."
    question = f"How long is {names}, if a square of the grid has side 1?"
    return MathProblem(
        "coordinate_distance", question, surd(1, squared), plain=False, hidden=False, figure=figure.data, facts=facts
    )


def grid_slope(rng: random.Random) -> MathProblem:
    """The slope of a line, or where it meets an axis."""
    names = "".join(_letters(rng)[:2])
    points = _lattice(rng, 2, 10)
    (a, b), (c, d) = points
    if a == c or b == d or math.dist(*points) < 4:
        raise Rejected
    slope = Fraction(d - b, c - a)
    figure, given = _on_grid(names, points, names)
    facts = f"In the coordinate plane, {given}."
    if rng.random() < 0.5:
        return MathProblem(
            "grid_slope",
            f"What is the slope of the line {names}?",
            number(slope),
            hidden=False,
            figure=figure.data,
            facts=facts,
        )
    question = f"At which value of $y$ does the line {names} meet the $y$-axis?"
    return MathProblem("grid_slope", question, number(b - slope * a), hidden=False, figure=figure.data, facts=facts)
