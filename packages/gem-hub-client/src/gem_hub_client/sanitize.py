"""Sanitizes text from a hub for a terminal."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["sanitize", "sanitize_values"]

# C0 and C1 controls (escape sequences begin with one), the line separators, the marks that turn the direction of
# text around, the invisible tag characters, and lone surrogates, which cannot be printed.
_UNFIT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]+"
)


_LEVELS = 50
"""The deepest nesting that is shown; a page has 8 levels, and one of some hundreds would exhaust the stack."""


def sanitize(text: str) -> str:
    """Return a text on one line, with runs of control and direction characters as one space each."""
    return _UNFIT.sub(" ", text)


def sanitize_values(value: Any, levels: int = _LEVELS) -> Any:
    """Sanitize every text in a JSON value, including the keys; what lies more than so many levels deep is left out."""
    if isinstance(value, str):
        return sanitize(value)
    if not isinstance(value, list | dict):
        return value
    if not levels:
        return "…"
    if isinstance(value, list):
        return [sanitize_values(item, levels - 1) for item in value]
    return {sanitize(name): sanitize_values(item, levels - 1) for name, item in value.items()}
