"""What is too much to be an answer, and how the reading of one ends."""

from __future__ import annotations

__all__ = ["DEPTH", "DIGITS", "LONGEST", "TERMS", "NotMathError", "TooMuchError", "UnknownNotationError"]

LONGEST = 2000
"""Characters of an answer that are looked at; a longer one is right only if it is the very text of the gold."""

DEPTH = 40
"""Brackets, fractions, roots and powers within each other."""

TERMS = 300
"""Terms of a sum, and elements of a list."""

DIGITS = 400
"""Decimal digits of an integer, or the size of an exponent of ten."""


class NotMathError(Exception):
    """The text is no formula, it may be words."""


class UnknownNotationError(NotMathError):
    """The text is LaTeX that only a full reader of LaTeX can make sense of."""


class TooMuchError(Exception):
    """The text goes beyond a limit."""
