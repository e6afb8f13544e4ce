"""Polynomials, radicals, powers, logarithms and complex numbers, in questions that their repetition does not answer."""

from __future__ import annotations

import random
from fractions import Fraction

from gem_envs_math.algebra.equations import nonzero
from gem_envs_math.latex import linear, number, polynomial, square_free, surd, tuple_of
from gem_envs_math.problem import MathProblem, Rejected

__all__ = [
    "complex_division", "complex_power", "complex_product", "composition", "division", "evaluate", "expand", "factor",
    "function_values", "inverse", "log_value", "radical_product", "radical_sum", "rationalise", "remainder_theorem",
    "vertex",
]  # fmt: skip


def expand(rng: random.Random) -> MathProblem:
    """Return a problem on a coefficient of a product."""
    first = [nonzero(rng, 9) for _ in range(rng.randint(2, 3))]
    second = [nonzero(rng, 9) for _ in range(rng.randint(2, 3))]
    product = [0] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            product[i + j] += a * b
    power = rng.randint(0, len(product) - 1)
    name = "constant term" if power == 0 else "coefficient of $x$" if power == 1 else f"coefficient of $x^{{{power}}}$"
    question = f"What is the {name} in the expansion of $({polynomial(first)})({polynomial(second)})$?"
    return MathProblem("expand", question, str(product[len(product) - 1 - power]), hidden=False)


def factor(rng: random.Random) -> MathProblem:
    """Return a problem on a quadratic that is a product of two linear factors with integer coefficients."""
    a, b, p, q = rng.randint(1, 6), rng.randint(1, 6), nonzero(rng, 15), nonzero(rng, 15)
    from math import gcd

    if gcd(a, p) > 1 or gcd(b, q) > 1 or a * q == b * p or (a, p) == (b, q):
        raise Rejected
    product = polynomial([a * b, a * q + b * p, p * q])
    if a == b:
        p, q = sorted((p, q))
    elif a > b:
        a, b, p, q = b, a, q, p
    condition = "a \\le c" if a < b else "b < d"
    question = (
        f"Write ${product}$ as $(ax + b)(cx + d)$ with integers $a, c > 0$ and ${condition}$. Find $(a, b, c, d)$."
    )
    return MathProblem("factor", question, tuple_of(a, p, b, q), plain=False)


def division(rng: random.Random) -> MathProblem:
    """Return a problem on the quotient of two polynomials whose division leaves a constant."""
    quotient = [nonzero(rng, 6), *(rng.randint(-9, 9) for _ in range(rng.randint(1, 2)))]
    divisor, rest = [1, nonzero(rng, 9)], nonzero(rng, 30)
    product = [0] * (len(quotient) + 1)
    for i, a in enumerate(quotient):
        for j, b in enumerate(divisor):
            product[i + j] += a * b
    product[-1] += rest
    question = f"Divide ${polynomial(product)}$ by ${polynomial(divisor)}$ with remainder. What is the quotient?"
    return MathProblem("division", question, polynomial(quotient), plain=False)


def remainder_theorem(rng: random.Random) -> MathProblem:
    """Return a problem on the remainder of a polynomial of high degree."""
    degree = rng.randint(5, 60)
    root = rng.choice((-2, -1, 1, 2)) if degree < 16 else rng.choice((-1, 1))
    a, b, c = nonzero(rng, 9), nonzero(rng, 30), nonzero(rng, 90)
    value = a * root**degree + b * root + c
    coefficients = f"{linear([(a, f'x^{{{degree}}}'), (b, 'x'), (c, '')])}"
    question = f"What is the remainder when ${coefficients}$ is divided by ${polynomial([1, -root])}$?"
    return MathProblem("remainder_theorem", question, str(value), hidden=False)


def evaluate(rng: random.Random) -> MathProblem:
    """Return a problem on a polynomial in two variables at a point."""
    x, y = nonzero(rng, 9), nonzero(rng, 9)
    a, b, c, d = nonzero(rng, 6), nonzero(rng, 6), nonzero(rng, 6), nonzero(rng, 20)
    value = a * x * x + b * x * y + c * y * y + d
    text = linear([(a, "x^{2}"), (b, "xy"), (c, "y^{2}"), (d, "")])
    return MathProblem("evaluate", f"Evaluate ${text}$ at $x = {x}$, $y = {y}$.", str(value), hidden=False)


