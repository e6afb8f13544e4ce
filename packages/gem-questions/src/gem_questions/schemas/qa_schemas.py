"""Shapes of published sets of questions with short answers.

Sources of the shapes: SQuAD (Rajpurkar et al. 2016 and 2018), TriviaQA (Joshi et al. 2017), HotpotQA (Yang et al.
2018), Natural Questions (Kwiatkowski et al. 2019; github.com/google-research-datasets/natural-questions), PopQA (Mallen
et al. 2023), and MuSiQue (Trivedi et al. 2022), each as its authors or Hugging Face publish it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas.choices import CHOICE_KEYS, ChoiceGold, choices_of, gold_of_choice, with_choices
from gem_questions.schemas.content import (
    RowContent,
    RowSchema,
    column_of,
    json_value,
    plain_value,
    row_name,
    text_of_question,
)
from gem_questions.schemas.golds import UNANSWERABLE, qa_golds

__all__ = ["QA_ANSWER_KEYS", "QA_QUESTION_KEYS", "QA_SCHEMAS"]

QA_QUESTION_KEYS = ("question", "problem", "query", "question_text", "input", "prompt", "text")
"""Columns that hold a question in sets without a name of their own, in order of precedence, in any capitals."""
QA_ANSWER_KEYS = (
    "golden_answers", "answers", "answer", "possible_answers", "short_answers", "gold", "target", "ground_truth",
    "label", "output", "reward_model",
)  # fmt: skip
"""Columns that hold the right answers, likewise."""


def _natural_questions(row: Mapping[str, Any]) -> RowContent:
    question = "question" if "question" in row else "question_text"
    annotations = plain_value(row["annotations"])
    if isinstance(annotations, Mapping):  # Hugging Face's columns of lists
        annotations = [annotations]
    words = str(row.get("document_text") or "").split(" ")
    golds: list[str] = []
    for annotation in annotations if isinstance(annotations, Sequence) else ():
        if not isinstance(annotation, Mapping):
            continue
        annotation = {**annotation, "short_answers": _spans(plain_value(annotation.get("short_answers")), words)}
        try:
            golds += qa_golds({"annotations": annotation}, "annotations")
        except DatasetError:
            continue  # this annotator found no short answer
    if not golds:
        raise DatasetError(f"{row_name(row)} has no short answer in 'annotations'; remove the row")
    return RowContent(text_of_question(row, question), list(dict.fromkeys(golds)))


def _spans(answers: Any, words: Sequence[str]) -> Any:
    """Return short answers as texts, where they are ranges of a document's words (the simplified form)."""
    if isinstance(answers, Mapping) or not isinstance(answers, Sequence) or isinstance(answers, str):
        return answers
    return [
        " ".join(words[span["start_token"] : span["end_token"]])
        if isinstance(span, Mapping) and "text" not in span and isinstance(span.get("start_token"), int)
        else span
        for span in answers
    ]


def _with_context(row: Mapping[str, Any]) -> RowContent:
    """Return a row of SQuAD, of which 2.0 has questions without an answer; no column of a row tells 1.1 from 2.0."""
    answers = plain_value(row["answers"])
    texts = plain_value(next((value for key, value in answers.items() if str(key).lower() == "text"), None))
    none = isinstance(texts, Sized) and not isinstance(texts, str) and not len(texts)
    golds = [UNANSWERABLE] if none else qa_golds(row, "answers")
    return RowContent(f"{row['context']}\n\n{text_of_question(row, 'question')}\n\n{_NO_ANSWER}", golds)


_NO_ANSWER = f"If the text does not answer the question, answer: {UNANSWERABLE}"


def _aliased(row: Mapping[str, Any]) -> RowContent:
    more = plain_value(row["answer_aliases"])
    none = more is None or (isinstance(more, Sized) and not len(more))
    golds = [*qa_golds(row, "answer"), *(() if none else qa_golds(row, "answer_aliases"))]
    return RowContent(text_of_question(row, "question"), list(dict.fromkeys(golds)))


def _plain(question: str, answer: str) -> Any:
    return lambda row: RowContent(text_of_question(row, question), qa_golds(row, answer))


def _choices(row: Mapping[str, Any]) -> RowContent:
    options = choices_of(row)
    question, answer = column_of(row, QA_QUESTION_KEYS), column_of(row, _CHOICE_ANSWERS)
    assert options is not None
    assert question is not None
    assert answer is not None
    gold = ChoiceGold(gold_of_choice(row, answer, options), options)
    return RowContent(with_choices(text_of_question(row, question), options), gold)


_CHOICE_ANSWERS = ("answerkey", "answer", "correct", "label", "target")


def _is_object(value: Any, *keys: str) -> bool:
    if isinstance(value, (str, list)):  # asking an abstract class takes three times as long
        return False
    return isinstance(value, Mapping) and any(key in {str(name).lower() for name in value} for key in keys)


QA_SCHEMAS = (
    RowSchema(
        "Natural Questions",
        "qa",
        "question",
        "annotations",
        lambda row: "annotations" in row and ("question" in row or "question_text" in row),
        _natural_questions,
        frozenset(("annotations",)),
    ),
    RowSchema(
        "SQuAD",
        "qa",
        "question",
        "answers",
        lambda row: (
            isinstance(row.get("context"), str) and "question" in row and _is_object(row.get("answers"), "text")
        ),
        _with_context,
        frozenset(("context", "question", "answers")),
    ),
    RowSchema(
        "TriviaQA",
        "qa",
        "question",
        "answer",
        lambda row: "question" in row and _is_object(row.get("answer"), "aliases"),
        _plain("question", "answer"),
        frozenset(("question", "answer")),
        question_alone=True,
    ),
    RowSchema(
        "TriviaQA",
        "qa",
        "Question",
        "Answer",
        lambda row: "Question" in row and _is_object(row.get("Answer"), "aliases"),
        _plain("Question", "Answer"),
        frozenset(("question", "answer")),
        question_alone=True,
    ),
    RowSchema(
        "HotpotQA",
        "qa",
        "question",
        "answer",
        lambda row: "question" in row and "answer" in row and "supporting_facts" in row,
        _plain("question", "answer"),
        frozenset(("question", "answer", "supporting_facts")),
        question_alone=True,
    ),
    RowSchema(
        "MuSiQue",
        "qa",
        "question",
        "answer",
        lambda row: "question" in row and "answer" in row and "answer_aliases" in row,
        _aliased,
        frozenset(("question", "answer", "answer_aliases")),
        question_alone=True,
    ),
    RowSchema(
        "PopQA",
        "qa",
        "question",
        "possible_answers",
        lambda row: "question" in row and isinstance(json_value(row.get("possible_answers")), list),
        _plain("question", "possible_answers"),
        frozenset(("question", "possible_answers")),
        question_alone=True,
    ),
    RowSchema(
        "NQ-Open",
        "qa",
        "question",
        "answer",
        lambda row: isinstance(plain_value(row.get("answer")), list) and set(row) == {"question", "answer"},
        _plain("question", "answer"),
        frozenset(("question", "answer")),
        question_alone=True,
    ),
    RowSchema(
        "multiple choice",
        "qa",
        "question",
        "answer",
        lambda row: (
            choices_of(row) is not None
            and column_of(row, QA_QUESTION_KEYS) is not None
            and column_of(row, _CHOICE_ANSWERS) is not None
        ),
        _choices,
        needs_one=frozenset(CHOICE_KEYS),
    ),
)
