"""Text of environments and models for a terminal: :func:`printable`."""

from __future__ import annotations

import re

__all__ = ["is_hostile", "printable"]

_HOSTILE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def is_hostile(text: str) -> bool:
    """Return whether a text has characters that :func:`printable` replaces."""
    return _HOSTILE.search(text) is not None


def printable(text: str) -> str:
    """Return a text that changes nothing in a terminal but the characters that it shows.

    Newlines and tabs stay. Other control characters become their pictures (U+2400 to U+2421) or U+FFFD; so do halves of
    surrogate pairs, and the characters that override the direction of text (Unicode Standard Annex 9, section 2).
    """
    return text if text.isascii() and text.isprintable() else _HOSTILE.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
