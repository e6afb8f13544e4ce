"""Reading what judges answer: JSON in any wrapping, and no guess where it is ambiguous."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from gem.errors import GemError

__all__ = ["MalformedAnswerError", "bool_of", "number_of", "read_answer", "value_of"]

T = TypeVar("T")

_LONGEST = 40_000
"""Characters of an answer that are read, from its end."""
_MOST_OBJECTS = 200
_DECODER = json.JSONDecoder(strict=False)
_FENCE = re.compile(r"\A\s*```[\w-]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_PROSE = re.compile(r"\{\s*[^\s\"'}]")
"""A brace with which no JSON object begins."""
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_NUMBER = re.compile(
    r"\s*([+-]?\d{1,12}(?:\.\d{0,12})?)\s*(?:(?:/|out of|of)\s*(\d{1,12}(?:\.\d{0,12})?))?\s*(?:points?)?\.?\s*"
)
_YES = frozenset(("yes", "true", "y", "1", "pass", "passed", "met", "satisfied"))
_NO = frozenset(("no", "false", "n", "0", "fail", "failed", "not met", "unsatisfied"))


class MalformedAnswerError(GemError, ValueError):
    """A judge's answer that cannot be read; the message is a sentence for the judge."""


def read_answer(text: str, read: Callable[[Mapping[str, Any]], T]) -> T:
    """Return what ``read`` makes of the JSON object in a judge's answer.

    The object may be all of the answer, or stand in a fenced block or within prose. Objects that ``read`` refuses are
    left out. Where several are left that ``read`` understands differently, the answer is ambiguous: the judge may
    have quoted what it judges, so none of them is taken.

    Args:
        text: the answer.
        read: raises MalformedAnswerError for an object that is no answer.

    Raises:
        MalformedAnswerError: if there is no such object, or more than one.
    """
    text = text.rpartition("</think>")[2][-_LONGEST:].strip()
    fence = _FENCE.match(text)
    whole = _whole(text if fence is None else fence[1])
    if whole is not None:
        return read(whole)
    found: list[T] = []
    reason = "there is no JSON object in it"
    for item in _objects(text):
        try:
            value = read(item)
        except MalformedAnswerError as error:
            reason = str(error)
            continue
        if value not in found:
            found.append(value)
    if len(found) > 1:
        raise MalformedAnswerError(f"it holds {len(found)} different answers")
    if not found:
        raise MalformedAnswerError(reason)
    return found[0]


def value_of(record: Mapping[str, Any], *names: str) -> Any:
    """Return the value of the first of ``names`` that a record has, spelt in any case and with any separators.

    Raises:
        MalformedAnswerError: if it has none.
    """
    spelt = {_key(name): value for name, value in record.items() if isinstance(name, str)}
    for name in names:
        if _key(name) in spelt:
            return spelt[_key(name)]
    raise MalformedAnswerError(f"it has no {names[0]!r}")


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


def _whole(text: str) -> dict[str, Any] | None:
    """Return the object that a text is, or None."""
    for candidate in (text, _TRAILING_COMMA.sub(r"\1", text)):
        try:
            value = _DECODER.decode(candidate)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    if text.startswith("{") and text.endswith("}"):
        try:
            value = ast.literal_eval(text)  # a dict in Python's notation, as small models write it
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return None
        return value if isinstance(value, dict) else None
    return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects within a text.

    Raises:
        MalformedAnswerError: for an object that begins and cannot be read. What stands inside it may be a quotation of
            the judged text, so it is not looked for.
    """
    position = 0
    for _ in range(_MOST_OBJECTS):
        position = text.find("{", position)
        if position < 0:
            return
        if _PROSE.match(text, position):
            position += 1
            continue
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            raise MalformedAnswerError("the JSON object in it is broken") from None
        yield value


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())
