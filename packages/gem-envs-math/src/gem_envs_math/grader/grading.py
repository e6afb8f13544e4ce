"""The steps of grading: equal text, exact algebra, a worker process, a judge; then what the question demands."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from gem.errors import ProcessCallError, ProcessTimeoutError
from gem_envs_math.grader.compare import Rules, equal
from gem_envs_math.grader.forms import has_work_left
from gem_envs_math.grader.limits import LONGEST, NotMathError, TooMuchError
from gem_envs_math.grader.parameters import by_other_names
from gem_envs_math.grader.parser import parse
from gem_envs_math.grader.question import Demands, demands_of, rounds_to
from gem_envs_math.grader.texts import chemical_formula, choice_letter, choice_letters
from gem_envs_math.grader.units import uncertain
from gem_envs_math.grader.values import Formula, Relational, Value, is_formula, is_read
from gem_processes import ProcessPool, ResourceHandle, SharedResource
from gem_questions.rewards import GradeResult

__all__ = ["AnswerJudge", "Done", "GradeResult", "grade", "is_correct", "read", "text_of", "workers"]

_POOL = ProcessPool(
    "gem_envs_math.grader.fallback:decide", seconds=1.0, warm_up="gem_envs_math.grader.fallback:warm_up"
)
_WORKERS = SharedResource(lambda: _POOL, ProcessPool.close)
_ALTERNATIVES = 1000
_NO_ANSWERS = frozenset({"", "nan"})
_LETTERS = frozenset("ABCDEFGHabcdefgh")
_CHOICES = frozenset("ABCDabcd")
"""Letters of options that may come in the other case where no question says that they are names; e is a number."""
_NAMED_QUANTITY = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)\s*(?:\\angle\s*)?\\?[A-Za-z]+\s*=\s*([^=]+)")
"""A trigonometric function of an angle, and its value."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")

Done = Literal["equal", "computed"]
"""What counts as a finished answer; see :func:`grade`."""

AnswerJudge = Callable[[str, str, "str | None"], "bool | None"]
"""``judge(answer, gold, question)`` returns whether the answer is right, or None if it cannot tell."""


def is_correct(answer: object, gold: object, *, question: str | None = None, seconds: float = 1.0) -> bool:
    """Return whether an answer is right; see :func:`grade`."""
    return grade(answer, gold, question=question, seconds=seconds).correct


def grade(
    answer: object,
    gold: object,
    *,
    question: str | None = None,
    tolerance: float | None = None,
    error: float | None = None,
    judge: AnswerJudge | None = None,
    done: Done = "equal",
    seconds: float = 1.0,
) -> GradeResult:
    r"""Compare an answer with the gold answer; see :mod:`gem_envs_math.grader` for the rules of equality.

    Safe from any number of threads. Never raises, for any answer and any gold answer, unless the judge raises.

    ``how`` is ``"text"`` (the same text as the gold answer), ``"exact"`` (algebra, or answers of different kinds),
    ``"numeric"`` (values to sixty digits), ``"math-verify"``, ``"judge"``, ``"copied"`` (an expression of the
    question), ``"form"`` (equal, but not in the form that the question or ``done`` demands), ``"empty"`` (there is no
    answer); and for what is unreadable ``"notation"``, ``"limit"`` (too long, too deep, too large to be an answer),
    ``"timeout"``, ``"crash"`` (of the worker).

    Args:
        answer: the content of the box, a str or a number; any other object is wrong.
        gold: a str, a number, or a sequence of alternatives of which one must match.
        question: the text of the question; see :mod:`gem_envs_math.grader.question` for what it decides.
        tolerance: greatest relative difference of two numbers that are the same answer; with a tolerance, a number
            also counts that rounds to the decimals of the gold answer. None: numbers are exact.
        error: greatest absolute difference, likewise.
        judge: decides where this grader cannot read an answer or a gold answer; see :data:`AnswerJudge`.
        done: the form in which an answer is one: ``"equal"``, any that the question admits; ``"computed"``, none that
            leaves arithmetic to do which the gold answer does not leave (``9 \cdot 2`` for ``18``, ``5!``,
            ``\sin 60^\circ``, a sum that is not added up; not ``\frac24`` and ``3 \cdot 10^5``).
        seconds: wall-clock limit for one comparison in a worker process; the wait for a free worker does not count.
    """
    text = text_of(answer)
    if text is None:
        return GradeResult("different", "empty")
    alternatives: list[str | None]
    if not isinstance(gold, str) and isinstance(gold, Sequence) and not isinstance(gold, (bytes, bytearray)):
        alternatives = [text_of(alternative) for alternative in gold[:_ALTERNATIVES]]
    else:
        alternatives = [text_of(gold)]
    demands = demands_of(question) if question else None
    worst = GradeResult("different", "empty")
    for alternative in alternatives:
        result = _grade(text, alternative, _Settings(demands, tolerance or 0.0, error or 0.0, done, seconds))
        if result.verdict == "unreadable" and judge is not None and alternative is not None:
            told = judge(text, alternative, question)
            if told is not None:
                result = GradeResult("same" if told else "different", "judge")
        if result.correct:
            return result
        if worst.how == "empty" or result.verdict == "unreadable":
            worst = result
    return worst


def workers() -> ResourceHandle[ProcessPool]:
    """Return a handle of the worker processes, which end with their last user; without users, at exit."""
    return _WORKERS.handle()


@dataclass(frozen=True)
class _Settings:
    demands: Demands | None
    tolerance: float
    error: float
    done: Done
    seconds: float


