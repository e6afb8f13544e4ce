"""Whether a text shows a value: :func:`shows`, and whether a message tells it to the user: :func:`tells`."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation

__all__ = ["LONGEST_MESSAGE", "MOST_NUMBERS", "as_read", "has_words", "numbers_in", "shows", "tells"]

LONGEST_MESSAGE = 2000
"""Characters of a message that can tell a value; a longer one tells none, so that lists of guesses earn nothing."""
MOST_NUMBERS = 16
"""Numbers in a message that can tell a number."""

_NUMBER = re.compile(r"(?<![\w.])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\w)")
_SPACES = re.compile(r"\s+")
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_MARKS = str.maketrans({**dict.fromkeys("*_`~", " "), "\\": None, "\u2010": "-", "\u2011": "-"})
"""What Markdown puts around and before letters, and other hyphens."""


def as_read(text: str) -> str:
    """Return a text as its reader takes it in, in lower case.

    Invisible characters, marks of Markdown, the width of letters and the kind of blanks make no other text of it.
    """
    if not text.isascii():
        text = _FOREIGN.sub(_visible, unicodedata.normalize("NFKC", text))
    return _SPACES.sub(" ", text.translate(_MARKS).casefold()).strip()


def _visible(letter: re.Match[str]) -> str:
    return "" if unicodedata.category(letter[0]) == "Cf" else letter[0]


def has_words(text: str, words: str) -> bool:
    """Return whether a text contains these words, both as they are read."""
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def shows(text: str, value: str | float) -> bool:
    """Return whether a text contains a value: a number in any notation, a text as whole words whatever its case."""
    if isinstance(value, str):
        return has_words(as_read(text), as_read(value))
    return Decimal(str(value)) in numbers_in(text)


def numbers_in(text: str) -> set[Decimal]:
    """Return the numbers that a text contains, in any notation."""
    found = (_decimal(one[0]) for one in _NUMBER.finditer(as_read(text)))
    return {number for number in found if number is not None}


def tells(message: str, value: str | float) -> bool:
    """Return whether a message to the user contains a value, and is no list of guesses."""
    if len(message) > LONGEST_MESSAGE:
        return False
    if not isinstance(value, str) and sum(1 for _ in _NUMBER.finditer(as_read(message))) > MOST_NUMBERS:
        return False
    return shows(message, value)


def _decimal(number: str) -> Decimal | None:
    try:
        return Decimal(number.replace(",", "").replace("−", "-"))
    except InvalidOperation:
        return None
