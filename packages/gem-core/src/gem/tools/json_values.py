"""JSON arguments and results of tools: decoded strictly, with a limit on nesting that other libraries can handle."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["DEEPEST", "copied", "decoded"]

DEEPEST = 64
"""Levels of nesting that are accepted. Python's own JSON, copying and validation fail somewhere below 1,000, each
at another depth, which also depends on how deep the caller is."""


def decoded(text: str, position: int = 0) -> tuple[Any, int]:
    """Return the JSON value that begins at a position of a text, and the index after it.

    Raises:
        ValueError: if there is none, with the reason; NaN and infinities are not JSON.
    """
    try:
        value, end = _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos - position}") from error
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    except ValueError as error:  # an int with more digits than Python accepts
        raise ValueError(str(error).partition(";")[0]) from error
    # As many brackets are needed for that depth; counting them costs nothing beside the decoding.
    if text.count("[", position, end) + text.count("{", position, end) > DEEPEST and _is_deep(value):
        raise ValueError(_TOO_DEEP)
    return value, end


def copied(value: Any) -> Any:
    """Return a copy of a JSON value that shares nothing with it.

    Raises:
        ValueError, TypeError: if it is not a JSON value.
    """
    if type(value) in _SCALARS:
        return value
    try:
        return decoded(_ENCODER.encode(value))[0]
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        containers = [item for item in level if isinstance(item, (dict, list))]
        if not containers:
            return False
        level = [child for item in containers for child in (item.values() if isinstance(item, dict) else item)]
    return any(isinstance(item, (dict, list)) for item in level)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


_SCALARS = (str, int, bool, type(None))
_ENCODER = json.JSONEncoder(allow_nan=False)
_DECODER = json.JSONDecoder(parse_constant=_refuse)
_TOO_DEEP = f"nested more than {DEEPEST} levels deep"
