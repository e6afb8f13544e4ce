"""Comparison of two values: the same answer, different answers, or undecided."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from gem_envs_math.grader.algebra import Node, Quotient, proportional, quotient, same
from gem_envs_math.grader.finite_sets import worked_out_set
from gem_envs_math.grader.numbers import close, value_of
from gem_envs_math.grader.parameters import by_other_names, renamed, without_domains
from gem_envs_math.grader.real_sets import is_real_set, same_set
from gem_envs_math.grader.units import uncertain
from gem_envs_math.grader.values import (
    Approximation,
    Assignment,
    Congruence,
    Dots,
    Formula,
    Infinity,
    Interval,
    Matrix,
    NamedSet,
    Ratio,
    Relational,
    Sequence,
    TextAnswer,
    Unordered,
    UnreadNotation,
    Value,
    is_condition,
)

__all__ = ["STRICT", "Judge", "Rules", "equal"]

Judge = Callable[[Node, Node], bool | None]
"""Compares two formulas that algebra cannot decide; returns None if it cannot decide either."""


@dataclass(frozen=True)
class Rules:
    """What decides beyond the two values.

    Args:
        judge: decides what algebra leaves open of the equality of two formulas.
        ratio: decides whether one formula is a constant multiple of another.
        percent: "20" and "20%" may be one answer, because gold or question speak of percent.
        nouns: words of the question, in the singular, which may stand behind a number as units.
        tolerance: greatest relative difference of two numbers that are the same answer.
        error: greatest absolute difference.
    """

    judge: Judge | None = None
    ratio: Judge | None = None
    percent: bool = True
    nouns: frozenset[str] = frozenset()
    tolerance: float = 0.0
    error: float = 0.0


STRICT = Rules()

_FUNCTION = re.compile(r"(\w+)\(([A-Za-z])\)")
_SAME_VERDICTS = ({"yes", "true"}, {"no", "false"})


def equal(one: Value, two: Value, rules: Rules = STRICT) -> bool | None:
    """Return whether an answer (the first value) and a gold answer are the same; None if undecided.

    Raises:
        ZeroDivisionError: if one of them divides by zero.
        TooMuchError: beyond the limits.
    """
    if one == two:
        return True
    if isinstance(one, UnreadNotation) or isinstance(two, UnreadNotation):
        same_key = isinstance(one, UnreadNotation) and isinstance(two, UnreadNotation) and one.key == two.key
        return True if same_key else None
    if isinstance(one, TextAnswer) or isinstance(two, TextAnswer):
        words = [value.text if isinstance(value, TextAnswer) else "" for value in (one, two)]
        return set(words) in _SAME_VERDICTS
    if _has_dots(one) != _has_dots(two):
        return None  # which terms the dots stand for is for people to see
    for first, second in ((one, two), (two, one)):
        if isinstance(first, Unordered) and first.kind == "equal":
            return _all(equal(item, second, rules) for item in first.items)
        if isinstance(first, Approximation):
            return _approximate(first, second, rules)
    if isinstance(one, Congruence) or isinstance(two, Congruence):
        return _congruent(one, two, rules)
    if isinstance(one, Unordered) or isinstance(two, Unordered):
        sets = [worked_out_set(value, lambda a, b: equal(a, b, rules)) for value in (one, two)]
        if sets != [one, two]:
            return equal(sets[0], sets[1], rules)
        told = _with_parameters(one, two, rules)
        if told is not None:
            return told
    if isinstance(one, Assignment) or isinstance(two, Assignment):
        return _assigned(one, two, rules)
    if isinstance(one, Formula) and isinstance(two, Formula):
        return _formulas(one, two, rules)
    if is_real_set(one) or is_real_set(two):
        told = same_set(one, two, lambda a, b: equal(a, b, rules))
        if told is not None:
            return told
    if isinstance(one, (Interval, Relational)) and isinstance(two, (Interval, Relational)):
        return _inequalities(one, two, rules)
    for first, second in ((one, two), (two, one)):
        if isinstance(first, NamedSet):
            return _is_special(second, first.name)
    if isinstance(one, Unordered) or isinstance(two, Unordered):
        return _severals(one, two, rules)
    if isinstance(one, (Interval, Sequence)) and isinstance(two, (Interval, Sequence)):
        return _ordered(one, two, rules)
    if isinstance(one, Infinity) and isinstance(two, Infinity):
        return one == two
    if isinstance(one, Matrix) or isinstance(two, Matrix):
        return _matrices(one, two, rules)
    if isinstance(one, Ratio) and isinstance(two, Ratio):
        if one.half and two.half and one.half != two.half:
            return False
        return _in_order(one.parts, two.parts, rules)
    for first, second in ((one, two), (two, one)):
        if isinstance(first, Ratio) and first.half and isinstance(second, Formula):  # "10:00 am" and "10"
            return first.parts[1] == Formula(("n", Fraction(0))) and equal(first.parts[0], second, rules)
        if isinstance(first, Ratio) and isinstance(second, Formula) and len(first.parts) == 2:
            above, below = first.parts
            if isinstance(above, Formula) and isinstance(below, Formula):  # "5:8" and "5/8"
                return equal(Formula(("/", above.node, below.node)), second, rules)
    return False


def _approximate(one: Approximation, other: Value, rules: Rules) -> bool | None:
    if isinstance(other, Approximation):
        return equal(one.exact, other.exact, rules)
    told = equal(one.exact, other, rules)
    return True if told is not True and equal(one.decimals, other, rules) else told


def _congruent(one: Value, two: Value, rules: Rules) -> bool | None:
    if not isinstance(one, Congruence) or not isinstance(two, Congruence):
        return False
    if one.name != two.name and one.name and two.name:
        return False
    moduli, residues = (one.modulus, two.modulus), (one.residue, two.residue)
    if all(isinstance(value, Formula) for value in (*moduli, *residues)):
        numbers = [value.quotient.number for value in (*moduli, *residues) if isinstance(value, Formula)]
        if None not in numbers:
            m, n, a, b = (Fraction(number or 0) for number in numbers)
            return abs(m) == abs(n) and m != 0 and ((a - b) / m).denominator == 1
    return _all((equal(*moduli, rules), equal(*residues, rules)))


def _formulas(one: Formula, two: Formula, rules: Rules) -> bool | None:
    first, second = one.node, two.node
    if one.unit is not None and two.unit is not None and one.unit != two.unit:
        if one.unit[1] != two.unit[1]:
            words = [*uncertain(one.unit), *uncertain(two.unit)]
            return None if words and not rules.nouns.issuperset(words) else False
        first = ("*", first, ("n", one.unit[0]))
        second = ("*", second, ("n", two.unit[0]))
        a, b = quotient(first), quotient(second)
    else:
        if one.unit is not None and two.unit is None and not rules.nouns.issuperset(uncertain(one.unit)):
            return None  # the word behind the number may change it
        a, b = one.quotient, two.quotient
    told = same(a, b)
    if told is None and rules.judge is not None:
        told = rules.judge(first, second)
    if told is False and _is_angle(one) != _is_angle(two) and None in (one.unit, two.unit):
        turned = [
            ("*", f.node, ("/", ("v", "pi"), ("n", Fraction(180)))) if _is_angle(f) else f.node for f in (one, two)
        ]
        told = same(quotient(turned[0]), quotient(turned[1]))
    elif told is False and (one.unit is None) != (two.unit is None):
        return _letter_is_unit(one, a, two, b)
    if told is False and one.percent != two.percent and rules.percent and a.number is not None and b.number is not None:
        share, number = (a.number, b.number) if one.percent else (b.number, a.number)
        told = share * 100 == number
    if told is not True and (rules.tolerance or rules.error):
        x, y = value_of(Formula(first)), value_of(Formula(second))
        if x is not None and y is not None and (close(x, y, rules.tolerance) or abs(x - y) <= rules.error):
            return True
    return told


def _is_angle(value: Formula) -> bool:
    return value.unit is not None and value.unit[1] == (("degree", 1),)


def _letter_is_unit(one: Formula, a: Quotient, two: Formula, b: Quotient) -> bool:
    """Return whether "5m" means the same as "5 m"."""
    unit, bare, value = (one.unit, b, a) if one.unit is not None else (two.unit, a, b)
    assert unit is not None
    if unit[0] != 1 or len(unit[1]) != 1 or unit[1][0][1] != 1:
        return False
    with_letter = {((unit[1][0][0], Fraction(1)),): number} if (number := value.number) else None
    return with_letter == bare.above and bare.below == {(): Fraction(1)}


def _proportional(one: Node, two: Node, rules: Rules) -> bool | None:
    told = proportional(quotient(one), quotient(two))
    return rules.ratio(one, two) if told is None and rules.ratio is not None else told


def _relations(one: Relational, two: Relational, rules: Rules) -> bool | None:
    if one.kind != two.kind:
        return False
    told = _equations(one, two, rules)
    if one.kind in ("=", "ne"):
        return told
    a, b = quotient(one.difference), quotient(two.difference)
    if not told or not a.above:
        return told
    key = next(iter(a.above))
    return None if key not in b.above else (a.above[key] > 0) == (b.above[key] > 0)


def _inequalities(one: Interval | Relational, two: Interval | Relational, rules: Rules) -> bool | None:
    if isinstance(one, Interval) and isinstance(two, Interval) and one.variable == two.variable:
        return _ordered(one, two, rules)
    first, second = _as_relation(one), _as_relation(two)
    return False if first is None or second is None else _relations(first, second, rules)


def _as_relation(value: Interval | Relational) -> Relational | None:
    """Return ``x < y`` as an inequality of ``x - y``."""
    if isinstance(value, Relational):
        return value
    variable: Node = ("v", value.variable)
    if isinstance(value.low, Infinity) and isinstance(value.high, Formula):
        return Relational("le" if value.high_closed else "<", ("+", variable, ("neg", value.high.node)))
    if isinstance(value.high, Infinity) and isinstance(value.low, Formula):
        return Relational("le" if value.low_closed else "<", ("+", value.low.node, ("neg", variable)))
    return None


def _assigned(one: Value, two: Value, rules: Rules) -> bool | None:
    if isinstance(one, Assignment) and isinstance(two, Assignment):
        two = _of_variable(two, one.name)
        if _same_name(one.name, two.name):
            told = equal(one.value, two.value, rules)
            if told is not False or (one.name == two.name and not _mentions(one) and not _mentions(two)):
                return told
        return _equations(one, two, rules)
    assignment, other = (one, two) if isinstance(one, Assignment) else (two, one)
    assert isinstance(assignment, Assignment)
    if isinstance(other, Relational):
        return _equations(assignment, other, rules) if other.kind == "=" else False
    if isinstance(other, Unordered) and other.kind == "list" and assignment.name.startswith("("):
        if isinstance(assignment.value, Sequence) and all(isinstance(item, Formula) for item in other.items):
            return _in_order(assignment.value.items, other.items, rules)  # "(x, y) = (1, 2)" and "1, 2"
        point = _point_by_names(other, assignment)
        if point is not None:
            return equal(assignment.value, point, rules)
    if isinstance(other, Interval):
        return equal(assignment.value, other, rules) if other.variable == assignment.name else False
    return equal(assignment.value, other, rules)


def _of_variable(function: Assignment, name: str) -> Assignment:
    """Return ``f(z) = z`` as a function of the variable in a name, ``f(x)``; what is none of such a name as it is."""
    wanted, own = _FUNCTION.fullmatch(name), _FUNCTION.fullmatch(function.name)
    if wanted is None or own is None or wanted[1] != own[1] or wanted[2] == own[2]:
        return function
    if renamed(function.value, wanted[2], own[2]) != function.value:  # it has the other letter too
        return function
    return Assignment(name, renamed(function.value, own[2], wanted[2]), None)


def _same_name(one: str, two: str) -> bool:
    """Return whether two names are one, or one of them is missing, or numbers the solutions of the other: ``x_1``."""
    if one == two or not one or not two:
        return True
    longer, shorter = sorted((one, two), key=len, reverse=True)
    return shorter == longer.partition("_")[0] and longer.partition("_")[2].isdigit()


def _equations(one: Assignment | Relational, two: Assignment | Relational, rules: Rules) -> bool | None:
    """Return whether two equations have the same solutions; those that hold always or never are not the same."""
    first, second = one.difference, two.difference
    if first is None or second is None or not quotient(first).variables() or not quotient(second).variables():
        return False
    return _proportional(first, second, rules)


def _mentions(assignment: Assignment) -> bool:
    """Return whether the right side has variables, so that the equation can be solved for another one."""
    return assignment.difference is not None and len(quotient(assignment.difference).variables()) > 1


def _with_parameters(one: Value, two: Value, rules: Rules) -> bool | None:
    """Compare answers with parameters, whose names do not count and whose domains may be left out; None without any."""
    (first, domains), (second, others) = without_domains(one), without_domains(two)
    if not domains and not others:
        return None
    if domains and others:
        if sorted(domains.values()) != sorted(others.values()):
            return False
        for old, new in zip(sorted(others), sorted(domains), strict=True):
            second = renamed(second, old, new)
        return equal(first, second, rules)
    told = equal(first, second, rules)
    if told is not True and any(equal(first, other, rules) for other in by_other_names(first, second, periodic=True)):
        return True
    return told


def _has_dots(value: Value) -> bool:
    return isinstance(value, Sequence) and any(isinstance(item, Dots) for item in value.items)


def _severals(one: Value, two: Value, rules: Rules) -> bool | None:
    kinds = {value.kind for value in (one, two) if isinstance(value, Unordered)}
    if kinds == {"minus"} and isinstance(one, Unordered) and isinstance(two, Unordered):
        return True if _in_order(one.items, two.items, rules) else None
    points = _point_by_names(one, two), _point_by_names(two, one)
    if any(points):
        return equal(points[0] or one, points[1] or two, rules)
    for value, other in ((one, two), (two, one)):
        if isinstance(value, Sequence) and (value.opening, value.closing) == ("[", "]") and len(value.items) > 2:
            if kinds == {"list"} and isinstance(other, Unordered):  # a list that has left its brackets out
                return _in_order(value.items, other.items, rules)
            return False
    if kinds == {"set", "union"} or "minus" in kinds or kinds >= {"union", "cap"}:
        return False
    if kinds == {"union", "list"} and (is_condition(one) or is_condition(two)):
        return False  # "or" between inequalities is not "and"
    first = one.items if isinstance(one, Unordered) else (one,)
    second = two.items if isinstance(two, Unordered) else (two,)
    points_only = kinds == {"list"} and all(isinstance(item, Sequence) for item in (*first, *second))
    if kinds == {"set"} or kinds == {"union"} or points_only:
        first, second = _distinct(first, rules), _distinct(second, rules)
    if len(first) != len(second):
        return False
    left = list(second)
    unsure = False
    for item in first:
        told = [equal(item, candidate, rules) for candidate in left]
        if True in told:
            left.pop(told.index(True))
        elif None in told:
            unsure = True
        else:
            return False
    return None if unsure else True


def _point_by_names(value: Value, other: Value) -> Sequence | None:
    """Return ``x = 1, y = 2`` as a point beside another point: in the order of the names."""
    if not isinstance(value, Unordered) or value.kind != "list":
        return None
    found = {item.name: item.value for item in value.items if isinstance(item, Assignment)}
    if len(found) != len(value.items) or len(found) < 2:
        return None
    names = sorted(found, key=lambda name: (name.casefold(), name))
    if isinstance(other, Assignment) and other.name.startswith("(") and isinstance(other.value, Sequence):
        names = other.name[1:-1].split(",")
        if set(names) != set(found):
            return None
    elif not isinstance(other, Sequence) or other.opening not in ("(", "["):
        return None
    opening, closing = ("[", "]") if isinstance(other, Sequence) and other.closing == "]" else ("(", ")")
    return Sequence(opening, closing, tuple(found[name] for name in names))


def _distinct(items: tuple[Value, ...], rules: Rules) -> tuple[Value, ...]:
    kept: list[Value] = []
    for item in items:
        if not any(equal(item, other, rules) for other in kept):
            kept.append(item)
    return tuple(kept)


def _ordered(one: Interval | Sequence, two: Interval | Sequence, rules: Rules) -> bool | None:
    first, second = _as_sequence(one), _as_sequence(two)
    if (len(first.items) == 2 or _has_dots(first)) and (first.opening, first.closing) != (
        second.opening,
        second.closing,
    ):
        return False
    return _in_order(first.items, second.items, rules)


def _as_sequence(value: Interval | Sequence) -> Sequence:
    if isinstance(value, Sequence):
        return value
    opening, closing = "[" if value.low_closed else "(", "]" if value.high_closed else ")"
    return Sequence(opening, closing, (value.low, value.high))


def _in_order(one: tuple[Value, ...], two: tuple[Value, ...], rules: Rules) -> bool | None:
    dots = [[isinstance(item, Dots) for item in items] for items in (one, two)]
    if dots[0] != dots[1] and any(map(any, dots)):
        return None
    if len(one) != len(two):
        return False
    return _all(equal(first, second, rules) for first, second in zip(one, two, strict=True))


def _matrices(one: Value, two: Value, rules: Rules) -> bool | None:
    rows = []
    for value in (one, two):
        if isinstance(value, Matrix):
            rows.append(value.rows)
        elif isinstance(value, Sequence) and value.opening == "(":  # a vector, which a column is too
            rows.append(tuple((item,) for item in value.items))
        elif isinstance(value, Sequence) and value.opening == "[":
            inner = [item for item in value.items if isinstance(item, Sequence) and item.opening == "["]
            if len(inner) < len(value.items):
                return False
            rows.append(tuple(item.items for item in inner))
        else:
            return False
    if len(rows[0]) != len(rows[1]):
        return False
    return _all(_in_order(first, second, rules) for first, second in zip(*rows, strict=True))


def _is_special(value: Value, name: str) -> bool:
    if isinstance(value, NamedSet):
        return value.name == name
    if isinstance(value, Formula):  # "R" in plain letters
        return value.node == ("v", "R" if name == "reals" else name)
    if name == "reals":
        line = _as_sequence(value) if isinstance(value, (Sequence, Interval)) else None
        return line == Sequence("(", ")", (Infinity(-1), Infinity(1)))
    return False


def _all(told: object) -> bool | None:
    """Return False if any answer is False, else None if any is None, else True."""
    unsure = False
    for answer in told:  # type: ignore[attr-defined]
        if answer is False:
            return False
        unsure = unsure or answer is None
    return None if unsure else True
