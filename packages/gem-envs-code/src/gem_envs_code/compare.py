"""Comparison of an output with the expected one, in the caller's process, where no tested code runs."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["TOLERANCE", "same_text", "same_value"]

TOLERANCE = 1e-6
"""Allowed error of a decimal number: absolute below 1, else relative."""


def same_text(output: str, expected: str) -> bool:
    """Compare the output of a program with the expected one.

    Lines are compared without the space around them, and the text without blank lines around it. Where an expected line
    holds decimal numbers (with a point or an exponent), its words are compared one by one, numbers within
    :data:`TOLERANCE`.
    """
    if output == expected:
        return True
    found = [line.strip() for line in output.strip().splitlines()]
    wanted = [line.strip() for line in expected.strip().splitlines()]
    return len(found) == len(wanted) and all(
        one == other or _same_words(one, other) for one, other in zip(found, wanted, strict=True)
    )


def same_value(output: str, expected: str, unwrap: bool = True) -> bool:
    """Compare the result of a function with the expected one, both as JSON.

    Args:
        output: JSON, or any other text that the program wrote.
        expected: JSON.
        unwrap: also accept a result that is the only element of the expected list, as APPS and TACO write it.
    """
    if output == expected:
        return True
    try:
        found, wanted = json.loads(output), json.loads(expected)
        return _same(found, wanted) or (
            unwrap and isinstance(wanted, list) and len(wanted) == 1 and _same(found, wanted[0])
        )
    except (ValueError, RecursionError):
        return False


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, bool) or isinstance(found, bool):
        return found is wanted
    if isinstance(wanted, float) or isinstance(found, float):
        return isinstance(found, (int, float)) and isinstance(wanted, (int, float)) and _near(found, wanted)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(_same, found, wanted))
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict)
            and found.keys() == wanted.keys()
            and all(_same(found[key], wanted[key]) for key in wanted)
        )
    return type(found) is type(wanted) and bool(found == wanted)


def _same_words(line: str, expected: str) -> bool:
    found, wanted = line.split(), expected.split()
    return (
        len(found) == len(wanted)
        and any(map(_is_decimal, wanted))
        and all(
            one == other or (_is_decimal(other) and _near_texts(one, other))
            for one, other in zip(found, wanted, strict=True)
        )
    )


def _is_decimal(word: str) -> bool:
    if len(word) > 400 or not ("." in word or "e" in word.lower()):
        return False
    number = _number(word)
    return number is not None and math.isfinite(number)


def _near_texts(one: str, other: str) -> bool:
    found, wanted = _number(one), _number(other)
    return found is not None and wanted is not None and _near(found, wanted)


def _number(word: str) -> float | None:
    try:
        return float(word) if len(word) <= 400 and "_" not in word else None
    except ValueError:
        return None


def _near(found: float, wanted: float) -> bool:
    try:
        return found == wanted or abs(found - wanted) <= TOLERANCE * max(1.0, abs(wanted))
    except OverflowError:
        return False
