"""Circles, drawn to scale."""

from __future__ import annotations

import math
import random
from fractions import Fraction

from gem_envs_math.geometry.figure import Figure, Point, point_names, polar, randomly_turned
from gem_envs_math.geometry.triangles import legs_of_right_triangle
from gem_envs_math.latex import multiple_of_pi, surd
from gem_envs_math.problem import MathProblem, Rejected

__all__ = ["angle_at_centre", "chord", "chords", "cyclic_quadrilateral", "sector", "tangent"]


def chord(rng: random.Random) -> MathProblem:
    """Return a problem on the radius, a chord and its distance from the centre."""
    a, b = point_names(rng)[:2]
    m, o = "M", "O"
    if m in (a, b):
        raise Rejected
    half, apart = legs_of_right_triangle(rng, 3, 40)
    squared = half * half + apart * apart
    points: dict[str, Point] = {o: (0, 0), m: (0, -apart), a: (-half, -apart), b: (half, -apart)}
    radius = math.sqrt(squared)
    figure = (
        Figure(randomly_turned(rng, points)).circle(o, radius).line(a + b).line(o + m, dashed=True).right(o + m + b)
    )
    figure.line(o + a, dashed=True)
    facts = (
        f"{a}{b} is a chord of a circle with centre {o}, and {m} is the foot of the perpendicular from {o} to {a}{b}."
    )
    if math.isqrt(squared) ** 2 == squared:
        figure.length(o + a, math.isqrt(squared)).length(o + m, apart)
        facts += f" {o}{a} = {math.isqrt(squared)} and {o}{m} = {apart}."
        return figure.problem("chord", f"{o} is the centre of the circle. How long is {a}{b}?", str(2 * half), facts)
    figure.length(m + a, half).length(o + m, apart)
    facts += f" {m}{a} = {half} and {o}{m} = {apart}."
    return figure.problem(
        "chord", f"{o} is the centre of the circle. How long is {o}{a}?", surd(1, squared), facts, plain=False
    )


def chords(rng: random.Random) -> MathProblem:
    """Return a problem on two chords that cross."""
    a, b, c, d, p = point_names(rng)[:5]
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
    turned = randomly_turned(rng, {**points, "*": centre})
    figure = Figure(turned, [name for name in turned if name != "*"]).circle("*", radius).line(a + b).line(c + d)
    figure.length(p + a, pa).length(p + b, pb).length(p + c, pc)
    facts = f"The chords {a}{b} and {c}{d} of a circle meet at {p}. {p}{a} = {pa}, {p}{b} = {pb} and {p}{c} = {pc}."
    return figure.problem("chords", f"How long is {p}{d}?", str(pd), facts)


def _through(a: Point, b: Point, c: Point) -> tuple[Point, float]:
    """Return centre and radius of the circle through three points."""
    (ax, ay), (bx, by), (cx, cy) = a, b, c
    d = 2 * (ax * (by - cy) + bx * (cy - ay) + cx * (ay - by))
    a2, b2, c2 = ax * ax + ay * ay, bx * bx + by * by, cx * cx + cy * cy
    x = (a2 * (by - cy) + b2 * (cy - ay) + c2 * (ay - by)) / d
    y = (a2 * (cx - bx) + b2 * (ax - cx) + c2 * (bx - ax)) / d
    return (x, y), math.dist((x, y), a)


def angle_at_centre(rng: random.Random) -> MathProblem:
    """Return a problem on angles over one arc: at the centre and on the circle."""
    a, b, c = point_names(rng)[:3]
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
    figure = (
        Figure(randomly_turned(rng, points)).circle(o, radius).line(a + o + b).line(a + c + b).length(o + b, radius)
    )
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
    return figure.problem("angle_at_centre", question, str(answer), facts)


def cyclic_quadrilateral(rng: random.Random) -> MathProblem:
    """Return a problem on opposite angles of a quadrilateral in a circle."""
    names = "".join(point_names(rng)[:4])
    arcs = [rng.randint(25, 70) * 2 for _ in range(3)]
    arcs.append(360 - sum(arcs))
    if not 50 <= arcs[3] <= 150:
        raise Rejected
    places, turn = [], 0.0
    for arc in arcs:
        places.append(polar(turn, 10))
        turn += arc
    turned = randomly_turned(rng, {**dict(zip(names, places, strict=True)), "*": (0.0, 0.0)})
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
    return figure.problem("cyclic_quadrilateral", question, str(answer), facts)


def tangent(rng: random.Random) -> MathProblem:
    """Return a problem on a tangent from a point outside."""
    p, t = point_names(rng)[:2]
    o = "O"
    radius, long = legs_of_right_triangle(rng, 4, 40)
    squared = radius * radius + long * long
    points: dict[str, Point] = {o: (0, 0), t: (0, radius), p: (long, radius)}
    figure = (
        Figure(randomly_turned(rng, points))
        .circle(o, radius)
        .line(t + p)
        .line(o + t, dashed=True)
        .line(o + p)
        .right(o + t + p)
    )
    facts = f"The line {p}{t} touches a circle with centre {o} at {t}."
    question = f"{o} is the centre of the circle, and {p}{t} touches it at {t}. How long is "
    if math.isqrt(squared) ** 2 == squared:
        figure.length(o + t, radius).length(o + p, math.isqrt(squared))
        facts += f" {o}{t} = {radius} and {o}{p} = {math.isqrt(squared)}."
        return figure.problem("tangent", f"{question}{p}{t}?", str(long), facts)
    figure.length(o + t, radius).length(t + p, long)
    facts += f" {o}{t} = {radius} and {t}{p} = {long}."
    return figure.problem("tangent", f"{question}{o}{p}?", surd(1, squared), facts, plain=False)


def sector(rng: random.Random) -> MathProblem:
    """Return a problem on the area of a sector or the length of its arc, in terms of π."""
    a, b = point_names(rng)[:2]
    o = "O"
    radius, angle = rng.randint(3, 60), rng.randint(6, 33) * 5
    points: dict[str, Point] = {o: (0, 0), a: polar(0, radius), b: polar(angle, radius)}
    figure = (
        Figure(randomly_turned(rng, points))
        .circle(o, radius)
        .line(a + o + b)
        .angle(a + o + b, f"{angle}°")
        .length(o + a, radius)
    )
    facts = f"{a} and {b} lie on a circle with centre {o}; {o}{a} = {radius}, and angle {a}{o}{b} is {angle}°."
    start = f"{o} is the centre of the circle. In terms of $\\pi$, what is "
    if rng.random() < 0.5:
        area = Fraction(angle * radius * radius, 360)
        return figure.problem(
            "sector", f"{start}the area of the sector {a}{o}{b}?", multiple_of_pi(area), facts, plain=False
        )
    arc = Fraction(angle * radius, 180)
    return figure.problem(
        "sector", f"{start}the length of the shorter arc from {a} to {b}?", multiple_of_pi(arc), facts, plain=False
    )
