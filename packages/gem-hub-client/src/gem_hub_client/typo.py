"""Finds the intended words for mistyped words.

The deletes table of SymSpell (W. Garbe, 2012): a word is filed under itself and under each text that is left when one
of its characters is deleted. Two words that differ by one insertion, deletion, substitution or swap of neighbours
share at least one of these texts, so a handful of exact lookups finds them among hundreds of thousands.

``rapidfuzz`` has the distance of :func:`distance`, and not the table; its import takes 20 ms, a seventh of what a
search may take, for the handful of comparisons that the table leaves.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple
from zlib import crc32

__all__ = ["Correction", "corrections", "delete_keys", "distance", "nearest"]

_SHORTEST = 3
"""Characters; shorter words have too many neighbours for a guess."""
_LONGEST = 40


class Correction(NamedTuple):
    """A word of the catalogue that is close to one that was typed."""

    distance: int
    word: str
    packages: int
    """The number of packages that have the word."""


def delete_keys(word: str) -> set[int]:
    """Return the keys under which a word is filed, and under which its mistyped forms are looked up.

    They are digests of 32 bits: a collision only costs a comparison.
    """
    if not _SHORTEST <= len(word) <= _LONGEST or word[:1] == "0" or word.isdigit():
        return set()
    shortened = {word[:place] + word[place + 1 :] for place in range(len(word))} if len(word) > _SHORTEST else set()
    return {crc32(text.encode()) for text in (word, *shortened)}


def corrections(connection: sqlite3.Connection, word: str, limit: int = 5) -> list[Correction]:
    """Return the words of the catalogue within an edit or two of a word, the likeliest first, itself left out.

    Words at distance 2 are found only where both have a shortened form in common.
    """
    keys = delete_keys(word)
    if not keys:
        return []
    marks = ",".join("?" * len(keys))
    rows = connection.execute(
        f"SELECT DISTINCT word, count FROM deletes JOIN word ON word.id = deletes.word_id "  # noqa: S608  # marks
        f"WHERE key IN ({marks}) AND count > 0",
        tuple(keys),
    )
    furthest = 1 if len(word) < 7 else 2
    close = [Correction(distance(word, other), other, count) for other, count in rows if other != word]
    found = [correction for correction in close if correction.distance <= furthest]
    # Who mistypes a word mostly has its first letter right.
    return sorted(found, key=lambda c: (c.distance, c.word[0] != word[0], -c.packages, c.word))[:limit]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the member of ``known`` that is closest to ``name``; None if none is close."""
    import difflib

    matches = difflib.get_close_matches(name, list(known), n=1)
    return matches[0] if matches else None


def distance(first: str, second: str) -> int:
    """Return the edit distance of two words: optimal string alignment.

    An edit inserts, deletes or substitutes a character, or swaps two neighbours.
    """
    before: list[int] = []
    previous = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        current = [i]
        for j, b in enumerate(second, 1):
            cost = min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        before, previous = previous, current
    return previous[-1]