def function_values(rng: random.Random) -> MathProblem:
    """Return a problem on a quadratic function from three of its values."""
    a, b, c = nonzero(rng, 6), rng.randint(-12, 12), rng.randint(-20, 20)
    points = sorted(rng.sample(range(-5, 6), 3))
    asked = rng.choice([n for n in range(-8, 9) if n not in points])

    def f(x: int) -> int:
        return a * x * x + b * x + c

    given = ", ".join(f"$f({p}) = {f(p)}$" for p in points[:-1]) + f" and $f({points[-1]}) = {f(points[-1])}$"
    return MathProblem(
        "function_values", f"A quadratic function $f$ has {given}. What is $f({asked})$?", str(f(asked)), hidden=False
    )


def composition(rng: random.Random) -> MathProblem:
    """Return a problem on the composition of two functions."""
    a, b, c, d, e, x = (
        nonzero(rng, 8),
        nonzero(rng, 15),
        nonzero(rng, 5),
        nonzero(rng, 9),
        nonzero(rng, 15),
        nonzero(rng, 9),
    )
    f, g = linear([(a, "x"), (b, "")]), polynomial([c, d, e])
    inner = c * x * x + d * x + e
    if rng.random() < 0.5:
        return MathProblem(
            "composition", f"Let $f(x) = {f}$ and $g(x) = {g}$. What is $f(g({x}))$?", str(a * inner + b), hidden=False
        )
    middle = a * x + b
    return MathProblem(
        "composition",
        f"Let $f(x) = {f}$ and $g(x) = {g}$. What is $g(f({x}))$?",
        str(c * middle * middle + d * middle + e),
        hidden=False,
    )


def inverse(rng: random.Random) -> MathProblem:
    """Return a problem on a value of the inverse of a fraction of linear terms."""
    a, b, c, d, y = nonzero(rng, 9), nonzero(rng, 15), nonzero(rng, 9), nonzero(rng, 15), nonzero(rng, 12)
    if a * d == b * c or a == y * c:
        raise Rejected
    x = Fraction(y * d - b, a - y * c)
    if c * x + d == 0:
        raise Rejected
    top, bottom = linear([(a, "x"), (b, "")]), linear([(c, "x"), (d, "")])
    return MathProblem(
        "inverse", f"Let $f(x) = \\frac{{{top}}}{{{bottom}}}$. What is $f^{{-1}}({y})$?", number(x), hidden=False
    )


def vertex(rng: random.Random) -> MathProblem:
    """Return a problem on the vertex or the extreme value of a parabola."""
    a, h, k = nonzero(rng, 6), nonzero(rng, 14), nonzero(rng, 40)
    f = polynomial([a, -2 * a * h, a * h * h + k])
    if rng.random() < 0.5:
        return MathProblem("vertex", f"What is the vertex of the parabola $y = {f}$?", tuple_of(h, k), plain=False)
    extreme = "minimum" if a > 0 else "maximum"
    return MathProblem("vertex", f"What is the {extreme} value of ${f}$ over the real numbers?", str(k), hidden=False)


def radical_sum(rng: random.Random) -> MathProblem:
    """Return a problem on a sum of roots that simplifies to a single root; the answer is a pair."""
    inside = rng.choice((2, 3, 5, 6, 7, 10, 11, 13))
    parts = [(nonzero(rng, 9), rng.randint(2, 9)) for _ in range(rng.randint(2, 3))]
    factor = sum(a * n for a, n in parts)
    if factor == 0:
        raise Rejected
    text = linear([(a, f"\\sqrt{{{n * n * inside}}}") for a, n in parts])
    question = (
        f"Write ${text}$ as $a\\sqrt{{b}}$ with integers $a$ and $b$, where $b$ is "
        "positive and as small as possible. Find $(a, b)$."
    )
    return MathProblem("radical_sum", question, tuple_of(factor, inside), plain=False)


def radical_product(rng: random.Random) -> MathProblem:
    """Return a problem on a product of sums with a root; the answer is a pair."""
    n = rng.choice((2, 3, 5, 6, 7, 10, 11, 13))
    a, b, c, d = nonzero(rng, 12), nonzero(rng, 9), nonzero(rng, 12), nonzero(rng, 9)
    root = f"\\sqrt{{{n}}}"
    text = f"({linear([(a, ''), (b, root)])})({linear([(c, ''), (d, root)])})"
    question = f"Write ${text}$ as $p + q{root}$ with integers $p$ and $q$. Find $(p, q)$."
    return MathProblem("radical_product", question, tuple_of(a * c + b * d * n, a * d + b * c), plain=False)


