"""Comparison of two values: the same answer, different answers, or undecided."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from gem_envs_math.grader.algebra import Node, Quotient, proportional, quotient, same
from gem_envs_math.grader.values import (
    Assignment,
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
    UnreadLatex,
    Value,
)

__all__ = ["Judge", "equal"]

Judge = Callable[[Node, Node], bool | None]
"""Compares two formulas that algebra cannot decide; returns None if it cannot decide either."""


def equal(one: Value, two: Value, judge: Judge | None = None) -> bool | None:
    """Return whether two values are the same answer; the order of the two makes no difference.

    Raises:
        ZeroDivisionError: if one of them divides by zero.
        TooMuchError: beyond the limits.
    """
    if isinstance(one, TextAnswer) or isinstance(two, TextAnswer):
        return one == two
    if isinstance(one, UnreadLatex) or isinstance(two, UnreadLatex):
        return True if one == two else None
    for first, second in ((one, two), (two, one)):
        if isinstance(first, Unordered) and first.kind == "equal":
            return _all(equal(item, second, judge) for item in first.items)
    if isinstance(one, Assignment) or isinstance(two, Assignment):
        return _assigned(one, two, judge)
    if isinstance(one, Formula) and isinstance(two, Formula):
        return _formulas(one, two, judge)
    if isinstance(one, (Interval, Relational)) and isinstance(two, (Interval, Relational)):
        return _inequalities(one, two, judge)
    for first, second in ((one, two), (two, one)):
        if isinstance(first, NamedSet):
            return _is_special(second, first.name)
    if isinstance(one, Unordered) or isinstance(two, Unordered):
        return _severals(one, two, judge)
    if isinstance(one, (Interval, Sequence)) and isinstance(two, (Interval, Sequence)):
        return _ordered(one, two, judge)
    if isinstance(one, Infinity) and isinstance(two, Infinity):
        return one == two
    if isinstance(one, Matrix) or isinstance(two, Matrix):
        return _matrices(one, two, judge)
    if isinstance(one, Ratio) and isinstance(two, Ratio):
        return _in_order(one.parts, two.parts, judge)
    return False


def _formulas(one: Formula, two: Formula, judge: Judge | None) -> bool | None:
    first, second = one.node, two.node
    if one.unit is not None and two.unit is not None and one.unit != two.unit:
        if one.unit[1] != two.unit[1]:
            return False
        first = ("*", first, ("n", one.unit[0]))
        second = ("*", second, ("n", two.unit[0]))
        a, b = quotient(first), quotient(second)
    else:
        a, b = one.quotient, two.quotient
    told = same(a, b)
    if told is None and judge is not None:
        return judge(first, second)
    if told is False and (one.unit is None) != (two.unit is None):
        return _letter_is_unit(one, a, two, b)
    return told


def _letter_is_unit(one: Formula, a: Quotient, two: Formula, b: Quotient) -> bool:
    """Return whether "5m" means the same as "5 m"."""
    unit, bare, value = (one.unit, b, a) if one.unit is not None else (two.unit, a, b)
    assert unit is not None
    if unit[0] != 1 or len(unit[1]) != 1 or unit[1][0][1] != 1:
        return False
    with_letter = {((unit[1][0][0], Fraction(1)),): number} if (number := value.number) else None
    return with_letter == bare.above and bare.below == {(): Fraction(1)}


def _relations(one: Relational, two: Relational) -> bool | None:
    if one.kind != two.kind:
        return False
    a, b = quotient(one.difference), quotient(two.difference)
    if one.kind in ("=", "ne"):
        return proportional(a, b)
    told = proportional(a, b)
    if not told or not a.above:
        return told
    key = next(iter(a.above))
    return (a.above[key] > 0) == (b.above[key] > 0)


def _inequalities(one: Interval | Relational, two: Interval | Relational, judge: Judge | None) -> bool | None:
    if isinstance(one, Interval) and isinstance(two, Interval) and one.variable == two.variable:
        return _ordered(one, two, judge)
    first, second = _as_relation(one), _as_relation(two)
    return False if first is None or second is None else _relations(first, second)


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


def _assigned(one: Value, two: Value, judge: Judge | None) -> bool | None:
    if isinstance(one, Assignment) and isinstance(two, Assignment):
        if one.name == two.name or not one.name or not two.name:
            told = equal(one.value, two.value, judge)
            if told is not False or (one.name == two.name and not _mentions(one) and not _mentions(two)):
                return told
        if one.difference is None or two.difference is None:
            return False
        return proportional(quotient(one.difference), quotient(two.difference))
    assignment, other = (one, two) if isinstance(one, Assignment) else (two, one)
    assert isinstance(assignment, Assignment)
    if isinstance(other, Relational):
        if assignment.difference is None or other.kind != "=":
            return False
        return proportional(quotient(assignment.difference), quotient(other.difference))
    if isinstance(other, Interval):
        return equal(assignment.value, other, judge) if other.variable == assignment.name else False
    return equal(assignment.value, other, judge)


def _mentions(assignment: Assignment) -> bool:
    """Return whether the right side has variables, so that the equation can be solved for another one."""
    return assignment.difference is not None and len(quotient(assignment.difference).variables()) > 1


def _severals(one: Value, two: Value, judge: Judge | None) -> bool | None:
    kinds = {value.kind for value in (one, two) if isinstance(value, Unordered)}
    if kinds == {"set", "union"}:
        return False
    first = one.items if isinstance(one, Unordered) else (one,)
    second = two.items if isinstance(two, Unordered) else (two,)
    if kinds == {"set"} or kinds == {"union"}:
        first, second = _distinct(first, judge), _distinct(second, judge)
    if len(first) != len(second):
        return False
    left = list(second)
    unsure = False
    for item in first:
        told = [equal(item, candidate, judge) for candidate in left]
        if True in told:
            left.pop(told.index(True))
        elif None in told:
            unsure = True
        else:
            return False
    return None if unsure else True


def _distinct(items: tuple[Value, ...], judge: Judge | None) -> tuple[Value, ...]:
    kept: list[Value] = []
    for item in items:
        if not any(equal(item, other, judge) for other in kept):
            kept.append(item)
    return tuple(kept)


def _ordered(one: Interval | Sequence, two: Interval | Sequence, judge: Judge | None) -> bool | None:
    first, second = _as_sequence(one), _as_sequence(two)
    if len(first.items) == 2 and (first.opening, first.closing) != (second.opening, second.closing):
        return False
    return _in_order(first.items, second.items, judge)


def _as_sequence(value: Interval | Sequence) -> Sequence:
    if isinstance(value, Sequence):
        return value
    opening, closing = "[" if value.low_closed else "(", "]" if value.high_closed else ")"
    return Sequence(opening, closing, (value.low, value.high))


def _in_order(one: tuple[Value, ...], two: tuple[Value, ...], judge: Judge | None) -> bool | None:
    if len(one) != len(two):
        return False
    return _all(equal(first, second, judge) for first, second in zip(one, two, strict=True))


def _matrices(one: Value, two: Value, judge: Judge | None) -> bool | None:
    rows = []
    for value in (one, two):
        if isinstance(value, Matrix):
            rows.append(value.rows)
        elif isinstance(value, Sequence) and value.opening == "[":
            inner = [item for item in value.items if isinstance(item, Sequence) and item.opening == "["]
            if len(inner) < len(value.items):
                return False
            rows.append(tuple(item.items for item in inner))
        else:
            return False
    if len(rows[0]) != len(rows[1]):
        return False
    return _all(_in_order(first, second, judge) for first, second in zip(*rows, strict=True))


def _is_special(value: Value, name: str) -> bool:
    if isinstance(value, NamedSet):
        return value.name == name
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
