"""The word lists of the word games: everyday words, and a large dictionary for ``hardcore``.

``data/README.md`` names their sources. A list is read on first use, once per process.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["LONGEST", "SHORTEST", "all_words", "words"]

SHORTEST, LONGEST = 3, 10
"""Lengths of the words, in letters; both lists have words of every length between."""


@cache
def all_words(hardcore: bool) -> tuple[str, ...]:
    """Return every word of the dictionary (``hardcore``) or of the everyday list: lower-case a-z, in order."""
    name = "dictionary_words.txt" if hardcore else "common_words.txt"
    return tuple((Path(__file__).parent / "data" / name).read_text(encoding="ascii").split())


def words(length: int, hardcore: bool) -> tuple[str, ...]:
    """Return the words with ``length`` letters, in order; none outside SHORTEST … LONGEST."""
    return _by_length(hardcore).get(length, ())


@cache
def _by_length(hardcore: bool) -> Mapping[int, tuple[str, ...]]:
    groups: dict[int, list[str]] = {}
    for word in all_words(hardcore):
        groups.setdefault(len(word), []).append(word)
    return {length: tuple(group) for length, group in groups.items()}
