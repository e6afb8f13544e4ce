"""The reward ``numeric``: the answer is the right number, within a tolerance."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from typing import Any

from gem.arguments import real
from gem_questions.rewards import AnswerReward, Score

__all__ = ["NumericReward", "read_number"]

_NUMBER = re.compile(
    r"(?<![\w.])[+\-\u2212]?(?:\d(?:[\d,]*\d)?(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4}(?!\d))?(?:\s?%)?", re.ASCII
)
_FRACTION = re.compile(
    r"(?<![\w.,/^*])(?<![\d)}][+\-\u2212])([+\-\u2212]?)(?:(\d{1,400})\s+)?(\d{1,400}(?:\.\d{1,400})?)\s?/\s?(\d{1,400}(?:\.\d{1,400})?)\Z",
    re.ASCII,
)
"""A fraction, also with a whole number before it, at the end of a text."""
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s?\{([^{}]*)\}\s?\{([^{}]*)\}")
_OPERATION = re.compile(r"[\d)}\]%!]\s{0,9}(?:[/*^+:×·÷√\-\u2212]|\\(?:times|cdot|div|frac)\b)[\s{(]{0,9}\Z")
"""What makes the number behind it a part of an expression, whose value is another one."""
_GROUPED = re.compile(r"[+\-\u2212]?\d{1,3}(?:,\d{3})+(?!\d|,)")
_LONGEST = 10_000
"""Characters of an answer that are read, from its end."""
_NEAR = 1500
"""Characters before the end of a number in which the rest of its expression is looked for."""


class NumericReward(AnswerReward):
    """1.0 if the last number of the answer is the right one within a tolerance, else 0.0.

    Numbers may have thousands separators (``1,234.5``), an exponent and a percent sign, which divides by 100; a
    fraction (``8/4``, ``1 1/2``) is the number that it equals. The last number of any other expression (``2 * 3``,
    ``10 - 3``, ``12:30``) is not its value, so such an answer has no number.

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
    """Return the last number of a text, exactly; None if there is none, or if it is an operand of an expression.

    Takes time linear in the length of the text, of which only the end is read. A fraction is rounded to 100 digits.
    """
    last = None
    text = _LATEX_FRACTION.sub(r"\1/\2", text[-_LONGEST:])
    for match in _NUMBER.finditer(text):
        last = match
    if last is None:
        return None
    if _OPERATION.search(text[: last.start()][-_NEAR:]) is not None or text[last.end() : last.end() + 1] in (
        "/",
        "^",
        "!",
    ):
        return _fraction(text[: last.end()].rstrip(".")[-_NEAR:])
    digits = last[0].rstrip("%").strip()
    if "," in digits:  # a list of numbers, unless the commas stand before groups of three digits
        digits = digits.replace(",", "") if _GROUPED.match(digits) else digits.rpartition(",")[2]
    number = Decimal(digits.replace("\u2212", "-"))
    return number.scaleb(-2) if last[0].endswith("%") else number


def _fraction(text: str) -> Decimal | None:
    """Return the fraction with which a text ends; None if there is none, or its denominator is zero."""
    match = _FRACTION.search(text)
    if match is None or not Decimal(match[4]):
        return None
    with localcontext() as context:
        context.prec = 100
        value = Decimal(match[2] or 0) + Decimal(match[3]) / Decimal(match[4])
        return -value if match[1] in ("-", "\u2212") else value