def rationalise(rng: random.Random) -> MathProblem:
    """Return a problem on a root in a denominator; the answer is a pair of rational numbers."""
    n = rng.choice((2, 3, 5, 6, 7, 10, 11, 13))
    a, b, c = rng.randint(1, 12), nonzero(rng, 12), nonzero(rng, 6)
    low = b * b - c * c * n
    root = f"\\sqrt{{{n}}}"
    question = (
        f"Write $\\frac{{{a}}}{{{linear([(b, ''), (c, root)])}}}$ as $p + q{root}$ "
        "with rational numbers $p$ and $q$. Find $(p, q)$."
    )
    return MathProblem("rationalise", question, tuple_of(Fraction(a * b, low), Fraction(-a * c, low)), plain=False)


def log_value(rng: random.Random) -> MathProblem:
    """Return a problem on a sum of logarithms with a rational value."""
    base = rng.choice((2, 3, 5, 6, 7))
    b, c = rng.sample((1, 2, 3, 4), 2)
    p, q = rng.randint(1, 7), rng.randint(1, 5)
    k, m = nonzero(rng, 9), rng.randint(2, 40)
    value = Fraction(p, b) + k * Fraction(q, c)
    first = f"\\log_{{{base**b}}} {base**p}"
    second = f"\\log_{{{base**c}}} {base**q}"
    text = linear([(1, first), (k, second)])
    return MathProblem("log_value", f"What is ${text} + {m}$?", number(value + m), hidden=False)


def _complex(a: Fraction | int, b: Fraction | int) -> str:
    return linear([(a, ""), (b, "i")])


def complex_product(rng: random.Random) -> MathProblem:
    """Return a problem on a product of two complex numbers plus a third one; the answer is a pair."""
    a, b, c, d, e, f = (nonzero(rng, 12) for _ in range(6))
    text = f"({_complex(a, b)})({_complex(c, d)}) + ({_complex(e, f)})"
    question = f"Write ${text}$ as $p + qi$ with real numbers $p$ and $q$. Find $(p, q)$."
    return MathProblem("complex_product", question, tuple_of(a * c - b * d + e, a * d + b * c + f), plain=False)


def complex_division(rng: random.Random) -> MathProblem:
    """Return a problem on a quotient of two complex numbers, or its squared absolute value."""
    a, b, c, d = (nonzero(rng, 12) for _ in range(4))
    size = c * c + d * d
    text = f"\\frac{{{_complex(a, b)}}}{{{_complex(c, d)}}}"
    if rng.random() < 0.3:
        return MathProblem(
            "complex_division",
            f"What is $\\left|{text}\\right|^2$?",
            number(Fraction(a * a + b * b, size)),
            hidden=False,
        )
    question = f"Write ${text}$ as $p + qi$ with real numbers $p$ and $q$. Find $(p, q)$."
    return MathProblem(
        "complex_division",
        question,
        tuple_of(Fraction(a * c + b * d, size), Fraction(b * c - a * d, size)),
        plain=False,
    )


def complex_power(rng: random.Random) -> MathProblem:
    """Return a problem on the real or imaginary part of a power of a complex number."""
    a, b, n = nonzero(rng, 20), nonzero(rng, 20), rng.randint(3, 6)
    real, imaginary = 1, 0
    for _ in range(n):
        real, imaginary = real * a - imaginary * b, real * b + imaginary * a
    part, answer = rng.choice((("real", real), ("imaginary", imaginary)))
    return MathProblem(
        "complex_power", f"What is the {part} part of $({_complex(a, b)})^{{{n}}}$?", str(answer), hidden=False
    )


def distance_surd(rng: random.Random) -> MathProblem:
    """Return a problem on a distance or a length that is a root."""
    points = [(rng.randint(-20, 20), rng.randint(-20, 20)) for _ in range(2)]
    (a, b), (c, d) = points
    squared = (a - c) ** 2 + (b - d) ** 2
    if squared == 0 or square_free(squared)[1] == 1:
        raise Rejected
    question = f"What is the distance between $({a}, {b})$ and $({c}, {d})$ in the plane, in simplest radical form?"
    return MathProblem("distance_surd", question, surd(1, squared), plain=False, hidden=False)
