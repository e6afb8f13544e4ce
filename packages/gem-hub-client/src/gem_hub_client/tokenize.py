"""Splits texts into words for the index and the search."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["LONGEST", "tokenize"]

LONGEST = 40
"""The number of characters of a word that count."""

# Between the words of CamelCase, and before a number at the end of a name (Game2048, but not v0).
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z]{2})(?=[0-9])")
_WORD = re.compile(r"[^\W_]+")


def tokenize(text: str) -> list[str]:
    """Return the words of any text, folded: no capitals, no accents, CamelCase taken apart."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in decomposed if not unicodedata.combining(character))
    found = _WORD.findall(_SEAM.sub(" ", text).casefold())
    return [word[:LONGEST] for word in found]
