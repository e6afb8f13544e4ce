"""Conditions on episodes, in the same words as in the address of the page (``filter.js``)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gem.errors import ArgumentError
from gem_eval.runs import EpisodeRow

__all__ = ["CONDITIONS", "VIEWED_OUTCOMES", "matching_rows", "parse_conditions"]

Quantity = Callable[[EpisodeRow, Mapping[Any, float]], "float | None"]

_RANGES: dict[str, Quantity] = {
    "return": lambda row, shares: row.episode_return,
    "turns": lambda row, shares: row.turns,
    "tokens": lambda row, shares: row.completion_tokens,
    "seconds": lambda row, shares: row.seconds,
    "malformed": lambda row, shares: row.malformed,
    "cut": lambda row, shares: row.cut,
    "empty": lambda row, shares: row.empty,
    "group": lambda row, shares: shares.get((row.env, row.seed)),
}

_CHOICES: dict[str, Callable[[EpisodeRow], str | None]] = {
    "env": lambda row: row.env,
    "outcome": lambda row: VIEWED_OUTCOMES[row.outcome],
    "failure": lambda row: _failure(row),
    "stop": lambda row: row.stop_reason,
    "grade": lambda row: row.grade,
}

VIEWED_OUTCOMES: dict[str, str] = {
    "succeeded": "solved",
    "unsuccessful": "unsolved",
    "incomplete": "unsolved",
    "unknown": "unknown",
    "untold": "scored",
}
"""Outcome → the page's word for it."""

CONDITIONS = ("text", "seed", *_CHOICES, *_RANGES)
"""The names of all conditions. A word ``name=value`` of a text is a condition as well."""

_WORD = re.compile("([a-z]+)=(.+)")


def parse_conditions(texts: Iterable[str]) -> dict[str, str]:
    """Return conditions written as ``name=value``.

    Raises:
        ArgumentError: for another form or an unknown name.
    """
    conditions = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in CONDITIONS:
            raise ArgumentError(f"a filter is name=value with one of {', '.join(CONDITIONS)}; got {text!r}")
        if name in _RANGES or (name == "seed" and ".." in value):
            _bounds(value)
        if name == "outcome" and value not in VIEWED_OUTCOMES.values():
            words = ", ".join(dict.fromkeys(VIEWED_OUTCOMES.values()))
            raise ArgumentError(f"an outcome is one of {words}; got {value!r}")
        conditions[name] = value
    return conditions


def matching_rows(rows: Sequence[EpisodeRow], conditions: Mapping[str, str]) -> list[EpisodeRow]:
    """Return the rows that meet all conditions, in their order."""
    shares = _group_shares(rows)
    tests = [_test(name, value, shares) for name, value in conditions.items() if value]
    return [row for row in rows if all(test(row) for test in tests)]


def _test(name: str, value: str, shares: Mapping[Any, float]) -> Callable[[EpisodeRow], bool]:
    if name == "text":
        tests = [_word_test(word, shares) for word in value.split()]
        return lambda row: all(test(row) for test in tests)
    if name == "seed" and ".." not in value:
        return lambda row: str(row.seed) == value
    if name in _CHOICES:
        choice = _CHOICES[name]
        return lambda row: choice(row) == value
    low, high, is_open = _bounds(value)
    quantity: Quantity = _RANGES.get(name, lambda row, shares: row.seed)

    def within(row: EpisodeRow) -> bool:
        found = quantity(row, shares)
        return found is not None and found >= low and (found < high if is_open else found <= high)

    return within


def _word_test(word: str, shares: Mapping[Any, float]) -> Callable[[EpisodeRow], bool]:
    """Return the test of a word of a text: a condition such as ``seed=0..3``, or what a row must contain."""
    condition = _WORD.fullmatch(word)
    if condition is not None and condition[1] in CONDITIONS and condition[1] != "text":
        return _test(condition[1], condition[2], shares)
    sought = word.lower()
    return lambda row: sought in _searched(row) or str(row.seed) == word


def _bounds(text: str) -> tuple[float, float, bool]:
    """Return the ends of ``low..high``, and whether the high end is left out (``low..<high``)."""
    first, dots, last = text.partition("..")
    is_open = last.startswith("<")
    try:
        low = float(first) if first.strip() else -math.inf
        high = low if not dots else float(last.removeprefix("<")) if last.strip("< ") else math.inf
    except ValueError as error:
        raise ArgumentError(f"a range is low..high, where either end may be missing; got {text!r}") from error
    return low, high, is_open


def _searched(row: EpisodeRow) -> str:
    fields = [row.env, f"seed {row.seed}", row.stop_reason, _failure(row), row.agent]
    return " ".join(field for field in fields if field).lower()


def _failure(row: EpisodeRow) -> str | None:
    return None if row.failure is None else f"{row.failure['source']}: {row.failure['kind']}"


def _group_shares(rows: Iterable[EpisodeRow]) -> dict[Any, float]:
    """Return, for each environment and seed, the share of solved episodes among those with a verdict."""
    verdicts: dict[Any, list[bool]] = {}
    for row in rows:
        if row.success is not None:
            verdicts.setdefault((row.env, row.seed), []).append(row.success)
    return {key: sum(values) / len(values) for key, values in verdicts.items()}
