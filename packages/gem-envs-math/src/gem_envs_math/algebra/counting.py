"""Sequences, counting, probability and modular arithmetic."""

from __future__ import annotations

import math
import random
from fractions import Fraction

from gem_envs_math.algebra.equations import nonzero
from gem_envs_math.latex import linear, number
from gem_envs_math.problem import MathProblem, Rejected

__all__ = [
    "arithmetic_sequence", "balls", "binomial_coefficient", "committee", "congruence", "dice", "geometric_sequence",
    "geometric_series", "inverse_modulo", "lattice_paths", "letters", "multiples", "recursion", "two_congruences",
]  # fmt: skip


def arithmetic_sequence(rng: random.Random) -> MathProblem:
    """Return a problem on a term, a sum or the number of terms of an arithmetic sequence."""
    first, step, n = rng.randint(-30, 40), nonzero(rng, 15), rng.randint(10, 90)
    shown = ", ".join(str(first + step * i) for i in range(3))
    last = first + step * (n - 1)
    ask = rng.choice(
        (
            (f"What is the ${n}$th term of the arithmetic sequence ${shown}, \\ldots$?", last),
            (
                f"What is the sum of the first ${n}$ terms of the arithmetic sequence ${shown}, \\ldots$?",
                (first + last) * n // 2,
            ),
            (f"How many terms does the arithmetic sequence ${shown}, \\ldots, {last}$ have?", n),
        )
    )
    return MathProblem("arithmetic_sequence", ask[0], str(ask[1]), hidden=False)


def geometric_sequence(rng: random.Random) -> MathProblem:
    """Return a problem on a term or a finite sum of a geometric sequence."""
    first, ratio, n = (
        nonzero(rng, 40),
        Fraction(rng.choice((2, 3, 4, 5, -2, -3))) / rng.choice((1, 1, 2, 3)),
        rng.randint(4, 9),
    )
    if abs(ratio) == 1:
        raise Rejected
    terms = [first * ratio**i for i in range(n)]
    shown = ", ".join(map(number, terms[:3]))
    if rng.random() < 0.5:
        return MathProblem(
            "geometric_sequence",
            f"What is the ${n}$th term of the geometric sequence ${shown}, \\ldots$?",
            number(terms[-1]),
            hidden=False,
        )
    question = f"What is the sum of the first ${n}$ terms of the geometric sequence ${shown}, \\ldots$?"
    return MathProblem("geometric_sequence", question, number(sum(terms, Fraction(0))), hidden=False)


def geometric_series(rng: random.Random) -> MathProblem:
    """Return a problem on an infinite geometric series, or on the ratio that gives it a certain sum."""
    low = rng.randint(2, 12)
    ratio, first = Fraction(nonzero(rng, low - 1), low), nonzero(rng, 60)
    total = first / (1 - ratio)
    if rng.random() < 0.5:
        shown = " + ".join(
            number(first * ratio**i) if ratio > 0 and first > 0 else f"\\left({number(first * ratio**i)}\\right)"
            for i in range(3)
        )
        return MathProblem(
            "geometric_series",
            f"Find the sum of the infinite geometric series ${shown} + \\cdots$.",
            number(total),
            hidden=False,
        )
    question = (
        f"An infinite geometric series has first term ${first}$ and sum ${number(total)}$. What is its common ratio?"
    )
    return MathProblem("geometric_series", question, number(ratio), hidden=False)


def recursion(rng: random.Random) -> MathProblem:
    """Return a problem on a term of a sequence that its earlier terms define."""
    p, q, a, b, n = nonzero(rng, 4), nonzero(rng, 4), nonzero(rng, 9), nonzero(rng, 9), rng.randint(5, 9)
    terms = [a, b]
    while len(terms) < n:
        terms.append(p * terms[-1] + q * terms[-2])
    rule = linear([(p, "a_{k-1}"), (q, "a_{k-2}")])
    question = f"A sequence has $a_1 = {a}$, $a_2 = {b}$ and $a_k = {rule}$ for $k \\ge 3$. What is $a_{{{n}}}$?"
    return MathProblem("recursion", question, str(terms[-1]), hidden=False)


