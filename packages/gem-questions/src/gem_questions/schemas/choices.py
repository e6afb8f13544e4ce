"""Multiple choice: the options of a row, and the right one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas.content import column_of, is_missing, plain_value, row_name

__all__ = ["CHOICE_KEYS", "choices_of", "gold_of_choice", "with_choices"]

CHOICE_KEYS = ("choices", "options")
"""Columns that hold the options, in order of precedence, in any capitals."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERED = re.compile(r"^\s*\(?([A-Z])\s*[).:]\s*")
_INLINE = re.compile(r"(?:^|\s)\(?([A-Z])[).]\s")


def choices_of(row: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the options of a row by their letters; None if it has none.

    Forms: a list of texts, with letters before them or without; an object from letters to texts; ARC's object of two
    lists, ``text`` and ``label``; one text ``"A) … B) …"``.
    """
    column = column_of(row, CHOICE_KEYS)
    value = None if column is None else plain_value(row[column])
    if isinstance(value, str):
        return _inline(value)
    if isinstance(value, Mapping):
        texts, labels = plain_value(value.get("text")), plain_value(value.get("label"))
        if isinstance(texts, Sequence) and isinstance(labels, Sequence) and len(texts) == len(labels) > 1:
            return {str(label): str(text) for label, text in zip(labels, texts, strict=True)}
        if len(value) > 1 and all(isinstance(key, str) and key.upper() in _LETTERS for key in value):
            return {key.upper(): str(text).strip() for key, text in value.items()}
        return None
    if isinstance(value, Sequence) and 1 < len(value) <= len(_LETTERS) and all(isinstance(v, str) for v in value):
        return {letter: _LETTERED.sub("", text).strip() for letter, text in zip(_LETTERS, value, strict=False)}
    return None


def with_choices(question: str, options: Mapping[str, str]) -> str:
    """Return a question with its options below it, one a line, and how to answer."""
    lines = "\n".join(f"{letter}) {text}" for letter, text in options.items())
    return f"{question.rstrip()}\n\n{lines}\n\nAnswer with the letter of the right option."


def gold_of_choice(row: Mapping[str, Any], column: str, options: Mapping[str, str]) -> str:
    """Return the letter of the right option, which a row gives as a letter, as a position from 0, or as its text.

    Raises:
        DatasetError: if it gives none of these.
    """
    value = plain_value(row[column])
    letters = list(options)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(letters):
        return letters[value]
    if isinstance(value, str) and not is_missing(value):
        said = value.strip()
        bare = said.strip("().: ")
        if bare.upper() in options or bare in options:
            return bare if bare in options else bare.upper()
        found = [letter for letter, text in options.items() if text.strip() == said]
        if len(found) == 1:
            return found[0]
        if said.isascii() and said.isdigit() and int(said) < len(letters):
            return letters[int(said)]
    raise DatasetError(
        f"{row_name(row)} has no usable answer in {column!r}: {value!r:.60} is none of the options "
        f"{', '.join(letters)}; remove the row"
    )


def _inline(text: str) -> dict[str, str] | None:
    parts = _INLINE.split(f" {text}")
    letters, texts = parts[1::2], parts[2::2]
    if len(letters) < 2 or letters != list(_LETTERS[: len(letters)]):
        return None
    return {letter: option.strip() for letter, option in zip(letters, texts, strict=True)}
