"""Triangles, drawn to scale."""

from __future__ import annotations

import math
import random
from fractions import Fraction

from gem_envs_math.geometry.figure import Figure, Point, at, point_names, polar, randomly_turned
from gem_envs_math.latex import number, surd
from gem_envs_math.problem import MathProblem, Rejected

__all__ = [
    "bisector",
    "exterior_angle",
    "isosceles",
    "legs_and_hypotenuse",
    "legs_of_right_triangle",
    "right_triangle_parts",
    "similar",
    "triangle_angles",
    "triangle_area",
]


def _triangle(alpha: float, beta: float, base: float = 10.0) -> tuple[Point, Point, Point]:
    """Return a triangle with the angles alpha and beta at the ends of its base."""
    gamma = 180 - alpha - beta
    side = base * math.sin(math.radians(beta)) / math.sin(math.radians(gamma))
    return (0.0, 0.0), (base, 0.0), polar(alpha, side)


def triangle_angles(rng: random.Random) -> MathProblem:
    """Return a problem on the third angle of a triangle."""
    a, b, c = point_names(rng)[:3]
    alpha, beta = rng.randint(24, 110), rng.randint(24, 110)
    if not 180 - alpha - beta >= 24:
        raise Rejected
    pa, pb, pc = _triangle(alpha, beta)
    figure = Figure(randomly_turned(rng, {a: pa, b: pb, c: pc})).line(a + b + c + a)
    figure.angle(c + a + b, f"{alpha}°").angle(a + b + c, f"{beta}°")
    facts = f"In triangle {a}{b}{c}, angle {c}{a}{b} is {alpha}° and angle {a}{b}{c} is {beta}°."
    return figure.problem("triangle_angles", f"How many degrees is angle {b}{c}{a}?", str(180 - alpha - beta), facts)


def exterior_angle(rng: random.Random) -> MathProblem:
    """Return a problem on an angle of a triangle from an exterior angle and another one."""
    a, b, c, d = point_names(rng)[:4]
    alpha, gamma = rng.randint(24, 85), rng.randint(24, 85)
    outer = alpha + gamma
    beta = 180 - outer
    if not 26 <= beta <= 120:
        raise Rejected
    pa, pb, pc = _triangle(alpha, beta)
    points = {a: pa, b: pb, c: pc, d: (pb[0] + 4.5, 0.0)}
    figure = Figure(randomly_turned(rng, points)).line(a + d).line(a + c + b)
    figure.angle(c + b + d, f"{outer}°").angle(c + a + b, f"{alpha}°")
    facts = (
        f"In triangle {a}{b}{c}, the side {a}{b} is extended beyond {b} to {d}. Angle {c}{b}{d} is {outer}° and angle "
        f"{c}{a}{b} is {alpha}°."
    )
    return figure.problem("exterior_angle", f"How many degrees is angle {a}{c}{b}?", str(gamma), facts)


def isosceles(rng: random.Random) -> MathProblem:
    """Return a problem on an isosceles triangle with one known angle."""
    a, b, c = point_names(rng)[:3]
    base, side = rng.randint(26, 76), rng.randint(5, 40)
    apex = 180 - 2 * base
    pa, pb, pc = _triangle(base, base, 2 * side * math.cos(math.radians(base)))
    figure = (
        Figure(randomly_turned(rng, {a: pa, b: pb, c: pc})).line(a + b + c + a).length(a + c, side).length(b + c, side)
    )
    facts = f"In triangle {a}{b}{c}, {a}{c} = {side} and {b}{c} = {side}."
    if rng.random() < 0.5:
        figure.angle(a + c + b, f"{apex}°")
        facts += f" Angle {a}{c}{b} is {apex}°."
        return figure.problem("isosceles", f"How many degrees is angle {c}{a}{b}?", str(base), facts)
    figure.angle(c + a + b, f"{base}°")
    facts += f" Angle {c}{a}{b} is {base}°."
    return figure.problem("isosceles", f"How many degrees is angle {a}{c}{b}?", str(apex), facts)


def legs_of_right_triangle(rng: random.Random, low: int = 3, high: int = 40) -> tuple[int, int]:
    """Return two integer legs, neither far longer than the other."""
    p, q = rng.randint(low, high), rng.randint(low, high)
    if not 0.3 < p / q < 3.4:
        raise Rejected
    return p, q


