"""What the schemas of rows have in common: :class:`RowSchema`, :class:`RowContent`, and reading a question."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from gem.errors import DatasetError

__all__ = [
    "KINDS",
    "Kind",
    "RowContent",
    "RowSchema",
    "column_of",
    "is_missing",
    "json_value",
    "plain_value",
    "row_name",
    "text_of_question",
    "with_passage",
]

Kind = Literal["math", "qa", "code"]

KINDS: tuple[Kind, ...] = ("math", "qa", "code")


@dataclass(frozen=True)
class RowContent:
    """The content of a row, whatever its columns are called."""

    question: str
    gold: Any
    """The gold answer: for mathematics a str, a number or a list of alternatives; for short answers a list of str;
    for code the tests, in a form that ``gem_envs_code.suite.read_suite`` reads."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """What else the row says: ``tolerance`` (relative) and ``error`` (absolute) of a numeric answer, ``unit``, and for
    multiple choice in mathematics ``options``, letter → text."""


@dataclass(frozen=True)
class RowSchema:
    """A published shape of rows."""

    name: str
    """``"GSM8K"``; for a shape without a name of its own the two columns, ``"problem, answer"``."""
    kind: Kind
    question_key: str
    """The column that holds the question."""
    gold_key: str
    """The column that holds the gold answer, or the tests; the first of several."""
    fits: Callable[[Mapping[str, Any]], bool]
    """Whether a row has this shape. Decides by the columns, and by the types of their values where these tell."""
    read: Callable[[Mapping[str, Any]], RowContent]
    """Return the content of such a row; DatasetError if the row has no question or no usable gold answer."""
    needs: frozenset[str] = frozenset()
    """Columns, in lower case, without which ``fits`` need not be asked."""
    needs_one: frozenset[str] = frozenset()
    """Columns, in lower case, without any of which ``fits`` need not be asked; empty: no such condition."""
    question_alone: bool = False
    """Whether the question is the text of ``question_key`` alone, without a context, options or the like."""


def row_name(row: Mapping[str, Any]) -> str:
    """Return how messages name a row: by its index where it has one."""
    return f"row {row.index}" if hasattr(row, "index") and isinstance(row.index, int) else "a row of the data set"


def column_of(row: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Return the first of several columns that a row has, whatever its capitals; None if it has none of them."""
    return _column_of(tuple(row), tuple(names))


@lru_cache(maxsize=1024)
def _column_of(columns: tuple[Any, ...], names: tuple[str, ...]) -> str | None:
    lower = {key.lower(): key for key in reversed(columns) if isinstance(key, str)}
    return next((lower[name] for name in names if name in lower), None)


def is_missing(value: Any) -> bool:
    """Return whether a value says that there is none: None, NaN, an empty text."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return isinstance(value, float) and math.isnan(value)
    except TypeError:
        return False


def plain_value(value: Any) -> Any:
    """Return a NumPy array or scalar as a list or number of Python, and any other value as it is."""
    if type(value) is str:  # most values
        return value
    if hasattr(value, "tolist") and hasattr(value, "dtype") and not isinstance(value, type):
        return value.tolist()
    return value


def json_value(text: Any) -> Any:
    """Return the value of a JSON text; the argument itself if it is none."""
    if isinstance(text, str):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def text_of_question(row: Mapping[str, Any], column: str) -> str:
    """Return the question in a column: a text, ``{"text": …}``, ARC's ``{"stem": …}``, or a chat's last user message.

    Raises:
        DatasetError: if there is none.
    """
    value = row[column]
    if type(value) is str and value.strip():  # nearly always
        return value
    value = plain_value(value)
    if isinstance(value, Mapping) and value.get("role", value.get("from")) in _USER:
        value = [value]
    if isinstance(value, Mapping):
        value = value.get("text", value.get("stem", value))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        said = [turn for turn in value if isinstance(turn, Mapping) and turn.get("role", turn.get("from")) in _USER]
        value = said[-1].get("content", said[-1].get("value")) if said else value
    if not isinstance(value, str) or not value.strip():
        raise DatasetError(
            f"{row_name(row)} has no question: its {column!r} is {value!r:.60}; remove the row, or name another column "
            "as question_key"
        )
    return value


_PASSAGES = ("passage", "context", "article", "story", "narrative", "support")
"""Columns that hold the text that a question is about, in any capitals."""


def with_passage(row: Mapping[str, Any], question: str, used: Sequence[str] = ()) -> str:
    """Return a question below the text that it is about, where the row has one that the question does not repeat.

    Args:
        row: the row.
        question: its question.
        used: columns that the question already is.
    """
    column = column_of(row, _PASSAGES)
    text = None if column is None or column in used else row[column]
    if not isinstance(text, str) or not text.strip() or text.strip() in question:
        return question
    return f"{text.rstrip()}\n\n{question}"


_USER = ("user", "human")
