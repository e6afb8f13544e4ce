"""The comparisons that exact algebra leaves open, in a worker process: values of sixty digits and more, math-verify.

Only workers of :mod:`gem_processes` call this module's functions, which may take any time and memory.
"""

from __future__ import annotations

import logging
import random
import re
import sys
from collections.abc import Sequence
from typing import Any

from gem_envs_math.grader.algebra import Node
from gem_envs_math.grader.compare import Rules, equal
from gem_envs_math.grader.notation import FUNCTIONS
from gem_envs_math.grader.parser import parse
from gem_envs_math.grader.scan import cleaned
from gem_envs_math.grader.series import agree_at_whole_numbers
from gem_envs_math.grader.values import Assignment, is_read, letters_of

__all__ = ["decide", "warm_up"]

_COMMAND = re.compile(r"\\([a-zA-Z]+|.)")
_KNOWN_COMMANDS = (
    FUNCTIONS
    | {"alpha", "beta", "gamma", "lambda", "mu", "omega", "phi", "pi", "theta"}
    | {
        ",",
        "!",
        ";",
        ":",
        " ",
        "binom",
        "cdot",
        "dfrac",
        "frac",
        "iint",
        "infty",
        "int",
        "lim",
        "prod",
        "sqrt",
        "sum",
        "tfrac",
        "times",
        "to",
    }
)
"""Commands of an expression; the reader behind math-verify takes others for variables, or leaves them out."""

_BARE_FUNCTION = re.compile(rf"(?<![\\A-Za-z])(?=(?:{'|'.join(sorted(FUNCTIONS))})(?![A-Za-z]))")
"""Before the name of a function without its backslash, which that reader takes for a product of letters."""

_DIGITS = 60
_MOST_DIGITS = 40_000
_CLOSE, _FAR = 15, 35
"""Of the digits of two equal values, the last that errors of rounding may change; and how many of two others differ."""
_USUAL = 40
"""Bits of the largest and of the smallest value in a formula for which sixty digits tell it from every other."""
_POINTS = 3
_STEPS = 24
_SCALES = (1, 20, 400, 8000)
"""Sizes of the numbers at which formulas with absolute values are compared: they may differ far from zero alone."""
_WHOLE = frozenset("jkmnN")


def warm_up() -> None:
    """Load the libraries, and use each once."""
    sys.setrecursionlimit(20_000)  # a crash by recursion ends only the worker
    logging.disable(logging.CRITICAL)
    decide("\\sin x", "\\cos x")
    decide("\\int_0^1 x dx", "\\frac12")
    decide("\\lim_{x\\to 0} x", "\\sum_{k=1}^2 k")


def decide(answer: str, gold: str, percent: bool = True, nouns: Sequence[str] = ()) -> list[Any]:
    """Return the verdict on two texts, None if undecided, and the deciding method: "numeric" or "math-verify"."""
    one, two = parse(answer), parse(gold)
    told = equal(one, two, Rules(_judge, _ratio, percent, frozenset(nouns)))
    if told is not None and (told or (is_read(one) and is_read(two))):
        return [told, "numeric"]
    if is_read(one) and is_read(two):
        return [None, "unreadable"]
    texts = [
        text.partition("=")[2] if isinstance(value, Assignment) else text
        for text, value in ((cleaned(gold), two), (cleaned(answer), one))
    ]
    return [_verified(*texts), "math-verify"]


def _judge(one: Node, two: Node) -> bool | None:
    """Compare two formulas by their values at a few points.

    Where a formula of variables has a logarithm without a base, which is the decimal one in school and the natural one
    in calculus and in programs, two are the same only if they are so for both.
    """
    told = _agree(one, two)
    if told and (letters_of(one) | letters_of(two)) and (_has(one, "log10") or _has(two, "log10")):
        return _agree(_natural(one), _natural(two)) or None
    return told


def _natural(node: Node) -> Node:
    """Return a formula with natural logarithms for those without a base."""
    if node[0] == "f" and node[1] == "log10":
        return ("f", "ln", *map(_natural, node[2:]))
    return tuple(_natural(part) if isinstance(part, tuple) else part for part in node)


