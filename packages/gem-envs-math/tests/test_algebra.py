"""Every answer again, from the question's text: by substitution, interpolation, enumeration or in floating point."""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from gem_envs_math import AlgebraEnv
from gem_envs_math.algebra import KINDS

F = Fraction
TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?|[A-Za-z]|\*\*|[-+*/()|,])")
ATOM_END, ATOM_BEGIN = re.compile(r"[\w')]$"), re.compile(r"^[\w(]")


def python_of(latex: str) -> str:
    """A formula in Python's syntax: numbers become exact, what stands side by side is multiplied."""
    text = latex.replace("\\left", "").replace("\\right", "").replace("\\pi", " p ")
    text = re.sub(r"\\log_\{(\d+)\}\s*(\d+)", r"L(\1,\2)", text)
    text = re.sub(r"\\log_\{(\d+)\}\(", r"L(\1,", text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"S(\1)", text)
    while "\\frac" in text:
        before = text
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
        text = re.sub(r"\\sqrt\{([^{}]*)\}", r"S(\1)", text)
        assert text != before, latex
    text = re.sub(r"\^\{([^{}]*)\}", r"**(\1)", text)
    text = re.sub(r"\^(\w)", r"**(\1)", text)
    parts: list[str] = []
    for match in re.finditer(TOKEN, text):
        token = match[1]
        if token[0].isdigit():
            token = f"F('{token}')"
        if parts and re.search(r"[\w')]$", parts[-1]) and parts[-1] not in ("S", "L") and re.match(r"[\w(]", token):
            parts.append("*")
        parts.append(token)
    return re.sub(r"\*\*\(F\('(\d+)'\)\)", r"**\1", "".join(parts))


@cache
def compiled(latex: str) -> Any:
    return compile(python_of(latex), latex, "eval")


def root(value: Any) -> Any:
    return math.sqrt(value) if value >= 0 else math.nan


def log(base: Any, value: Any) -> float:
    return math.log(value) / math.log(base) if value > 0 else math.nan


def ev(latex: str, **values: Any) -> Any:
    return eval(compiled(latex), {"__builtins__": {}}, {"F": F, "S": root, "L": log, "p": math.pi, **values})


def maths(text: str) -> list[str]:
    return re.findall(r"\$(.*?)\$", text)


def close(a: Any, b: Any) -> bool:
    return cmath.isclose(complex(a), complex(b), rel_tol=1e-9, abs_tol=1e-7)


def parts_of(answer: str) -> list[Fraction]:
    assert re.fullmatch(r"\(.*\)", answer)
    return [ev(part) for part in answer[1:-1].split(",")]


def coefficients(latex: str, degree: int, v: str = "x") -> list[Fraction]:
    """From the highest power down, by Newton's interpolation."""
    xs = [F(n) for n in range(degree + 1)]
    table = [F(ev(latex, **{v: x})) for x in xs]
    newton = [table[0]]
    for step in range(1, degree + 1):
        table = [(b - a) / step for a, b in pairwise(table)]
        newton.append(table[0])
    result = [F(0)] * (degree + 1)
    basis = [F(1)]
    for x, factor in zip(xs, newton, strict=True):
        for place, value in enumerate(basis):
            result[place] += factor * value
        basis = [a - x * b for a, b in zip([F(0), *basis], [*basis, F(0)], strict=True)]
    return result[::-1]


def sides(equation: str) -> tuple[str, str]:
    left, right = equation.split(" = ")
    return left, right


def difference(equation: str) -> str:
    left, right = sides(equation)
    return f"({left}) - ({right})"


def zero_of_line(latex: str, v: str = "x") -> Fraction:
    slope, start = coefficients(latex, 1, v)
    return -start / slope


def quadratic_roots(latex: str, v: str) -> list[complex]:
    a, b, c = (complex(n) for n in coefficients(latex, 2, v))
    return [(-b + sign * cmath.sqrt(b * b - 4 * a * c)) / (2 * a) for sign in (1, -1)]


def linear_equation(q: str, answer: str) -> bool:
    equation, v = maths(q)
    return zero_of_line(difference(equation), v) == ev(answer)


def rational(q: str, answer: str) -> bool:
    equation, v = maths(q)
    left, right = sides(equation)
    x = ev(answer)
    return ev(left, **{v: x}) == ev(right) and ev(left, **{v: x + F(1, 997)}) != ev(right)


