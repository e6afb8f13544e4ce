"""Sums and products up to a letter, such as a geometric sum, compared at whole numbers of that letter."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["agree_at_whole_numbers"]

_COUNTS = (2, 3, 4, 5, 7, 10)
"""Whole numbers at which a letter in a bound is set; none makes a sum from 0 or 1 to ``n - 1`` empty."""
_DIGITS = 40


def agree_at_whole_numbers(one: Any, two: Any) -> bool | None:
    """Return whether two expressions of SymPy agree wherever the letters of their bounds are whole numbers.

    The other letters get fractions. None if neither has a finite sum or product up to a letter, or if one has no value.
    """
    import sympy

    indexed = {*one.atoms(sympy.Sum, sympy.Product), *two.atoms(sympy.Sum, sympy.Product)}
    bounds = [bound for series in indexed for _, *ends in series.limits for bound in ends]
    counted = set().union(*(bound.free_symbols for bound in bounds))
    if not counted or any(bound.is_infinite for bound in bounds):
        return None
    others = sorted((one.free_symbols | two.free_symbols) - counted, key=str)
    chance = random.Random(0)
    for count in _COUNTS:
        values = {letter: sympy.Integer(count + place) for place, letter in enumerate(sorted(counted, key=str))}
        values |= {letter: sympy.Rational(chance.randint(3, 997), 199) for letter in others}
        exact = [value.subs(values).doit() for value in (one, two)]
        if all(value.is_Rational for value in exact):
            if exact[0] != exact[1]:
                return False
            continue
        a, b = (sympy.N(value, _DIGITS) for value in exact)
        if not all(value.is_number and value.is_finite for value in (a, b)):
            return None
        if abs(a - b) > sympy.Float(10) ** -(_DIGITS // 2) * max(1, abs(a)):
            return False
    return True
