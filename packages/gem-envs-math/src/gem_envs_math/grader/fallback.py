"""The comparisons that exact algebra leaves open, in a worker process: values to sixty digits, then math-verify.

Only workers of :mod:`gem.processes` call this module's functions, which may take any time and memory.
"""

from __future__ import annotations

import logging
import random
import sys
from typing import Any

from gem_envs_math.grader.algebra import Node
from gem_envs_math.grader.compare import equal
from gem_envs_math.grader.parser import parse
from gem_envs_math.grader.scan import cleaned
from gem_envs_math.grader.values import Formula, Unordered, UnreadLatex, Value

__all__ = ["decide", "warm_up"]

_DIGITS = 60
_POINTS = 3


def warm_up() -> None:
    """Load the libraries, and use each once."""
    sys.setrecursionlimit(20_000)  # a crash by recursion ends only the worker
    logging.disable(logging.CRITICAL)
    decide("\\sin x", "\\cos x")
    decide("\\int_0^1 x dx", "\\frac12")
    decide("\\lim_{x\\to 0} x", "\\sum_{k=1}^2 k")


def decide(answer: str, gold: str) -> list[Any]:
    """Return whether two texts are the same answer, and the deciding method: ``"numeric"`` or ``"math-verify"``."""
    one, two = parse(answer), parse(gold)
    told = equal(one, two, _judge)
    if told is not None:
        return [told, "numeric"]
    if not _fit(one, two):
        return [False, "math-verify"]
    return [_verified(cleaned(gold), cleaned(answer)), "math-verify"]


def _fit(one: Value, two: Value) -> bool:
    """Return whether math-verify may decide; it accepts ``{1,2}`` for ``(1,2)``, for example."""
    for first, second in ((one, two), (two, one)):
        if isinstance(first, UnreadLatex):
            if not isinstance(second, (UnreadLatex, Formula, Unordered)):
                return False
            if isinstance(second, Formula) and second.unit is not None:
                return False
            if "%" in first.text:
                return False
    return type(one) is type(two) or isinstance(one, UnreadLatex) or isinstance(two, UnreadLatex)


def _judge(one: Node, two: Node) -> bool | None:
    """Compare two formulas by their values at a few points."""
    import mpmath  # type: ignore[import-untyped]

    names = sorted(_variables(one) | _variables(two))
    with mpmath.workdps(_DIGITS):
        close, far = mpmath.mpf(10) ** (-45), mpmath.mpf(10) ** (-25)
        for point in range(_POINTS if names else 1):
            chance = random.Random(point)
            values = {name: mpmath.mpf(chance.randint(3, 997)) / 499 for name in names}
            try:
                a, b = _value(one, values), _value(two, values)
                difference, size = abs(a - b), max(abs(a), abs(b), 1)
                if difference > far * size:
                    return False
                if not difference <= close * size:  # also where it is nan
                    return None
            except (ArithmeticError, ValueError, TypeError, NotImplementedError):
                return None
    return True


def _variables(node: Node) -> set[str]:
    if node[0] == "n":
        return set()
    if node[0] == "v":
        return set() if node[1] in ("pi", "e", "i", "°") else {node[1]}
    return {name for part in node[1:] if isinstance(part, tuple) for name in _variables(part)}


def _value(node: Node, values: dict[str, Any]) -> Any:
    import mpmath

    kind = node[0]
    if kind == "n":
        return mpmath.mpf(node[1].numerator) / node[1].denominator
    if kind == "v":
        constants = {"pi": mpmath.pi, "e": mpmath.e, "i": mpmath.j, "°": mpmath.pi / 180}
        return +constants[node[1]] if node[1] in constants else values[node[1]]
    if kind == "neg":
        return -_value(node[1], values)
    if kind == "f":
        return _function(node[1], [_value(part, values) for part in node[2:]])
    one, two = _value(node[1], values), _value(node[2], values)
    if kind == "+":
        return one + two
    if kind == "*":
        return one * two
    if kind == "/":
        return one / two
    return _power(one, two, node[2])


def _power(base: Any, exponent: Any, written: Node) -> Any:
    import mpmath

    if abs(exponent) > 10**6:
        raise ValueError("too large a power")
    if mpmath.im(base) == 0 and mpmath.re(base) < 0 and written[0] == "/" and written[2][0] == "n":
        degree = written[2][1]
        if written[1][0] == "n" and degree.denominator == 1 and degree.numerator % 2 and written[1][1].denominator == 1:
            root = -mpmath.root(-base, degree.numerator)  # the real root of a negative number
            return root ** int(written[1][1])
    return base**exponent


def _function(name: str, arguments: list[Any]) -> Any:
    import mpmath

    simple = {
        "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "cot": mpmath.cot, "sec": mpmath.sec,
        "csc": mpmath.csc, "arcsin": mpmath.asin, "arccos": mpmath.acos, "arctan": mpmath.atan, "sinh": mpmath.sinh,
        "cosh": mpmath.cosh,
        "tanh": mpmath.tanh, "ln": mpmath.ln, "log10": mpmath.log10, "abs": abs, "floor": mpmath.floor,
        "ceil": mpmath.ceil, "factorial": mpmath.factorial,
    }  # fmt: skip
    if name in simple:
        return simple[name](*arguments)
    if name == "log":
        return mpmath.ln(arguments[1]) / mpmath.ln(arguments[0])
    if name == "binom":
        return mpmath.binomial(*arguments)
    if name in ("max", "min"):
        return max(arguments) if name == "max" else min(arguments)
    import math

    whole = [int(argument) for argument in arguments]
    if name in ("gcd", "lcm") and whole == arguments:
        return mpmath.mpf(math.gcd(*whole) if name == "gcd" else math.lcm(*whole))
    raise NotImplementedError(name)


def _verified(gold: str, answer: str) -> bool:
    """Ask math-verify in either order, without its own time limits, which are signals."""
    from math_verify import parse, verify

    one, two = (parse(f"${text}$", parsing_timeout=None) for text in (gold, answer))
    if not one or not two or not _comparable(one[0], two[0]):
        return False
    return any(verify(a, b, timeout_seconds=None) for a, b in ((one, two), (two, one)))


def _comparable(one: Any, two: Any) -> bool:
    """Return whether two readings by math-verify have one kind and the same variables."""
    import sympy

    kinds = []
    for value in (one, two):
        if isinstance(value, str):
            kinds.append("text")
        elif isinstance(value, sympy.Interval):
            kinds.append("interval")
        elif isinstance(value, sympy.Set):
            kinds.append("set")
        elif isinstance(value, sympy.Tuple):
            kinds.append("tuple")
        else:
            kinds.append("value")
    if kinds[0] != kinds[1]:
        return False
    symbols = [{str(symbol) for symbol in getattr(value, "free_symbols", ())} for value in (one, two)]
    equations = [isinstance(value, sympy.Eq) for value in (one, two)]
    return symbols[0] == symbols[1] or equations[0] != equations[1]
