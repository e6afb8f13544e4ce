"""The sentences of DeepSearch's articles: several for each fact, for each opening, and some that state no fact.

``{S}`` and ``{P}`` begin a sentence with the entity of the article and with its possessive; ``{s}``, ``{p}`` and
``{h}`` are its subject, possessive and object form within a sentence. ``{o}`` is the object of a fact, ``{x}`` its
subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from gem.tables import read_table

__all__ = [
    "ARTICLE_WORDS",
    "CONFUSIONS",
    "IDLE",
    "LISTS",
    "OPENINGS",
    "OTHERS",
    "OWN",
    "SECOND_NAMES",
    "STAGES",
    "TYPES",
    "words_of",
]

_TABLES = read_table(__file__, "sentences.json")

OWN: Mapping[str, Sequence[str]] = _TABLES["own"]
"""Relation → sentences for the article of its subject."""

OTHERS: Mapping[str, Sequence[str]] = _TABLES["others"]
"""Relation → sentences for the article of its object."""

LISTS: Mapping[str, Sequence[str]] = _TABLES["lists"]
"""Kind → sentences that name all its towns or works."""

STAGES: Mapping[str, float] = _TABLES["stages"]
"""Relation → where its sentence stands in the article of its subject: births before deaths."""

OPENINGS: Mapping[str, Sequence[str]] = _TABLES["openings"]
"""Kind → first sentences; ``{n}`` is the name of the entity, ``{t}`` what it is."""

TYPES: Mapping[str, Sequence[str]] = _TABLES["types"]
"""The type of an entity → what it is in its first sentence; a person is what the type says."""

SECOND_NAMES: Mapping[str, Sequence[str]] = _TABLES["second_names"]
"""Kind, or form of a work → what its first sentence says of its second name."""

IDLE: Mapping[str, Sequence[str]] = _TABLES["idle"]
"""Kind → sentences that state no fact."""
CONFUSIONS: Sequence[str] = _TABLES["confusions"]
"""Sentences that name an unrelated entity."""


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the words of texts in lower case."""
    return frozenset(word for text in texts for word in re.findall("[a-z]+", text.lower()))


ARTICLE_WORDS = words_of(
    text
    for table in (OWN, OTHERS, LISTS, OPENINGS, TYPES, SECOND_NAMES, IDLE, {"": CONFUSIONS})
    for texts in table.values()
    for text in texts
)
"""Every word of these sentences."""
