"""The values of an answer, as an agent writes them and as a database has them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

__all__ = ["is_right", "values_of"]

_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?", re.ASCII)
_MOST = 1000
"""Maximum number of values of an answer that are read."""


def values_of(text: str) -> list[str]:
    """Return the values in an answer: one a line, or separated by commas; a JSON list of values is read as well."""
    text = text.strip().removeprefix("[").removesuffix("]")
    parts = re.split(r"[\n,]", text, maxsplit=_MOST)
    return [value for value in (part.strip().strip("'\"").strip() for part in parts) if value]


def is_right(text: str, gold: Sequence[Any], ordered: bool) -> bool:
    """Return whether an answer has exactly the values of the gold answer; in any order unless ``ordered``."""
    answer, right = [_key(value) for value in values_of(text)], [_key(str(value)) for value in gold]
    return answer == right if ordered else Counter(answer) == Counter(right)


def _key(value: str) -> Any:
    """Return a number for a number, and other text without regard to capitals and blanks."""
    if _NUMBER.fullmatch(value):
        return Decimal(value)
    return " ".join(value.casefold().split())
