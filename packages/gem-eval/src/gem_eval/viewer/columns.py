"""The rows of a run as columns: what a page needs to know of 10,000 episodes in well under 1 MB.

A run folder may come from anywhere, so a value of the wrong type becomes None, and every text is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from gem_eval.runs import EpisodeRow

__all__ = ["as_columns", "short_text"]

_INTEGERS = (
    "seed",
    "repetition",
    "turns",
    "prompt_tokens",
    "completion_tokens",
    "tool_calls",
    "malformed",
    "cut",
    "empty",
    "cached_tokens",
    "cache_prompt_tokens",
    "token_calls",
    "exact_calls",
)
_NUMBERS = ("seconds", "act_seconds", "step_seconds", "started_at", "cost", "cache_hit_rate", "first_token_p50")
_NAMES = ("env", "stop_reason", "agent", "outcome", "grade")

_SAFE_INTEGER = 2**53
"""Integers from here on lose digits in a browser, so they go as text."""

_WHOLE = 1e12
"""Numbers from here on are sent as they are."""

_LONGEST_NAME = 300
"""Characters of a name that are sent."""

_MOST_SCORES = 20
"""Scores that get a column."""


def as_columns(rows: Sequence[EpisodeRow]) -> dict[str, Any]:
    """Return rows as columns, JSON-serialisable.

    Returns:
        For each number, a list with None where it is unknown. ``success`` holds 1, 0 or None. Names are
        ``{"names": [...], "codes": [...]}``, a code being a position in the names or -1. ``scores`` has a list of
        numbers for each score.
    """
    columns: dict[str, Any] = {"count": len(rows)}
    for name in _INTEGERS:
        columns[name] = _integers(list(map(attrgetter(name), rows)))
    for name in _NUMBERS:
        columns[name] = _numbers(list(map(attrgetter(name), rows)))
    columns["return"] = _numbers([row.episode_return for row in rows])
    columns["success"] = [None if row.success is None else int(row.success) for row in rows]
    for name in _NAMES:
        columns[name] = _coded(list(map(attrgetter(name), rows)))
    failures = [row.failure if type(row.failure) is dict else None for row in rows]
    columns["source"] = _coded([str(failure.get("source")) if failure else None for failure in failures])
    columns["kind"] = _coded([failure.get("kind") if failure else None for failure in failures])
    columns["scores"] = _scores(rows)
    return columns


def short_text(text: str) -> str:
    """Return a name as it is sent: bounded, and valid Unicode."""
    return text[:_LONGEST_NAME].encode("utf-8", "replace").decode("utf-8")


def _scores(rows: Sequence[EpisodeRow]) -> dict[str, list[float | None]]:
    scores = [row.scores if type(row.scores) is dict and row.scores else None for row in rows]
    names = dict.fromkeys(name for each in scores if each for name in each)
    return {
        short_text(name): _numbers([each.get(name) if each else None for each in scores])
        for name in list(names)[:_MOST_SCORES]
    }


def _integers(values: list[Any]) -> list[int | str | None]:
    if set(map(type, values)) <= {int, type(None)}:
        known = [value for value in values if value is not None]
        if not known or (min(known) > -_SAFE_INTEGER and max(known) < _SAFE_INTEGER):
            return values
    return [_integer(value) for value in values]


def _numbers(values: list[Any]) -> list[float | None]:
    """Return finite numbers rounded to what a page can show, and None for all else."""
    if not set(map(type, values)) <= {int, float, type(None)}:
        return [_number(value) for value in values]
    try:
        numbers = np.array(values, dtype=np.float64)  # None becomes NaN
    except OverflowError:
        return [_number(value) for value in values]
    small = np.abs(numbers) < _WHOLE  # larger ones have no such digits; rounding them would overflow
    shown: list[float | None] = np.where(small, np.round(np.where(small, numbers, 0.0), 6), numbers).tolist()
    if small.all():
        return shown
    return [number if number is not None and math.isfinite(number) else None for number in shown]


def _integer(value: Any) -> int | str | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    if -_SAFE_INTEGER < value < _SAFE_INTEGER:
        return value
    return str(value) if value.bit_length() < 512 else f"{value:#x}"[:_LONGEST_NAME]


def _number(value: Any) -> float | None:
    """Return a finite number rounded to what a page can show, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = round(float(value), 6)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _coded(values: list[Any]) -> dict[str, list[Any]]:
    if not set(map(type, values)) <= {str, type(None)}:
        values = [value if isinstance(value, str) else None for value in values]
    names = [value for value in dict.fromkeys(values) if value is not None]
    places = {None: -1, **{name: place for place, name in enumerate(names)}}
    codes = list(map(places.__getitem__, values))
    return {"names": [short_text(name) for name in names], "codes": codes}
