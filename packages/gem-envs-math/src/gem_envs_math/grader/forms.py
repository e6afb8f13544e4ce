"""The form in which a value is written: what it repeats, and whether it is worked out, reduced, factored, expanded."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, isqrt
from typing import Any

from gem_envs_math.grader.algebra import Node, quotient
from gem_envs_math.grader.limits import TooMuchError
from gem_envs_math.grader.values import (
    Approximation,
    Assignment,
    Formula,
    Interval,
    Matrix,
    Ratio,
    Relational,
    Sequence,
    TextAnswer,
    Unordered,
    UnreadNotation,
    Value,
    letters_of,
)

__all__ = ["factors", "form_of", "has_work_left", "is_expanded", "is_reduced", "node_form", "nodes_of", "size_of"]

_TEN = Fraction(10)
_ONE = ("n", Fraction(1))
_FAMILIES = {
    **dict.fromkeys(("ln", "log", "log10"), "logarithm"),
    **dict.fromkeys(("sin", "cos", "tan", "cot", "sec", "csc"), "circular"),
    **dict.fromkeys(("arcsin", "arccos", "arctan", "arccot", "arcsec", "arccsc"), "inverse circular"),
}
"""Functions that answers exchange for each other."""


def form_of(value: Value) -> Any:
    """Return an object that is the same for values written alike: in another order, with or without name and unit."""
    if isinstance(value, Formula):
        return node_form(value.node)
    if isinstance(value, Assignment):
        return form_of(value.value)
    if isinstance(value, Approximation):  # its decimals are what the question asks for; the rest often stands there
        return form_of(value.decimals)
    if isinstance(value, Unordered):
        if value.kind == "equal":
            return form_of(value.items[-1])
        return value.kind, tuple(sorted((form_of(item) for item in value.items), key=repr))
    if isinstance(value, Sequence):
        return value.opening, value.closing, tuple(map(form_of, value.items))
    if isinstance(value, Matrix):
        return tuple(tuple(map(form_of, row)) for row in value.rows)
    if isinstance(value, Ratio):
        return ":", tuple(map(form_of, value.parts))
    if isinstance(value, Interval):
        return "interval", form_of(value.low), form_of(value.high), value.low_closed, value.high_closed
    if isinstance(value, Relational):
        return value.kind, node_form(value.difference)
    if isinstance(value, (TextAnswer, UnreadNotation)):
        return value.text if isinstance(value, TextAnswer) else value.key
    return value


def node_form(node: Node) -> Any:
    """Return an object that is the same for formulas written alike, in any order of their terms and factors."""
    kind = node[0]
    if kind in ("n", "v"):
        return node
    if kind in ("+", "*"):
        parts = []
        while node[0] == kind:
            parts.append(node_form(node[2]))
            node = node[1]
        parts.append(node_form(node))
        neutral = ("n", Fraction(0 if kind == "+" else 1))
        parts = sorted((part for part in parts if part != neutral), key=repr)
        return (kind, *parts) if len(parts) > 1 else parts[0] if parts else neutral
    if kind == "f":
        return (kind, node[1], *map(node_form, node[2:]))
    if kind == "neg" and node[1][0] == "n":
        return "n", -node[1][1]
    if kind == "neg" and node[1][0] == "neg":
        return node_form(node[1][1])
    if kind in ("^", "/") and node[2] == _ONE:
        return node_form(node[1])
    return (kind, *map(node_form, node[1:]))


def nodes_of(node: Node) -> list[Node]:
    """Return a formula and all formulas in it."""
    found, left = [], [node]
    while left:
        node = left.pop()
        found.append(node)
        left += [part for part in node[1:] if isinstance(part, tuple)]
    return found


def size_of(node: Node) -> int:
    """Return the number of numbers, variables and operations in a formula."""
    return sum(part[0] != "neg" for part in nodes_of(node))


def has_work_left(answer: Value, gold: Value) -> bool:
    r"""Return whether an answer leaves arithmetic to do that its gold answer does not leave.

    That is a rational number written as an operation (``9 \cdot 2``, ``\frac{36}{2}``, ``\sqrt{4}``, ``5!``), but not a
    fraction, a decimal or ``3 \cdot 10^5``; or a function of a number, as ``\sin 60^\circ``, where the gold answer has
    none of its family.
    """
    work, allowed = (_work_of(value) for value in (answer, gold))
    return work[0] > allowed[0] or not work[1] <= allowed[1]


def _work_of(value: Value) -> tuple[int, frozenset[str]]:
    """Return how many operations in a value have a rational result, and the families of its functions of numbers."""
    operations, families = 0, set[str]()
    for node in _nodes_in(value):
        left = [node]
        while left:
            node = left.pop()
            if _is_literal(node):
                continue
            operations += _is_rational(node)
            if node[0] == "f" and not letters_of(node):
                families.add(_FAMILIES.get(node[1]) or str(node[1]))
            left += [part for part in node[1:] if isinstance(part, tuple)]
    return operations, frozenset(families)


def _nodes_in(value: Value) -> list[Node]:
    """Return the formulas of an answer; of a chain of equations and of an approximation, the last one."""
    if isinstance(value, Formula):
        return [value.node[1] if value.percent else value.node]
    if isinstance(value, Assignment):
        return _nodes_in(value.value)
    if isinstance(value, Approximation):
        return _nodes_in(value.decimals)
    if isinstance(value, Unordered) and value.kind == "equal":
        return _nodes_in(value.items[-1])
    if isinstance(value, (Unordered, Sequence)):
        return [node for item in value.items for node in _nodes_in(item)]
    if isinstance(value, Matrix):
        return [node for row in value.rows for cell in row for node in _nodes_in(cell)]
    if isinstance(value, Ratio):
        return [node for part in value.parts for node in _nodes_in(part)]
    return []


def _is_literal(node: Node) -> bool:
    """Return whether a formula is a variable or a number that is written as one: a decimal, a fraction, ``3·10^5``."""
    if node[0] == "neg":
        return node[1][0] != "neg" and _is_literal(node[1])
    if node[0] == "/":
        whole = _is_integer(node[1]) and _is_integer(node[2])
        return whole and _integer(node[2]) != 0 and _integer(node[1]) % _integer(node[2]) != 0
    if node[0] == "*":
        return bool(node[1][0] == "n") and node[2][0] == "^" and _is_literal(node[2])
    if node[0] == "^":
        return bool(node[1] == ("n", _TEN)) and _is_integer(node[2]) and node[2] != _ONE
    return node[0] in ("n", "v")


def _is_rational(node: Node) -> bool:
    try:
        return not letters_of(node) and quotient(node).number is not None
    except (ArithmeticError, TooMuchError):
        return True  # a number beyond all limits is not worked out


def is_reduced(node: Node) -> bool:
    """Return whether a formula has no fraction to cancel and no root to simplify."""
    for part in nodes_of(node):
        if part[0] == "/" and _is_integer(part[1]) and _is_integer(part[2]):
            below = abs(_integer(part[2]))
            if below == 1 or gcd(_integer(part[1]), below) > 1:
                return False
        if part[0] == "^" and part[2] == ("/", ("n", Fraction(1)), ("n", Fraction(2))) and _is_integer(part[1]):
            inside = abs(_integer(part[1]))
            if inside < 10**9 and any(inside % (root * root) == 0 for root in range(2, min(isqrt(inside), 999) + 1)):
                return False
    return True


def factors(node: Node) -> int:
    """Return the number of factors with variables that a product shows, powers counted once for each."""
    if node[0] == "neg":
        return factors(node[1])
    if node[0] in ("*", "/"):
        return factors(node[1]) + factors(node[2])
    if node[0] == "^" and node[2][0] == "n" and node[2][1].denominator == 1 and 0 < node[2][1] < 100:
        return factors(node[1]) * int(node[2][1])
    return int(any(part[0] == "v" for part in nodes_of(node)))


def is_expanded(node: Node) -> bool:
    """Return whether no sum stands in a product or below a whole power."""
    for part in nodes_of(node):
        if part[0] == "*" and any(_is_sum(side) for side in part[1:]):
            return False
        if part[0] == "^" and _is_sum(part[1]) and part[2][0] == "n":
            return False
    return True


def _is_sum(node: Node) -> bool:
    while node[0] == "neg":
        node = node[1]
    return bool(node[0] == "+")


def _is_integer(node: Node) -> bool:
    while node[0] == "neg":
        node = node[1]
    return bool(node[0] == "n" and node[1].denominator == 1)


def _integer(node: Node) -> int:
    while node[0] == "neg":
        node = node[1]
    return int(node[1])
