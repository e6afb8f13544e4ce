"""Boxes, prisms, pyramids, cylinders and cones; the drawings are sketches."""

from __future__ import annotations

import random
from fractions import Fraction

from gem_envs_math.geometry.figure import Figure, Point
from gem_envs_math.latex import multiple_of_pi, number, surd
from gem_envs_math.problem import MathProblem, Rejected

__all__ = ["box", "cone", "cylinder", "prism", "pyramid"]

_LEAN = (0.45, 0.35)
"""Distance of one unit backwards in a sketch, to the right and upwards."""


def _shown(value: float, most: float) -> float:
    """Return a length in the sketch: in proportion as far as the labels leave room."""
    return max(value, 0.45 * most)


def box(rng: random.Random) -> MathProblem:
    """Return a problem on the volume, surface or diagonal of a box."""
    wide, deep, high = (rng.randint(2, 30) for _ in range(3))
    most = max(wide, deep, high)
    w, d, h = _shown(wide, most), _shown(deep, most), _shown(high, most)
    x, y = d * _LEAN[0], d * _LEAN[1]
    points: dict[str, Point] = {
        "A": (0, 0), "B": (w, 0), "C": (w + x, y), "D": (x, y),
        "E": (0, h), "F": (w, h), "G": (w + x, h + y), "H": (x, h + y),
    }  # fmt: skip
    figure = Figure(points).line("ABFEA").line("BCGF").line("EHG").line("ADC", dashed=True).line("DH", dashed=True)
    figure.length("AB", wide).length("BC", deep).length("AE", high).sketch()
    facts = (
        "The rectangular box ABCDEFGH has base ABCD and top EFGH, with E "
        f"above A; AB = {wide}, BC = {deep} and AE = {high}."
    )
    start = "ABCDEFGH is a rectangular box. What is "
    kind = rng.choice(("volume", "surface", "diagonal"))
    if kind == "volume":
        return figure.problem("box", f"{start}its volume?", str(wide * deep * high), facts)
    if kind == "surface":
        answer = 2 * (wide * deep + wide * high + deep * high)
        return figure.problem("box", f"{start}its surface area?", str(answer), facts)
    squared = wide**2 + deep**2 + high**2
    return figure.problem("box", f"{start}the distance from A to G?", surd(1, squared), facts, plain=False)


def prism(rng: random.Random) -> MathProblem:
    """Return a problem on the volume or surface of a prism over a right-angled triangle."""
    m, n, k = rng.randint(2, 6), rng.randint(1, 5), rng.randint(1, 9)
    if m <= n:
        raise Rejected
    p, q, r = k * (m * m - n * n), 2 * k * m * n, k * (m * m + n * n)
    if rng.random() < 0.5:
        p, q = q, p
    long = rng.randint(4, 120)
    most = max(p, q, long)
    w, h, d = _shown(p, most), _shown(q, most), _shown(long, most) * 1.4
    x, y = d * _LEAN[0], d * _LEAN[1]
    points: dict[str, Point] = {"A": (0, 0), "B": (w, 0), "C": (0, h), "D": (x, y), "E": (w + x, y), "F": (x, h + y)}
    figure = Figure(points).line("ABCA").line("BEFC").line("ADE", dashed=True).line("DF", dashed=True)
    figure.right("BAC").length("AB", p).length("AC", q).length("BE", long).sketch()
    facts = (
        "A right prism has the parallel triangles ABC and DEF; angle BAC is a "
        f"right angle, AB = {p}, AC = {q} and BE = {long}."
    )
    start = "ABCDEF is a right prism with a right angle at A in its base ABC. What is its "
    if rng.random() < 0.5:
        return figure.problem("prism", f"{start}volume?", number(Fraction(p * q * long, 2)), facts)
    return figure.problem("prism", f"{start}surface area?", str(p * q + (p + q + r) * long), facts)


