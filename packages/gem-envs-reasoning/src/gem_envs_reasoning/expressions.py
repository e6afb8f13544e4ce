"""Reading a model's text as a literal, a number or a formula, without executing it.

Each reader raises ValueError for any text outside its grammar. Sizes are bounded, so that reading is
quick; the limits of the worker process bound sympy's work on a formula.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

__all__ = ["literal", "number", "to_sympy"]

_LONGEST = 20_000
_DEEPEST = 60
_LONGEST_FORMULA = 2_000
_LARGEST_BITS = 2_000
_LARGEST_EXPONENT = 100

_FUNCTIONS = frozenset(
    [
        "exp", "log", "ln", "sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "sinh", "cosh", "tanh",
        "sqrt", "Abs",
    ]
)  # fmt: skip
_CONSTANTS = frozenset({"pi", "E"})
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def literal(text: object) -> Any:
    """Return the value of a Python literal: lists, tuples, numbers, strings."""
    return ast.literal_eval(_parsed(text, _LONGEST))


def number(text: object) -> Fraction:
    """Return the exact value of an expression of numbers, ``+ - * / **`` and parentheses."""
    value = _fold(_parsed(text, _LONGEST_FORMULA).body, _constant, _call_of_none, _power)
    assert isinstance(value, Fraction)
    return value


def to_sympy(text: object, names: set[str] | None) -> Any:
    """Return a formula as a sympy expression.

    Args:
        text: numbers, ``+ - * / **``, parentheses, the usual functions of one argument, pi, E, and variables.
        names: the variables that may occur; None: any single name.
    """
    import sympy

    def leaf(node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            if node.id in _CONSTANTS and (names is None or node.id not in names):
                return getattr(sympy, node.id)
            if len(node.id) > 20 or not node.id.isidentifier() or node.id in _FUNCTIONS:
                raise ValueError(f"no variable: {node.id[:20]}")
            return sympy.Symbol(node.id)
        value = _constant(node)
        is_decimal = isinstance(node, ast.Constant) and isinstance(node.value, float)
        return sympy.Float(node.value) if is_decimal else sympy.Rational(value.numerator, value.denominator)  # type: ignore[attr-defined]

    def call(node: ast.Call, values: list[Any]) -> Any:
        assert isinstance(node.func, ast.Name)
        return getattr(sympy, node.func.id)(*values)

    def power(base: Any, exponent: Any) -> Any:
        if exponent.is_number and not abs(exponent) <= _LARGEST_EXPONENT:
            raise ValueError("the exponent is too large")
        if base.is_number and exponent.is_number and base.is_Pow:
            raise ValueError("a tower of powers")
        return base**exponent

    return _fold(_parsed(text, _LONGEST_FORMULA).body, leaf, call, power)


def _parsed(text: object, longest: int) -> ast.Expression:
    if not isinstance(text, str) or len(text) > longest:
        raise ValueError("not an expression, or too long a one")
    depth = deepest = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth -= 1
    if deepest > _DEEPEST:
        raise ValueError("nested too deeply")
    try:
        return ast.parse(text.strip(), mode="eval")
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError("not an expression") from error


def _fold(
    node: ast.expr,
    leaf: Callable[[ast.expr], Any],
    call: Callable[[ast.Call, list[Any]], Any],
    power: Callable[[Any, Any], Any],
) -> Any:
    """Compute a tree from its leaves; it may hold only the listed nodes."""

    def value(node: ast.expr) -> Any:
        if isinstance(node, (ast.Constant, ast.Name)):
            return leaf(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
            inner = value(node.operand)
            return -inner if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp):
            left, right = value(node.left), value(node.right)
            if isinstance(node.op, ast.Pow):
                return power(left, right)
            if type(node.op) in _OPERATORS:
                return _bounded(_OPERATORS[type(node.op)](left, right))
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in _FUNCTIONS
            and len(node.args) == 1
            and not node.keywords
            and not isinstance(node.args[0], ast.Starred)
        ):
            return call(node, [value(node.args[0])])
        raise ValueError(f"no arithmetic: {type(node).__name__}")

    try:
        return value(node)
    except (RecursionError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"no value: {type(error).__name__}") from error


def _constant(node: ast.expr) -> Fraction:
    found = node.value if isinstance(node, ast.Constant) else None
    if type(found) not in (int, float):
        raise ValueError("not a number")
    checked: Fraction = _bounded(Fraction(found))  # type: ignore[arg-type]
    return checked


def _call_of_none(node: ast.Call, values: list[Any]) -> Any:
    raise ValueError("no functions here")


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1 or abs(exponent) > _LARGEST_EXPONENT:
        raise ValueError("the exponent is not a small whole number")
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if size * abs(exponent.numerator) > _LARGEST_BITS:
        raise ValueError("too large a number")
    return Fraction(base**exponent.numerator)


def _bounded(value: Any) -> Any:
    if (
        isinstance(value, Fraction)
        and max(value.numerator.bit_length(), value.denominator.bit_length()) > _LARGEST_BITS
    ):
        raise ValueError("too large a number")
    return value