def system(q: str, answer: str) -> bool:
    *equations, names = maths(q)
    found = dict(zip(re.findall(r"[xyz]", names), parts_of(answer), strict=True))
    equations = [text for text in equations if "=" in text]
    rows = []
    for text in equations:
        zero = ev(difference(text), **dict.fromkeys(found, F(0)))
        rows.append([ev(difference(text), **{name: F(name == one) for name in found}) - zero for one in found])
        if ev(difference(text), **found) != 0:
            return False
    return determinant(rows) != 0


def determinant(rows: list[list[Fraction]]) -> Fraction:
    if len(rows) == 1:
        return rows[0][0]
    return sum(
        (
            (-1) ** place * value * determinant([row[:place] + row[place + 1 :] for row in rows[1:]])
            for place, value in enumerate(rows[0])
        ),
        F(0),
    )


def quadratic(q: str, answer: str) -> bool:
    equation = maths(q)[0]
    v = re.findall(r"[a-z]", equation)[0]
    roots = sorted(root.real for root in quadratic_roots(difference(equation), v))
    return close(roots[0] if "smaller" in q else roots[1], ev(answer))


def vieta(q: str, answer: str) -> bool:
    _, _, equation, ask = maths(q)
    r, s = quadratic_roots(difference(equation), "x")
    return close(
        ev(ask.replace("r", "r").replace("s", "s"), r=r, s=s) if "frac" not in ask else 1 / r + 1 / s, ev(answer)
    )


def cubic(q: str, answer: str) -> bool:
    text = difference(maths(q)[0])
    roots = [n for n in range(-40, 41) if ev(text, x=F(n)) == 0]
    assert len(roots) == 3
    return roots[
        {"smallest": 0, "largest": -1, "second largest": 1}[re.findall(r"What is the (.*) of them", q)[0]]
    ] == ev(answer)


def nonlinear_system(q: str, answer: str) -> bool:
    total, given, ask = maths(q)
    s = ev(sides(total)[1])
    values = {ev(ask, x=F(x), y=s - x) for x in range(-80, 81) if ev(difference(given), x=F(x), y=s - x) == 0}
    return values == {ev(answer)}


def interval(text: str) -> Callable[[Fraction], bool]:
    pieces = []
    for piece in text.split("\\cup"):
        begin, low, high, end = re.fullmatch(r"\s*([\[(])(.*), (.*)([\])])\s*", piece).groups()  # type: ignore[union-attr]
        pieces.append((begin, None if "infty" in low else ev(low), None if "infty" in high else ev(high), end))

    def inside(x: Fraction) -> bool:
        return any(
            (low is None or x > low or (begin == "[" and x == low))
            and (high is None or x < high or (end == "]" and x == high))
            for begin, low, high, end in pieces
        )

    return inside


def holds(relation: str, x: Fraction) -> bool:
    left, sign, right = re.split(r" (<|>|\\le|\\ge) ", relation)
    a, b = ev(left, x=x), ev(right, x=x)
    return bool({"<": a < b, ">": a > b, "\\le": a <= b, "\\ge": a >= b}[sign])


def inequality(q: str, answer: str) -> bool:
    relation = next(text for text in maths(q) if re.search(r" (<|>|\\le|\\ge) ", text))
    if "How many integers" in q:
        return sum(holds(relation, F(n)) for n in range(-60, 61)) == ev(answer)
    inside = interval(answer)
    ends = [ev(text) for text in re.findall(r"-?(?:\\frac\{\d+\}\{\d+\}|\d+)", answer)]
    points = [end + step for end in ends for step in (F(0), F(1, 10**6), F(-1, 10**6))] + [
        F(n) for n in range(-2000, 2001, 37)
    ]
    return all(inside(x) == holds(relation, x) for x in points)


def absolute_value(q: str, answer: str) -> bool:
    inner, right = re.fullmatch(r"\|(.*)\| = (.*)", maths(q)[0]).groups()  # type: ignore[union-attr]
    roots = sorted((zero_of_line(f"{inner} - {right}"), zero_of_line(f"{inner} + {right}")))
    assert all(abs(ev(inner, x=x)) == ev(right) for x in roots)
    return ev(answer) == (roots[0] * roots[1] if "product" in q else roots[0] if "smaller" in q else roots[1])


def radical(q: str, answer: str) -> bool:
    left, right = sides(maths(q)[0])
    return [n for n in range(-300, 301) if close(ev(left, x=F(n)), ev(right, x=F(n)))] == [ev(answer)]


def exponential(q: str, answer: str) -> bool:
    p, left, r, right = re.fullmatch(r"(\d+)\^\{(.*)\} = (\d+)\^\{(.*)\}", maths(q)[0]).groups()  # type: ignore[union-attr]
    x = ev(answer)
    return close(math.log(int(p)) * ev(left, x=x), math.log(int(r)) * ev(right, x=x)) and not close(
        math.log(int(p)) * ev(left, x=x + 1), math.log(int(r)) * ev(right, x=x + 1)
    )


