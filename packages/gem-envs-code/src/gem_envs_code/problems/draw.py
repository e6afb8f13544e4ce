"""Small generators that the tests of several problems draw from."""

from __future__ import annotations

import random
import string
from collections.abc import Iterable

__all__ = ["integers", "joined", "lines", "word", "words"]


def integers(rng: random.Random, count: int, lowest: int, highest: int) -> list[int]:
    """Return so many integers of a closed range."""
    return [rng.randint(lowest, highest) for _ in range(count)]


def word(rng: random.Random, length: int, alphabet: str = string.ascii_lowercase) -> str:
    """Return a word of an alphabet."""
    return "".join(rng.choices(alphabet, k=length))


def words(rng: random.Random, count: int, longest: int, alphabet: str = string.ascii_lowercase) -> list[str]:
    """Return words of one letter or more."""
    return [word(rng, rng.randint(1, longest), alphabet) for _ in range(count)]


def joined(values: Iterable[object]) -> str:
    """Return values on a line."""
    return " ".join(map(str, values))


def lines(*rows: object) -> str:
    """Return lines of text; a row that is a list or tuple becomes its values with spaces between them."""
    return "".join(f"{joined(row) if isinstance(row, (list, tuple)) else row}\n" for row in rows)
