"""Reading what judges answer: one JSON object that is all of the answer, and values under their declared names.

A judge may quote what it judges, a forged verdict included. So prose around an object, a second object, and a value
under another name than the schema's are no verdict: the judge is asked again.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from gem.errors import GemError
from gem.text import spoken_text

__all__ = ["MalformedAnswerError", "bool_of", "number_of", "read_answer", "reason_of", "value_of"]

T = TypeVar("T")

_LONGEST = 40_000
"""Characters of an answer without its reasoning; a longer one is none."""
_FENCE = re.compile(r"\A\s*```[\w-]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_NUMBER = re.compile(
    r"\s*([+-]?\d{1,12}(?:\.\d{0,12})?)\s*(?:(?:/|out of|of)\s*(\d{1,12}(?:\.\d{0,12})?))?\s*(?:points?)?\.?\s*"
)
_YES = frozenset(("yes", "true", "y", "1", "pass", "passed", "met", "satisfied"))
_NO = frozenset(("no", "false", "n", "0", "fail", "failed", "not met", "unsatisfied"))


class MalformedAnswerError(GemError, ValueError):
    """A judge's answer that cannot be read; the message is a sentence for the judge."""


def read_answer(text: str, read: Callable[[Mapping[str, Any]], T]) -> T:
    """Return what ``read`` makes of the JSON object that a judge's answer is.

    The object is all of the answer but its reasoning, also in a fenced block.

    Args:
        text: the answer.
        read: raises MalformedAnswerError for an object that is no answer.

    Raises:
        MalformedAnswerError: if the answer is anything else.
    """
    said = spoken_text(text).strip()
    if len(said) > _LONGEST:
        raise MalformedAnswerError(f"it is longer than {_LONGEST:,} characters")
    whole = _unfenced(said)
    if whole is None and len(text) <= _LONGEST:
        whole = _unfenced(text.strip())  # a reason may name the tags of reasoning
    if whole is None:
        raise MalformedAnswerError("it must be one JSON object with nothing before or behind it")
    return read(whole)


def value_of(record: Mapping[str, Any], name: str) -> Any:
    """Return the value under a declared name, spelt in any case and with any separators.

    Raises:
        MalformedAnswerError: if there is none, or more than one.
    """
    found = [value for key, value in record.items() if isinstance(key, str) and _key(key) == _key(name)]
    if len(found) != 1:
        raise MalformedAnswerError(f"it has {name!r} {len(found)} times" if found else f"it has no {name!r}")
    return found[0]


def reason_of(record: Mapping[str, Any]) -> str:
    """Return the reason in a record; empty where there is none, since no score depends on it."""
    return next((str(value) for key, value in record.items() if isinstance(key, str) and _key(key) == "reason"), "")


def number_of(value: Any, low: float, high: float, name: str = "the score") -> float:
    """Return a number from ``low`` to ``high``, given as a number or as text such as ``"4"``, ``"4/5"``, ``"4 of 5"``.

    Raises:
        MalformedAnswerError: for anything else, and for a denominator that is not ``high``.
    """
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        if match is None or (match[2] is not None and float(match[2]) != high):
            raise MalformedAnswerError(f"{name} must be a number from {low:g} to {high:g}, not {value!r:.60}")
        value = float(match[1])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MalformedAnswerError(f"{name} must be a number from {low:g} to {high:g}, not {value!r:.60}")
    # Compared before the conversion, as an int may be too large for a float.
    if not (math.isfinite(value) if isinstance(value, float) else True) or not low <= value <= high:
        raise MalformedAnswerError(f"{name} must lie from {low:g} to {high:g}, and is {value!r:.60}")
    return float(value)


def bool_of(value: Any, name: str = "the answer") -> bool:
    """Return yes or no, given as a bool, as 1 or 0, or as a word.

    Raises:
        MalformedAnswerError: for anything else.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str):
        word = value.strip().strip(".!").casefold()
        if word in _YES or word in _NO:
            return word in _YES
    raise MalformedAnswerError(f"{name} must be true or false, not {value!r:.60}")


def _unfenced(text: str) -> dict[str, Any] | None:
    fence = _FENCE.match(text)
    return _whole(text if fence is None else fence[1])


def _whole(text: str) -> dict[str, Any] | None:
    """Return the object that a text is, or None."""
    for candidate in (text, _TRAILING_COMMA.sub(r"\1", text)):
        try:
            value = json.loads(candidate, strict=False, object_pairs_hook=_without_repetition)
        except (ValueError, RecursionError) as error:
            if isinstance(error, MalformedAnswerError):
                raise
            continue
        return value if isinstance(value, dict) else None
    if text.startswith("{") and text.endswith("}"):
        try:
            value = ast.literal_eval(text)  # a dict in Python's notation, as small models write it
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return None
        return value if isinstance(value, dict) else None
    return None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise MalformedAnswerError("it has one name twice")
    return made


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())
