r"""Set algebra of finite sets: ``\{1, 2\} \cup \{2, 3\}`` is ``\{1, 2, 3\}``."""

from __future__ import annotations

from collections.abc import Callable

from gem_envs_math.grader.values import NamedSet, Unordered, Value

__all__ = ["worked_out_set"]

Equal = Callable[[Value, Value], "bool | None"]


def worked_out_set(value: Value, equal: Equal) -> Value:
    """Return the set that a union, an intersection or a difference of finite sets is; other values as they are."""
    if not isinstance(value, Unordered) or value.kind not in ("union", "cap", "minus"):
        return value
    parts = [_elements(worked_out_set(item, equal)) for item in value.items]
    if None in parts:
        return value
    first, *others = [part for part in parts if part is not None]
    for other in others:
        told = [[equal(item, candidate) for candidate in other] for item in first]
        if any(None in row for row in told):
            return value
        if value.kind == "union":
            first = first + tuple(new for new in other if not any(equal(item, new) for item in first))
        else:
            first = tuple(item for item, row in zip(first, told, strict=True) if (True in row) == (value.kind == "cap"))
    return Unordered("set", first) if first else NamedSet("empty")


def _elements(value: Value) -> tuple[Value, ...] | None:
    if isinstance(value, Unordered) and value.kind == "set":
        return value.items
    return () if value == NamedSet("empty") else None
