r"""Exact algebra on formulas: the test whether two of them are equal.

A formula becomes a quotient of two sums. A term of a sum is a rational number times powers of atoms with rational
exponents. Atoms are variables, the prime numbers (whose fractional powers are radicals), the constants pi, e and i,
and terms that this module leaves whole (``sin(x)``, ``\sqrt{x+1}``). Radicals of different primes with exponents in
[0, 1) are linearly independent over the rationals (Besicovitch 1940), so without atoms of the last kind two formulas
are the same if and only if their difference has no terms; pi and e count as independent of each other, a
conjecture without proof. With such atoms "not the same" may be wrong, and the comparison returns None.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial, gcd, lcm
from typing import Any

from gem_envs_math.grader.divisors import of_polynomials
from gem_envs_math.grader.limits import TooMuchError
from gem_envs_math.grader.sums import (
    BITS,
    ONE,
    Monomial,
    Sum,
    check_size,
    normal,
    plus,
    prime_factors,
    scaled,
    sum_key,
    times,
)

__all__ = ["Node", "Quotient", "proportional", "quotient", "same", "written"]

Node = tuple[Any, ...]
"""A formula: ``("n", Fraction)``, ``("v", name)``, ``("+", a, b)``, ``("*", a, b)``, ``("/", a, b)``, ``("^", a, b)``,
``("neg", a)``, ``("f", name, argument …)``."""

_HALF = Fraction(1, 2)
_WORK = 4_000
LARGEST_POWER = 10_000
"""Maximum exponent, and maximum argument of a factorial; the larger results stay unexpanded."""

_LARGEST_FACTORIAL = 150


class Quotient:
    """Two sums, and whether all atoms in them are independent of each other."""

    __slots__ = ("above", "below", "exact", "work")

    def __init__(self, above: Sum, below: Sum, exact: bool = True) -> None:
        if not below:
            raise ZeroDivisionError
        self.above = above
        self.below = below
        self.exact = exact
        self.work = 0
        """Number of products of terms in its computation."""

    @property
    def number(self) -> Fraction | None:
        """Its value, if that is certainly a rational number."""
        if not self.exact or len(self.above) > 1 or len(self.below) > 1 or ONE not in self.below:
            return None
        if not self.above:
            return Fraction(0)
        return self.above[ONE] / self.below[ONE] if ONE in self.above else None

    def variables(self) -> set[str]:
        """Return the names of a formula's variables, if it holds only variables and numbers."""
        return {atom for part in (self.above, self.below) for mono in part for atom, _ in mono}


def same(one: Quotient, two: Quotient) -> bool | None:
    """Return whether two formulas are equal; None if undecided.

    Raises:
        TooMuchError: if the test takes too many terms.
    """
    if one.above == two.above and one.below == two.below:
        return True
    difference = plus(times(one.above, two.below), times(two.above, one.below), -1)
    if not difference:
        return True
    return False if one.exact and two.exact else None


def proportional(one: Quotient, two: Quotient) -> bool | None:
    """Return whether one formula is a multiple of the other by a constant, up to denominators."""
    if not one.above or not two.above:
        return not one.above and not two.above
    a, b = _without_poles(one.above), _without_poles(two.above)
    first, second = _coefficients(a), _coefficients(b)
    if first.keys() == second.keys():
        key = min(first)
        if not plus(times(a, second[key]), times(b, first[key]), -1):
            return True
    return False if one.exact and two.exact else None


def _is_constant(atom: str) -> bool:
    return atom[0] == "#" or atom in ("pi", "e", "i") or _is_log_of_prime(atom)


def _is_log_of_prime(atom: str) -> bool:
    """Return whether an atom is ``ln2``, ``ln3`` …; ``ln`` before a space is that of a formula."""
    return atom.startswith("ln") and atom[2:].isdigit()


def _without_poles(value: Sum) -> Sum:
    """Return a sum times the powers of variables below which no denominators are left."""
    powers = [{atom: power for atom, power in mono if not _is_constant(atom)} for mono in value]
    atoms = {atom for found in powers for atom in found}
    least = {atom: min(Fraction(0), *(found.get(atom, Fraction(0)) for found in powers)) for atom in atoms}
    inverse = tuple(sorted((atom, -power) for atom, power in least.items() if power))
    return times(value, {inverse: Fraction(1)}) if inverse else value