def _grade(answer: str, gold: str | None, settings: _Settings) -> GradeResult:
    if gold is None:
        return GradeResult("different", "empty")
    if answer == gold:
        return GradeResult("same", "text")
    if _INTEGER.fullmatch(answer) and _INTEGER.fullmatch(gold) and not settings.tolerance and not settings.error:
        return _compared(int(answer) == int(gold), "exact")
    result, one, two = _read_and_compared(answer, gold, settings)
    if not result.correct or one is None or two is None:
        return result
    if settings.done == "computed" and is_read(two) and (not is_read(one) or has_work_left(one, two)):
        return GradeResult("different", "form")
    if settings.demands is not None:
        objection = settings.demands.objection(answer, one, two)
        if objection is not None:
            return GradeResult("different", objection)
    return result


def _read_and_compared(answer: str, gold: str, settings: _Settings) -> tuple[GradeResult, Value | None, Value | None]:
    """Return the verdict on two texts, and their values if they were read."""
    one = two = None
    compound = chemical_formula(gold)
    if compound is not None and chemical_formula(answer) == compound:
        return GradeResult("same", "exact"), None, None
    try:
        one, two = read(answer), read(gold)
        if one is None or two is None:
            return GradeResult("different", "empty"), one, two
        letters = _letter(one, answer), _letter(two, gold)
        if None not in letters and any(marked for _, marked in filter(None, letters)):
            return _compared(len({letter for letter, _ in filter(None, letters)}) == 1, "exact"), None, None
        choices = choice_letters(answer), choice_letters(gold)
        if None not in choices:
            return _compared(choices[0] == choices[1], "exact"), one, two
        demands = settings.demands
        if answer in _CHOICES and answer == gold.swapcase() and (demands is None or demands.lists_options):
            return GradeResult("same", "exact"), one, two
        percent = demands is None or demands.percent or "%" in gold or "percent" in gold
        nouns = demands.nouns if demands is not None else frozenset()
        if isinstance(one, Relational):
            side = _named_side(answer, two) if demands is None else demands.asked_side(answer, one)
            one = one if side is None else read(side) or one
        choice = choice_letter(answer) if answer[:1] in "(ABCDEFGH\\" else None
        if choice is not None and choice[1] and (rest := read(choice[1])) is not None:
            one = rest  # "(C) 5" for 5
        rules = Rules(percent=percent, nouns=nouns, tolerance=settings.tolerance, error=settings.error)
        told = equal(one, two, rules)
        if told is not True and any(equal(one, other, rules) for other in by_other_names(one, two)):
            told = True
        if told is not True and (
            (settings.tolerance and rounds_to(one, gold, two))
            or (demands is not None and (demands.rounded(one, two) or demands.base_left_out(one, two)))
        ):
            told = True
    except (TooMuchError, RecursionError):
        return GradeResult("unreadable", "limit"), one, two
    except ZeroDivisionError:
        return GradeResult("different", "exact"), one, two
    if told is False and not (is_read(one) and is_read(two)):
        told = None
    if told is not None:
        how = "exact" if is_read(one) and is_read(two) else "text"
        return _compared(told, how), one, two
    unsure = isinstance(one, Formula) and one.unit is not None and not nouns.issuperset(uncertain(one.unit))
    if unsure or not (all(map(is_read, (one, two))) or all(map(is_formula, (one, two)))):
        return GradeResult("unreadable", "notation"), one, two
    return _slowly(answer, gold, percent, nouns, settings.seconds), one, two


def _named_side(answer: str, gold: Value) -> str | None:
    r"""Return the right side of ``\cos A = 0.6`` as an answer to an unknown question for a number."""
    found = _NAMED_QUANTITY.fullmatch(answer.strip(" $")) if isinstance(gold, Formula) and gold.is_number else None
    return None if found is None else found[1]


def _letter(value: Value, text: str) -> tuple[str, bool] | None:
    """Return the letter of a choice in capitals, and whether marks such as brackets show that it is one."""
    if isinstance(value, Formula) and value.node[0] == "v" and value.node[1] in _LETTERS and len(text) == 1:
        return text.upper(), False
    found = choice_letter(text)
    return None if found is None else (found[0].upper(), True)


def _compared(same: bool, how: str) -> GradeResult:
    return GradeResult("same" if same else "different", how)


def _slowly(answer: str, gold: str, percent: bool, nouns: frozenset[str], seconds: float) -> GradeResult:
    try:
        told, how = _POOL.within(seconds, answer, gold, percent, sorted(nouns))
    except ProcessTimeoutError:
        return GradeResult("unreadable", "timeout")
    except ProcessCallError:
        return GradeResult("unreadable", "crash")
    if told is None:
        return GradeResult("unreadable", "notation")
    return _compared(bool(told), str(how))


def read(text: str) -> Value | None:
    """Return the value of a text; None if there is nothing in it.

    Raises:
        TooMuchError: beyond the limits.
    """
    if len(text) > LONGEST:
        raise TooMuchError(f"more than {LONGEST} characters")
    return _remembered(text)


@lru_cache(maxsize=4096)
def _remembered(text: str) -> Value | None:
    """Return the value of a text, cached because gold answers and answers repeat."""
    try:
        return parse(text)
    except NotMathError:
        return None


def text_of(value: Any) -> str | None:
    """Return the text of an answer, or None."""
    if isinstance(value, str):
        text = value.strip()
        return None if text.lower() in _NO_ANSWERS else text
    if hasattr(value, "item") and callable(value.item) and not isinstance(value, type):  # a NumPy number
        try:
            value = value.item()
        except Exception:
            return None
    if isinstance(value, (bool, int, float, Fraction, Decimal)):
        if isinstance(value, (float, Decimal)) and not math.isfinite(value):
            return None
        try:
            return str(value)
        except ValueError:  # an int of thousands of digits
            return None
    return None
