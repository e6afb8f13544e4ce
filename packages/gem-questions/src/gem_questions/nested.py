"""JSON files that hold their rows within an object: the releases of SQuAD and TriviaQA, and files like them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["rows_within"]


def rows_within(content: Any) -> list[Any]:
    """Return the rows of a JSON file.

    A list is the rows. An object that holds one list of objects beside other values, such as a version, is an envelope
    around them. Articles with paragraphs and questions, as SQuAD is published, become one row for each question, with
    the columns that the set has at Hugging Face. Any other value is the only row.
    """
    if isinstance(content, Mapping):
        lists = [value for value in content.values() if isinstance(value, list) and value]
        objects = [value for value in lists if all(isinstance(item, Mapping) for item in value)]
        # A row may hold lists as well; an envelope holds little else.
        if len(lists) == len(objects) == 1 and len(content) <= _MOST_KEYS:
            content = objects[0]
    rows = content if isinstance(content, list) else [content]
    if rows and all(isinstance(row, Mapping) and isinstance(row.get("paragraphs"), list) for row in rows):
        return [question for article in rows for question in _questions(article)]
    return rows


_MOST_KEYS = 6
"""Keys of an envelope: TriviaQA's has five beside its rows."""


def _questions(article: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for paragraph in article["paragraphs"]:
        asked = paragraph.get("qas") if isinstance(paragraph, Mapping) else None
        for question in asked if isinstance(asked, list) else ():
            answers = [answer for answer in question.get("answers") or () if isinstance(answer, Mapping)]
            yield {
                "id": question.get("id"),
                "title": article.get("title"),
                "context": paragraph.get("context"),
                "question": question.get("question"),
                "answers": {
                    "text": [answer.get("text") for answer in answers],
                    "answer_start": [answer.get("answer_start") for answer in answers],
                },
            }
