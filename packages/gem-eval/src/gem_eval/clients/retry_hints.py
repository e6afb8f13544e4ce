"""When a server wants to be asked again: from the headers of its answer, or from the words of its error.

Headers in the order of their authority: ``retry-after-ms``, ``retry-after`` (RFC 9110: seconds or an HTTP date), and
``x-ratelimit-reset-requests``, ``-tokens`` or none, whose values are durations (``6m0s``), seconds or a Unix time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

__all__ = ["retry_delay"]

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS = (86400.0, 3600.0, 60.0, 1.0, 0.001)
_HINT = re.compile(
    r"(?:try again|retry|retrydelay|wait|reset)\W{0,4}(?:(?:after|in|for|at|least|until|s)\W{1,3}){0,3}"
    r"(?P<value>\d{1,9}(?:\.\d{1,9})?)\s{0,2}(?P<unit>milliseconds?|ms|minutes?|mins?|m(?=\d|\b)|seconds?|secs?|s)?"
    r"(?:(?P<more>\d{1,3}(?:\.\d{1,9})?)s)?",
    re.IGNORECASE,
)
_RESETS = ("requests", "tokens")
_UNIX_TIME = 1e9
"""Numbers above this are points in time, not durations."""


def retry_delay(headers: Mapping[str, str], text: str, now: float | None = None) -> float | None:
    """Return the seconds that a server wants a client to wait, or None if it does not say.

    Args:
        headers: of the answer; names are looked up in lower case.
        text: the error's message.
        now: the Unix time; None for the clock.
    """
    now = time.time() if now is None else now
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is not None:
            delay = _seconds(value, now, scale)
            if delay is not None:
                return delay
    return _reset(headers, now) if (hint := _in_words(text)) is None else hint


def _reset(headers: Mapping[str, str], now: float) -> float | None:
    known: dict[str, float] = {}
    for what in _RESETS:
        value = headers.get(f"x-ratelimit-reset-{what}")
        if value is not None and (delay := _seconds(value, now)) is not None:
            known[what] = delay
    used_up = [known[what] for what in known if headers.get(f"x-ratelimit-remaining-{what}", "").strip() == "0"]
    if used_up:
        return max(used_up)
    if known:
        return min(known.values())
    for name in ("x-ratelimit-reset", "ratelimit-reset"):
        value = headers.get(name)
        if value is not None:
            return _seconds(value, now)
    return None


def _seconds(value: str, now: float, scale: float = 1.0) -> float | None:
    """Read a number of seconds, a duration, a Unix time or an HTTP date."""
    value = value.strip()[:64]
    try:
        number = float(value) * scale
    except ValueError:
        match = _DURATION.fullmatch(value)
        if match is not None and any(match.groups()):
            return sum(float(count or 0) * unit for count, unit in zip(match.groups(), _UNITS, strict=True))
        try:
            date = parsedate_to_datetime(value)
            return max(0.0, date.timestamp() - now)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    if number != number or abs(number) == float("inf"):
        return None
    if number > _UNIX_TIME:
        number = (number / 1000 if number > 1000 * _UNIX_TIME else number) - now
    return max(0.0, number)


def _in_words(text: str) -> float | None:
    match = _HINT.search(text[:4000])
    if match is None:
        return None
    value, unit = float(match["value"]), (match["unit"] or "s").lower()
    if unit.startswith(("ms", "milli")):
        return value / 1000
    if unit.startswith("m"):
        return 60 * value + float(match["more"] or 0)
    return value