def _coefficients(value: Sum) -> dict[Monomial, Sum]:
    """Return the constant coefficient of each product of variables."""
    found: dict[Monomial, Sum] = {}
    for mono, coefficient in value.items():
        letters = tuple(part for part in mono if not _is_constant(part[0]))
        constants = tuple(part for part in mono if _is_constant(part[0]))
        found.setdefault(letters, {})[constants] = coefficient
    return found


def quotient(node: Node) -> Quotient:
    """Return the normal form of a formula.

    Raises:
        ZeroDivisionError: if it divides by zero.
        TooMuchError: if it has too many terms or too large numbers.
    """
    kind = node[0]
    if kind == "n":
        return _constant(node[1])
    if kind == "v":
        return _atom(node[1])
    if kind == "neg":
        inner = quotient(node[1])
        return Quotient(scaled(inner.above, Fraction(-1)), inner.below, inner.exact)
    if kind == "f":
        return _function(node[1], [quotient(argument) for argument in node[2:]])
    if kind == "^":
        return _power(quotient(node[1]), quotient(node[2]))
    # Long sums and products are nested on the left; a loop avoids deep recursion.
    operations = []
    while node[0] in ("+", "*", "/"):
        operations.append((node[0], node[2]))
        node = node[1]
    value = quotient(node)
    for operation, right in reversed(operations):
        value = _combined(operation, value, quotient(right))
    return value


def _combined(operation: str, one: Quotient, two: Quotient) -> Quotient:
    work = one.work + two.work + (len(one.above) + len(one.below)) * (len(two.above) + len(two.below))
    if work > _WORK:
        raise TooMuchError("too many terms")
    exact = one.exact and two.exact
    if operation == "*":
        value = _simplified(times(one.above, two.above), times(one.below, two.below), exact)
    elif operation == "/":
        if not two.above:
            raise ZeroDivisionError
        value = _simplified(times(one.above, two.below), times(one.below, two.above), exact)
    elif one.below == two.below:
        value = Quotient(plus(one.above, two.above), one.below, exact)
    else:
        above = plus(times(one.above, two.below), times(two.above, one.below))
        value = Quotient(above, times(one.below, two.below), exact)
    value.work = work
    return value


def written(value: Quotient) -> str:
    """Return a text that is the same for equal normal forms."""
    return f"{sum_key(value.above)}/{sum_key(value.below)}"


def _constant(value: Fraction | int) -> Quotient:
    value = Fraction(value)
    check_size(value)
    return Quotient({ONE: value} if value else {}, {ONE: Fraction(1)})


def _atom(name: str, power: Fraction | int = 1, exact: bool = True) -> Quotient:
    return Quotient({((name, Fraction(power)),): Fraction(1)}, {ONE: Fraction(1)}, exact)


def _simplified(above: Sum, below: Sum, exact: bool) -> Quotient:
    """Divide by the denominator if it has a single term."""
    if len(below) != 1:
        return Quotient(above, below, exact)
    ((mono, coefficient),) = below.items()
    if not mono:
        return Quotient(above if coefficient == 1 else scaled(above, 1 / coefficient), {ONE: Fraction(1)}, exact)
    inverse, factor = normal({atom: -power for atom, power in mono})
    return Quotient(times(above, {inverse: factor / coefficient}), {ONE: Fraction(1)}, exact)


def _power(base: Quotient, exponent: Quotient) -> Quotient:
    power = exponent.number
    if power is None:
        return _exponential(base, exponent)
    if power == 0:
        if not base.above:
            raise ZeroDivisionError  # 0^0 is not an answer
        return _constant(1)
    if power < 0:
        if not base.above:
            raise ZeroDivisionError
        if power.denominator > 1:  # the root first: (-4)^(-1/2) is 1/(2i), and no root of -1/4
            return _combined("/", _constant(1), _power(base, _constant(-power)))
        return _power(_simplified(base.below, base.above, base.exact), _constant(-power))
    if not base.above:
        return base
    if len(base.above) == 1 and len(base.below) == 1:
        return _power_of_term(base, power)
    if power.denominator == 1 and power <= 24:
        result = base
        for _ in range(power.numerator - 1):
            result = _combined("*", result, base)
        return result
    if power > LARGEST_POWER:
        raise TooMuchError("too large a power")
    if power.denominator == 1:  # too many terms to multiply out
        return _atom(f"root {written(base)}", power, exact=False)
    whole = power.numerator // power.denominator
    root = _atom(f"root {written(base)}", power - whole, exact=False)
    if not whole:
        return root
    rest = _power(base, _constant(whole))
    return Quotient(times(rest.above, root.above), rest.below, exact=False)


