"""Values as messages show them: frozen to text, shortened, or cut to the part that differs."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["differing_parts", "freeze", "shorten"]

_LONGEST = 120
"""Characters of a value that a message shows."""

_CONTEXT = 20
"""Characters that two values share which a message shows on either side of their difference."""

_LONGEST_DIFFERENCE = 400
"""Characters of a difference that a message shows: a path of the file system fits in."""


def freeze(value: Any) -> str:
    """Return a value as JSON text that two equal values share, and that no later change of the value reaches."""
    try:
        return json.dumps(value, sort_keys=True, default=_opaque)
    except (TypeError, ValueError, RecursionError):  # keys of mixed types, a value that holds itself
        return _opaque(value)


def _opaque(value: Any) -> str:
    # Not repr, which mostly holds the address of the object.
    if isinstance(value, (bytes, bytearray, set, frozenset, tuple, list, dict)):
        return f"<{type(value).__name__} {sorted(map(repr, value))}>"
    number = value.item() if callable(getattr(value, "item", None)) and getattr(value, "size", 0) == 1 else ""
    return f"<{type(value).__name__} {number}>"  # NumPy's numbers by their value


def shorten(value: Any) -> str:
    """Return a value's ``repr``, cut to a length that a message can hold."""
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def differing_parts(old: str, new: str) -> tuple[str, str]:
    """Return the parts of two texts that differ, with some of what surrounds them.

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
    """Return a text without its first ``start`` and its last ``end`` characters, but for some of them."""
    first = max(0, start - _CONTEXT)
    last = len(text) - max(0, end - _CONTEXT)
    part = text[first:last]
    cut = part[:_LONGEST_DIFFERENCE]
    return f"{'…' if first else ''}{cut}{'…' if first + len(cut) < len(text) else ''}"
