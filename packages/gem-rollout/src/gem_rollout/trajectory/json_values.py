"""Values as JSON holds them: what environments, agents and servers return, converted or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from gem.errors import TrajectoryError

__all__ = ["MAX_DEPTH", "json_value", "number"]

_LEAVES = {str, int, bool, type(None)}
"""Types whose values are JSON values, whatever they are."""

_TEXT = {str}
_FLOAT = {float}

MAX_DEPTH = 300
"""Levels of lists and dicts in a value; encoders and decoders of JSON in Python give up at some 1000."""


def json_value(value: Any, name: str = "value") -> Any:
    """Return a value as JSON holds it, sharing no list or dict with it.

    A tuple becomes a list, and NumPy scalars, arrays and tensors (anything with ``tolist``) become numbers and lists.
    Keys that are numbers, booleans or None become text, as :mod:`json` writes them.

    Args:
        value: anything.
        name: what the value is, for messages.

    Raises:
        TrajectoryError: if JSON cannot hold the value; the message says which part of it.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None or (kind is float and isfinite(value)):
        return value
    try:
        return _converted(value, MAX_DEPTH)
    except _NotJSONError as fault:
        raise TrajectoryError(fault.message(name)) from None
    except Exception as error:  # a Mapping of the environment's own may raise anything
        raise TrajectoryError(f"{name} cannot be read: {type(error).__name__}: {error}") from None


def number(value: Any, name: str) -> float:
    """Return a finite number as a float.

    Raises:
        TrajectoryError: if it is none.
    """
    if type(value) is not float:
        plain = json_value(value, name)
        if not isinstance(plain, (int, float)):
            raise TrajectoryError(f"{name} is of type {type(value).__name__}, not a number")
        try:
            value = float(plain)
        except OverflowError:
            raise TrajectoryError(f"{name} is too large for a float") from None
    if not isfinite(value):
        raise TrajectoryError(f"{name} is {value}")
    return float(value)


class _NotJSONError(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []

    def message(self, name: str) -> str:
        place = "".join(reversed(self.path)) if len(self.path) <= 10 else "[…]"
        return f"{name}{place} is {self.reason}"


def _converted(value: Any, depth: int) -> Any:
    """Convert a value; one call a level, so that deep values do not exhaust the interpreter's stack."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        if isfinite(value):
            return value
        raise _NotJSONError(f"{value}, which JSON cannot hold")
    if depth == 0:
        raise _NotJSONError(f"nested more than {MAX_DEPTH} levels deep, or contains itself")
    if kind is dict or (kind is not list and isinstance(value, Mapping)):
        if kind is dict and set(map(type, value)) <= _TEXT and set(map(type, value.values())) <= _LEAVES:
            return value.copy()
        members = {}
        key: Any = None
        try:
            for key, item in value.items():
                members[key if type(key) is str else _key(key)] = _converted(item, depth - 1)
        except _NotJSONError as fault:
            fault.path.append(f"[{key!r:.40}]")
            raise
        return members
    if isinstance(value, (list, tuple)):
        kinds = set(map(type, value))
        if kinds <= _LEAVES or (kinds == _FLOAT and isfinite(sum(value))):  # a sum of what is not finite is not either
            return list(value)
        items: list[Any] = []
        try:
            for item in value:
                items.append(_converted(item, depth - 1))  # noqa: PERF401 -- a comprehension is a call of its own
        except _NotJSONError as fault:
            fault.path.append(f"[{len(items)}]")
            raise
        return items
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return _converted(float.__float__(value), depth)
    tolist = getattr(value, "tolist", None)
    if callable(tolist):
        try:
            plain = tolist()
        except Exception as error:  # such as that of a tensor on a lost device
            raise _NotJSONError(f"of type {kind.__name__} and cannot become a list: {error}") from None
        if type(plain) is not kind:
            return _converted(plain, depth - 1)
    raise _NotJSONError(f"of type {kind.__name__}, which JSON cannot hold")


def _key(key: Any) -> str:
    plain = _converted(key, 1)
    if isinstance(plain, str):
        return plain
    if plain is None or isinstance(plain, (bool, int, float)):
        return json.dumps(plain)
    raise _NotJSONError(f"under a key of type {type(key).__name__}, which JSON cannot hold")