def _power_of_term(base: Quotient, power: Fraction) -> Quotient:
    value = _simplified(base.above, base.below, base.exact)
    ((mono, coefficient),) = value.above.items()
    if power > LARGEST_POWER or power.denominator > 100:
        raise TooMuchError("too large a power")
    size = max(coefficient.numerator.bit_length(), coefficient.denominator.bit_length())
    if (size * power > BITS and abs(coefficient) != 1) or any(exponent * power > LARGEST_POWER for _, exponent in mono):
        if power > LARGEST_POWER:
            raise TooMuchError("too large a power")
        return _atom(f"root {written(value)}", power, exact=False)
    exact = base.exact
    powers = {atom: exponent * power for atom, exponent in mono}
    if power.denominator == 1:
        factor = coefficient**power.numerator
    else:
        if "i" in powers:
            return _atom(f"root {written(value)}", power, exact=False)
        factor = Fraction(1)
        if coefficient < 0:
            coefficient = -coefficient
            if power.denominator % 2:  # the real root
                factor = Fraction(-1 if power.numerator % 2 else 1)
            elif power.denominator == 2:
                powers["i"] = Fraction(power.numerator)
            else:
                return _atom(f"root {written(value)}", power, exact=False)
        for number, sign in ((coefficient.numerator, 1), (coefficient.denominator, -1)):
            for prime, count, known in prime_factors(number):
                name = f"#{prime}"
                powers[name] = powers.get(name, Fraction(0)) + sign * count * power
                exact = exact and known
    mono, more = normal(powers)
    return Quotient({mono: factor * more}, {ONE: Fraction(1)}, exact)


def _exponential(base: Quotient, exponent: Quotient) -> Quotient:
    """Return a power whose exponent is not a rational number: ``2^{x+1}`` is 2 times an atom for ``2^x``."""
    number = base.number
    if number == 1:
        return base
    roots: list[tuple[str, int]]
    if number is not None and number > 1 and number.denominator == 1:
        factors = prime_factors(number.numerator)
        roots = [(f"#{prime}", count) for prime, count, _ in factors]
        exact = exponent.exact and all(known for _, _, known in factors)
    elif base.above == {(("e", Fraction(1)),): Fraction(1)} and base.below == {ONE: Fraction(1)}:
        roots, exact = [("e", 1)], exponent.exact
    else:
        return _atom(f"power {written(base)} {written(exponent)}", 1, exact=False)
    scale = exponent.below.get(ONE)
    if scale is None or len(exponent.below) > 1:
        return _atom(f"power {written(base)} {written(exponent)}", 1, exact=False)
    powers: dict[str, Fraction] = {}
    sign = Quotient({ONE: Fraction(1)}, {ONE: Fraction(1)})
    for mono, coefficient in exponent.above.items():
        for root, count in roots:
            share = coefficient / scale * count
            if not mono:
                powers[root] = powers.get(root, Fraction(0)) + share
            elif root == "e" and mono == (("i", Fraction(1)), ("pi", Fraction(1))):
                turn = _root_of_unity(share)
                if turn is None:
                    return _atom(f"power {written(base)} {written(exponent)}", 1, exact=False)
                sign = turn
            elif root == "e" and len(mono) == 1 and _is_log_of_prime(mono[0][0]) and mono[0][1] == 1:
                prime = f"#{mono[0][0][2:]}"
                powers[prime] = powers.get(prime, Fraction(0)) + share
            else:
                exact = exact and not any(" " in atom or atom == "i" or atom.startswith("ln") for atom, _ in mono)
                powers[f"exp {root} {mono}"] = share
    mono, factor = normal(powers)
    return Quotient(times({mono: factor}, sign.above), {ONE: Fraction(1)}, exact and sign.exact)


