"""Greatest common divisors and least common multiples of polynomials, and what stays whole."""

from __future__ import annotations

import pytest

from gem_envs_math.grader.compare import equal
from gem_envs_math.grader.parser import parse


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("1", r"\gcd(0.4x, 8/3)"),
        ("x^2 - 1", r"\operatorname{lcm}(2x^2 - 2, 1/2)"),
        ("1 - n^2", r"-\operatorname{lcm}(\frac23, 1 - n^2)"),
        ("1", r"\gcd(\pi, 3)"),
        (r"3\pi", r"\operatorname{lcm}(\pi, 3)"),
        (r"12\pi^2", r"\operatorname{lcm}(4\pi, 6\pi^2, -2)"),
        (r"2\pi", r"\gcd(4\pi, 6\pi^2)"),
    ],
)
def test_a_divisor_of_what_is_no_whole_number_is_worked_out(answer: str, gold: str) -> None:
    """Either side may hold it."""
    assert equal(parse(answer), parse(gold)) is True
    assert equal(parse(gold), parse(answer)) is True


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("1", r"\gcd(n, k)"),
        ("1", r"\gcd(x, 6)"),
        ("1", r"\gcd(x/2, 3)"),
        ("1", r"\gcd(0.5x, 1.5y)"),
        ("1", r"\gcd(0.5x, y, 1/3)"),
        ("x", r"\operatorname{lcm}(1/2, x, 2x)"),
        ("xy", r"\operatorname{lcm}(x, y)"),
        ("1", r"\gcd(1/x, 1/2)"),
        ("1", r"\gcd(0x, 1/2)"),
        ("2", r"\gcd(2\sqrt{x}, 4x)"),
        ("1", r"\gcd(\pi/2, 3)"),
        ("1", r"\gcd(\pi + 1, 3)"),
        (r"\pi", r"\gcd(\pi, 3)"),
        (r"12\pi", r"\operatorname{lcm}(4\pi, 6\pi^2)"),
        (r"24\pi^2", r"\operatorname{lcm}(4\pi, 6\pi^2)"),
        ("1", r"\gcd(\sqrt2, 1/2)"),
        ("1", r"\gcd(e, 1/2)"),
    ],
)
def test_what_may_be_whole_numbers_is_no_polynomial(answer: str, gold: str) -> None:
    """A divisor that depends on the numbers for which letters stand is no constant."""
    assert equal(parse(answer), parse(gold)) is not True
    assert equal(parse(gold), parse(answer)) is not True
