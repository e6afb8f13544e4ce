"""Every answer again, by evaluating the question's text."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import pytest

from gem_envs_math import ArithmeticEnv

COUNT = 2_500
PAIR = re.compile(r"\\frac\{([^{}]*)\}\{([^{}]*)\}")


def evaluate(latex: str) -> Fraction:
    """The value of an expression, with Python's own grammar and exact numbers."""
    text = latex.replace("\\left", "").replace("\\right", "")
    text = re.sub(r"\^\{(\d+)\}", r"**\1", text)
    while PAIR.search(text):
        text = PAIR.sub(r"((\1)/(\2))", text)
    text = text.replace("\\times", "*").replace("\\div", "/").replace("−", "-")
    text = re.sub(r"(\d+)!", r"factorial(\1)", text)
    text = re.sub(r"(?<![\w.*])(\d+(?:\.\d+)?)(?![\w.(])", r"F('\1')", text)
    text = re.sub(r"\*\*F\('(\d+)'\)", r"**\1", text)
    value = eval(text, {"__builtins__": {}}, {"F": Fraction, "factorial": lambda n: Fraction(math.factorial(int(n)))})
    return Fraction(value)


def value_of(answer: str) -> Fraction:
    match = re.fullmatch(r"(-?)\\frac\{(\d+)\}\{(\d+)\}", answer)
    return Fraction(answer) if match is None else Fraction(int(match[1] + match[2]), int(match[3]))


def solve(question: str) -> Fraction:
    """The answer, from nothing but the question."""
    numbers = [int(n) for n in re.findall(r"\d+", question)]
    if "remainder when" in question and "^" in question:
        base, exponent, modulus = numbers
        power = 1
        for _ in range(exponent):
            power = power * base % modulus
        return Fraction(power)
    if "remain" in question:
        dividend, divisor = numbers
        while dividend >= divisor:
            dividend -= divisor * max(1, dividend // divisor // 2)
        return Fraction(dividend)
    if "common divisor" in question:
        return Fraction(max(d for d in range(1, min(numbers) + 1) if all(n % d == 0 for n in numbers)))
    if "common multiple" in question:
        multiple = max(numbers)
        step = multiple
        while any(multiple % n for n in numbers):
            multiple += step
        return Fraction(multiple)
    if "percentage" in question:
        return Fraction(100 * numbers[1], numbers[0])
    if "\\%" in question:
        return Fraction(numbers[0] * numbers[1], 100)
    if "zeros" in question:
        return Fraction(sum(_fives(n) for n in range(5, numbers[0] + 1, 5)))
    if "divisors" in question:
        n = numbers[0]
        small = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
        found = {*small, *(n // d for d in small)}
        return Fraction(len(found) if "How many" in question else sum(found))
    if "in base" in question:
        return Fraction(int(str(numbers[0]), numbers[1]) + numbers[3])
    match = re.search(r"\$(.*)\$", question)
    assert match is not None
    return evaluate(match[1])


def _fives(n: int) -> int:
    count = 0
    while n % 5 == 0:
        n, count = n // 5, count + 1
    return count


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_a_second_solver_finds_the_same_answers(level: str, split: str, share: float) -> None:
    """The answers of many problems agree with an evaluation of their text."""
    rows: Any = ArithmeticEnv(level=level, split=split).rows
    for index in range(int(share * COUNT)):
        row = rows[index]
        assert value_of(row["answer"]) == solve(row["problem"]), row


@pytest.mark.parametrize("value", ["3", "-\\frac{3}{4}", "0.125", "-12", "\\frac{7}{2}"])
def test_answers_are_read_as_they_are_written(value: str) -> None:
    """The test's own reader of answers is right."""
    assert value_of(value) == {"3": 3, "-\\frac{3}{4}": Fraction(-3, 4), "0.125": Fraction(1, 8), "-12": -12}.get(
        value, Fraction(7, 2)
    )
