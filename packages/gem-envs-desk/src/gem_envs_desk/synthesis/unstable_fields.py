"""Fields that a server fills anew at each start, such as times and random keys, and answers without them."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from gem.tools import ToolResult

__all__ = ["clock_names", "differing_names", "settled", "without"]

_DAY = 86_400.0
_MOMENT = re.compile(r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d:?\d\d))?)?(?![\w-])")
_FIXED = "2025-01-01T00:00:00"
"""Stands for a moment that the clock has given, in texts and in fields that are not known to show one."""


def clock_names(value: Any, sent: Collection[Any], now: float | None = None) -> set[str]:
    """Return the names of fields with a moment within a day from now.

    Args:
        value: a JSON value.
        sent: what the calls have sent, which is no reading of the clock.
        now: seconds since 1970.
    """
    now = time.time() if now is None else now
    return {name for name, one in _scalars(value) if name and one not in sent and _is_near(one, now)}


def differing_names(one: Any, other: Any) -> set[str]:
    """Return the names of fields that are as often in one JSON value as in another, with other content."""
    counts: list[dict[str, Counter[str]]] = []
    for value in (one, other):
        by_name: dict[str, Counter[str]] = {}
        for name, scalar in _scalars(value):
            by_name.setdefault(name, Counter())[json.dumps(scalar)] += 1
        counts.append(by_name)
    return {
        name
        for name in counts[0].keys() & counts[1].keys()
        if name and counts[0][name] != counts[1][name] and counts[0][name].total() == counts[1][name].total()
    }


def without(value: Any, names: Collection[str]) -> Any:
    """Return a JSON value without the fields of these names."""
    if isinstance(value, dict):
        return {key: without(one, names) for key, one in value.items() if key not in names}
    if isinstance(value, list):
        return [without(one, names) for one in value]
    return value


def settled(result: ToolResult, names: Collection[str] | None) -> ToolResult:
    """Return an answer without these fields, and with a fixed moment for the present one in all of its texts.

    Args:
        result: the answer.
        names: of the fields; None leaves JSON as it is, for a recording that looks for them.
    """
    now = time.time()
    try:
        value = json.loads(result.text)
    except ValueError:
        value = None
    if isinstance(value, (dict, list)):
        if names is None:
            return result
        kept = _timeless(without(value, names), now)
        text = result.text if kept == value else json.dumps(kept, ensure_ascii=False, indent=2)
    else:
        text = _timeless(result.text, now)
    return replace(result, text=text, data=_timeless(without(result.data, names or ()), now))


def _timeless(value: Any, now: float) -> Any:
    """Return a JSON value with a fixed moment for each near now, also inside a longer string such as a report."""
    if isinstance(value, dict):
        return {key: _timeless(one, now) for key, one in value.items()}
    if isinstance(value, list):
        return [_timeless(one, now) for one in value]
    if isinstance(value, str):
        return _MOMENT.sub(lambda found: _FIXED if _is_near(found[0], now) else found[0], value)
    return value


def _scalars(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the scalars of a JSON value with the name of the innermost field that holds them."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _scalars(one, key)
    elif isinstance(value, list):
        for one in value:
            yield from _scalars(one, name)
    else:
        yield name, value


def _is_near(value: Any, now: float) -> bool:
    """Return whether a value is a moment within a day from now: ISO 8601, or seconds or milliseconds since 1970."""
    if isinstance(value, str):
        moment = _seconds(value)
        return moment is not None and abs(moment - now) < 2 * _DAY
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return abs(value - now) < _DAY or abs(value / 1000 - now) < _DAY
    return False


def _seconds(text: str) -> float | None:
    if not _MOMENT.fullmatch(text.strip()):
        return None
    # Python 3.10 reads neither Z nor fractions of any length.
    plain = re.sub(r"[.,]\d+", "", text.strip()).replace("Z", "+00:00").replace(" +", "+")
    plain = re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", plain)
    try:
        moment = datetime.fromisoformat(plain)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