def congruence(rng: random.Random) -> MathProblem:
    """Return a problem on the smallest solution of a linear congruence."""
    m = rng.randint(7, 120)
    a, x = rng.randint(2, m - 1), rng.randint(1, m - 1)
    if math.gcd(a, m) > 1:
        raise Rejected
    c = rng.randint(1, m - 1)
    rest = (a * x + c) % m
    question = f"What is the smallest non-negative integer $x$ with ${a}x + {c} \\equiv {rest} \\pmod{{{m}}}$?"
    return MathProblem("congruence", question, str(x), hidden=False)


def two_congruences(rng: random.Random) -> MathProblem:
    """Return a problem on the smallest number with two remainders."""
    m, n = rng.sample(range(5, 48), 2)
    if math.gcd(m, n) > 1:
        raise Rejected
    x = rng.randint(max(m, n), m * n - 1)
    question = (
        f"What is the smallest positive integer $n$ with $n \\equiv {x % m} "
        f"\\pmod{{{m}}}$ and $n \\equiv {x % n} \\pmod{{{n}}}$?"
    )
    return MathProblem("two_congruences", question, str(x), hidden=False)


def inverse_modulo(rng: random.Random) -> MathProblem:
    """Return a problem on an inverse of a number for a modulus."""
    m = rng.randint(11, 997)
    a = rng.randint(2, m - 1)
    if math.gcd(a, m) > 1:
        raise Rejected
    question = f"What is the integer $x$ with $0 < x < {m}$ and ${a}x \\equiv 1 \\pmod{{{m}}}$?"
    return MathProblem("inverse_modulo", question, str(pow(a, -1, m)), hidden=False)


def multiples(rng: random.Random) -> MathProblem:
    """Return a problem on the count of numbers in a range that one or either of two numbers divides."""
    low = rng.randint(1, 400)
    high = low + rng.randint(100, 4000)
    a, b = rng.sample(range(3, 24), 2)
    both = math.lcm(a, b)

    def count(n: int) -> int:
        return high // n - (low - 1) // n

    kind, answer = rng.choice(
        (
            (f"${a}$ or ${b}$", count(a) + count(b) - count(both)),
            (f"both ${a}$ and ${b}$", count(both)),
            (f"${a}$ but not by ${b}$", count(a) - count(both)),
        )
    )
    return MathProblem(
        "multiples", f"How many integers from ${low}$ to ${high}$ are divisible by {kind}?", str(answer), hidden=False
    )


_WORDS = (
    "BANANA", "BALLOON", "CANADA", "COCONUT", "COFFEE", "DECIDED", "EFFECT", "GOGGLES", "KOALA", "LETTER", "LEVEL",
    "LITTLE", "MAMMAL", "MILLION", "MINIMUM", "NONSENSE", "PAPAYA", "PEPPER", "POTATO", "PUZZLE", "RABBIT", "SALSA",
    "SEESAW", "TATTOO", "TEDDY", "TOMATO", "VIVID", "WOOLLY", "YELLOW",
)  # fmt: skip


def letters(rng: random.Random) -> MathProblem:
    """Return a problem on arrangements of letters with repetitions, perhaps under a condition."""
    if rng.random() < 0.1:
        text = rng.choice(_WORDS)
    else:
        counts = [rng.randint(1, 4) for _ in range(rng.randint(3, 5))]
        if sum(counts) > 9:
            raise Rejected
        text = "".join(
            letter * count for letter, count in zip(rng.sample("ABCDEFGHKLMNOPRSTUW", len(counts)), counts, strict=True)
        )
    total = math.factorial(len(text))
    for letter in set(text):
        total //= math.factorial(text.count(letter))
    start = rng.choice(sorted(set(text)))
    if rng.random() < 0.5:
        return MathProblem(
            "letters", f"In how many different orders can the letters of {text} be written?", str(total), hidden=False
        )
    begins = total * text.count(start) // len(text)
    question = f"How many different orders of the letters of {text} begin with {start}?"
    return MathProblem("letters", question, str(begins), hidden=False)


