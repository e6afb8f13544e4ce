"""Values as messages show them: frozen to text, shortened, or cut to the part that differs."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["differing_parts", "freeze", "shorten"]

_LONGEST = 120
"""Maximum number of characters of a value in a message."""

_CONTEXT = 20
"""Number of common characters that a message shows on either side of a difference."""

_LONGEST_DIFFERENCE = 400
"""Maximum number of characters of a difference in a message; a file's path fits."""


def freeze(value: Any) -> str:
    """Return a value as JSON text, which is the same for equal values and unaffected by later changes."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):  # keys of mixed types, a value that contains itself
        return _opaque(value)


def _opaque(value: Any) -> str:
    # Not repr, which usually contains the object's address.
    if isinstance(value, (bytes, bytearray, set, frozenset, tuple, list, dict)):
        return f"<{type(value).__name__} {sorted(map(repr, value))}>"
    number = value.item() if callable(getattr(value, "item", None)) and getattr(value, "size", 0) == 1 else ""
    return f"<{type(value).__name__} {number}>"  # NumPy's numbers by their value


_ENCODER = json.JSONEncoder(sort_keys=True, default=_opaque)  # json.dumps would make one for each value


def shorten(value: Any) -> str:
    """Return a value's ``repr``, cut to a length that a message can hold."""
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def differing_parts(old: str, new: str) -> tuple[str, str]:
    """Return the parts of two texts that differ, with some context.

    Short texts are returned whole. Of others, the beginning and the end that both share are cut, so that the message
    shows the whole difference, up to 400 characters of it.
    """
    if max(len(old), len(new)) <= _LONGEST // 2:
        return old, new
    shorter = min(len(old), len(new))
    start = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    left = shorter - start
    end = next((i for i in range(left) if old[-1 - i] != new[-1 - i]), left)
    return _part(old, start, end), _part(new, start, end)


def _part(text: str, start: int, end: int) -> str:
    """Return a text without its first ``start`` and last ``end`` characters, except for some context."""
    first = max(0, start - _CONTEXT)
    last = len(text) - max(0, end - _CONTEXT)
    part = text[first:last]
    cut = part[:_LONGEST_DIFFERENCE]
    return f"{'…' if first else ''}{cut}{'…' if first + len(cut) < len(text) else ''}"
