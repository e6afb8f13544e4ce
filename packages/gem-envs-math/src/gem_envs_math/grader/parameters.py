r"""Parameters of answers with infinitely many values: the ``k \in \mathbb{Z}`` of ``x = 2\pi k, k \in \mathbb{Z}``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from gem_envs_math.grader.values import Assignment, Formula, Interval, NamedSet, Unordered, Value, letters_of

__all__ = ["renamed", "without_domains"]


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
