"""The kinds of answers: a formula with its unit, a tuple, a set, an interval, an equation, a matrix, words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gem_envs_math.grader.algebra import Node, Quotient, quotient
from gem_envs_math.grader.units import Unit

__all__ = [
    "Approximation",
    "Assignment",
    "Congruence",
    "Dots",
    "Formula",
    "Infinity",
    "Interval",
    "Matrix",
    "NamedSet",
    "Ratio",
    "Relational",
    "Sequence",
    "TextAnswer",
    "Unordered",
    "UnreadNotation",
    "Value",
    "is_condition",
    "is_formula",
    "is_read",
    "letters_of",
]


@dataclass(frozen=True)
class Formula:
    """A number or an expression, with its unit if it has one; ``percent``: written in hundredths, with a mark."""

    node: Node
    unit: Unit | None = None
    percent: bool = False

    @cached_property
    def quotient(self) -> Quotient:
        """The normal form of the formula; raises as :func:`gem_envs_math.grader.algebra.quotient`."""
        return quotient(self.node)

    @property
    def is_number(self) -> bool:
        """Whether the formula has no variables."""
        return not letters_of(self.node)


def letters_of(node: Node) -> set[str]:
    """Return the names of a formula's variables."""
    found, left = set(), [node]
    while left:
        node = left.pop()
        if node[0] == "v" and node[1] not in ("pi", "e", "i", "°"):
            found.add(node[1])
        left += [part for part in node[1:] if isinstance(part, tuple)]
    return found


@dataclass(frozen=True)
class Infinity:
    """One end of the real line."""

    sign: int


@dataclass(frozen=True)
class Dots:
    r"""The terms that ``\ldots`` stands for in ``1, 3, 5, \ldots, 2n - 1``."""


@dataclass(frozen=True)
class Sequence:
    r"""Values in order within brackets: a tuple, a point, or an interval such as ``(0, 1]``.

    A list or a set with ``\ldots`` in it is one too, without brackets or with braces: what the dots stand for follows
    from the order.
    """

    opening: str
    closing: str
    items: tuple[Value, ...]


@dataclass(frozen=True)
class Unordered:
    r"""Values in any order.

    ``kind`` is ``list`` (``1, 2``; ``1 or 2``; ``\pm 1``; conditions with commas), ``set``, ``equal`` (all items are
    one value, as in ``6/2 = 3``); for sets and conditions ``union`` (also "or"), ``cap`` (an intersection, also
    "and") and ``minus`` (a set without the elements of others).
    """

    kind: str
    items: tuple[Value, ...]


@dataclass(frozen=True)
class Interval:
    """The values of a variable that an inequality allows."""

    low: Value
    high: Value
    low_closed: bool
    high_closed: bool
    variable: str


@dataclass(frozen=True)
class Assignment:
    r"""``x = 3``, ``f(x) = 2x``, ``x \in (0, 1)``; ``difference`` is left minus right if both sides are formulas."""

    name: str
    value: Value
    difference: Node | None


@dataclass(frozen=True)
class Relational:
    """An equation (``=``) or another relation; ``difference`` is left minus right."""

    kind: str
    difference: Node


@dataclass(frozen=True)
class Matrix:
    """Rows of values."""

    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True)
class Ratio:
    """``3:4``, and times of day; ``half`` is ``a`` or ``p`` for "am" and "pm", or empty."""

    parts: tuple[Value, ...]
    half: str = ""


@dataclass(frozen=True)
class NamedSet:
    """``reals``, ``empty``, or the letter of another set of numbers: ``Z``, ``N``, ``Q``, ``C``."""

    name: str


@dataclass(frozen=True)
class TextAnswer:
    """A text answer in normal form."""

    text: str


@dataclass(frozen=True)
class Congruence:
    r"""``x \\equiv 3 \\pmod 5``, or ``3 \\pmod 5`` without a name."""

    name: str
    residue: Value
    modulus: Value


@dataclass(frozen=True)
class Approximation:
    r"""``\\frac{9}{7} \\approx 1.286``: a value and its decimals."""

    exact: Value
    decimals: Value


@dataclass(frozen=True)
class UnreadNotation:
    """Text with commands, digits or operators that this parser does not read.

    ``key`` is its normal form: equal for the same notation in another dress. ``is_formula`` is False where there is
    prose in it, so that a reader of formulas would misread it.
    """

    key: str
    is_formula: bool


Value = (
    Formula
    | Infinity
    | Dots
    | Sequence
    | Unordered
    | Interval
    | Assignment
    | Relational
    | Matrix
    | Ratio
    | NamedSet
    | Congruence
    | Approximation
    | TextAnswer
    | UnreadNotation
)


def is_condition(value: Value) -> bool:
    """Return whether a value is an inequality, or inequalities with "and" or "or" between them."""
    if isinstance(value, Unordered):
        return value.kind in ("union", "cap", "list") and bool(value.items) and all(map(is_condition, value.items))
    return isinstance(value, Interval) or (isinstance(value, Relational) and value.kind != "=")


def is_formula(value: Value) -> bool:
    """Return whether a value is one formula, or may be one for a full reader of LaTeX."""
    if isinstance(value, Assignment):
        return is_formula(value.value)
    return isinstance(value, Formula) or (isinstance(value, UnreadNotation) and value.is_formula)


def is_read(value: Value) -> bool:
    """Return whether every part of a value was read."""
    if isinstance(value, UnreadNotation):
        return False
    if isinstance(value, (Sequence, Unordered)):
        return all(map(is_read, value.items))
    if isinstance(value, Ratio):
        return all(map(is_read, value.parts))
    if isinstance(value, Matrix):
        return all(is_read(cell) for row in value.rows for cell in row)
    if isinstance(value, Assignment):
        return is_read(value.value)
    return True
