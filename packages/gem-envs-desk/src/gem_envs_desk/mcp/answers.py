"""The values of an answer, as an agent writes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

__all__ = ["is_right"]

_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?", re.ASCII)
_MOST = 1000
"""Values of an answer that are read."""


def is_right(text: str, gold: Sequence[Any]) -> bool:
    """Return whether an answer has exactly the values of the gold answer, one a line or between commas, in any order.

    Numbers are equal by value; other text regardless of capitals and blanks.
    """
    parts = re.split(r"[\n,]", text.strip().removeprefix("[").removesuffix("]"), maxsplit=_MOST)
    values = [value for value in (part.strip().strip("'\"").strip() for part in parts) if value]
    return Counter(map(_key, values)) == Counter(_key(str(value)) for value in gold)


def _key(value: str) -> Any:
    return Decimal(value) if _NUMBER.fullmatch(value) else " ".join(value.casefold().split())