def _agree(one: Node, two: Node) -> bool | None:
    names = sorted(letters_of(one) | letters_of(two))
    if names and (_has(one, "floor", "ceil") or _has(two, "floor", "ceil")):
        return _compared(one, two, names, "steps")[0]
    if names and (_has(one, "abs") or _has(two, "abs")):
        same, is_real = _compared(one, two, names, "signed")
        if same is False and (is_real or "z" in names):
            return False
    told: bool | None = None
    kinds = ("large", "whole", "small") if any(map(_is_whole, names)) else ("large", "small") if names else ("large",)
    for kind in kinds:
        told, is_real = _compared(one, two, names, kind)
        if told is not False or is_real:
            return told
        # Powers and logarithms have several complex values; whole numbers, where the names stand for them, or small
        # ones, may make them real.
    return told


def _compared(one: Node, two: Node, names: list[str], kind: str) -> tuple[bool | None, bool]:
    """Return whether two formulas have one value at some points, and whether their values there are real."""
    import mpmath  # type: ignore[import-untyped]

    is_real = True
    counts = {"steps": _STEPS, "signed": _POINTS * len(_SCALES)}
    for point in range(counts.get(kind, _POINTS) if names else 1):
        with mpmath.workdps(_DIGITS):
            values = _point(names, point, kind)
        try:
            (a, b), digits = _values([one, two], values)
        except (ArithmeticError, ValueError, TypeError, NotImplementedError):
            return None, is_real
        with mpmath.workdps(digits):
            difference, size = abs(a - b), max(abs(a), abs(b), 0 if a and b else 1)
            is_real = is_real and not mpmath.im(a) and not mpmath.im(b)
            if difference > mpmath.mpf(10) ** (_FAR - digits) * size:
                return False, is_real
            if not difference <= mpmath.mpf(10) ** (_CLOSE - digits) * size:  # also where it is nan
                return None, is_real
    return True, is_real


def _values(nodes: Sequence[Node], letters: dict[str, Any]) -> tuple[list[Any], int]:
    """Return the values of formulas, and the number of digits that tells these values from others.

    ``10^{600} + 1`` and ``10^{600}`` have sixty digits in common. Fractions of whole numbers up to 10^n differ in the
    first 2n digits, so there are twice as many as the largest or smallest value within the formulas has.

    Raises:
        ArithmeticError, ValueError, TypeError, NotImplementedError: if a formula has no value, or too large ones.
    """
    import mpmath

    digits = _DIGITS
    with mpmath.workdps(digits):
        evaluation = _Evaluation(letters)
        values = [evaluation.value(node) for node in nodes]
    if evaluation.bits > _USUAL:
        digits += int(2 * evaluation.bits * 0.302)
        if digits > _MOST_DIGITS:
            raise ValueError("too large a value")
        with mpmath.workdps(digits):
            values = [evaluation.value(node) for node in nodes]
    return values, digits


def _has(node: Node, *functions: str) -> bool:
    """Return whether a formula has one of some functions, with which others may agree at many points."""
    if node[0] == "f" and node[1] in functions:
        return True
    return any(_has(part, *functions) for part in node[1:] if isinstance(part, tuple))


def _is_whole(name: str) -> bool:
    """Return whether a variable stands for whole numbers, as people name them: ``n``, ``k_1``."""
    return name.partition("_")[0] in _WHOLE