def pyramid(rng: random.Random) -> MathProblem:
    """Return a problem on the volume of a pyramid over a rectangle."""
    wide, deep, high = (rng.randint(2, 40) for _ in range(3))
    most = max(wide, deep, high)
    d, h = _shown(deep, most), _shown(high, most) * 1.2
    w = max(_shown(wide, most), 1.2 * d)
    x, y = d * _LEAN[0], d * _LEAN[1]
    middle = ((w + x) / 2, y / 2)
    apex = (middle[0], middle[1] + h)
    points: dict[str, Point] = {"A": (0, 0), "B": (w, 0), "C": (w + x, y), "D": (x, y), "M": middle, "S": apex}
    figure = Figure(points).line("ABCS").line("ASB").line("ADC", dashed=True).line("DS", dashed=True)
    figure.line("SM", dashed=True).length("AB", wide).length("BC", deep).length("SM", high).sketch()
    facts = (
        f"A pyramid has the rectangular base ABCD and the apex S; AB = {wide}, BC = {deep}, and "
        f"its height SM is perpendicular to the base, SM = {high}."
    )
    question = "ABCD is a rectangle, and SM is perpendicular to it. What is the volume of the pyramid ABCDS?"
    return figure.problem("pyramid", question, number(Fraction(wide * deep * high, 3)), facts)


def cylinder(rng: random.Random) -> MathProblem:
    """Return a problem on the volume or surface of a cylinder, in terms of π."""
    radius, high = rng.randint(2, 90), rng.randint(2, 120)
    most = max(radius, high)
    r, h = max(radius, 0.4 * most), max(high, 0.55 * most)
    points: dict[str, Point] = {"O": (0, 0), "A": (r, 0), "B": (r, h), "P": (0, h), "Q": (-r, 0), "R": (-r, h)}
    figure = Figure(points, "OABP").ellipse("O", r, 0.3 * r).ellipse("P", r, 0.3 * r).line("AB").line("QR")
    figure.line("OA", dashed=True).length("OA", radius).length("AB", high).sketch()
    facts = f"A cylinder has a base with centre O and radius OA = {radius}, and the height AB = {high}."
    start = "O and P are the centres of the base and the top of a cylinder. In terms of $\\pi$, what is its "
    if rng.random() < 0.5:
        return figure.problem("cylinder", f"{start}volume?", f"{radius * radius * high}\\pi", facts, plain=False)
    answer = 2 * radius * (radius + high)
    return figure.problem("cylinder", f"{start}total surface area?", f"{answer}\\pi", facts, plain=False)


def cone(rng: random.Random) -> MathProblem:
    """Return a problem on the volume or lateral surface of a cone, in terms of π."""
    radius, high = rng.randint(2, 90), rng.randint(2, 120)
    most = max(radius, high)
    r, h = max(radius, 0.4 * most), max(high, 0.6 * most)
    points: dict[str, Point] = {"O": (0, 0), "A": (r, 0), "S": (0, h), "Q": (-r, 0)}
    figure = Figure(points, "OAS").ellipse("O", r, 0.3 * r).line("AS").line("QS")
    figure.line("OA", dashed=True).line("OS", dashed=True).right("AOS").length("OA", radius).length("OS", high).sketch()
    facts = f"A cone has a base with centre O and radius OA = {radius}, and the height OS = {high}."
    start = "O is the centre of the base of a cone with apex S. In terms of $\\pi$, what is "
    squared = radius * radius + high * high
    slant = int(squared**0.5)
    if slant * slant == squared and rng.random() < 0.7:
        return figure.problem("cone", f"{start}its lateral surface area?", f"{radius * slant}\\pi", facts, plain=False)
    if rng.random() < 0.3 and slant * slant != squared:
        raise Rejected
    volume = multiple_of_pi(Fraction(radius * radius * high, 3))
    return figure.problem("cone", f"{start}its volume?", volume, facts, plain=False)
