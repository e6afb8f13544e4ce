"""Equations, systems and inequalities."""

from __future__ import annotations

import random
from fractions import Fraction
from math import isqrt

from gem_envs_math.latex import linear, number, polynomial, surd, tuple_of
from gem_envs_math.problem import MathProblem, Rejected

__all__ = [
    "absolute_value", "cubic", "exponential", "linear_equation", "linear_inequality", "logarithmic",
    "nonlinear_system", "quadratic", "quadratic_inequality", "radical", "rational", "system_of_three", "system_of_two",
    "vieta",
]  # fmt: skip

_LETTERS = "xyztnmkpuvw"


def nonzero(rng: random.Random, size: int) -> int:
    """Return a number from -``size`` to ``size`` that is not 0."""
    return rng.choice((1, -1)) * rng.randint(1, size)


def linear_equation(rng: random.Random) -> MathProblem:
    """Return a problem on a linear equation with the unknown on both sides, perhaps in parentheses."""
    v = rng.choice(_LETTERS)
    a, b, c, d = nonzero(rng, 15), nonzero(rng, 40), nonzero(rng, 15), nonzero(rng, 40)
    if rng.random() < 0.5:
        k = rng.randint(2, 9)
        left, right = f"{k}({linear([(a, v), (b, '')])})", linear([(c, v), (d, "")])
        a, b = k * a, k * b
    else:
        left, right = linear([(a, v), (b, "")]), linear([(c, v), (d, "")])
    if a == c:
        raise Rejected
    return MathProblem(
        "linear_equation", f"Solve ${left} = {right}$ for ${v}$.", number(Fraction(d - b, a - c)), hidden=False
    )


def rational(rng: random.Random) -> MathProblem:
    """Return a problem on an equation with a quotient of two linear terms."""
    v = rng.choice(_LETTERS)
    a, b, c, d, p, q = (nonzero(rng, 12) for _ in range(6))
    q = abs(q)
    if q == 1 or a * d == b * c or q * a == p * c:
        raise Rejected
    root = Fraction(p * d - q * b, q * a - p * c)
    ratio = Fraction(p, q)
    if c * root + d == 0 or root.denominator > 60 or ratio.denominator == 1:
        raise Rejected
    top, bottom = linear([(a, v), (b, "")]), linear([(c, v), (d, "")])
    return MathProblem(
        "rational", f"Solve $\\frac{{{top}}}{{{bottom}}} = {number(ratio)}$ for ${v}$.", number(root), hidden=False
    )


def system_of_two(rng: random.Random) -> MathProblem:
    """Return a problem on two linear equations."""
    x, y = nonzero(rng, 20), nonzero(rng, 20)
    a, b, c, d = (nonzero(rng, 9) for _ in range(4))
    if a * d == b * c:
        raise Rejected
    first = f"{linear([(a, 'x'), (b, 'y')])} = {a * x + b * y}"
    second = f"{linear([(c, 'x'), (d, 'y')])} = {c * x + d * y}"
    question = f"The numbers $x$ and $y$ satisfy ${first}$ and ${second}$. Find $(x, y)$."
    return MathProblem("system_of_two", question, tuple_of(x, y), plain=False)


def system_of_three(rng: random.Random) -> MathProblem:
    """Return a problem on three linear equations."""
    values = [nonzero(rng, 9) for _ in range(3)]
    rows = [[rng.randint(-5, 5) for _ in range(3)] for _ in range(3)]
    (a, b, c), (d, e, f), (g, h, i) = rows
    if a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) == 0 or any(row.count(0) > 1 for row in rows):
        raise Rejected
    shown = [
        f"${linear(list(zip(row, 'xyz', strict=True)))} = {sum(p * q for p, q in zip(row, values, strict=True))}$"
        for row in rows
    ]
    question = f"The numbers $x$, $y$ and $z$ satisfy {shown[0]}, {shown[1]} and {shown[2]}. Find $(x, y, z)$."
    return MathProblem("system_of_three", question, tuple_of(*values), plain=False)


def _root_ask(rng: random.Random, equation: str, low: Fraction, high: Fraction, v: str) -> MathProblem:
    which, answer = rng.choice((("smaller", low), ("larger", high)))
    return MathProblem(
        "quadratic", f"What is the {which} of the two solutions of ${equation}$?", number(answer), hidden=False
    )


