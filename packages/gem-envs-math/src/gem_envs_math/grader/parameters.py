r"""Letters whose names do not count: the parameter of ``x = 2\pi k, k \in \mathbb{Z}``, the constant of ``e^x + C``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any

from gem_envs_math.grader.values import Assignment, Formula, Interval, NamedSet, Unordered, Value, letters_of

__all__ = ["by_other_names", "renamed", "without_domains"]

_CONSTANT = re.compile(r"[CcKk](?:_?\d)?")
_PARAMETERS = frozenset("klmn")
_MOST = 3
"""Constants that are renamed together."""


def without_domains(value: Value) -> tuple[Value, Mapping[str, str]]:
    r"""Return an answer without the domains of its parameters, and these: name → set of numbers.

    The domain of an unknown (``x > 1, x \in \mathbb{Z}``) stays: it decides which values the answer has.
    """
    if not isinstance(value, Unordered) or value.kind != "list":
        return value, {}
    rest = tuple(item for item in value.items if not _is_domain(item))
    letters, unknowns = _letters(rest), _unknowns(rest)
    domains: dict[str, str] = {}
    for item in value.items:
        if isinstance(item, Assignment) and isinstance(item.value, NamedSet):
            if item.name not in letters or item.name in unknowns:
                return value, {}
            domains[item.name] = item.value.name
    if not domains:
        return value, {}
    return (rest[0] if len(rest) == 1 else Unordered("list", rest)), domains


def by_other_names(one: Value, two: Value, periodic: bool = False) -> Iterator[Value]:
    """Yield the second value with the letters of the first for its own, where these are constants or a parameter.

    Args:
        one: an answer, such as ``e^x + c``, or ``n pi``.
        two: the gold answer, such as ``e^x + C``, or ``k pi``.
        periodic: whether one of them says that its letter is a parameter; otherwise both must be multiples of pi.
    """
    ours, theirs = _letters(one), _letters(two)
    new, old = sorted(ours - theirs), sorted(theirs - ours)
    if len(new) != len(old) or not 0 < len(new) <= _MOST:
        return
    constants = ours & theirs and all(map(_CONSTANT.fullmatch, (*new, *old)))
    if constants or (
        _PARAMETERS.issuperset((*new, *old)) and len(new) == 1 and (periodic or (_has_pi(one) and _has_pi(two)))
    ):
        for order in permutations(new):
            value = two
            for before, after in zip(old, order, strict=True):
                value = renamed(value, before, f"new {after}")
            for after in order:
                value = renamed(value, f"new {after}", after)
            yield value


def _has_pi(value: Any) -> bool:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = tuple(getattr(value, field.name) for field in dataclasses.fields(value))
    return isinstance(value, tuple) and (value == ("v", "pi") or any(map(_has_pi, value)))


def renamed(value: Any, old: str, new: str) -> Any:
    """Return a value with another name for one of its letters."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {
            field.name: renamed(getattr(value, field.name), old, new)
            for field in dataclasses.fields(value)
            if field.name not in ("unit", "name", "variable", "kind")
        }
        return dataclasses.replace(value, **changed)
    if value == ("v", old):
        return ("v", new)
    return tuple(renamed(part, old, new) for part in value) if isinstance(value, tuple) else value


def _is_domain(value: Value) -> bool:
    return isinstance(value, Assignment) and isinstance(value.value, NamedSet) and value.name != ""


def _letters(value: Any) -> set[str]:
    if isinstance(value, Formula):
        return letters_of(value.node)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = tuple(getattr(value, field.name) for field in dataclasses.fields(value) if field.name != "difference")
    return {name for part in value for name in _letters(part)} if isinstance(value, tuple) else set()


def _unknowns(values: tuple[Value, ...]) -> set[str]:
    names = {value.name for value in values if isinstance(value, Assignment)}
    return names | {value.variable for value in values if isinstance(value, Interval)}
