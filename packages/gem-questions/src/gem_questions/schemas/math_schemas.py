r"""Shapes of published sets of mathematics.

Sources of the shapes: GSM8K (Cobbe et al. 2021, github.com/openai/grade-school-math), MATH (Hendrycks et al. 2021,
github.com/hendrycks/math), OCWCourses, known as Minerva (Lewkowycz et al. 2022), OlympiadBench (He et al. 2024,
github.com/OpenBMB/OlympiadBench), SVAMP, ASDiv and MAWPS as github.com/QwenLM/Qwen2.5-Math has them, MMLU, AQuA, MathQA
(Amini et al. 2019), MGSM (Shi et al. 2023), whose ``answer`` is a text or missing, and Open-Reasoner-Zero (Hu et al.
2025), whose rows are two turns of a chat.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas.choice_schemas import OPTION_KEYS, has_options, multiple_choice
from gem_questions.schemas.content import (
    RowContent,
    RowSchema,
    column_of,
    is_missing,
    plain_value,
    row_name,
    text_of_question,
)
from gem_questions.schemas.golds import math_gold, solution_gold

__all__ = ["ANSWER_KEYS", "MATH_SCHEMAS", "QUESTION_KEYS"]

QUESTION_KEYS = ("problem", "question", "prompt", "query", "input", "instruction", "content", "question_text", "text")
"""Columns that hold a question in sets without a name of their own, in order of precedence, in any capitals."""
ANSWER_KEYS = (
    "answer", "final_answer", "gold", "gold_answer", "ground_truth", "expected_answer", "correct_answer",
    "reward_model", "target", "answers", "solution", "label", "output",
)  # fmt: skip
"""Columns that hold the answer, likewise; a long ``solution`` must mark its answer."""

_COURSE = re.compile(r"\(\d+\.\w+[^()]*\b(?:Spring|Fall|Summer|January|IAP)\b[^()]*\)")
_NOTED_UNIT = re.compile(r"([^()]*\d[^()]*?)\s*\(([^()\d]+)\)")
"""An answer of ASDiv: ``9 (apples)``."""
_MINERVA_TOLERANCE = 0.01
"""Relative: the published grader of OCWCourses has this threshold (Lewkowycz et al. 2022)."""


def _has(row: Mapping[str, Any], *columns: str) -> bool:
    return all(column in row for column in columns)


def _worked(row: Mapping[str, Any]) -> RowContent:
    return RowContent(text_of_question(row, "problem"), solution_gold(row, "solution"))


def _is_minerva(row: Mapping[str, Any]) -> bool:
    about = row.get("type")
    return _is_worked(row) and isinstance(about, str) and _COURSE.search(about) is not None


def _is_worked(row: Mapping[str, Any]) -> bool:
    return _has(row, "problem", "solution") and column_of(row, ANSWER_KEYS) == "solution"


def _minerva(row: Mapping[str, Any]) -> RowContent:
    content = _worked(row)
    return RowContent(content.question, content.gold, {"tolerance": _MINERVA_TOLERANCE})


def _olympiad(row: Mapping[str, Any]) -> RowContent:
    question = text_of_question(row, "question")
    if not is_missing(row.get("context")):
        question = f"{row['context']}\n\n{question}"
    answers = plain_value(row["final_answer"])
    if (
        isinstance(answers, Sequence)
        and not isinstance(answers, str)
        and len(answers) > 1
        and row["is_multiple_answer"]
    ):
        answers = ", ".join(map(str, answers))  # all of them are asked for
    gold = math_gold(_Held(row, final_answer=answers), "final_answer")
    extras: dict[str, Any] = {} if is_missing(row.get("unit")) else {"unit": str(row["unit"])}
    if not is_missing(row.get("error")):
        extras["error"] = _error(row)
    return RowContent(question, gold, extras)


def _error(row: Mapping[str, Any]) -> float:
    """Return the allowed absolute error of a row; of several, one for each answer, the largest."""
    try:
        return max(float(part) for part in str(row["error"]).split(",") if part.strip())
    except ValueError:
        raise DatasetError(f"{row_name(row)} has an 'error' that is no number: {row['error']!r:.60}") from None


def _svamp(row: Mapping[str, Any]) -> RowContent:
    body, question = (column_of(row, (name,)) or name for name in ("body", "question"))
    story = str(row[body]).strip()
    joined = f"{story}{'' if story.endswith(('.', '?', '!', ',')) else '.'} {text_of_question(row, question).strip()}"
    gold = math_gold(row, column_of(row, ANSWER_KEYS) or "answer")
    noted = _NOTED_UNIT.fullmatch(gold) if isinstance(gold, str) else None
    return RowContent(joined, gold, {}) if noted is None else RowContent(joined, noted[1], {"unit": noted[2]})


def _choices(row: Mapping[str, Any]) -> RowContent:
    question, gold = multiple_choice(row, QUESTION_KEYS)
    return RowContent(question, gold.letter, {"options": gold.options})


class _Held(dict[str, Any]):
    """A row with some values replaced, and its index."""

    def __init__(self, row: Mapping[str, Any], **values: Any) -> None:
        super().__init__(row, **values)
        self.index = getattr(row, "index", None)


def _orz(row: Mapping[str, Any]) -> RowContent:
    gold = math_gold(_Held(row, answer=row["1"]["ground_truth"]), "answer")
    return RowContent(text_of_question(row, "0"), gold)


MATH_SCHEMAS = (
    RowSchema(
        "Open-Reasoner-Zero",
        "math",
        "0",
        "1",
        lambda row: all(isinstance(row.get(turn), Mapping) for turn in "01") and "ground_truth" in row["1"],
        _orz,
        frozenset("01"),
    ),
    RowSchema(
        "OlympiadBench",
        "math",
        "question",
        "final_answer",
        lambda row: _has(row, "question", "final_answer", "is_multiple_answer"),
        _olympiad,
        frozenset(("question", "final_answer", "is_multiple_answer")),
    ),
    RowSchema(
        "GSM8K",
        "math",
        "question",
        "answer",
        lambda row: _has(row, "question", "answer") and isinstance(row["answer"], str) and "####" in row["answer"],
        lambda row: RowContent(text_of_question(row, "question"), math_gold(row, "answer")),
        frozenset(("question", "answer")),
        question_alone=True,
    ),
    RowSchema(
        "MGSM",
        "math",
        "question",
        "answer_number",
        lambda row: _has(row, "question", "answer_number"),
        lambda row: RowContent(text_of_question(row, "question"), math_gold(row, "answer_number")),
        frozenset(("question", "answer_number")),
    ),
    RowSchema(
        "Minerva",
        "math",
        "problem",
        "solution",
        _is_minerva,
        _minerva,
        frozenset(("problem", "solution")),
        question_alone=True,
    ),
    RowSchema(
        "MATH",
        "math",
        "problem",
        "solution",
        _is_worked,
        _worked,
        frozenset(("problem", "solution")),
        question_alone=True,
    ),
    RowSchema(
        "multiple choice",
        "math",
        "question",
        "answer",
        lambda row: has_options(row, QUESTION_KEYS),
        _choices,
        needs_one=OPTION_KEYS,
    ),
    RowSchema(
        "SVAMP, ASDiv",
        "math",
        "question",
        "answer",
        lambda row: (
            column_of(row, ("body",)) is not None
            and column_of(row, ("question",)) is not None
            and column_of(row, ANSWER_KEYS) is not None
        ),
        _svamp,
        frozenset(("body", "question")),
    ),
)
