"""Values of formulas as floats, for ends of intervals, decimals and tolerances; never for equality."""

from __future__ import annotations

import math
from collections.abc import Callable

from gem_envs_math.grader.algebra import Node
from gem_envs_math.grader.values import Approximation, Assignment, Formula, Infinity, Unordered, Value

__all__ = ["close", "float_of", "rounds", "value_of"]

_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "arcsin": math.asin, "arccos": math.acos,
    "arctan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "ln": math.log,
    "log10": math.log10, "abs": abs, "floor": math.floor, "ceil": math.ceil,
    "factorial": lambda value: math.gamma(value + 1), "cot": lambda value: 1 / math.tan(value),
    "sec": lambda value: 1 / math.cos(value), "csc": lambda value: 1 / math.sin(value),
}  # fmt: skip
_CONSTANTS = {"pi": math.pi, "e": math.e, "°": math.pi / 180}


def close(one: float, two: float, tolerance: float) -> bool:
    """Return whether two numbers differ by at most a share of the second one."""
    return abs(one - two) <= tolerance * abs(two)


def rounds(number: float, rounded: float, written: str) -> bool:
    """Return whether a number rounds to another one, at the decimals with which that is written; False without any."""
    decimals = len(written.partition(".")[2])
    return decimals > 0 and abs(number - rounded) <= 0.5 * 10.0**-decimals * (1 + 1e-9)


def value_of(value: Value) -> float | None:
    """Return the number of a value as a float; None if it is not a real number of that size."""
    if isinstance(value, Infinity):
        return value.sign * math.inf
    if isinstance(value, Assignment):
        return value_of(value.value)
    if isinstance(value, Approximation):
        return value_of(value.exact)
    if isinstance(value, Unordered) and value.kind == "equal":
        return value_of(value.items[-1])
    return float_of(value.node) if isinstance(value, Formula) else None


def float_of(node: Node) -> float | None:
    """Return the number of a formula as a float, or None."""
    try:
        number = _float(node)
    except (ArithmeticError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return number if math.isfinite(number) else None


def _float(node: Node) -> float:
    kind = node[0]
    if kind == "n":
        return float(node[1])
    if kind == "v":
        return _CONSTANTS[node[1]]
    if kind == "neg":
        return -_float(node[1])
    if kind == "f":
        if node[1] == "log":
            return math.log(_float(node[3])) / math.log(_float(node[2]))
        if node[1] == "binom":
            return float(math.comb(int(_float(node[2])) if _float(node[2]) < 1000 else -1, int(_float(node[3]))))
        return float(_FUNCTIONS[node[1]](_float(node[2])))
    # Long sums and products are nested on the left; a loop avoids deep recursion.
    operations = []
    while node[0] in ("+", "*", "/", "^"):
        operations.append((node[0], node[2]))
        node = node[1]
    value = _float(node)
    for operation, right in reversed(operations):
        other = _float(right)
        if operation == "+":
            value += other
        elif operation == "*":
            value *= other
        elif operation == "/":
            value /= other
        else:
            power = value**other if value >= 0 or other == int(other) else _odd_root(value, right)
            value = float(power)
    return value


def _odd_root(base: float, exponent: Node) -> float:
    if exponent[0] == "/" and exponent[1][0] == exponent[2][0] == "n" and exponent[2][1] % 2 == 1:
        return float(-((-base) ** float(exponent[1][1] / exponent[2][1])) * (1 if exponent[1][1] % 2 else -1))
    raise ValueError("not a real number")
