"""Splits texts into words for the index and the search."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain

__all__ = ["LONGEST", "tokenize"]

LONGEST = 40
"""The number of characters of a word that count."""
_REPEATED = 40
"""Characters; longer runs of letters and digits are seldom met again."""

# Between the words of CamelCase, and before a number at the end of a name (Game2048, but not v0).
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z]{2})(?=[0-9])")
_WORD = re.compile(r"[^\W_]+")


def tokenize(text: str) -> list[str]:
    """Return the words of any text, folded: no capitals, no accents, CamelCase taken apart."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in decomposed if not unicodedata.combining(character))
    runs = _WORD.findall(text)
    if len(text) > _REPEATED and any(len(run) > _REPEATED for run in runs):
        return [word for run in runs for word in (_known(run) if len(run) <= _REPEATED else _words(run))]
    return list(chain.from_iterable(map(_known, runs)))


def _words(run: str) -> tuple[str, ...]:
    """Return the words of a run of letters and digits; no seam reaches beyond one."""
    return tuple(word[:LONGEST] for word in _WORD.findall(_SEAM.sub(" ", run).casefold()))


# A catalogue repeats most of its words.
_known = lru_cache(maxsize=1 << 15)(_words)
