r"""Gold answers in the forms in which data sets publish them: worked solutions, boxes, aliases, JSON in a text.

A value that is none of the known forms is a DatasetError, never a gold answer that no right answer matches.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from gem.errors import DatasetError
from gem.text import extract_last_boxed_answer
from gem_questions.schemas.choices import ChoiceGold
from gem_questions.schemas.content import is_missing, json_value, plain_value, row_name

__all__ = ["UNANSWERABLE", "InstructionGold", "math_gold", "qa_golds", "solution_gold"]

UNANSWERABLE = "unanswerable"
"""The right answer where the text of a question does not answer it. An empty answer says the same; it is what SQuAD
2.0's official evaluation expects."""

_GSM8K = "####"
_FEW_WORDS = 8
"""Up to this number of words, a solution without a mark is the answer itself."""
_LONGEST_ANSWER = 20
"""Words of prose in an answer; with more it is a worked solution or a proof."""
_NO_ANSWERS = frozenset(("proof", "notfound", "not found"))
"""What NuminaMath-1.5 has in place of an answer."""
_FORMULA = re.compile(r"\$[^$]*\$|\\[A-Za-z]+")
_PROSE_WORD = re.compile(r"[^\W\d_]{2,}")
_BARE_BOX = re.compile(r"\\boxed\s+([^\s$.,{}]+)")
"""A box without braces, ``\\boxed 2``, as TeX allows it for one sign."""
_NUMBER = (int, float, Fraction, Decimal)
_HOLDERS = ("ground_truth", "answer", "final_answer", "value", "text")
"""Keys of an object that hold a gold answer for mathematics."""
_ANSWERS = ("value", "text", "answer", "ground_truth", "aliases", "humananswers", "spans", "number", "short_answers")
"""Keys of an object that hold right answers, the plainest first: of TriviaQA, SQuAD, DROP, Natural Questions."""


_VERDICTS = {1: "yes", 0: "no", "yes": "yes", "no": "no"}