def quadratic(rng: random.Random) -> MathProblem:
    """Return a problem on a quadratic equation with two rational or two irrational solutions."""
    v = rng.choice(_LETTERS)
    if rng.random() < 0.6:
        low, high = sorted(
            (Fraction(nonzero(rng, 15), rng.choice((1, 1, 2, 3))), Fraction(nonzero(rng, 15), rng.choice((1, 1, 2))))
        )
        if low == high:
            raise Rejected
        scale = low.denominator * high.denominator * rng.choice((1, 1, 2, -1))
        shift = rng.choice((0, 0, nonzero(rng, 20)))
        left = polynomial([scale, -scale * (low + high), scale * low * high + shift], v)
        return _root_ask(rng, f"{left} = {shift}", low, high, v)
    b, c = nonzero(rng, 20) * 2, nonzero(rng, 60)
    quarter = b * b // 4 - c
    if quarter <= 0 or isqrt(quarter) ** 2 == quarter:
        raise Rejected
    sign = rng.choice((1, -1))
    root = surd(1, quarter)
    which = "larger" if sign > 0 else "smaller"
    question = f"What is the {which} of the two solutions of ${polynomial([1, b, c], v)} = 0$?"
    return MathProblem("quadratic", question, f"{-b // 2} {'+' if sign > 0 else '-'} {root}", plain=False, hidden=False)


def vieta(rng: random.Random) -> MathProblem:
    """Return a problem on a symmetric function of the solutions, which need not be found."""
    a, b, c = rng.randint(1, 6), nonzero(rng, 20), nonzero(rng, 25)
    total, product = Fraction(-b, a), Fraction(c, a)
    if b * b == 4 * a * c:
        raise Rejected
    ask, value = rng.choice(
        (
            ("r^2 + s^2", total**2 - 2 * product),
            (r"\frac{1}{r} + \frac{1}{s}", total / product),
            ("(r - s)^2", total**2 - 4 * product),
            ("r^3 + s^3", total**3 - 3 * total * product),
            ("(r + 1)(s + 1)", product + total + 1),
        )
    )
    question = f"Let $r$ and $s$ be the two complex solutions of ${polynomial([a, b, c])} = 0$. Find ${ask}$."
    return MathProblem("vieta", question, number(value), hidden=False)


def cubic(rng: random.Random) -> MathProblem:
    """Return a problem on a cubic equation with three integer solutions."""
    roots = sorted(rng.sample([n for n in range(-12, 13) if n], 3))
    a = rng.choice((1, 1, 2, -1))
    p, q, r = roots
    left = polynomial([a, -a * (p + q + r), a * (p * q + p * r + q * r), -a * p * q * r])
    which, answer = rng.choice((("smallest", p), ("largest", r), ("second largest", q)))
    return MathProblem(
        "cubic",
        f"The equation ${left} = 0$ has three real solutions. What is the {which} of them?",
        str(answer),
        hidden=False,
    )


def nonlinear_system(rng: random.Random) -> MathProblem:
    """Return a problem on two numbers, known by a sum and a product or by a sum and a sum of squares."""
    x, y = nonzero(rng, 25), nonzero(rng, 25)
    if x == y or x + y == 0:
        raise Rejected
    total, product = x + y, x * y
    given, value = rng.choice(((f"xy = {product}", product), (f"x^2 + y^2 = {x * x + y * y}", x * x + y * y)))
    ask, answer = rng.choice(
        (
            ("x^2 + y^2", x * x + y * y),
            ("xy", product),
            ("x^3 + y^3", x**3 + y**3),
            ("(x - y)^2", (x - y) ** 2),
            (r"x^2y + xy^2", product * total),
        )
    )
    if answer == value:
        raise Rejected
    return MathProblem(
        "nonlinear_system", f"If $x + y = {total}$ and ${given}$, what is ${ask}$?", str(answer), hidden=False
    )


def _interval(low: Fraction | None, high: Fraction | None, closed: bool) -> str:
    left = "(-\\infty" if low is None else ("[" if closed else "(") + number(low)
    right = "\\infty)" if high is None else number(high) + ("]" if closed else ")")
    return f"{left}, {right}"


_SIGNS = {"<": "<", ">": ">", "<=": r"\le", ">=": r"\ge"}


def linear_inequality(rng: random.Random) -> MathProblem:
    """Return a problem on a linear inequality; the answer is an interval."""
    a, b, c, d = nonzero(rng, 15), nonzero(rng, 40), nonzero(rng, 15), nonzero(rng, 40)
    if a == c:
        raise Rejected
    sign = rng.choice(list(_SIGNS))
    bound = Fraction(d - b, a - c)
    below = (sign[0] == "<") == (a > c)
    answer = _interval(None if below else bound, bound if below else None, "=" in sign)
    question = (
        f"Solve ${linear([(a, 'x'), (b, '')])} {_SIGNS[sign]} "
        f"{linear([(c, 'x'), (d, '')])}$. Give the solution set as an interval."
    )
    return MathProblem("linear_inequality", question, answer, plain=False)


