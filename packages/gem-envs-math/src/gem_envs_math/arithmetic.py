r"""Arithmetic: ``math:Arithmetic-v0``.

Integers, fractions, decimals, powers, remainders, divisors, percentages and nested expressions. The
answer is a number, and a box that repeats the expression is not an answer.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

from gem_envs_math.generated import GeneratedEnv
from gem_envs_math.latex import decimal, number
from gem_envs_math.problem import MathProblem, Rejected

__all__ = ["ArithmeticEnv"]

_ASK = ("Compute {}.", "What is {}?", "Find the value of {}.", "Evaluate {}.", "Work out {}.")
_LARGEST = 10**12
_DIGITS = 6
"""Maximum denominator of a fraction in an expression."""

Value = tuple[str, Fraction, int]
"""A piece of an expression: its LaTeX, its value, and how tightly its outermost operator binds."""
_SUM, _PRODUCT, _ATOM = 0, 1, 2


def _asked(rng: random.Random, kind: str, expression: str, answer: str) -> MathProblem:
    return MathProblem(kind, rng.choice(_ASK).format(f"${expression}$"), answer)


def sums(rng: random.Random) -> MathProblem:
    """Return a problem on three to five integers, added and subtracted."""
    values = [rng.randint(2, 500) for _ in range(rng.randint(3, 5))]
    text, total = str(values[0]), values[0]
    for value in values[1:]:
        sign = rng.choice((1, -1))
        text += f" {'+' if sign > 0 else '-'} {value}"
        total += sign * value
    return _asked(rng, "sums", text, str(total))


def products(rng: random.Random) -> MathProblem:
    """Return a problem on a product of two factors, plus or minus a number."""
    a, b, c = rng.randint(3, 99), rng.randint(3, 40), rng.randint(2, 400)
    sign = rng.choice((1, -1))
    product = f"{a} \\times {b}"
    if rng.random() < 0.5:
        return _asked(rng, "products", f"{product} {'+' if sign > 0 else '-'} {c}", str(a * b + sign * c))
    return _asked(rng, "products", f"{c} {'+' if sign > 0 else '-'} {product}", str(c + sign * a * b))


def brackets(rng: random.Random) -> MathProblem:
    """Return a problem on a product of two sums."""
    a, b, c, d = (rng.randint(2, 60) for _ in range(4))
    first, second = rng.choice((1, -1)), rng.choice((1, -1))
    text = f"({a} {'+' if first > 0 else '-'} {b}) \\times ({c} {'+' if second > 0 else '-'} {d})"
    return _asked(rng, "brackets", text, str((a + first * b) * (c + second * d)))


def quotients(rng: random.Random) -> MathProblem:
    """Return a problem on a division without remainder, plus or minus a number."""
    divisor, quotient, other = rng.randint(2, 60), rng.randint(3, 90), rng.randint(2, 400)
    text = f"{divisor * quotient} \\div {divisor}"
    if rng.random() < 0.5:
        return _asked(rng, "quotients", f"{text} + {other}", str(quotient + other))
    return _asked(rng, "quotients", f"{other} - {text}", str(other - quotient))


def _fraction(rng: random.Random, largest: int) -> Fraction:
    while True:
        value = Fraction(rng.randint(1, 2 * largest), rng.randint(2, largest))
        if value.denominator > 1:
            return value


def fractions(rng: random.Random) -> MathProblem:
    """Return a problem on two or three fractions."""
    values = [_fraction(rng, 24) for _ in range(rng.randint(2, 3))]
    text, total = number(values[0]), values[0]
    for value in values[1:]:
        sign = rng.choice((1, -1))
        text += f" {'+' if sign > 0 else '-'} {number(value)}"
        total += sign * value
    if rng.random() < 0.4:
        factor = _fraction(rng, 12)
        text, total = f"{number(factor)} \\times \\left({text}\\right)", total * factor
    return _asked(rng, "fractions", text, number(total))


def decimals(rng: random.Random) -> MathProblem:
    """Return a problem on decimal numbers, added, subtracted and multiplied."""
    a, b, c = (Fraction(rng.randint(11, 9999), 10 ** rng.randint(1, 3)) for _ in range(3))
    sign = rng.choice((1, -1))
    operator = "+" if sign > 0 else "-"
    if rng.random() < 0.5:
        return _asked(
            rng, "decimals", f"{decimal(a)} {operator} {decimal(b)} + {decimal(c)}", decimal(a + sign * b + c)
        )
    b = Fraction(rng.randint(2, 99), 10)
    return _asked(
        rng, "decimals", f"{decimal(a)} \\times {decimal(b)} {operator} {decimal(c)}", decimal(a * b + sign * c)
    )


def percentages(rng: random.Random) -> MathProblem:
    """Return a problem on a percentage of a number, or the percentage that one number is of another."""
    percent = rng.choice([p for p in range(3, 200) if p != 100])
    base = rng.randint(4, 900) * 5
    part = Fraction(percent * base, 100)
    if rng.random() < 0.5:
        return MathProblem("percentages", f"What is ${percent}\\%$ of ${base}$?", decimal(part))
    if part.denominator != 1:
        raise Rejected
    return MathProblem("percentages", f"What percentage of ${base}$ is ${part}$? Give the number only.", str(percent))


def remainders(rng: random.Random) -> MathProblem:
    """Return a problem on a remainder of a division."""
    divisor = rng.randint(6, 97)
    dividend = rng.randint(300, 99_999)
    ask = rng.choice(
        (
            "What is the remainder when ${}$ is divided by ${}$?",
            "When ${}$ is divided by ${}$, what remains?",
            "Find the remainder of the division of ${}$ by ${}$.",
        )
    )
    return MathProblem("remainders", ask.format(dividend, divisor), str(dividend % divisor))


def divisors(rng: random.Random) -> MathProblem:
    """Return a problem on the greatest common divisor or the least common multiple of two or three numbers."""
    common = rng.randint(2, 36)
    values = rng.sample(range(2, 60), rng.randint(2, 3))
    numbers = [common * value for value in values]
    listed = ", ".join(f"${value}$" for value in numbers[:-1]) + f" and ${numbers[-1]}$"
    if rng.random() < 0.5:
        return MathProblem("divisors", f"What is the greatest common divisor of {listed}?", str(math.gcd(*numbers)))
    return MathProblem("divisors", f"What is the least common multiple of {listed}?", str(math.lcm(*numbers)))


def powers(rng: random.Random) -> MathProblem:
    """Return a problem on squares and cubes in an expression."""
    (a, b), (m, n) = (rng.randint(2, 40), rng.randint(2, 15)), (rng.choice((2, 2, 3)), rng.choice((2, 3)))
    c = rng.randint(2, 300)
    sign, other = rng.choice((1, -1)), rng.choice((1, -1))
    text = f"{a}^{{{m}}} {'+' if sign > 0 else '-'} {b}^{{{n}}} {'+' if other > 0 else '-'} {c}"
    return _asked(rng, "powers", text, str(a**m + sign * b**n + other * c))


def _tree(rng: random.Random, operators: int, leaf: int) -> Value:
    """Return a random expression.

    Raises:
        Rejected: if it divides by zero or a value grows out of bounds.
    """
    if operators == 0:
        value = Fraction(rng.randint(2, leaf))
        if rng.random() < 0.15:
            value = -value
        return number(value), value, _ATOM
    left_share = rng.randint(0, operators - 1)
    left, a, left_binds = _tree(rng, left_share, leaf)
    right, b, right_binds = _tree(rng, operators - 1 - left_share, leaf)
    operator = rng.choices("+-*/f^", (5, 5, 5, 2, 2, 1))[0]
    if operator in "+-":
        text = f"{left} {operator} {_guard(right, b, right_binds, _PRODUCT)}"
        return _bounded(text, a + b if operator == "+" else a - b, _SUM)
    if operator == "*":
        text = f"{_guard(left, a, left_binds, _PRODUCT)} \\times {_guard(right, b, right_binds, _ATOM)}"
        return _bounded(text, a * b, _PRODUCT)
    if operator == "^":
        exponent = rng.choice((2, 2, 3))
        return _bounded(
            f"{_guard(left, a, min(left_binds, _PRODUCT) if a < 0 else left_binds, _ATOM)}^{{{exponent}}}",
            a**exponent,
            _PRODUCT,
        )
    if b == 0:
        raise Rejected
    if operator == "/":
        text = f"{_guard(left, a, left_binds, _PRODUCT)} \\div {_guard(right, b, right_binds, _ATOM)}"
        return _bounded(text, a / b, _PRODUCT)
    return _bounded(f"\\frac{{{left}}}{{{right}}}", a / b, _PRODUCT)


def _guard(text: str, value: Fraction, binds: int, needed: int) -> str:
    return text if binds >= needed and not text.startswith("-") else f"\\left({text}\\right)"


def _bounded(text: str, value: Fraction, binds: int) -> Value:
    if abs(value.numerator) > _LARGEST or value.denominator > 10**_DIGITS:
        raise Rejected
    return text, value, binds


def nested(rng: random.Random) -> MathProblem:
    """Return a problem on an expression with three to five operators."""
    text, value, _ = _tree(rng, rng.randint(3, 5), 12)
    return _asked(rng, "nested", text, number(value))


def deeply_nested(rng: random.Random) -> MathProblem:
    """Return a problem on an expression with six to ten operators."""
    text, value, _ = _tree(rng, rng.randint(6, 10), 15)
    if value in (0, 1) or value.denominator > 5000:
        raise Rejected
    return _asked(rng, "deeply_nested", text, number(value))


def large_products(rng: random.Random) -> MathProblem:
    """Return a problem on products of numbers of three to five digits."""
    a, b, c = rng.randint(101, 99_999), rng.randint(101, 9_999), rng.randint(1_000, 999_999)
    sign = rng.choice((1, -1))
    text = f"{a} \\times {b} {'+' if sign > 0 else '-'} {c}"
    return _asked(rng, "large_products", text, str(a * b + sign * c))


def modular_powers(rng: random.Random) -> MathProblem:
    """Return a problem on the remainder of a power too large to write out."""
    base, exponent = rng.randint(2, 99), rng.randint(15, 999)
    modulus = rng.randint(7, 999)
    question = f"What is the remainder when ${base}^{{{exponent}}}$ is divided by ${modulus}$?"
    return MathProblem("modular_powers", question, str(pow(base, exponent, modulus)))


def factorials(rng: random.Random) -> MathProblem:
    """Return a problem on quotients of factorials, and trailing zeros."""
    if rng.random() < 0.2:
        n = rng.randint(20, 90_000)
        zeros, power = 0, 5
        while power <= n:
            zeros, power = zeros + n // power, power * 5
        return MathProblem("factorials", f"How many zeros does ${n}!$ end with in decimal notation?", str(zeros))
    n = rng.randint(5, 60)
    k = rng.randint(2, min(4, n - 2))
    c = rng.randint(2, 900)
    value = math.perm(n, k)
    sign = rng.choice((1, -1))
    return _asked(
        rng, "factorials", f"\\frac{{{n}!}}{{{n - k}!}} {'+' if sign > 0 else '-'} {c}", str(value + sign * c)
    )


def divisor_counts(rng: random.Random) -> MathProblem:
    """Return a problem on the number of divisors of a number, or on their sum."""
    small, large = (
        rng.sample((2, 3, 5, 7), 2),
        rng.sample((11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97), 2),
    )
    primes = [*small, *large[: rng.randint(1, 2)]]
    exponents = [rng.randint(1, 4 if prime < 6 else 2) for prime in small] + [1] * (len(primes) - 2)
    n = math.prod(prime**exponent for prime, exponent in zip(primes, exponents, strict=True))
    if not 100 < n < 10**8:
        raise Rejected
    if rng.random() < 0.5:
        count = math.prod(exponent + 1 for exponent in exponents)
        return MathProblem("divisor_counts", f"How many positive divisors does ${n}$ have?", str(count))
    total = math.prod((p ** (e + 1) - 1) // (p - 1) for p, e in zip(primes, exponents, strict=True))
    return MathProblem("divisor_counts", f"What is the sum of the positive divisors of ${n}$?", str(total))


def bases(rng: random.Random) -> MathProblem:
    """Return a problem on the value of a number in another base."""
    base = rng.choice((2, 3, 4, 5, 6, 7, 8, 9))
    value = rng.randint(200, 99_999)
    digits, rest = "", value
    while rest:
        digits, rest = str(rest % base) + digits, rest // base
    c = rng.randint(2, 99)
    question = (
        f"The number ${digits}_{{{base}}}$ is written in base ${base}$. Add "
        f"${c}$ to it and give the result in base $10$."
    )
    return MathProblem("bases", question, str(value + c))


KINDS = {
    "easy": (sums, products, brackets, quotients),
    "medium": (fractions, decimals, percentages, remainders, divisors, powers, nested),
    "hard": (
        deeply_nested,
        deeply_nested,
        large_products,
        modular_powers,
        factorials,
        divisor_counts,
        bases,
        fractions,
    ),
}


class ArithmeticEnv(GeneratedEnv):
    """Arithmetic problems; the arguments are those of :class:`gem_envs_math.generated.GeneratedEnv`."""

    name = "Arithmetic"
    kinds = KINDS
