"""Finds the intended words for mistyped words.

The deletes table of SymSpell (W. Garbe, 2012): a word is filed under itself and under each text that is left when one
of its characters is deleted. Two words that differ by one insertion, deletion, substitution or swap of neighbours
share at least one of these texts, so a handful of exact lookups finds them among hundreds of thousands.

A row of the table holds the keys with one upper half, packed with the ids of their words: a row for each key took a
quarter of the time of the first sync of 100,000 packages, and most of its memory.

``rapidfuzz`` has the distance of :func:`distance`, and not the table; its import takes 20 ms, a seventh of what a
search may take, for the handful of comparisons that the table leaves.
"""

from __future__ import annotations

import sqlite3
import struct
import sys
from array import array
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple
from zlib import crc32

__all__ = ["DELETES", "Correction", "corrections", "delete_keys", "distance", "file_words", "nearest"]

DELETES = "CREATE TABLE deletes (upper INTEGER PRIMARY KEY, entries BLOB NOT NULL);"
"""``upper``: the upper 16 of a key's 32 bits; ``entries``: each key with these bits, and the id of a word, packed."""

_ENTRY = struct.Struct("<II")
_no_entries = partial(array, "Q")

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
    whole = word.encode()
    keys = {crc32(whole)}
    if len(word) > _SHORTEST:
        if len(whole) == len(word):  # a byte for each character
            keys.update([crc32(whole[:place] + whole[place + 1 :]) for place in range(len(whole))])
        else:
            keys.update([crc32((word[:place] + word[place + 1 :]).encode()) for place in range(len(word))])
    return keys


def file_words(connection: sqlite3.Connection, words: Iterable[tuple[int, str]]) -> None:
    """File new words under their keys. Each comes with its id, which is below 2**32."""
    groups: dict[int, array[int]] = defaultdict(_no_entries)
    for identity, word in words:
        upper_half = identity << 32  # of an entry, whose bytes begin with the lower half
        for key in delete_keys(word):
            groups[key >> 16].append(upper_half | key)
    if sys.byteorder == "big":
        for entries in groups.values():
            entries.byteswap()
    # In the table's own order it is written once, page by page.
    connection.executemany(
        "INSERT INTO deletes VALUES (?1, ?2) ON CONFLICT (upper) DO UPDATE SET entries = CAST(entries || ?2 AS BLOB)",
        sorted(groups.items()),
    )


def corrections(connection: sqlite3.Connection, word: str, limit: int = 5) -> list[Correction]:
    """Return the words of the catalogue within an edit or two of a word, the likeliest first, itself left out.

    Words at distance 2 are found only where both have a shortened form in common.
    """
    keys = delete_keys(word)
    identities: set[int] = set()
    for upper in {key >> 16 for key in keys}:
        for (entries,) in connection.execute("SELECT entries FROM deletes WHERE upper = ?", (upper,)):
            identities.update(identity for key, identity in _ENTRY.iter_unpack(entries) if key in keys)
    furthest = 1 if len(word) < 7 else 2
    found = []
    for identity in identities:
        other, count = connection.execute("SELECT word, count FROM word WHERE id = ?", (identity,)).fetchone()
        if count > 0 and other != word and (edits := distance(word, other)) <= furthest:
            found.append(Correction(edits, other, count))
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