def logarithmic(q: str, answer: str) -> bool:
    left, right = sides(maths(q)[0])
    # A sum of logarithms of growing terms grows, so there is one solution at most.
    return close(ev(left, x=ev(answer)), ev(right))


def expand(q: str, answer: str) -> bool:
    product = maths(q)[-1]
    found = coefficients(product, 4)[::-1]
    power = re.search(r"coefficient of \$x(?:\^\{(\d+)\})?\$", q)
    return found[0 if power is None else int(power[1] or 1)] == ev(answer)


def factor(q: str, answer: str) -> bool:
    a, b, c, d = parts_of(answer)
    same = all(ev(maths(q)[0], x=F(x)) == (a * x + b) * (c * x + d) for x in range(4))
    return same and a > 0 and c > 0 and (a < c or (a == c and b < d)) and all(n.denominator == 1 for n in (a, b, c, d))


def division(q: str, answer: str) -> bool:
    whole, divisor = maths(q)
    rests = {ev(whole, x=F(x)) - ev(divisor, x=F(x)) * ev(answer, x=F(x)) for x in range(-4, 5)}
    return len(rests) == 1


def remainder_theorem(q: str, answer: str) -> bool:
    whole, divisor = maths(q)
    zero = next(x for x in range(-5, 6) if ev(divisor, x=F(x)) == 0)
    return ev(whole, x=F(zero)) == ev(answer)


def evaluate(q: str, answer: str) -> bool:
    text, x, y = maths(q)
    return ev(text, x=ev(sides(x)[1]), y=ev(sides(y)[1])) == ev(answer)


def function_values(q: str, answer: str) -> bool:
    points = [(F(a), F(b)) for a, b in re.findall(r"f\((-?\d+)\) = (-?\d+)", q)]
    x = F(re.findall(r"What is \$f\((-?\d+)\)", q)[0])
    total = F(0)
    for place, (p, value) in enumerate(points):
        for other, (s, _) in enumerate(points):
            if other != place:
                value = value * (x - s) / (p - s)
        total += value
    return total == ev(answer)


def composition(q: str, answer: str) -> bool:
    f, g, ask = maths(q)
    x = F(re.findall(r"\((-?\d+)\)", ask)[0])
    first, second = (g, f) if ask.startswith("f") else (f, g)
    return ev(sides(second)[1], x=ev(sides(first)[1], x=x)) == ev(answer)


def inverse(q: str, answer: str) -> bool:
    f, ask = maths(q)
    return ev(sides(f)[1], x=ev(answer)) == F(re.findall(r"\((-?\d+)\)", ask)[0])


def vertex(q: str, answer: str) -> bool:
    text = maths(q)[0]
    a, b, c = coefficients(text.removeprefix("y = "), 2)
    top = c - b * b / (4 * a)
    if "vertex" in q:
        return parts_of(answer) == [-b / (2 * a), top]
    return top == ev(answer) and (a > 0) == ("minimum" in q)


def square_free(n: int) -> bool:
    return all(n % (d * d) for d in range(2, math.isqrt(n) + 1))


def radical_sum(q: str, answer: str) -> bool:
    a, b = parts_of(answer)
    return close(ev(maths(q)[0]), float(a) * math.sqrt(b)) and b > 0 and square_free(int(b)) and a.denominator == 1


def radical_pair(q: str, answer: str) -> bool:
    (p, s), n = parts_of(answer), int(re.findall(r"q\\sqrt\{(\d+)\}", q)[0])
    return close(ev(maths(q)[0]), float(p) + float(s) * math.sqrt(n)) and (
        "integers" not in q or p.denominator == s.denominator == 1
    )


def log_value(q: str, answer: str) -> bool:
    return close(ev(maths(q)[0]), ev(answer))


def complex_pair(q: str, answer: str) -> bool:
    if "left|" in q:
        text = maths(q)[0].split("|")[1].removesuffix("\\right")
        return close(abs(complex_value(text)) ** 2, ev(answer))
    p, s = parts_of(answer)
    return close(complex_value(maths(q)[0]), complex(p, s))


def complex_value(latex: str) -> complex:
    code = python_of(latex).replace("F('", "C('")
    return complex(eval(code, {"__builtins__": {}}, {"C": lambda text: complex(float(text)), "i": 1j}))


def complex_power(q: str, answer: str) -> bool:
    value = complex_value(maths(q)[0])
    return close(value.real if "real part" in q else value.imag, ev(answer))


