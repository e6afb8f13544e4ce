"""The relations of each kind of entity, and their wording in questions.

A relation leads from an entity to one other entity, or to a value: a date, a year, a number, the name of a river.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from gem.tables import read_table

__all__ = [
    "COUNTRY",
    "EVENT",
    "KINDS",
    "ORGANISATION",
    "PERSON",
    "PLAIN_PHRASES",
    "REGION",
    "RELATIONS",
    "TOWN",
    "WORK",
    "Relation",
    "paths",
]

PERSON, TOWN, REGION, COUNTRY = "person", "town", "region", "country"
ORGANISATION, WORK, EVENT = "organisation", "work", "event"
KINDS = (COUNTRY, REGION, TOWN, PERSON, ORGANISATION, WORK, EVENT)


class Relation(NamedTuple):
    """A kind of fact about entities of a kind."""

    name: str
    subject: str
    """Kind of the subject."""
    object: str
    """Kind of the object, an entity or a value: ``date``, ``year``, ``number`` or ``river``."""
    phrase: str
    """The object as part of a question; ``{}`` is the subject."""
    questions: tuple[str, ...]
    """Whole questions for it."""

    @property
    def leads_on(self) -> bool:
        """Whether its object is an entity, about which a question can ask more."""
        return self.object in KINDS


_TABLES = read_table(__file__, "schema.json")
_ALL = tuple(Relation(**{**row, "questions": tuple(row["questions"])}) for row in _TABLES["relations"])

PLAIN_PHRASES: Mapping[str, str] = _TABLES["plain_phrases"]
"""The phrases without a clause, for objects of what is itself a phrase: clauses within clauses are hard to read."""

RELATIONS = {relation.name: relation for relation in _ALL}

_OF = {kind: [relation for relation in _ALL if relation.subject == kind] for kind in KINDS}
_SYMMETRIC = ("spouse", "twin")


@lru_cache(maxsize=16)
def paths(hops: int, end: str | None = None) -> tuple[tuple[Relation, ...], ...]:
    """Return every path of ``hops`` relations.

    There are few countries, so a path from one has few answers: only a path that begins with a region or a country
    passes one, and none ends there. A path ends with a region only if it has a single relation.

    Args:
        hops: at least 1.
        end: kind of the last relation's object; None for any.
    """
    ways: list[tuple[Relation, ...]] = []
    few = (COUNTRY,) if hops == 1 else (COUNTRY, REGION)

    def follow(way: tuple[Relation, ...]) -> None:
        last = way[-1]
        if len(way) == hops:
            if last.object == end or (end is None and last.object not in few):
                ways.append(way)
            return
        for relation in _OF.get(last.object, ()):
            if relation.object != COUNTRY and not (relation is last and relation.name in _SYMMETRIC):
                follow((*way, relation))

    for relation in _ALL:
        follow((relation,))
    return tuple(ways)