class InstructionGold(list[str]):
    """What an answer must follow instead of being some text: the names of IFEval's instructions, as a list.

    Args:
        instructions: name and arguments of each.
    """

    def __init__(self, instructions: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        self.instructions = tuple((name, dict(arguments)) for name, arguments in instructions)
        super().__init__(name for name, _ in self.instructions)

    def __reduce__(self) -> tuple[Any, ...]:
        return InstructionGold, (self.instructions,)


def math_gold(row: Mapping[str, Any], column: str) -> Any:
    r"""Return a row's gold answer for mathematics: a str, a number, or a list of alternatives.

    Of a worked solution this is the text after the last ``####`` (GSM8K), or the content of the last ``\boxed{…}``
    (MATH, Minerva). A list, also as JSON text, has alternatives.

    Raises:
        DatasetError: if the column has no usable answer.
    """
    golds = _math_golds(plain_value(row[column]), row, column)
    return golds[0] if len(golds) == 1 else golds


def solution_gold(row: Mapping[str, Any], column: str) -> str:
    """Return the gold answer in a worked solution; DatasetError if the solution marks none."""
    return _solution_gold(plain_value(row[column]), row, column)


def qa_golds(row: Mapping[str, Any], column: str) -> list[str]:
    """Return a row's right answers, the plainest first and each once.

    Forms: a text; a number; a list of these, also as JSON text; SQuAD's ``{"text": […]}``; TriviaQA's ``{"value": …,
    "aliases": […]}``; the annotations of Natural Questions.

    Raises:
        DatasetError: if the column has no usable answer.
    """
    value = row[column]
    if isinstance(value, (ChoiceGold, InstructionGold)):
        return value
    golds = _qa_golds(value, row, column)
    return golds if len(golds) == 1 else list(dict.fromkeys(golds))


def _math_golds(value: Any, row: Mapping[str, Any], column: str) -> list[Any]:
    if is_missing(value):
        raise _unusable(row, column, value, "it is empty")
    if isinstance(value, str):
        if _is_list_of_texts(value):
            return _math_golds(json_value(value), row, column)
        if _has_mark(value):
            return [_solution_gold(value, row, column)]
        if value.strip().lower() in _NO_ANSWERS or len(_PROSE_WORD.findall(_FORMULA.sub(" ", value))) > _LONGEST_ANSWER:
            raise _unusable(
                row, column, value, "it is a proof or a solution that marks no answer, so nobody can earn it"
            )
        return [value.strip()]
    if isinstance(value, _NUMBER):
        if isinstance(value, (float, Decimal)) and not math.isfinite(value):
            raise _unusable(row, column, value, "it is no finite number")
        return [value]
    if isinstance(value, Mapping):
        held = next((plain_value(value[key]) for key in _HOLDERS if not is_missing(value.get(key))), None)
        if held is None:
            raise _unusable(row, column, value, "an object with none of the keys " + ", ".join(_HOLDERS))
        return _math_golds(held, row, column)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        golds = [gold for item in value for gold in _math_golds(plain_value(item), row, column)]
        if golds:
            return golds
        raise _unusable(row, column, value, "the list of answers is empty")
    raise _unusable(row, column, value, f"an answer is a text, a number or a list of these, not {type(value).__name__}")


def _solution_gold(value: Any, row: Mapping[str, Any], column: str) -> str:
    marked = _marked(value) if isinstance(value, str) else None
    if isinstance(value, str) and not _has_mark(value) and 0 < len(value.split()) <= _FEW_WORDS:
        return value.strip()  # the answer itself
    if marked is None:
        raise _unusable(row, column, value, "a solution ends in \\boxed{…}, or in #### and the answer")
    return marked


def _has_mark(text: str) -> bool:
    return _GSM8K in text or "\\boxed" in text or "\\fbox" in text


def _marked(solution: str) -> str | None:
    """Return the answer that a worked solution marks, or None."""
    if _GSM8K in solution:
        lines = solution.rpartition(_GSM8K)[2].strip().splitlines()
        return lines[0].strip() if lines else None
    solution = solution.replace("\\fbox", "\\boxed")  # a few solutions of MATH have the other frame
    braced = extract_last_boxed_answer(solution)
    bare = None if braced else _BARE_BOX.search(solution)
    return braced or (None if bare is None else bare[1])


def _qa_golds(value: Any, row: Mapping[str, Any], column: str) -> list[str]:
    found = _answers_in(value)
    if found is None:
        raise _unusable(
            row, column, value, f"right answers are texts, or an object with one of the keys {', '.join(_ANSWERS)}"
        )
    if not found:
        raise _unusable(row, column, value, "it is empty")
    return found


def _answers_in(value: Any) -> list[str] | None:
    """Return the answers in a value; an empty list if it says that there is none, None if it has an unknown form."""
    if type(value) is list:
        return _joined(value)
    value = plain_value(value)
    if isinstance(value, str):
        if not value.strip():
            return []
        return _answers_in(json_value(value)) if _is_list_of_texts(value) else [value]
    if is_missing(value):
        return []
    if isinstance(value, bool):
        return [str(value), "yes" if value else "no"]
    if isinstance(value, _NUMBER):
        return [str(value)]
    if isinstance(value, Mapping):
        lower = {str(key).lower(): item for key, item in value.items()}
        if "short_answers" in lower or "yes_no_answer" in lower:
            return _of_annotation(lower)
        held = [lower[key] for key in _ANSWERS if key in lower]
        return _joined(held) if held else None
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return _joined(value)
    return None


def _joined(values: Sequence[Any]) -> list[str] | None:
    found = [_answers_in(value) for value in values]
    return None if None in found else [text for texts in found if texts for text in texts]


def _of_annotation(annotation: Mapping[str, Any]) -> list[str] | None:
    """Return the short answers of an annotation of Natural Questions, and its yes or no (1, 0, or a word)."""
    verdicts = plain_value(annotation.get("yes_no_answer"))
    verdicts = verdicts if isinstance(verdicts, Sequence) and not isinstance(verdicts, str) else [verdicts]
    words = [
        {1: "yes", 0: "no", "yes": "yes", "no": "no"}.get(v.lower() if isinstance(v, str) else v) for v in verdicts
    ]
    texts = _answers_in(annotation.get("short_answers"))
    return None if texts is None else [*texts, *(word for word in words if word)]


def _is_list_of_texts(text: str) -> bool:
    """Return whether a text is a JSON list of texts; ``[1, 2]`` is an interval, and no list of alternatives."""
    if not (text.lstrip().startswith("[") and text.rstrip().endswith("]")):
        return False
    value = json_value(text)
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _unusable(row: Mapping[str, Any], column: str, value: Any, why: str) -> DatasetError:
    return DatasetError(
        f"{row_name(row)} has no usable answer in {column!r}: {value!r:.60} ({why}); remove the row, or name the "
        "column, or pass a function map_row that returns question and answer"
    )