def quadratic_inequality(rng: random.Random) -> MathProblem:
    """Return a problem on a quadratic inequality: its solution set, or the number of whole solutions."""
    low, high = sorted(Fraction(nonzero(rng, 15), rng.choice((1, 1, 2))) for _ in range(2))
    if low == high:
        raise Rejected
    scale = low.denominator * high.denominator
    sign = rng.choice(list(_SIGNS))
    left = polynomial([scale, -scale * (low + high), scale * low * high])
    if sign[0] == "<":
        if rng.random() < 0.4:
            inside = sum(1 for n in range(-16, 17) if low < n < high or ("=" in sign and n in (low, high)))
            return MathProblem(
                "quadratic_inequality",
                f"How many integers $x$ satisfy ${left} {_SIGNS[sign]} 0$?",
                str(inside),
                hidden=False,
            )
        answer = _interval(low, high, "=" in sign)
    else:
        answer = f"{_interval(None, low, '=' in sign)} \\cup {_interval(high, None, '=' in sign)}"
    question = f"Solve ${left} {_SIGNS[sign]} 0$. Give the solution set in interval notation."
    return MathProblem("quadratic_inequality", question, answer, plain=False)


def absolute_value(rng: random.Random) -> MathProblem:
    """Return a problem on an absolute value: a sum or a product of the solutions, or one of them."""
    a, b, c = rng.randint(1, 9), nonzero(rng, 30), rng.randint(1, 40)
    roots = sorted((Fraction(c - b, a), Fraction(-c - b, a)))
    ask, answer = rng.choice(
        (
            ("the smaller solution", roots[0]),
            ("the larger solution", roots[1]),
            ("the product of the solutions", roots[0] * roots[1]),
        )
    )
    return MathProblem(
        "absolute_value", f"What is {ask} of $|{linear([(a, 'x'), (b, '')])}| = {c}$?", number(answer), hidden=False
    )


def radical(rng: random.Random) -> MathProblem:
    """Return a problem on a square root that equals a linear term, with one true solution."""
    x, shift = rng.randint(-30, 60), rng.randint(-30, 30)
    value = x - shift
    a = rng.randint(1, 15)
    b = value * value - a * x
    other = Fraction(shift * shift - b, 1) / x if x else None
    if value < 0 or b == 0 or shift == 0 or other is None or (other != x and other - shift >= 0):
        raise Rejected
    question = (
        f"Find the real solution of $\\sqrt{{{linear([(a, 'x'), (b, '')])}}} = {linear([(1, 'x'), (-shift, '')])}$."
    )
    return MathProblem("radical", question, str(x), hidden=False)


def exponential(rng: random.Random) -> MathProblem:
    """Return a problem on powers of the same base with linear exponents."""
    base = rng.choice((2, 3, 5, 6, 7, 10))
    p, q = rng.sample((1, 2, 3, 4), 2)
    a, b, c, d = nonzero(rng, 6), nonzero(rng, 12), nonzero(rng, 6), nonzero(rng, 12)
    if p * a == q * c:
        raise Rejected
    root = Fraction(q * d - p * b, p * a - q * c)
    left = f"{base**p}^{{{linear([(a, 'x'), (b, '')])}}}"
    right = f"{base**q}^{{{linear([(c, 'x'), (d, '')])}}}"
    return MathProblem("exponential", f"Solve ${left} = {right}$ for $x$.", number(root), hidden=False)


def logarithmic(rng: random.Random) -> MathProblem:
    """Return a problem on a logarithm of a linear term, or a sum of two logarithms."""
    base = rng.choice((2, 3, 4, 5, 6, 7, 10))
    if rng.random() < 0.5:
        a, b, c = rng.randint(1, 12), nonzero(rng, 40), rng.randint(-1, 4)
        root = (Fraction(base) ** c - b) / a
        return MathProblem(
            "logarithmic",
            f"Solve $\\log_{{{base}}}({linear([(a, 'x'), (b, '')])}) = {c}$ for $x$.",
            number(root),
            hidden=False,
        )
    high, low = rng.randint(1, 60), -rng.randint(1, 60)
    r = rng.randint(1, 5)
    # (x + s)(x + t) = base^r with x + s = p, x + t = q positive
    splits = [n for n in range(1, base**r + 1) if base**r % n == 0]
    p = rng.choice(splits)
    q = base**r // p
    x = rng.randint(low, high)
    s, t = p - x, q - x
    if not s or not t or s == t:
        raise Rejected
    question = (
        f"Find the real solution of $\\log_{{{base}}}({linear([(1, 'x'), (s, '')])}) + "
        f"\\log_{{{base}}}({linear([(1, 'x'), (t, '')])}) = {r}$."
    )
    return MathProblem("logarithmic", question, str(x), hidden=False)
