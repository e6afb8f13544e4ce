r"""Text for the spaces of Gymnasium: an observation as JSON, an action as JSON in ``\boxed{…}``."""

from __future__ import annotations

import json
from typing import Any

from gem.errors import NotSupportedError

__all__ = ["NotInSpaceError", "check_readable", "describe", "from_text", "to_text"]

_MOST_NUMBERS = 4096
"""The size of the largest array that is shown as text."""


class NotInSpaceError(ValueError):
    """A text that is no action of the space."""


def check_readable(space: Any, whose: str) -> None:
    """Raise NotSupportedError for a space that has no sensible text, such as one of pictures."""
    kind = type(space).__name__
    if kind == "Tuple":
        for part in space.spaces:
            check_readable(part, whose)
    elif kind == "Dict":
        for part in space.spaces.values():
            check_readable(part, whose)
    elif kind not in ("Discrete", "MultiDiscrete", "MultiBinary", "Box", "Text"):
        raise NotSupportedError(f"{whose} has a space {kind}, which has no text")
    elif kind != "Text" and _numbers(space) > _MOST_NUMBERS:
        raise NotSupportedError(
            f"{whose} has a space of {_numbers(space)} numbers, and {_MOST_NUMBERS} are the most that are shown as "
            "text; wrap the environment so that it shows less"
        )


def to_text(space: Any, value: Any) -> str:
    """Return a value of the space as JSON; the text itself for a text space."""
    return str(value) if type(space).__name__ == "Text" else json.dumps(_plain(space, value))


def from_text(space: Any, text: str) -> Any:
    """Return the value of the space that ``text`` stands for.

    Raises:
        NotInSpaceError: if it stands for none.
    """
    if type(space).__name__ == "Text":
        value: Any = text
    else:
        try:
            value = _built(space, json.loads(text))
        except (ValueError, TypeError, OverflowError, KeyError, RecursionError) as error:
            raise NotInSpaceError(str(error)) from error
    if not space.contains(value):
        raise NotInSpaceError("the action is outside the space")
    return value


def describe(space: Any) -> str:
    """Return in words what values the space has."""
    kind = type(space).__name__
    if kind == "Discrete":
        return f"a whole number from {space.start} to {space.start + space.n - 1}"
    if kind == "MultiDiscrete":
        return f"a JSON list of whole numbers, each from 0 and below {json.dumps(space.nvec.tolist())}"
    if kind == "MultiBinary":
        return f"a JSON list of zeros and ones of shape {list(space.shape)}"
    if kind == "Box":
        return (
            f"a JSON list of numbers of shape {list(space.shape)}, from {_bounds(space.low)} to {_bounds(space.high)}"
        )
    if kind == "Text":
        return f"a text of {space.min_length} to {space.max_length} characters"
    if kind == "Tuple":
        return "a JSON list of " + ", then ".join(map(describe, space.spaces))
    return "a JSON object with " + ", ".join(f'"{name}": {describe(part)}' for name, part in space.spaces.items())


def _bounds(bound: Any) -> str:
    values = set(bound.reshape(-1).tolist())
    return f"{values.pop():g}" if len(values) == 1 else str(bound.tolist())


def _numbers(space: Any) -> int:
    count = 1
    for length in space.shape:
        count *= length
    return count


def _plain(space: Any, value: Any) -> Any:
    kind = type(space).__name__
    if kind == "Tuple":
        return [_plain(part, one) for part, one in zip(space.spaces, value, strict=True)]
    if kind == "Dict":
        return {name: _plain(part, value[name]) for name, part in space.spaces.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def _built(space: Any, value: Any) -> Any:
    import numpy

    kind = type(space).__name__
    if kind == "Discrete":
        if type(value) is not int:
            raise NotInSpaceError("a whole number is needed")
        return value
    if kind == "Text":
        return value
    if kind == "Tuple":
        return tuple(_built(part, one) for part, one in zip(space.spaces, value, strict=True))
    if kind == "Dict":
        if value.keys() != space.spaces.keys():
            raise NotInSpaceError("the names of the object are others")
        return {name: _built(part, value[name]) for name, part in space.spaces.items()}
    array = numpy.asarray(value)
    if array.dtype.kind not in "iuf" or not numpy.isfinite(array).all():
        raise NotInSpaceError("finite numbers are needed")
    built = array.astype(space.dtype)
    if kind != "Box" and not (built == array).all():
        raise NotInSpaceError("whole numbers are needed")
    return built