def committee(rng: random.Random) -> MathProblem:
    """Return a problem on a choice from two groups, with a condition."""
    a, b, size = rng.randint(3, 20), rng.randint(3, 20), rng.randint(3, 6)
    least = rng.randint(1, size - 1)
    total = sum(math.comb(a, k) * math.comb(b, size - k) for k in range(least, size + 1))
    exact = math.comb(a, least) * math.comb(b, size - least)
    question = f"From ${a}$ teachers and ${b}$ parents a committee of ${size}$ is chosen. In how many ways, if "
    if rng.random() < 0.5:
        return MathProblem(
            "committee", f"{question}at least ${least}$ of its members must be teachers?", str(total), hidden=False
        )
    return MathProblem(
        "committee", f"{question}exactly ${least}$ of its members must be teachers?", str(exact), hidden=False
    )


def binomial_coefficient(rng: random.Random) -> MathProblem:
    """Return a problem on a coefficient of a power of a sum."""
    a, b, n = rng.randint(1, 9), nonzero(rng, 9), rng.randint(4, 12)
    k = rng.randint(1, n - 1)
    value = math.comb(n, k) * a**k * b ** (n - k)
    power = "x" if k == 1 else f"x^{{{k}}}"
    question = f"What is the coefficient of ${power}$ in $({linear([(a, 'x'), (b, '')])})^{{{n}}}$?"
    return MathProblem("binomial_coefficient", question, str(value), hidden=False)


def lattice_paths(rng: random.Random) -> MathProblem:
    """Return a problem on paths on a grid, through or around a point."""
    wide, high = rng.randint(3, 14), rng.randint(3, 14)
    x, y = rng.randint(1, wide - 1), rng.randint(1, high - 1)
    through = math.comb(x + y, x) * math.comb(wide - x + high - y, wide - x)
    total = math.comb(wide + high, wide)
    question = (
        f"A path from $(0, 0)$ to $({wide}, {high})$ takes steps of one unit to the right or up. How many such paths "
    )
    if rng.random() < 0.5:
        return MathProblem("lattice_paths", f"{question}pass through $({x}, {y})$?", str(through), hidden=False)
    return MathProblem(
        "lattice_paths", f"{question}do not pass through $({x}, {y})$?", str(total - through), hidden=False
    )


def balls(rng: random.Random) -> MathProblem:
    """Return a problem on balls drawn from an urn without replacement."""
    colours = rng.sample(("red", "blue", "green", "white", "black", "yellow"), 3)
    counts = [rng.randint(2, 12) for _ in colours]
    total, a = sum(counts), counts[0]
    held = f"An urn holds ${counts[0]}$ {colours[0]}, ${counts[1]}$ {colours[1]} and ${counts[2]}$ {colours[2]} balls."
    draws = rng.randint(2, 3)
    ways = math.comb(total, draws)
    kind = rng.randrange(3)
    if kind == 0:
        ask, good = f"all of them are {colours[0]}", math.comb(a, draws)
    elif kind == 1:
        ask, good = f"at least one of them is {colours[0]}", ways - math.comb(total - a, draws)
    else:
        ask, good = "all of them have the same colour", sum(math.comb(count, draws) for count in counts)
    if good in (0, ways):
        raise Rejected
    question = f"{held} ${draws}$ balls are drawn at random without replacement. What is the probability that {ask}?"
    return MathProblem("balls", question, number(Fraction(good, ways)), hidden=False)


def dice(rng: random.Random) -> MathProblem:
    """Return a problem on two dice with any numbers of faces."""
    m, n = rng.randint(4, 24), rng.randint(4, 24)
    bound = rng.randint(4, m + n - 2)
    names = ("exactly", "at least", "at most")
    kind = rng.choice(names)
    tests = {"exactly": int.__eq__, "at least": int.__ge__, "at most": int.__le__}
    good = sum(1 for a in range(1, m + 1) for b in range(1, n + 1) if tests[kind](a + b, bound))
    even = rng.random() < 0.5
    question = (
        f"A fair die with the faces $1$ to ${m}$ and a fair die with the faces $1$ "
        f"to ${n}$ are rolled. What is the probability that "
    )
    if even:
        good = sum(1 for a in range(1, m + 1) for b in range(1, n + 1) if tests[kind](a * b, bound))
    ask = f"the {'product' if even else 'sum'} is {kind} ${bound}$?"
    if good in (0, m * n):
        raise Rejected
    return MathProblem("dice", question + ask, number(Fraction(good, m * n)), hidden=False)
