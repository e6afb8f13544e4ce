"""Numbers and formulas as LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

__all__ = ["decimal", "linear", "multiple_of_pi", "number", "polynomial", "signed", "square_free", "surd", "tuple_of"]

Number = int | Fraction


def number(value: Number) -> str:
    r"""Write an integer, or a reduced fraction such as ``-\frac{3}{4}``."""
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return f"{sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def decimal(value: Number) -> str:
    """Write a number with finitely many decimals, such as ``0.125``.

    Raises:
        ValueError: if it has more than 12 decimals.
    """
    for places in range(13):
        scaled = abs(value) * 10**places
        if scaled.denominator == 1:
            digits = str(scaled.numerator).rjust(places + 1, "0")
            whole, rest = digits[: len(digits) - places], digits[len(digits) - places :]
            return ("-" if value < 0 else "") + whole + (f".{rest}" if rest else "")
    raise ValueError(f"{value} has no short decimal form")


def signed(value: Number) -> str:
    """Write a number, in parentheses if it is negative, so that it can follow an operator."""
    return f"({number(value)})" if value < 0 else number(value)


def polynomial(coefficients: Sequence[Number], variable: str = "x") -> str:
    """Write a polynomial, its coefficients given from the highest power down: ``2x^2 - x + 5``."""
    degree = len(coefficients) - 1
    text = ""
    for index, coefficient in enumerate(coefficients):
        power = degree - index
        if coefficient == 0:
            continue
        size = -coefficient if coefficient < 0 else coefficient
        factor = "" if size == 1 and power else number(size)
        term = factor + ("" if power == 0 else variable if power == 1 else f"{variable}^{{{power}}}")
        if text:
            text += (" - " if coefficient < 0 else " + ") + term
        else:
            text = ("-" if coefficient < 0 else "") + term
    return text or "0"


def linear(terms: Sequence[tuple[Number, str]]) -> str:
    """Write a sum of multiples, such as ``3x - y + 2z``; a term without a name is a constant."""
    text = ""
    for coefficient, name in terms:
        if coefficient == 0:
            continue
        size = -coefficient if coefficient < 0 else coefficient
        term = name if size == 1 and name else number(size) + name
        if text:
            text += (" - " if coefficient < 0 else " + ") + term
        else:
            text = ("-" if coefficient < 0 else "") + term
    return text or "0"


def square_free(value: int) -> tuple[int, int]:
    """Return (a, b) with ``value = a²·b`` and b square-free; ``value`` is positive."""
    for root in range(isqrt(value), 1, -1):
        if value % (root * root) == 0:
            return root, value // (root * root)
    return 1, value


def surd(factor: Number, radicand: int) -> str:
    r"""Write ``factor·√radicand`` in its simplest form, such as ``2\sqrt{3}`` or ``\frac{\sqrt{2}}{2}``."""
    outside, inside = square_free(radicand)
    factor = factor * outside
    if inside == 1:
        return number(factor)
    sign = "-" if factor < 0 else ""
    top = abs(factor.numerator)
    root = f"\\sqrt{{{inside}}}" if top == 1 else f"{top}\\sqrt{{{inside}}}"
    return f"{sign}{root}" if factor.denominator == 1 else f"{sign}\\frac{{{root}}}{{{factor.denominator}}}"


def tuple_of(*values: Number) -> str:
    """Write an ordered pair, triple and so on."""
    return "(" + ", ".join(number(value) for value in values) + ")"


def multiple_of_pi(value: Fraction) -> str:
    r"""Write a positive multiple such as ``2\pi`` or ``\frac{\pi}{3}``."""
    if value.denominator == 1:
        return f"{value.numerator if value != 1 else ''}\\pi"
    return f"\\frac{{{value.numerator if value.numerator != 1 else ''}\\pi}}{{{value.denominator}}}"
