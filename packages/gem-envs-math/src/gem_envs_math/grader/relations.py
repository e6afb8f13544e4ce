"""Equations, inequalities, congruences and approximations."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from gem_envs_math.grader.algebra import Node, quotient
from gem_envs_math.grader.formula import FormulaParser
from gem_envs_math.grader.limits import NotMathError, TooMuchError, UnknownNotationError
from gem_envs_math.grader.numbers import close, rounds, value_of
from gem_envs_math.grader.scan import TEXT, Token
from gem_envs_math.grader.sums import ONE
from gem_envs_math.grader.tokens import closes, split_at
from gem_envs_math.grader.values import (
    Approximation,
    Assignment,
    Congruence,
    Formula,
    Infinity,
    Interval,
    NamedSet,
    Relational,
    Unordered,
    Value,
    letters_of,
)

__all__ = ["RELATIONS", "congruence", "name_of", "related"]

RELATIONS = frozenset({"=", "<", ">", "le", "ge", "ne", "in", "approx"})
_TURNED = {"<": ">", ">": "<", "le": "ge", "ge": "le"}
_RELATED = 6
_CUBE = 3
_NUMBER_SETS = frozenset(("v", letter) for letter in "RZNQC")
_ROUGH = 0.02
"""Relative difference up to which decimals are those of the value before them."""

_NAME = re.compile(
    r"""
    (?: m?\\(?:angle|triangle)\s* )?
    (?: \\[a-zA-Z]+ | (?:bar|hat|tilde|dot)[ ][A-Za-z]+ | [A-Z]{1,6} | [a-z]{4,12} | [^\W\d] )
    (?: _(?:\{[^{}]*\}|\w|\\[a-z]+) )?
    '*
    (?: \^\{?-1\}? )?
    (?: \( [^()=<>]* \) )?
    """,
    re.VERBOSE,
)

Read = Callable[[list[Token]], Value]


def related(parts: list[list[Token]], marks: list[str], read: Read) -> Value:
    """Return the value of formulas with relations between them."""
    if any(not part for part in parts):
        raise NotMathError("nothing beside a relation")
    if len(marks) > _RELATED:
        raise TooMuchError("too many relations")
    if marks == ["in"]:
        element, value = name_of(parts[0]) or "", read(parts[1])
        if len(element) == 1 and isinstance(value, Formula) and value.node in _NUMBER_SETS:  # "k \\in Z"
            value = NamedSet(str(value.node[1]).replace("R", "reals"))
        return Assignment(element, value, None)
    if "approx" in marks and set(marks) <= {"=", "approx"}:
        return _approximated(parts, marks, read)
    if set(marks) <= {"="}:
        return _equated(parts, read)
    if len(marks) == 1:
        return _compared(parts[0], marks[0], parts[1], read)
    if len(marks) == 2 and all(mark in _TURNED for mark in marks) and (marks[0] in "<le") == (marks[1] in "<le"):
        ends = [read(parts[0]), read(parts[2])]
        closed = [mark in ("le", "ge") for mark in marks]
        if marks[0] not in "<le":
            ends.reverse()
            closed.reverse()
        name = name_of(parts[1])
        if name is not None:
            return Interval(ends[0], ends[1], closed[0], closed[1], name)
        solved = _solved(_formula(parts[1]), (ends[0], closed[0]), (ends[1], closed[1]))
        if solved is not None:
            return solved
    raise UnknownNotationError("relations")


def name_of(tokens: list[Token]) -> str | None:
    r"""Return the name on one side of an equation (``x``, ``x_1``, ``f(x)``, ``AB``, ``(x, y)``, ``P:Q``), or None."""
    if not tokens or len(tokens) > 40:
        return None
    if len(tokens) == 1:
        return tokens[0].raw if tokens[0].kind in ("sym", "word") else None
    if all(token.value is TEXT or token.kind in "().-'" for token in tokens):
        return " ".join(token.raw for token in tokens)
    if tokens[0].kind in "([" and closes(tokens) == len(tokens) - 1:
        parts = split_at(tokens[1:-1], lambda token: token.kind in (",", ";"))[0]
        names = [name_of(part) for part in parts]
        return f"({','.join(map(str, names))})" if len(parts) > 1 and None not in names else None
    if tokens[0].kind == "|" == tokens[-1].kind:
        inner = "".join(token.raw for token in tokens[1:-1])
        return inner if inner.isalpha() and inner.isupper() else None
    ratio = split_at(tokens, lambda token: token.kind == ":")[0]
    if len(ratio) > 1:
        names = [name_of(part) for part in ratio]
        return ":".join(map(str, names)) if None not in names else None
    if tokens[0].kind not in ("sym", "word", "frac"):
        return None
    raw = "".join(token.raw for token in tokens)
    if tokens[0].kind == "frac" and re.fullmatch(r"\\[dtc]?frac\{[A-Z]+\}\{[A-Z]+\}", raw):
        return raw
    if tokens[0].kind == "{" or not _NAME.fullmatch(raw):
        return None
    return re.sub(r"[{}]", "", raw)


def congruence(tokens: list[Token], read: Read) -> Value | None:
    r"""Return the value of ``x \equiv 3 \pmod{5}`` or ``3 \pmod 5``; None if the tokens are something else."""
    place = next((n for n, token in enumerate(tokens) if token.kind == "pmod"), -1)
    if place < 0:
        for n, token in enumerate(tokens):  # "(mod 5)"
            if token.kind == "(" and n + 1 < len(tokens) and tokens[n + 1].raw in ("mod", "\\mod", "\\bmod"):
                place = n
                break
    if place < 1:
        return None
    rest = [t for t in tokens[place:] if t.kind not in ("pmod", "mod", "(", ")", "{", "}") and t.raw != "mod"]
    sides = split_at(tokens[:place], lambda token: token.kind in ("equiv", "="))[0]
    if len(sides) > 2 or not all(sides):
        raise UnknownNotationError("congruences")
    name = name_of(sides[0]) if len(sides) == 2 else ""
    if name is None:
        raise UnknownNotationError("a congruence")
    return Congruence(name, read(sides[-1]), read(rest))


def _equated(parts: list[list[Token]], read: Read) -> Value:
    name = name_of(parts[0])
    if len(parts) == 2:
        if name is None and (name := name_of(parts[1])) is not None:
            parts = parts[::-1]
        value = read(parts[1])
        left = _try_formula(parts[0])
        if name is not None:
            difference = None
            if left is not None and isinstance(value, Formula):
                difference = ("+", left, ("neg", value.node))
            return Assignment(name, value, difference)
        if left is None or not isinstance(value, Formula):
            raise UnknownNotationError("=")
        if left[0] != "n" and not letters_of(left) and not letters_of(value.node):  # "2 + 3 = 5" stands for 5
            return Unordered("equal", (Formula(left), value))
        if (
            letters_of(left) and quotient(("+", left, ("neg", value.node))).number == 0
        ):  # so does "(x + 1)^2 = x^2 + 2x + 1" for its end
            return Unordered("equal", (Formula(left), value))
        return Relational("=", ("+", left, ("neg", value.node)))
    last = read(parts[-1])
    if not isinstance(last, Formula):
        raise UnknownNotationError("=")
    # "x = 6/2 = 3" stands for its end if the numbers on the way agree.
    steps = [Formula(node) for part in parts[1 if name else 0 : -1] if not letters_of(node := _formula(part))]
    value = Unordered("equal", (*steps, last)) if steps else last
    return value if name is None else Assignment(name, value, None)


def _approximated(parts: list[list[Token]], marks: list[str], read: Read) -> Value:
    place = marks.index("approx")
    decimals = read(parts[place + 1])
    name = name_of(parts[0]) if place == 0 and parts[0][0].value not in ("pi", "e") else None
    if len(parts) > place + 2:
        raise UnknownNotationError("approximations")
    if name is not None:
        if value_of(decimals) is None:
            raise UnknownNotationError("approximately something that is no number")
        return Assignment(name, decimals, None)
    exact = related(parts[: place + 1], marks[:place], read) if place else read(parts[0])
    one, two = value_of(exact), value_of(decimals)
    if one is None or two is None or not (close(one, two, _ROUGH) or rounds(one, two, parts[place + 1][-1].raw)):
        raise NotMathError("decimals of something else")
    return Approximation(exact, decimals)


def _compared(left: list[Token], mark: str, right: list[Token], read: Read) -> Value:
    if any(token.kind == "word" and token.space for token in left[1:]):  # "all integers k ≥ 2" is no range of reals
        raise NotMathError("words")
    name, turned = name_of(left), False
    if name is None and (name := name_of(right)) is not None:
        left, right, turned = right, left, True
    if name is None or mark == "ne":
        one, two = _formula(left), _formula(right)
        if mark != "ne":
            solved = None
            if not letters_of(two):
                end = (Formula(two), mark in ("le", "ge"))
                solved = _solved(one, *((None, end) if mark in ("<", "le") else (end, None)))
            elif not letters_of(one):
                end = (Formula(one), mark in ("le", "ge"))
                solved = _solved(two, *((end, None) if mark in ("<", "le") else (None, end)))
            if solved is not None:
                return solved
        node = ("+", one, ("neg", two))
        if mark in (">", "ge"):
            return Relational(_TURNED[mark], ("neg", node))
        return Relational(mark, node)
    mark = _TURNED[mark] if turned else mark
    end_value = read(right)
    if mark in ("<", "le"):
        return Interval(Infinity(-1), end_value, False, mark == "le", name)
    return Interval(end_value, Infinity(1), mark == "ge", False, name)


End = tuple[Value, bool]


def _solved(node: Node, low: End | None, high: End | None) -> Value | None:
    """Return where a formula of one variable lies between two ends.

    It is of degree one or two, or has one power of its variable, or is the absolute value of such a formula.
    """
    if node[0] == "f" and node[1] == "abs":
        return _solved_distance(node[2], low, high)
    found = _powers(node)
    if found is None:
        return None
    factors, name = found
    powers, nothing = factors.keys() - {0}, Fraction(0)
    square, slope, start = (factors.get(Fraction(power), nothing) for power in (2, 1, 0))
    if len(powers) == 1 and (power := next(iter(powers))) >= _CUBE and power.denominator == 1:
        return _solved_power(factors[power], int(power), start, name, low, high)
    if powers - {1, 2} or not (square or slope):
        return None
    if square:
        return _solved_square(square, slope, start, name, low, high)
    ends = [_shifted(end, slope, ("n", start)) for end in (low, high)]
    if slope < 0:
        ends.reverse()
    below, above = ends
    return Interval(
        below[0] if below else Infinity(-1), above[0] if above else Infinity(1),
        bool(below and below[1]), bool(above and above[1]), name,
    )  # fmt: skip


def _solved_square(
    square: Fraction, slope: Fraction, start: Fraction, name: str, low: End | None, high: End | None
) -> Value | None:
    """Return where a polynomial of degree two is beyond one number, in closed form."""
    end = low or high
    if end is None or (low and high) or not isinstance(end[0], Formula) or (number := end[0].quotient.number) is None:
        return None
    scale = abs(square)  # "2x^2 > 8" has the form of "x^2 > 4", of which it is a copy
    square, slope, constant = square / scale, slope / scale, (start - number) / scale
    inner = slope * slope - 4 * square * constant
    closed, inside = end[1], (square > 0) == (low is None)
    if inner < 0 or (inner == 0 and inside and not closed):
        return _everywhere(name, not inside)
    root_of_inner = ("^", ("n", inner), ("/", ("n", Fraction(1)), ("n", Fraction(2))))
    left, right = (
        Formula(("/", ("+", ("n", -slope), sign), ("n", 2 * square)))
        for sign in ((("neg", root_of_inner), root_of_inner) if square > 0 else (root_of_inner, ("neg", root_of_inner)))
    )
    return _beyond(left, right, inside, closed, name)


def _solved_power(
    factor: Fraction, exponent: int, start: Fraction, name: str, low: End | None, high: End | None
) -> Value | None:
    """Return where a·x^n + c lies between two ends, or for an even n beyond one, in closed form."""
    bounds: list[tuple[Fraction, Formula, bool] | None] = []
    for end in (low, high):
        number = end[0].quotient.number if end is not None and isinstance(end[0], Formula) else None
        if end is not None and number is None:
            return None
        if end is None or number is None:
            bounds.append(None)
            continue
        bound = (number - start) / factor
        bounds.append((bound, _root(bound, exponent), end[1]))
    below, above = bounds if factor > 0 else reversed(bounds)
    if exponent % 2:
        return Interval(
            below[1] if below else Infinity(-1), above[1] if above else Infinity(1),
            bool(below and below[2]), bool(above and above[2]), name,
        )  # fmt: skip
    limit = below or above
    if limit is None or (below and above):
        return None
    bound, root, closed = limit
    if bound < 0 or (bound == 0 and below is None and not closed):
        return _everywhere(name, below is not None)
    return _beyond(Formula(("neg", root.node)), root, below is None, closed, name)


def _root(number: Fraction, exponent: int) -> Formula:
    """Return a root, or that of the opposite of a negative number times -1.

    It is written as nobody does, 2/6 for 1/3 or 4/2 for 2, so that the solution of an inequality is no copy of it.
    """
    size: Node = ("^", ("n", abs(number)), ("/", ("n", Fraction(2)), ("n", Fraction(2 * exponent))))
    rational = quotient(size).number
    if rational is not None:  # a power of floats is not exact
        size = ("/", ("n", 2 * rational), ("n", Fraction(2)))
    return Formula(("neg", size) if number < 0 else size)


def _beyond(left: Formula, right: Formula, inside: bool, closed: bool, name: str) -> Value:
    """Return the numbers between two others, or those outside."""
    if inside:
        return Interval(left, right, closed, closed, name)
    outside = (Interval(Infinity(-1), left, False, closed, name), Interval(right, Infinity(1), closed, False, name))
    return Unordered("union", outside)


def _everywhere(name: str, holds: bool) -> Value:
    """Return all numbers as x ≤ 0 or x > 0, or none as x ≤ 0 and x > 0.

    It stays a condition, and nobody writes it so: "x^2 + 1 < 0" is no answer to itself.
    """
    zero = Formula(("n", Fraction(0)))
    sides = (Interval(Infinity(-1), zero, False, True, name), Interval(zero, Infinity(1), False, False, name))
    return Unordered("union" if holds else "cap", sides)


def _solved_distance(inner: Node, low: End | None, high: End | None) -> Value | None:
    far = None if high is None else [_solved(inner, (_opposite(high[0]), high[1]), high)]
    if low is None or not (size := value_of(low[0])) or size < 0:
        return None if low is not None or far is None else far[0]
    outside = [(None, (_opposite(low[0]), low[1])), (low, None)]
    if high is not None:
        outside = [((_opposite(high[0]), high[1]), (_opposite(low[0]), low[1])), (low, high)]
    parts = [_solved(inner, *ends) for ends in outside]
    first, second = parts
    return None if first is None or second is None else Unordered("union", (first, second))


def _opposite(value: Value) -> Value:
    if isinstance(value, Formula):
        return Formula(("neg", value.node), value.unit)
    raise UnknownNotationError("an absolute value beside no number")


def _shifted(end: End | None, slope: Fraction, start: Node) -> End | None:
    if end is None or not isinstance(end[0], Formula):
        return end
    return Formula(("/", ("+", end[0].node, ("neg", start)), ("n", slope))), end[1]


def _powers(node: Node) -> tuple[dict[Fraction, Fraction], str] | None:
    """Return the factor of each power of a formula's one variable, all rational, and the variable; else None."""
    letters = letters_of(node)
    if len(letters) != 1:
        return None
    (name,) = letters
    value = quotient(node)
    if not value.exact or set(value.below) != {ONE}:
        return None
    factors = {}
    for mono, factor in value.above.items():
        letter, power = mono[0] if len(mono) == 1 else (name, Fraction(0))
        if letter != name or len(mono) > 1:
            return None
        factors[power] = factor / value.below[ONE]
    return factors, name


def _formula(tokens: list[Token]) -> Node:
    return FormulaParser(tokens).whole()


def _try_formula(tokens: list[Token]) -> Node | None:
    try:
        return _formula(tokens)
    except NotMathError:
        return None
