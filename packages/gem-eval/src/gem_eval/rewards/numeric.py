"""The reward ``numeric``: the answer is the right number, within a tolerance."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from gem.arguments import real
from gem_questions.rewards import AnswerReward, Score

__all__ = ["NumericReward", "read_number"]

_NUMBER = re.compile(
    r"(?<![\w.])[+\-\u2212]?(?:\d(?:[\d,]*\d)?(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4}(?!\d))?"
    r"(?:/(\d{1,400}(?:\.\d{1,400})?))?(?:\s?%)?",
    re.ASCII,
)
_CALCULATION = re.compile(r"[\w)][+*/^\u00d7\u00f7\u00b7](?:\Z|[\w(])", re.ASCII)
_GROUPED = re.compile(r"[+\-\u2212]?\d{1,3}(?:,\d{3})+(?!\d|,)")
_LONGEST = 10_000
"""Characters of an answer that are read, from its end."""


class NumericReward(AnswerReward):
    """1.0 if the last number of the answer is the right one within a tolerance, else 0.0.

    Numbers may have thousands separators (``1,234.5``), an exponent, and a percent sign, which divides by 100. The
    number of a fraction is its value (``8/4`` is 2); a number of another calculation (``2*3``, ``2^5``) is no answer.

    Args:
        answer: as in :class:`gem_questions.rewards.AnswerReward`, like the next two.
        answer_from: where the right answer of an episode is.
        extract: which part of the text is the answer.
        absolute: largest difference that is still right.
        relative: the same, as a share of the right number. The larger of the two tolerances counts.
    """

    def __init__(
        self,
        *,
        answer: Any = None,
        answer_from: str | None = None,
        extract: str = "auto",
        absolute: float = 0.0,
        relative: float = 1e-9,
    ) -> None:
        super().__init__(answer=answer, answer_from=answer_from, extract=extract)
        self._absolute = Decimal(repr(real("absolute", absolute, minimum=0.0)))
        self._relative = Decimal(repr(real("relative", relative, minimum=0.0)))

    def grade(self, said: str, gold: Any) -> Score:
        golds = gold if isinstance(gold, (list, tuple)) else [gold]
        numbers = [number for item in golds if (number := read_number(str(item))) is not None]
        if not numbers:
            return Score.unreadable(f"the right answer {gold!r:.80} is no number", "no_answer_known")
        number = read_number(said)
        if number is None:
            return Score(0.0, reasons=[f"there is no number in the answer {said!r:.200}"])
        error = min(abs(number - wanted) for wanted in numbers)
        right = any(abs(number - wanted) <= max(self._absolute, self._relative * abs(wanted)) for wanted in numbers)
        return Score(
            float(right),
            reasons=[f"{number} is {'right' if right else 'not right'}"],
            metadata={"number": str(number), "error": str(error)},
        )


def read_number(text: str) -> Decimal | None:
    """Return the last number of a text, exactly, or to 28 digits if it is a fraction; None if there is none.

    Takes time linear in the length of the text, of which only the end is read.
    """
    last = None
    read = text[-_LONGEST:]
    for match in _NUMBER.finditer(read):
        last = match
    if last is None:
        return None
    begin, end = last.span()
    if _CALCULATION.search(read[max(0, begin - 2) : begin]) or _CALCULATION.match(read[end - 1 : end + 2]):
        return None
    digits = last[0].rstrip("%").strip().partition("/")[0]
    if "," in digits:  # a list of numbers, unless the commas stand before groups of three digits
        digits = digits.replace(",", "") if _GROUPED.match(digits) else digits.rpartition(",")[2]
    number = Decimal(digits.replace("\u2212", "-"))
    if last[1] is not None:
        if not (below := Decimal(last[1])):
            return None
        number /= below
    return number.scaleb(-2) if last[0].endswith("%") else number