def _root_of_unity(turn: Fraction) -> Quotient | None:
    """Return the number e^(i pi turn) for multiples of a half, a third, a quarter and a sixth."""
    turn %= 2
    r3, r2 = (("#3", _HALF),), (("#2", _HALF),)
    cosines: dict[Fraction, tuple[Monomial, Fraction]] = {
        Fraction(0): (ONE, Fraction(1)), Fraction(1, 6): (r3, _HALF), Fraction(1, 4): (r2, _HALF),
        Fraction(1, 3): (ONE, _HALF), _HALF: (ONE, Fraction(0)),
    }  # fmt: skip

    def cosine(angle: Fraction) -> tuple[Monomial, Fraction] | None:
        angle %= 2
        angle = min(angle, 2 - angle)
        if angle > _HALF:
            found = cosines.get(1 - angle)
            return None if found is None else (found[0], -found[1])
        return cosines.get(angle)

    real, imaginary = cosine(turn), cosine(turn - _HALF)
    if real is None or imaginary is None:
        return None
    total: Sum = {real[0]: real[1]} if real[1] else {}
    if imaginary[1]:
        total[tuple(sorted((*imaginary[0], ("i", Fraction(1)))))] = imaginary[1]
    return Quotient(total, {ONE: Fraction(1)})


def _function(name: str, arguments: list[Quotient]) -> Quotient:
    numbers = [argument.number for argument in arguments]
    if name == "factorial" and numbers[0] is not None and numbers[0].denominator == 1 and numbers[0] >= 0:
        if numbers[0] > LARGEST_POWER:
            raise TooMuchError("too large a factorial")
        if numbers[0] > _LARGEST_FACTORIAL:
            return _atom(f"factorial {numbers[0]}", 1, exact=False)
        return _constant(factorial(numbers[0].numerator))
    if name == "binom" and None not in numbers:
        above, below = numbers
        assert above is not None
        assert below is not None
        if above.denominator == below.denominator == 1 and above >= 0 and below >= 0:
            if above > BITS:
                raise TooMuchError("too large a binomial coefficient")
            return _constant(comb(above.numerator, below.numerator))
    if name in ("gcd", "lcm", "max", "min") and None not in numbers:
        return _constant(_of_several(name, [number for number in numbers if number is not None]))
    if name in ("gcd", "lcm") and all(argument.exact and argument.below == {ONE: 1} for argument in arguments):
        found = of_polynomials(name, [argument.above for argument in arguments])
        if found is not None:
            return Quotient(found, {ONE: Fraction(1)})
    if name in ("floor", "ceil", "abs", "sign") and numbers[0] is not None:
        value = numbers[0]
        if name == "sign":
            return _constant((value > 0) - (value < 0))
        return _constant(abs(value) if name == "abs" else value.__floor__() if name == "floor" else value.__ceil__())
    if name in ("ln", "log10") and not arguments[0].above:
        raise ZeroDivisionError  # no value, as 1/0
    if name == "ln":
        logarithm = _logarithm(arguments[0])
        if logarithm is not None:
            return logarithm
    if name == "log":
        above_, below_ = _function("ln", [arguments[1]]), _function("ln", [arguments[0]])
        if not below_.above:
            raise ZeroDivisionError
        return _simplified(
            times(above_.above, below_.below), times(above_.below, below_.above), above_.exact and below_.exact
        )
    return _atom(f"{name} {' '.join(map(written, arguments))}", 1, exact=False)


def _of_several(name: str, numbers: list[Fraction]) -> Fraction:
    """Return the greatest common divisor or the least common multiple, of fractions too; the maximum or minimum."""
    if name in ("max", "min"):
        return max(numbers) if name == "max" else min(numbers)
    unit = lcm(*(number.denominator for number in numbers))
    whole = [int(number * unit) for number in numbers]
    return Fraction(gcd(*whole) if name == "gcd" else lcm(*whole), unit)


def _logarithm(argument: Quotient) -> Quotient | None:
    """Return the natural logarithm of a positive number made of primes and e: a sum over logarithms of primes."""
    if len(argument.above) != 1 or len(argument.below) != 1 or not argument.exact:
        return None
    value = _simplified(argument.above, argument.below, True)
    ((mono, coefficient),) = value.above.items()
    if coefficient <= 0 or any(atom != "e" and not atom.startswith("#") for atom, _ in mono):
        return None
    total: Sum = {}
    for number, sign in ((coefficient.numerator, 1), (coefficient.denominator, -1)):
        for prime, count, known in prime_factors(number):
            if not known:
                return None
            total[((f"ln{prime}", Fraction(1)),)] = Fraction(sign * count)
    for atom, power in mono:
        term: Sum = {ONE: power} if atom == "e" else {((f"ln{atom[1:]}", Fraction(1)),): power}
        total = plus(total, term)
    return Quotient(total, {ONE: Fraction(1)})
