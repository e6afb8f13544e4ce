"""Text for a terminal: :func:`printable` for that of environments and models, :func:`wrapped` for sentences."""

from __future__ import annotations

import re
import textwrap

__all__ = ["is_hostile", "printable", "wrapped"]

_HOSTILE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


_UNBROKEN = re.compile(r"'[^'\n]*'|(?:gem|pip|python3?|uv) [^;,.\n]*")
"""Quoted text and commands, which a reader copies."""


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


def wrapped(text: str, width: int) -> str:
    """Return a text in lines of at most ``width`` characters, broken between words.

    Words, quoted text and commands stay whole, however long they are, so that they can be copied.
    """
    kept = _UNBROKEN.sub(lambda found: found[0].replace(" ", "\0"), text)
    lines = (
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False, replace_whitespace=False)
        if len(line) > width
        else line
        for line in kept.split("\n")
    )
    return "\n".join(lines).replace("\0", " ")
