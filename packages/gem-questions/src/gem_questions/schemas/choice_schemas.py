"""Shapes of published sets of multiple choice.

Sources of the shapes: HellaSwag (Zellers et al. 2019), SWAG (Zellers et al. 2018), WinoGrande (Sakaguchi et al. 2020),
Social IQa (Sap et al. 2019), PIQA (Bisk et al. 2020), COPA (Roemmele et al. 2011; the columns of SuperGLUE), Cosmos QA
(Huang et al. 2019), MedMCQA (Pal et al. 2022), ReClor (Yu et al. 2020), GPQA (Rein et al.
2023), SciQ (Welbl et al. 2017) and TruthfulQA (Lin et al. 2022), each as its authors or Hugging Face publish it. The
columns and where each answer counts from are those that the tasks of github.com/EleutherAI/lm-evaluation-harness read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas.choices import (
    CHOICE_ANSWERS,
    CHOICE_KEYS,
    OPTION_COLUMNS,
    ChoiceGold,
    choices_of,
    gold_of_choice,
    with_choices,
)
from gem_questions.schemas.content import (
    RowContent,
    RowSchema,
    column_of,
    is_missing,
    plain_value,
    row_name,
    text_of_question,
    with_passage,
)

__all__ = ["CHOICE_SCHEMAS", "OPTION_KEYS", "has_options", "multiple_choice"]

OPTION_KEYS = frozenset((*CHOICE_KEYS, *OPTION_COLUMNS, "question"))
"""Columns, in small letters, without any of which a row has no options."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class _ChoiceSet:
    """Where a set has its question, its options and the number of the right one."""

    name: str
    question: str
    options: tuple[str, ...]
    """A column for each option, or the one column of a list."""
    answer: str
    first: int
    """The number of the first option."""
    request: str = ""
    """What the row asks, where its question is no question."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.question, *self.options, self.answer

    def fits(self, row: Mapping[str, Any]) -> bool:
        return (
            all(column in row for column in self.columns)
            and (len(self.options) > 1 or not isinstance(row[self.options[0]], (str, Mapping)))
            and ("{question}" not in self.request or isinstance(row.get("question"), str))
        )

    def read(self, row: Mapping[str, Any]) -> RowContent:
        texts = [row[column] for column in self.options]
        if len(self.options) == 1:
            listed = plain_value(texts[0])
            texts = list(listed) if isinstance(listed, Sequence) and not isinstance(listed, str) else []
        if not 1 < len(texts) <= len(_LETTERS) or any(is_missing(text) for text in texts):
            raise DatasetError(
                f"{row_name(row)} has no options to choose from in {', '.join(map(repr, self.options))}: "
                f"{texts!r:.60}; remove the row"
            )
        options = {letter: str(text).strip() for letter, text in zip(_LETTERS, texts, strict=False)}
        value = plain_value(row[self.answer])
        said = str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
        number = int(said) - self.first if said.isascii() and said.isdigit() else -1
        if not 0 <= number < len(options):
            raise DatasetError(
                f"{row_name(row)} has no usable answer in {self.answer!r}: {row[self.answer]!r:.60} is no number from "
                f"{self.first} to {self.first + len(options) - 1}, as {self.name} numbers its options; remove the row"
            )
        question = self._question(row)
        return RowContent(with_choices(question, options), ChoiceGold(_LETTERS[number], options))

    def _question(self, row: Mapping[str, Any]) -> str:
        question = text_of_question(row, self.question)
        if self.name == "HellaSwag" and not is_missing(row.get("activity_label")):
            question = f"{row['activity_label']}: {question}"
        request = self.request.replace("{question}", str(row.get("question")))
        return with_passage(row, f"{question}\n\n{request}" if request else question, (self.question,))


_SETS = (
    _ChoiceSet("HellaSwag", "ctx", ("endings",), "label", 0, "Which ending continues the text?"),
    _ChoiceSet(
        "SWAG",
        "startphrase",
        ("ending0", "ending1", "ending2", "ending3"),
        "label",
        0,
        "Which ending continues the text?",
    ),
    _ChoiceSet(
        "WinoGrande", "sentence", ("option1", "option2"), "answer", 1, "What belongs in the place of the underscore?"
    ),
    _ChoiceSet("Social IQa", "question", ("answerA", "answerB", "answerC"), "label", 1),
    _ChoiceSet("PIQA", "goal", ("sol1", "sol2"), "label", 0, "Which way reaches this goal?"),
    _ChoiceSet("COPA", "premise", ("choice1", "choice2"), "label", 0, "What was the {question} of this?"),
    _ChoiceSet("Cosmos QA", "question", ("answer0", "answer1", "answer2", "answer3"), "label", 0),
    _ChoiceSet("MedMCQA", "question", ("opa", "opb", "opc", "opd"), "cop", 0),
    _ChoiceSet("ReClor", "question", ("answers",), "label", 0),
)

_GPQA = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
_SCIQ = ("correct_answer", "distractor1", "distractor2", "distractor3")
_TRUTHFUL = ("Best Answer", "Best Incorrect Answer")


def _right_first(question: str, columns: Sequence[str]) -> Any:
    """Return the reader of rows with a column for the right answer and one for each wrong answer."""
    return lambda row: _ordered(row, text_of_question(row, question).strip(), [row[column] for column in columns])


def _ordered(row: Mapping[str, Any], question: str, answers: Sequence[Any]) -> RowContent:
    """Return a row whose right answer is published first, with its options in an order that depends on it alone."""
    texts = [str(answer).strip() for answer in answers]
    if any(map(is_missing, answers)) or len(set(texts)) < len(texts) or not 1 < len(texts) <= len(_LETTERS):
        raise DatasetError(f"{row_name(row)} has no two or more different answers: {texts!r:.60}; remove the row")
    order = sorted(texts, key=lambda text: sha256(f"{question}\n{text}".encode("utf-8", "replace")).digest())
    options = dict(zip(_LETTERS, order, strict=False))
    letter = next(letter for letter, text in options.items() if text == texts[0])
    return RowContent(with_choices(with_passage(row, question), options), ChoiceGold(letter, options))


def _truthful(row: Mapping[str, Any]) -> RowContent:
    targets = plain_value(row["mc1_targets"])
    texts, labels = (plain_value(targets.get(name)) or () for name in ("choices", "labels"))
    if list(labels).count(1) != 1 or len(texts) != len(labels):
        raise DatasetError(f"{row_name(row)} has not one right answer in 'mc1_targets': {labels!r:.60}; remove the row")
    right = list(labels).index(1)
    answers = [texts[right], *(text for place, text in enumerate(texts) if place != right)]
    return _ordered(row, text_of_question(row, "question").strip(), answers)


def _judged(row: Mapping[str, Any]) -> RowContent:
    raise DatasetError(
        f"{row_name(row)} is one of TruthfulQA's configuration 'generation', whose answers are sentences that a judge "
        "compares, not an exact match; take its configuration 'multiple_choice', or a reward with a judge"
    )


def has_options(row: Mapping[str, Any], questions: Sequence[str]) -> bool:
    """Return whether a row has options in one of the usual columns, beside a question and the right one of them.

    Args:
        row: the row.
        questions: the columns that may hold its question, in order of precedence.
    """
    return (
        choices_of(row) is not None
        and column_of(row, questions) is not None
        and column_of(row, CHOICE_ANSWERS) is not None
    )


def multiple_choice(row: Mapping[str, Any], questions: Sequence[str]) -> tuple[str, ChoiceGold]:
    """Return the question of such a row, with what it is about and its options, and the right one of them.

    Raises:
        DatasetError: if the row has no question or no usable answer.
    """
    options = choices_of(row)
    question, answer = column_of(row, questions), column_of(row, CHOICE_ANSWERS)
    assert options is not None
    assert question is not None
    assert answer is not None
    text = with_passage(row, text_of_question(row, question), (question,))
    return with_choices(text, options), ChoiceGold(gold_of_choice(row, answer, options), options)


def _lower(columns: Sequence[str]) -> frozenset[str]:
    return frozenset(column.lower() for column in columns)


def _has(columns: Sequence[str]) -> Any:
    return lambda row: all(column in row for column in columns)


CHOICE_SCHEMAS = (
    *(RowSchema(s.name, "qa", s.question, s.answer, s.fits, s.read, _lower(s.columns)) for s in _SETS),
    *(
        RowSchema(
            name,
            "qa",
            question,
            answers[0],
            _has((question, *answers)),
            _right_first(question, answers),
            _lower((question, *answers)),
        )
        for name, question, answers in (
            ("GPQA", "Question", _GPQA),
            ("SciQ", "question", _SCIQ),
            ("TruthfulQA", "Question", _TRUTHFUL),
        )
    ),
    RowSchema(
        "TruthfulQA",
        "qa",
        "question",
        "mc1_targets",
        lambda row: "question" in row and isinstance(row.get("mc1_targets"), Mapping),
        _truthful,
        frozenset(("question", "mc1_targets")),
    ),
    RowSchema(
        "TruthfulQA",
        "qa",
        "question",
        "correct_answers",
        _has(("question", "best_answer", "correct_answers", "incorrect_answers")),
        _judged,
        frozenset(("best_answer", "correct_answers", "incorrect_answers")),
    ),
)
"""Of sets whose rows need no more than their columns to be recognised."""