def legs_and_hypotenuse(rng: random.Random) -> MathProblem:
    """Return a problem on a side of a right-angled triangle, whole or a root."""
    a, b, c = point_names(rng)[:3]
    p, q = legs_of_right_triangle(rng)
    figure = Figure(randomly_turned(rng, {a: (p, 0), b: (0, q), c: (0, 0)})).line(a + b + c + a).right(a + c + b)
    facts = f"Triangle {a}{b}{c} has a right angle at {c}."
    squared = p * p + q * q
    if math.isqrt(squared) ** 2 == squared and rng.random() < 0.8:
        figure.length(a + c, p).length(a + b, math.isqrt(squared))
        facts += f" {a}{c} = {p} and {a}{b} = {math.isqrt(squared)}."
        return figure.problem("legs_and_hypotenuse", f"How long is {b}{c}?", str(q), facts)
    figure.length(a + c, p).length(b + c, q)
    facts += f" {a}{c} = {p} and {b}{c} = {q}."
    return figure.problem("legs_and_hypotenuse", f"How long is {a}{b}?", surd(1, squared), facts, plain=False)


def right_triangle_parts(rng: random.Random) -> MathProblem:
    """Return a problem on the area, perimeter or altitude of a right-angled triangle with integer sides."""
    a, b, c, d = point_names(rng)[:4]
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
    figure = Figure(randomly_turned(rng, points)).line(a + b + c + a).right(a + c + b)
    facts = f"Triangle {a}{b}{c} has a right angle at {c}."
    if kind == "altitude":
        figure.line(c + d, dashed=True).right(c + d + b).length(a + c, p).length(b + c, q)
        facts += f" {a}{c} = {p} and {b}{c} = {q}. {d} is the foot of the perpendicular from {c} to {a}{b}."
        return figure.problem("right_triangle_parts", f"How long is {c}{d}?", number(Fraction(p * q, r)), facts)
    figure.length(a + b, r).length(a + c, p)
    facts += f" {a}{b} = {r} and {a}{c} = {p}."
    answer = Fraction(p * q, 2) if kind == "area" else p + q + r
    return figure.problem("right_triangle_parts", f"What is the {kind} of triangle {a}{b}{c}?", number(answer), facts)


def triangle_area(rng: random.Random) -> MathProblem:
    """Return a problem on the base, altitude and area of a triangle."""
    a, b, c, d = point_names(rng)[:4]
    base, high, split = rng.randint(6, 60), rng.randint(4, 50), rng.randint(20, 80)
    if not 0.35 < high / base < 1.6:
        raise Rejected
    points: dict[str, Point] = {a: (0, 0), b: (base, 0), c: (base * split / 100, high), d: (base * split / 100, 0)}
    figure = Figure(randomly_turned(rng, points)).line(a + b + c + a).line(c + d, dashed=True).right(c + d + b)
    figure.span(a + b, base).length(c + d, high)
    facts = (
        f"In triangle {a}{b}{c}, {a}{b} = {base}. {d} is the foot of the "
        f"perpendicular from {c} to {a}{b}, and {c}{d} = {high}."
    )
    return figure.problem(
        "triangle_area", f"What is the area of triangle {a}{b}{c}?", number(Fraction(base * high, 2)), facts
    )


def similar(rng: random.Random) -> MathProblem:
    """Return a problem on a line parallel to a side of a triangle."""
    a, b, c, d, e = point_names(rng)[:5]
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
    figure = Figure(randomly_turned(rng, points)).line(a + b + c + a).line(d + e)
    ad, de = share * ab, share * bc
    facts = f"In triangle {a}{b}{c}, {d} lies on {a}{b} and {e} on {a}{c}, and {d}{e} is parallel to {b}{c}."
    figure.length(a + d, ad).length(d + b, ab - ad)
    facts += f" {a}{d} = {ad}, {d}{b} = {ab - ad}"
    question = f"The lines {d}{e} and {b}{c} are parallel. How long is "
    if rng.random() < 0.5:
        figure.length(b + c, bc)
        return figure.problem("similar", f"{question}{d}{e}?", number(de), f"{facts} and {b}{c} = {bc}.")
    figure.length(d + e, de)
    return figure.problem("similar", f"{question}{b}{c}?", str(bc), f"{facts} and {d}{e} = {de}.")


def bisector(rng: random.Random) -> MathProblem:
    """Return a problem on an angle bisector, which divides the opposite side in the ratio of the other two."""
    a, b, c, d = point_names(rng)[:4]
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
    figure = Figure(randomly_turned(rng, points)).line(a + b + c + a).line(a + d)
    figure.length(a + b, ab).length(a + c, ac).length(b + d, bd)
    facts = (
        f"In triangle {a}{b}{c}, {d} is the point of {b}{c} on the bisector of angle "
        f"{b}{a}{c}. {a}{b} = {ab}, {a}{c} = {ac} and {b}{d} = {bd}."
    )
    question = f"{a}{d} bisects angle {b}{a}{c}. How long is {d}{c}?"
    return figure.problem("bisector", question, number(bc - bd), facts)
