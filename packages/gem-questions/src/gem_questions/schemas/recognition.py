"""Recognising the schema of a row, and reading the row by it: :func:`recognise` and :func:`read_row`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas.code_schemas import CODE_SCHEMAS, STATEMENT_KEYS, TEST_KEYS, code_tests
from gem_questions.schemas.content import (
    Kind,
    RowContent,
    RowSchema,
    column_of,
    row_name,
    text_of_question,
    with_passage,
)
from gem_questions.schemas.golds import math_gold, qa_golds, solution_gold
from gem_questions.schemas.math_schemas import ANSWER_KEYS, MATH_SCHEMAS, QUESTION_KEYS
from gem_questions.schemas.qa_schemas import QA_ANSWER_KEYS, QA_QUESTION_KEYS, QA_SCHEMAS

__all__ = ["read_row", "recognise"]

_NAMED: Mapping[str, tuple[RowSchema, ...]] = {"math": MATH_SCHEMAS, "qa": QA_SCHEMAS, "code": CODE_SCHEMAS}
_COLUMNS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "math": (QUESTION_KEYS, ANSWER_KEYS),
    "qa": (QA_QUESTION_KEYS, QA_ANSWER_KEYS),
    "code": (STATEMENT_KEYS, TEST_KEYS),
}
_GOLD_ARGUMENT = {"math": "answer_key", "qa": "answer_key", "code": "test_key"}


def recognise(row: Mapping[str, Any], kind: Kind) -> RowSchema | None:
    """Return the schema of a row, as a question of a kind; None if it has no column that could be the question or gold.

    Args:
        row: the row. Only its columns and the types of their values decide, so that a row of a known shape with an
            unusable value is recognised, and reading it is the error.
        kind: ``"math"``, ``"qa"`` or ``"code"``.
    """
    named, by_columns = _candidates(kind, tuple(row))
    for schema in named:
        if schema.fits(row):
            return schema
    return by_columns


@lru_cache(maxsize=1024)
def _candidates(kind: Kind, columns: tuple[Any, ...]) -> tuple[tuple[RowSchema, ...], RowSchema | None]:
    """Return the schemas that rows with these columns may have, and the one that the columns alone make."""
    row = dict.fromkeys(columns)
    lower = frozenset(key.lower() for key in columns if isinstance(key, str))
    questions, golds = _COLUMNS[kind]
    question = column_of(row, questions)
    gold = column_of(row, [name for name in golds if name != (question or "").lower()])
    named = tuple(
        schema
        for schema in _NAMED[kind]
        if schema.needs <= lower and (not schema.needs_one or schema.needs_one & lower)
    )
    return named, None if question is None or gold is None else _by_columns(kind, question, gold)


def read_row(
    row: Mapping[str, Any], kind: Kind, question_key: str | None = None, gold_key: str | None = None
) -> RowContent:
    """Return the content of a row.

    Args:
        row: the row. Messages name its attribute ``index``, if it has one.
        kind: ``"math"``, ``"qa"`` or ``"code"``.
        question_key: the column of the question; None: recognised.
        gold_key: the column of the gold answer, or of the tests; None: recognised.

    Raises:
        DatasetError: if the row has no question or no usable gold answer, or its shape is unknown; the message names
            the row, the value and the remedy.
    """
    known = recognise(row, kind)
    if question_key is None and gold_key is None:
        if known is None:
            raise _unknown(row, kind)
        return known.read(row)
    if known is not None and question_key in (None, known.question_key) and gold_key in (None, known.gold_key):
        # The schema may say more than the columns alone, such as a tolerance.
        content = known.read(row)
        if question_key is None or known.question_alone:
            return content
        return RowContent(_question(row, question_key), content.gold, content.extras)
    if question_key is None or gold_key is None:
        if known is None:
            raise _unknown(row, kind)
        content = known.read(row)
        if question_key is not None:
            return RowContent(_question(row, question_key), content.gold, content.extras)
        assert gold_key is not None
        return RowContent(content.question, _gold(row, kind, gold_key))
    return RowContent(_question(row, question_key), _gold(row, kind, gold_key))


def _question(row: Mapping[str, Any], column: str) -> str:
    _check(row, column)
    return text_of_question(row, column)


def _gold(row: Mapping[str, Any], kind: Kind, column: str) -> Any:
    _check(row, column)
    return _READERS[kind](row, column)


def _check(row: Mapping[str, Any], column: str) -> None:
    if column not in row:
        known = ", ".join(map(repr, row)) or "none"
        raise DatasetError(
            f"{row_name(row)} has no column {column!r}; it has the columns {known}. With None instead of {column!r}, "
            "the column is recognised where it can be"
        )


def _math_answer(row: Mapping[str, Any], column: str) -> Any:
    return (solution_gold if column.lower() == "solution" else math_gold)(row, column)


_READERS: Mapping[str, Callable[[Mapping[str, Any], str], Any]] = {
    "math": _math_answer,
    "qa": qa_golds,
    "code": code_tests,
}


def _by_columns(kind: Kind, question: str, gold: str) -> RowSchema:
    read_gold = _READERS[kind]
    return RowSchema(
        f"{question}, {gold}",
        kind,
        question,
        gold,
        lambda row: question in row and gold in row,
        lambda row: RowContent(
            with_passage(row, text_of_question(row, question), (question, gold)), read_gold(row, gold)
        ),
    )


def _unknown(row: Mapping[str, Any], kind: Kind) -> DatasetError:
    known = ", ".join(map(repr, row)) or "none"
    gold = "tests" if kind == "code" else "answer"
    return DatasetError(
        f"{row_name(row)} has no known shape: its columns are {known}; name those of the question and the {gold} with "
        f"question_key and {_GOLD_ARGUMENT[kind]}, or pass a function map_row"
    )
