"""Values as JSON holds them: what environments, agents and servers return, converted or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from gem.errors import TrajectoryError

__all__ = ["MAX_DEPTH", "json_value", "number"]

MAX_DEPTH = 400
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
    if kind is str or kind is int or kind is bool or value is None:
        return value
    try:
        return _converted(value, MAX_DEPTH)
    except _NotJSONError as fault:
        raise TrajectoryError(fault.message(name)) from None


def number(value: Any, name: str) -> float:
    """Return a finite number as a float.

    Raises:
        TrajectoryError: if it is none.
    """
    if type(value) is not float:
        plain = json_value(value, name)
        if not isinstance(plain, (int, float)):
            raise TrajectoryError(f"{name} is a {type(value).__name__}, not a number")
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
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        if isfinite(value):
            return value
        raise _NotJSONError(f"{value}, which JSON cannot hold")
    if depth == 0:
        raise _NotJSONError(f"nested more than {MAX_DEPTH} levels deep, or contains itself")
    if isinstance(value, (list, tuple)):
        return _list(value, depth)
    if isinstance(value, Mapping):
        return _dict(value, depth)
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
        except Exception as error:
            raise _NotJSONError(f"a {kind.__name__} that cannot become a list: {error}") from None
        if type(plain) is not kind:
            return _converted(plain, depth - 1)
    raise _NotJSONError(f"a {kind.__name__}, which JSON cannot hold")


def _list(values: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
    converted: list[Any] = []
    try:
        converted.extend(_converted(item, depth - 1) for item in values)
    except _NotJSONError as fault:
        fault.path.append(f"[{len(converted)}]")
        raise
    return converted


def _dict(values: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    converted = {}
    key: Any = None
    try:
        for key, item in values.items():
            converted[key if type(key) is str else _key(key)] = _converted(item, depth - 1)
    except _NotJSONError as fault:
        fault.path.append(f"[{key!r:.40}]")
        raise
    return converted


def _key(key: Any) -> str:
    plain = _converted(key, 1)
    if isinstance(plain, str):
        return plain
    if plain is None or isinstance(plain, (bool, int, float)):
        return json.dumps(plain)
    raise _NotJSONError(f"under a key of type {type(key).__name__}, which JSON cannot hold")