def distance_surd(q: str, answer: str) -> bool:
    a, b, c, d = (int(n) for n in re.findall(r"-?\d+", q))
    inside = re.search(r"\\sqrt\{(\d+)\}", answer)
    return close(math.dist((a, b), (c, d)), ev(answer)) and inside is not None and square_free(int(inside[1]))


def terms_of(text: str) -> list[Fraction]:
    return [ev(term) for term in re.split(r", ?", text.split("\\ldots")[0]) if term.strip()]


def arithmetic_sequence(q: str, answer: str) -> bool:
    text = maths(q)[-1]
    known = terms_of(text)
    terms = [known[0] + (known[1] - known[0]) * n for n in range(200)]
    assert terms[2] == known[2]
    if "How many terms" in q:
        return terms.index(ev(text.split("\\ldots, ")[1])) + 1 == ev(answer)
    n = int(re.findall(r"\$(\d+)\$", q)[0])
    return ev(answer) == (sum(terms[:n]) if "sum" in q else terms[n - 1])


def geometric_sequence(q: str, answer: str) -> bool:
    known = terms_of(maths(q)[-1])
    assert known[0] * known[2] == known[1] ** 2
    n = int(re.findall(r"\$(\d+)\$", q)[0])
    terms = [known[0]]
    while len(terms) < n:
        terms.append(terms[-1] * known[1] / known[0])
    return ev(answer) == (sum(terms) if "sum" in q else terms[-1])


def geometric_series(q: str, answer: str) -> bool:
    if "common ratio" in q:
        first, total = (ev(text) for text in maths(q))
        return abs(ev(answer)) < 1 and first + ev(answer) * total == total
    text = maths(q)[0].replace(" + \\cdots", "")
    known = [ev(part) for part in re.split(r" \+ (?![^(]*\))", text)]
    ratio = known[1] / known[0]
    partial = math.fsum(float(known[0]) * float(ratio) ** n for n in range(2000))
    return abs(ratio) < 1 and close(partial, ev(answer))


def recursion(q: str, answer: str) -> bool:
    one, two, rule, _, ask = maths(q)
    terms = [ev(sides(one)[1]), ev(sides(two)[1])]
    rule = sides(rule)[1].replace("a_{k-1}", "u").replace("a_{k-2}", "v")
    while len(terms) < int(re.findall(r"\d+", ask)[0]):
        terms.append(ev(rule, u=terms[-1], v=terms[-2]))
    return terms[-1] == ev(answer)


def integers(q: str) -> list[int]:
    return [int(n) for n in re.findall(r"-?\d+", q)]


def congruence(q: str, answer: str) -> bool:
    a, c, rest, m = integers(q)
    return next(x for x in range(m) if (a * x + c - rest) % m == 0) == ev(answer)


def two_congruences(q: str, answer: str) -> bool:
    r, m, s, n = integers(q)
    return next(x for x in range(1, m * n + 1) if x % m == r and x % n == s) == ev(answer)


def inverse_modulo(q: str, answer: str) -> bool:
    _, m, a, _, _ = integers(q)
    return next(x for x in range(m) if a * x % m == 1) == ev(answer)


def multiples(q: str, answer: str) -> bool:
    low, high, a, b = integers(q)
    test: dict[str, Callable[[int], bool]] = {
        "or": lambda n: n % a == 0 or n % b == 0,
        "both": lambda n: n % a == 0 and n % b == 0,
        "not": lambda n: n % a == 0 and n % b != 0,
    }
    kind = "not" if "but not" in q else "both" if "both" in q else "or"
    return sum(map(test[kind], range(low, high + 1))) == ev(answer)


@cache
def orders(counts: tuple[int, ...]) -> int:
    if not any(counts):
        return 1
    return sum(orders(tuple(sorted((*counts[:i], n - 1, *counts[i + 1 :])))) for i, n in enumerate(counts) if n)


def letters(q: str, answer: str) -> bool:
    word = re.findall(r"letters of ([A-Z]+)", q)[0]
    begins = re.search(r"begin with ([A-Z])", q)
    if begins:
        word = word.replace(begins[1], "", 1)
    return orders(tuple(sorted(word.count(letter) for letter in set(word)))) == ev(answer)


def row_of_pascal(n: int) -> list[int]:
    row = [1]
    for _ in range(n):
        row = [a + b for a, b in zip([0, *row], [*row, 0], strict=True)]
    return row


