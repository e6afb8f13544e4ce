"""The limits of an answer, and the errors of its parser."""

from __future__ import annotations

__all__ = ["DEPTH", "DIGITS", "LONGEST", "TERMS", "NotMathError", "TooMuchError", "UnknownNotationError"]

LONGEST = 2000
"""Maximum number of characters of an answer; a longer one is right only if it equals the text of the gold answer."""

DEPTH = 40
"""Maximum nesting of brackets, fractions, roots and powers."""

TERMS = 300
"""Maximum number of terms of a sum and of elements of a list."""

DIGITS = 400
"""Maximum number of decimal digits of an integer, and maximum exponent of ten."""


class NotMathError(Exception):
    """The text is not a formula; it may be words."""


class UnknownNotationError(NotMathError):
    """The text is LaTeX that only a full LaTeX parser can read."""


class TooMuchError(Exception):
    """The text goes beyond a limit."""
