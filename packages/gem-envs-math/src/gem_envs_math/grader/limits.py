"""The limits of an answer, and the errors of its parser."""

from __future__ import annotations

__all__ = ["DEPTH", "DIGITS", "LONGEST", "TERMS", "NotMathError", "TooMuchError", "UnknownNotationError"]

LONGEST = 2000
"""Characters of an answer; a longer one is right only if it equals the text of the gold answer."""

DEPTH = 40
"""Brackets, fractions, roots and powers within each other."""

TERMS = 300
"""Terms of a sum, and elements of a list."""

DIGITS = 400
"""Decimal digits of an integer, or the size of an exponent of ten."""


class NotMathError(Exception):
    """The text is no formula; it may be words."""


class UnknownNotationError(NotMathError):
    """The text is LaTeX that only a full LaTeX parser can read."""


class TooMuchError(Exception):
    """The text goes beyond a limit."""