def committee(q: str, answer: str) -> bool:
    a, b, size, least = integers(q)
    teachers, parents = row_of_pascal(a), row_of_pascal(b)
    ways = sum(
        teachers[k] * parents[size - k]
        for k in range(size + 1)
        if k < len(teachers) and size - k < len(parents) and (k == least or (k > least and "at least" in q))
    )
    return ways == ev(answer)


def binomial_coefficient(q: str, answer: str) -> bool:
    power, text = maths(q)
    inner, n = re.fullmatch(r"\((.*)\)\^\{(\d+)\}", text).groups()  # type: ignore[union-attr]
    a, b = coefficients(inner, 1)
    product = [F(1)]
    for _ in range(int(n)):
        product = [x * b + y * a for x, y in zip([*product, F(0)], [F(0), *product], strict=True)]
    return product[1 if power == "x" else integers(power)[0]] == ev(answer)


def lattice_paths(q: str, answer: str) -> bool:
    _, _, wide, high, x, y = integers(q)

    def paths(blocked: tuple[int, int] | None) -> int:
        grid: dict[tuple[int, int], int] = {}
        for i in range(wide + 1):
            for j in range(high + 1):
                grid[i, j] = (
                    0 if (i, j) == blocked else 1 if i == j == 0 else grid.get((i - 1, j), 0) + grid.get((i, j - 1), 0)
                )
        return grid[wide, high]

    around = paths((x, y))
    return (around if "do not" in q else paths(None) - around) == ev(answer)


def balls(q: str, answer: str) -> bool:
    *counts, draws = integers(q.split(" balls are drawn")[0])
    colours = re.findall(r"\$\d+\$ (\w+)", q)[:3]

    def chance(urn: tuple[int, ...], drawn: tuple[int, ...]) -> Fraction:
        if len(drawn) == draws:
            if "same colour" in q:
                return F(len(set(drawn)) == 1)
            asked = colours.index(re.findall(r"(?:all|at least one) of them (?:are|is) (\w+)", q)[0])
            return F(asked in drawn if "at least one" in q else set(drawn) == {asked})
        return sum(
            (F(n, sum(urn)) * chance((*urn[:i], n - 1, *urn[i + 1 :]), (*drawn, i)) for i, n in enumerate(urn) if n),
            F(0),
        )

    return chance(tuple(counts), ()) == ev(answer)


def dice(q: str, answer: str) -> bool:
    _, m, _, n, bound = integers(q)
    values = [a * b if "product" in q else a + b for a in range(1, m + 1) for b in range(1, n + 1)]
    good = sum(v == bound or ("least" in q and v > bound) or ("most" in q and v < bound) for v in values)
    return F(good, m * n) == ev(answer)


CHECKS: dict[str, Callable[[str, str], bool]] = {
    check.__name__: check
    for check in (
        linear_equation, rational, quadratic, vieta, cubic, nonlinear_system, absolute_value, radical, exponential,
        logarithmic, expand, factor, division, remainder_theorem, evaluate, function_values, composition, inverse,
        vertex, radical_sum, log_value, complex_power, distance_surd, arithmetic_sequence, geometric_sequence,
        geometric_series, recursion, congruence, two_congruences, inverse_modulo, multiples, letters, committee,
        binomial_coefficient, lattice_paths, balls, dice,
    )
} | {
    "system_of_two": system, "system_of_three": system, "linear_inequality": inequality,
    "quadratic_inequality": inequality, "radical_product": radical_pair, "rationalise": radical_pair,
    "complex_product": complex_pair, "complex_division": complex_pair,
}  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_the_answers_prove_right(level: str, share: float) -> None:
    """The answers of many problems stand up to a check that reads nothing but the question."""
    for split, count in (("train", 3300), ("test", 830)):
        env: Any = AlgebraEnv(level=level, split=split)
        for index in range(int(share * count)):
            row = env.rows[index]
            assert CHECKS[row["kind"]](row["problem"], row["answer"]), row


def test_every_kind_has_a_check() -> None:
    """There is a check for every generator, and none for anything else."""
    assert {maker.__name__ for makers in KINDS.values() for maker in makers} == set(CHECKS)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("latex", "value"),
    [("2x^{2} - 3x + 1", 15), ("\\frac{x}{2}(x - 3)", F(-1) * -F(7, 2) * F(2)), ("-x", 2), ("(x + 1)(x - 2)", 4)],
)
def test_formulas_are_read(latex: str, value: Any) -> None:
    """The test's own reader of formulas is right, at x = -2."""
    assert ev(latex, x=F(-2)) == {"2x^{2} - 3x + 1": 15, "\\frac{x}{2}(x - 3)": 5, "-x": 2}.get(latex, value)
