r"""What the worlds of this package share: the price of an unreadable action, closing lines, probabilities in words."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, TypeVar

from gem.arguments import real
from gem.text_env import MoveResult, TextEnv, malformed

__all__ = ["GridGame", "probability_from_words", "probability_in_words"]

MoveT = TypeVar("MoveT")

_LARGEST_DENOMINATOR = 1000
_NUMBER = re.compile(r"(\d+)/(\d+)|(\d+(?:\.\d+)?(?:e-\d+)?)")


class GridGame(TextEnv[MoveT], ABC):
    """Base class of the worlds: an action without a move costs its turn, and ``format_penalty`` where that is set."""

    closings: ClassVar[Mapping[str, str]] = {
        "success": "You have reached the goal.",
        "failure": "The episode is lost.",
        "turns": "No turns are left.",
        "malformed": "The episode is over.",
        "fault": "The episode is broken off.",
    }
    format_penalty: float = 0.0

    def _set_format_penalty(self, format_penalty: float) -> None:
        self.format_penalty = real("format_penalty", format_penalty, minimum=0.0, maximum=1.0)
        price = (
            f" and {self.format_penalty:g} {'point' if self.format_penalty == 1 else 'points'}"
            if self.format_penalty
            else ""
        )
        self.form_note = f"An action in any other form costs a turn{price}."

    def _malformed(self) -> MoveResult:
        return malformed("No move in the required format was found.", -self.format_penalty or 0.0, ends=False)


def probability_in_words(probability: float) -> str:
    """Return ``"1/3"`` for a probability that is a fraction with a small denominator, else all of its digits."""
    fraction = Fraction(probability).limit_denominator(_LARGEST_DENOMINATOR)
    if float(fraction) != probability:
        return repr(probability)
    return f"{fraction.numerator}/{fraction.denominator}" if fraction.denominator > 1 else str(fraction.numerator)


def probability_from_words(text: str) -> float:
    """Return the first probability in ``text``, exactly the one that was put into words.

    Raises:
        ValueError: if there is none.
    """
    match = _NUMBER.search(text)
    if match is None:
        raise ValueError(f"no probability in {text!r}")
    return float(Fraction(int(match[1]), int(match[2]))) if match[1] else float(match[3])