def _point(names: list[str], point: int, kind: str) -> dict[str, Any]:
    import mpmath

    chance = random.Random(point)
    if kind == "steps":  # n, m, k and j are whole numbers, as people write them
        sizes = {name: chance.randint(1, 10 ** (1 + point % 4)) * 6 for name in names}
        return {name: mpmath.mpf(sizes[name]) / (6 if _is_whole(name) else 4 + point % 3) for name in names}
    size = 1009 if kind == "small" else 199
    signs = (-1, 1) if kind == "signed" else (1,)
    scale = _SCALES[point // _POINTS] if kind == "signed" else 1
    values = {name: scale * mpmath.mpf(chance.randint(3, 997) * chance.choice(signs)) / size for name in names}
    if kind == "whole":
        values |= {name: mpmath.mpf(chance.randint(2, 9)) for name in names if _is_whole(name)}
    if kind == "signed" and "z" in values:
        values["z"] *= mpmath.mpc(3, 4)  # as people name complex numbers
    return values


def _ratio(one: Node, two: Node) -> bool | None:
    """Return whether the ratio of two formulas is the same at all of a few points."""
    import mpmath

    names = sorted(letters_of(one) | letters_of(two))
    shares, digits = [], _MOST_DIGITS
    for point in range(_POINTS):
        with mpmath.workdps(_DIGITS):
            values = _point(names, point, "signed")
        try:
            (above, below), told = _values([one, two], values)
            with mpmath.workdps(told):
                shares.append(above / below)
        except (ArithmeticError, ValueError, TypeError, NotImplementedError):
            return None
        digits = min(digits, told)
    with mpmath.workdps(digits):
        spread, size = max(abs(share - shares[0]) for share in shares), abs(shares[0])
        if spread > mpmath.mpf(10) ** (_FAR - digits) * size:
            return False
        return True if size and spread <= mpmath.mpf(10) ** (_CLOSE - digits) * size else None


class _Evaluation:
    """The values of formulas for given letters, and the binary size of the largest or smallest of all within them."""

    def __init__(self, letters: dict[str, Any]) -> None:
        self.bits = 0
        self._letters = letters

    def value(self, node: Node) -> Any:
        """Return the value of a formula, to the working precision of mpmath."""
        import mpmath

        value = self._of(node)
        if value:
            self.bits = max(self.bits, abs(int(mpmath.mag(value))))
        return value

    def _of(self, node: Node) -> Any:
        import mpmath

        kind = node[0]
        if kind == "n":
            return mpmath.mpf(node[1].numerator) / node[1].denominator
        if kind == "v":
            constants = {"pi": mpmath.pi, "e": mpmath.e, "i": mpmath.j, "°": mpmath.pi / 180}
            return +constants[node[1]] if node[1] in constants else self._letters[node[1]]
        if kind == "neg":
            return -self.value(node[1])
        if kind == "f":
            arguments = [self.value(part) for part in node[2:]]
            if node[1] in ("tanh", "coth"):  # of 100 it is one to 87 digits
                self.bits = max(self.bits, int(3 * abs(arguments[0])))
            value = _function(node[1], arguments)
            if not mpmath.isfinite(value):  # at a pole, such as ln 0; no comparison with it says anything
                raise ArithmeticError(node[1])
            return value
        one, two = self.value(node[1]), self.value(node[2])
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
        "arccot": mpmath.acot, "arcsec": mpmath.asec, "arccsc": mpmath.acsc, "cosh": mpmath.cosh, "tanh": mpmath.tanh,
        "coth": mpmath.coth, "sech": mpmath.sech, "csch": mpmath.csch, "arcsinh": mpmath.asinh,
        "arccosh": mpmath.acosh, "arctanh": mpmath.atanh, "arcsech": mpmath.asech, "arccsch": mpmath.acsch,
        "arccoth": mpmath.acoth, "ln": mpmath.ln, "log10": mpmath.log10, "abs": abs, "floor": mpmath.floor,
        "ceil": mpmath.ceil, "sign": mpmath.sign, "factorial": mpmath.factorial,
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


def _verified(gold: str, answer: str) -> bool | None:
    """Ask math-verify about two formulas, without its own time limits, which are signals; None if it is no judge.

    Its parser takes a number out of a text that it cannot read, and its comparison the right side of an equation for
    the equation. So the texts go to the reader behind it, which reads to the last sign or fails, and the verdict counts
    on two expressions of the same variables.
    """
    from math_verify import verify

    one, two = _expression(gold), _expression(answer)
    if one is None or two is None or len({frozenset(map(str, value.free_symbols)) for value in (one, two)}) > 1:
        return None
    told = agree_at_whole_numbers(one, two)
    if told is not None:
        return told
    digits: dict[str, Any] = {"float_rounding": 40, "numeric_precision": _DIGITS, "timeout_seconds": None}
    if not verify(one, two, **digits):
        return False
    difference = (one - two).doit()
    return not (difference.is_Rational and difference)  # which may be smaller than its digits show


def _expression(text: str) -> Any:
    """Return the expression that a text of known commands is as a whole; None for anything else."""
    import sympy
    from latex2sympy2_extended import NormalizationConfig, latex2sympy

    if not _KNOWN_COMMANDS.issuperset(_COMMAND.findall(text)):
        return None
    settings = NormalizationConfig(malformed_operators=True, boxed="none")
    try:
        value = latex2sympy(_BARE_FUNCTION.sub(r"\\", text), is_real=True, normalization_config=settings)
    except Exception:  # the errors of its grammar have no class of their own
        return None
    return value if isinstance(value, sympy.Expr) and not isinstance(value, sympy.MatrixBase) else None
