"""Arithmetic of sums: each term is a rational number times powers of atoms with rational exponents."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from gem_envs_math.grader.limits import DIGITS, TERMS, TooMuchError

__all__ = [
    "BITS",
    "ONE",
    "Monomial",
    "Sum",
    "check_size",
    "normal",
    "plus",
    "prime_factors",
    "scaled",
    "sum_key",
    "times",
]

Monomial = tuple[tuple[str, Fraction], ...]
"""Atoms with their exponents, sorted. Primes are written as ``#2``."""

Sum = dict[Monomial, Fraction]
"""Monomial → its coefficient, which is not zero."""

ONE: Monomial = ()
BITS = int(DIGITS * 3.33)
_SMALL_PRIMES = [p for p in range(2, 1000) if all(p % q for q in range(2, isqrt(p) + 1))]


def plus(one: Sum, two: Sum, sign: int = 1) -> Sum:
    """Return the sum of two sums, the second one with a sign.

    Raises:
        TooMuchError: beyond the limit of terms.
    """
    total = dict(one)
    for mono, coefficient in two.items():
        value = total.get(mono, 0) + sign * coefficient
        if value:
            total[mono] = value
        else:
            total.pop(mono, None)
    if len(total) > TERMS:
        raise TooMuchError("too many terms")
    return total


def times(one: Sum, two: Sum) -> Sum:
    """Return the product of two sums.

    Raises:
        TooMuchError: beyond the limit of terms.
    """
    if len(one) * len(two) > 20 * TERMS:
        raise TooMuchError("too many terms")
    if len(two) == 1 and two.get(ONE) == 1:
        return one
    if len(one) == 1 and one.get(ONE) == 1:
        return two
    total: Sum = {}
    for first, a in one.items():
        for second, b in two.items():
            mono, factor = _merged(first, second)
            value = total.get(mono, 0) + a * b * factor
            if value:
                check_size(value)
                total[mono] = value
            else:
                total.pop(mono, None)
    if len(total) > TERMS:
        raise TooMuchError("too many terms")
    return total


def _merged(one: Monomial, two: Monomial) -> tuple[Monomial, Fraction]:
    if not one:
        return two, Fraction(1)
    if not two:
        return one, Fraction(1)
    powers = dict(one)
    for atom, power in two:
        powers[atom] = powers.get(atom, Fraction(0)) + power
    return normal(powers)


def normal(powers: dict[str, Fraction]) -> tuple[Monomial, Fraction]:
    """Return a product of powers as a monomial and a number: primes keep exponents in [0, 1), i in [0, 2)."""
    factor = Fraction(1)
    left: list[tuple[str, Fraction]] = []
    for atom, power in powers.items():
        if atom.startswith("#"):
            whole = power.numerator // power.denominator
            if whole:
                if abs(whole) > BITS:
                    raise TooMuchError("too large a power")
                factor *= Fraction(int(atom[1:])) ** whole
                power -= whole
        elif atom == "i" and power.denominator == 1:
            turn = power.numerator % 4
            factor *= -1 if turn >= 2 else 1
            power = Fraction(turn % 2)
        if power:
            left.append((atom, power))
    return tuple(sorted(left)), factor


def scaled(value: Sum, factor: Fraction) -> Sum:
    """Return a sum times a number that is not zero."""
    return {mono: coefficient * factor for mono, coefficient in value.items()}


def check_size(value: Fraction) -> None:
    """Raise TooMuchError for a number with too many digits."""
    if value.numerator.bit_length() > BITS or value.denominator.bit_length() > BITS:
        raise TooMuchError("too large a number")


def prime_factors(number: int) -> list[tuple[int, int, bool]]:
    """Return factors with their multiplicity, and whether each is known to be prime."""
    found: list[tuple[int, int, bool]] = []
    for prime in _SMALL_PRIMES:
        if prime * prime > number:
            break
        count = 0
        while number % prime == 0:
            number //= prime
            count += 1
        if count:
            found.append((prime, count, True))
    if number > 1:
        root = isqrt(number)
        if root * root == number and number > 1_000_000:
            found.append((root, 2, root < 1_000_000))
        else:
            found.append((number, 1, number < 1_000_000))
    return found


def sum_key(value: Sum) -> str:
    """Return a text that is the same for the same sum."""
    # Common factors are not extracted: a root of 4x+4 is a different atom from one of x+1.
    return "+".join(f"{coefficient}*{mono}" for mono, coefficient in sorted(value.items()))
