r"""Greatest common divisors and least common multiples of arguments that cannot all be whole numbers.

Without a word on its domain, ``\gcd(n, 6)`` depends on the whole number for which ``n`` stands, and so does
``\gcd(x/2, 3)``; they stay what they are. Two kinds are those of polynomials instead (Knuth, The Art of Computer
Programming, volume 2, section 4.6.1):

* One argument is a fraction, and others have a letter: ``\gcd(2x/5, 8/3)``. Over the rational numbers every number
  divides all polynomials, so the divisor is 1, and a multiple has the leading coefficient 1.
* All are whole multiples of powers of pi: ``\operatorname{lcm}(\pi, 3)``. As pi is transcendental, they are
  polynomials in it over the integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm

from gem_envs_math.grader.sums import ONE, Sum

__all__ = ["of_polynomials"]


def of_polynomials(name: str, sums: Sequence[Sum]) -> Sum | None:
    """Return the ``gcd`` or ``lcm`` of sums; None where it depends on whole numbers, or has several letters."""
    powers = [power for value in sums for mono in value for power in mono]
    atoms = {atom for atom, _ in powers}
    if len(atoms) != 1 or not all(sums) or any(exponent < 0 or exponent.denominator > 1 for _, exponent in powers):
        return None
    (atom,) = atoms
    if atom == "pi":
        return _of_multiples(name, sums)
    if len(atom) > 1 or atom in "ei" or not any(_is_fraction(value) for value in sums):
        return None
    if name == "gcd":
        return {ONE: Fraction(1)}
    polynomials = [value for value in sums if value.keys() != {ONE}]
    if len(polynomials) > 1:
        return None
    leading = max(polynomials[0].items(), key=lambda term: term[0][0][1] if term[0] else 0)[1]
    return {mono: coefficient / leading for mono, coefficient in polynomials[0].items()}


def _is_fraction(value: Sum) -> bool:
    return value.keys() == {ONE} and value[ONE].denominator > 1


def _of_multiples(name: str, sums: Sequence[Sum]) -> Sum | None:
    """Return the gcd or lcm of whole multiples of powers of pi; None where one is a sum, or has a fraction."""
    terms = [term for value in sums for term in value.items()]
    if len(terms) > len(sums) or any(coefficient.denominator > 1 for _, coefficient in terms):
        return None
    numbers = [coefficient.numerator for _, coefficient in terms]
    exponents = [mono[0][1] if mono else Fraction(0) for mono, _ in terms]
    exponent = min(exponents) if name == "gcd" else max(exponents)
    return {(("pi", exponent),) if exponent else ONE: Fraction(gcd(*numbers) if name == "gcd" else lcm(*numbers))}
