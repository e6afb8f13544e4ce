r"""Sets of real numbers, however written: ``|x| > 1``, ``x < -1 or x > 1``, ``(-\infty,-1) \cup (1,\infty)``."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from gem_envs_math.grader.algebra import Node, quotient
from gem_envs_math.grader.numbers import value_of
from gem_envs_math.grader.sums import ONE
from gem_envs_math.grader.values import (
    Assignment,
    Formula,
    Infinity,
    Interval,
    NamedSet,
    Relational,
    Sequence,
    Unordered,
    Value,
    is_condition,
    letters_of,
)

__all__ = ["is_real_set", "same_set"]

_MOST = 40

Piece = tuple[Value, Value, bool, bool]
"""Low end, high end, and whether each belongs to the set."""

Equal = Callable[[Value, Value], "bool | None"]

_LINE: Piece = (Infinity(-1), Infinity(1), False, False)


def is_real_set(value: Value) -> bool:
    """Return whether a value can only be a set of real numbers; ``(1, 2)`` may also be a point."""
    if isinstance(value, Assignment):
        return value.difference is None and is_real_set(value.value)
    if isinstance(value, Unordered):
        if value.kind == "list":
            return bool(value.items) and all(map(is_condition, value.items))
        return value.kind in ("union", "cap", "minus")
    return isinstance(value, (Interval, NamedSet)) or (isinstance(value, Relational) and value.kind == "ne")


def same_set(one: Value, two: Value, equal: Equal) -> bool | None:
    """Return whether two values are the same set of real numbers; None if one of them is not known to be a set."""
    left, right = _pieces(one), _pieces(two)
    if left is None or right is None or len(left) > _MOST or len(right) > _MOST:
        return None
    if len(_names(one) | _names(two)) > 1:
        return None
    if len(left) != len(right):
        return False
    unsure = False
    for a, b in zip(left, right, strict=True):
        if a[2:] != b[2:]:
            return False
        told = [equal(a[0], b[0]), equal(a[1], b[1])]
        if False in told:
            return False
        unsure = unsure or None in told
    return None if unsure else True


def _names(value: Value) -> set[str]:
    if isinstance(value, Interval):
        return {value.variable}
    if isinstance(value, Assignment):
        return {value.name} if value.name else set()
    if isinstance(value, Relational):
        return letters_of(value.difference)
    if isinstance(value, Unordered):
        return {name for item in value.items for name in _names(item)}
    return set()


def _pieces(value: Value) -> list[Piece] | None:
    """Return the disjoint intervals of a set, in order; None if it is not known to be a set of real numbers."""
    if isinstance(value, Assignment) and value.difference is None:
        return _pieces(value.value)
    if isinstance(value, Interval):
        return _merged([(value.low, value.high, value.low_closed, value.high_closed)])
    if isinstance(value, Sequence) and len(value.items) == 2 and value.opening in "([" and value.closing in ")]":
        return _merged([(value.items[0], value.items[1], value.opening == "[", value.closing == "]")])
    if isinstance(value, NamedSet):
        return {"reals": [_LINE], "empty": list[Piece]()}.get(value.name)
    if isinstance(value, Relational) and value.kind == "ne":
        return _all_but_root(value.difference)
    if not isinstance(value, Unordered) or value.kind not in ("union", "cap", "minus", "list"):
        return _points(value)
    parts = [_pieces(item) if (points := _points(item)) is None else points for item in value.items]
    if None in parts or any(len(_names(item)) > 1 for item in value.items):
        return None
    known = [part for part in parts if part is not None]
    if value.kind == "union":
        return _merged([piece for part in known for piece in part])
    if value.kind == "minus":
        first, *others = known
        known = [first, *map(_complement, others)]
    common = known[0]
    for part in known[1:]:
        common = _intersection(common, part)
    if value.kind == "list" and not common:  # "x < -1, x > 1" has no number in common, and so names two ranges
        return _merged([piece for part in known for piece in part])
    return common


def _points(value: Value) -> list[Piece] | None:
    r"""Return the elements of ``\{1, 2\}``, and the solution in ``x = 2 or x > 3``, as pieces."""
    if isinstance(value, Unordered) and value.kind == "set":
        return _merged([(item, item, True, True) for item in value.items])
    if isinstance(value, Assignment) and isinstance(value.value, Formula):
        return _merged([(value.value, value.value, True, True)])
    return None


def _all_but_root(difference: Node) -> list[Piece] | None:
    """Return the solutions of a·x + b ≠ 0."""
    found = quotient(difference)
    letters = [mono for mono in found.above if mono]
    if len(letters) != 1 or len(letters[0]) != 1 or letters[0][0][1] != 1 or set(found.below) != {ONE}:
        return None
    if letters[0][0][0].startswith("#") or " " in letters[0][0][0]:
        return None
    root = Formula(("n", -found.above.get(ONE, Fraction(0)) / found.above[letters[0]]))
    return [(Infinity(-1), root, False, False), (root, Infinity(1), False, False)]


def _merged(pieces: list[Piece]) -> list[Piece] | None:
    """Return disjoint pieces in order; None if an end is not a real number."""
    sorted_pieces = []
    for piece in pieces:
        low, high = value_of(piece[0]), value_of(piece[1])
        if low is None or high is None or low > high:
            return None
        sorted_pieces.append((low, not piece[2], high, piece))
    sorted_pieces.sort(key=lambda entry: entry[:3])
    merged: list[Piece] = []
    reached, closed = -math.inf, False
    for low, is_open, high, piece in sorted_pieces:
        if merged and (low < reached or (low == reached and (closed or not is_open))):
            last = merged[-1]
            if high > reached or (high == reached and piece[3] and not closed):
                merged[-1] = (last[0], piece[1], last[2], piece[3])
                reached, closed = high, piece[3]
        else:
            merged.append(piece)
            reached, closed = high, piece[3]
    return merged


def _complement(pieces: list[Piece]) -> list[Piece]:
    """Return the gaps between disjoint pieces in order."""
    gaps: list[Piece] = []
    start, closed = _LINE[0], False
    for low, high, low_closed, high_closed in pieces:
        gaps += _unless_empty((start, low, closed, not low_closed))
        start, closed = high, not high_closed
    return gaps + _unless_empty((start, _LINE[1], closed, False))


def _intersection(one: list[Piece], two: list[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for a in one:
        for b in two:
            low, low_closed = max((a[0], a[2]), (b[0], b[2]), key=lambda end: (_place(end[0]), not end[1]))
            high, high_closed = min((a[1], a[3]), (b[1], b[3]), key=lambda end: (_place(end[0]), end[1]))
            found += _unless_empty((low, high, low_closed, high_closed))
    return found


def _unless_empty(piece: Piece) -> list[Piece]:
    low, high = _place(piece[0]), _place(piece[1])
    return [piece] if low < high or (low == high and piece[2] and piece[3]) else []


def _place(end: Value) -> float:
    """Return an end of a merged piece, which is known to be a real number."""
    place = value_of(end)
    return math.nan if place is None else place
