"""The episodes of a run as columns: what a page needs to know of 10,000 episodes in well under 1 MB.

A run folder may come from anywhere, so a value of the wrong type becomes None, and every text is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["as_columns"]

_INTEGERS = ("seed", "repetition", "turns", "prompt_tokens", "completion_tokens", "tool_calls")
_NUMBERS = ("return", "seconds", "act_seconds", "step_seconds", "started_at", "cost")
_NAMES = ("env", "stop_reason", "agent", "source", "kind")

_SAFE_INTEGER = 2**53
"""Integers from here on lose digits in a browser, so they go as text."""

_LONGEST_NAME = 300
"""Characters of a name or reason that are sent."""

_MOST_SCORES = 20
"""Scores that get a column."""


def as_columns(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return rows of an index as columns, JSON-serialisable.

    Args:
        rows: rows as in a run folder's ``index.jsonl``.

    Returns:
        For each number, a list with None where it is unknown. ``success`` holds 1, 0 or None. Names are
        ``{"names": [...], "codes": [...]}``, a code being a position in the names or -1. ``scores`` has a list of
        numbers for each score.
    """
    listed = list(rows)
    failures = [row.get("failure") if isinstance(row.get("failure"), Mapping) else {} for row in listed]
    named: dict[str, list[Any]] = {name: [row.get(name) for row in listed] for name in ("env", "stop_reason", "agent")}
    for name in ("source", "kind"):
        named[name] = [failure.get(name) for failure in failures]  # type: ignore[union-attr]
    columns: dict[str, Any] = {"count": len(listed)}
    columns.update((name, [_integer(row.get(name)) for row in listed]) for name in _INTEGERS)
    columns.update((name, [_number(row.get(name)) for row in listed]) for name in _NUMBERS)
    columns["success"] = [int(value) if isinstance(value := row.get("success"), bool) else None for row in listed]
    columns.update((name, _coded(named[name])) for name in _NAMES)
    columns["scores"] = _scores(listed)
    return columns


def _scores(rows: list[Mapping[str, Any]]) -> dict[str, list[float | None]]:
    names: dict[str, None] = {}
    for row in rows:
        if isinstance(scores := row.get("scores"), Mapping):
            names.update(dict.fromkeys(name for name in scores if isinstance(name, str)))
    return {
        name[:_LONGEST_NAME]: [
            _number(scores.get(name)) if isinstance(scores := row.get("scores"), Mapping) else None for row in rows
        ]
        for name in list(names)[:_MOST_SCORES]
    }


def _integer(value: Any) -> int | str | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if -_SAFE_INTEGER < value < _SAFE_INTEGER else str(value)[:_LONGEST_NAME]


def _number(value: Any) -> float | None:
    """Return a finite number rounded to what a page can show, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return round(number, 6) if math.isfinite(number) else None


def _coded(values: list[Any]) -> dict[str, list[Any]]:
    names: dict[str, int] = {}
    codes = [names.setdefault(value[:_LONGEST_NAME], len(names)) if isinstance(value, str) else -1 for value in values]
    return {"names": [name.encode("utf-8", "replace").decode() for name in names], "codes": codes}
