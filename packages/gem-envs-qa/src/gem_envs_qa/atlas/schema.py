"""The relations of each kind of entity, and their wording in questions.

A relation leads from an entity to one other entity, or to a value: a date, a year, a number, the name of a river.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

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


_ALL = (
    Relation("birthplace", PERSON, TOWN, "the town where {} was born", ("In which town was {} born?",)),
    Relation("deathplace", PERSON, TOWN, "the town where {} died", ("In which town did {} die?",)),
    Relation("mentor", PERSON, PERSON, "the mentor of {}", ("Who was the mentor of {}?",)),
    Relation("spouse", PERSON, PERSON, "the spouse of {}", ("Who was the spouse of {}?",)),
    Relation("employer", PERSON, ORGANISATION, "the employer of {}", ("Which organisation employed {}?",)),
    Relation("born", PERSON, "date", "", ("On what date was {} born?", "What is the date of birth of {}?")),
    Relation("died", PERSON, "date", "", ("On what date did {} die?", "What is the date of death of {}?")),
    Relation("region", TOWN, REGION, "the region in which {} lies", ("In which region does {} lie?",)),
    Relation("mayor", TOWN, PERSON, "the mayor of {}", ("Who was the mayor of {}?",)),
    Relation("twin", TOWN, TOWN, "the twin town of {}", ("Which town is the twin town of {}?",)),
    Relation("chartered", TOWN, "year", "", ("In which year did {} receive its charter?",)),
    Relation("population", TOWN, "number", "", ("How many inhabitants does {} have?",)),
    Relation("river", TOWN, "river", "", ("On which river does {} lie?", "Which river runs through {}?")),
    Relation("country", REGION, COUNTRY, "the country to which {} belongs", ()),
    Relation("capital", REGION, TOWN, "the capital of {}", ("Which town is the capital of {}?",)),
    Relation("ruler", COUNTRY, PERSON, "the ruler of {}", ("Who was the ruler of {}?",)),
    Relation("parliament", COUNTRY, TOWN, "the town where the parliament of {} meets", ()),
    Relation("founder", ORGANISATION, PERSON, "the founder of {}", ("Who founded {}?",)),
    Relation("director", ORGANISATION, PERSON, "the director of {}", ("Who was the director of {}?",)),
    Relation("seat", ORGANISATION, TOWN, "the town where {} has its seat", ("In which town does {} have its seat?",)),
    Relation("founded", ORGANISATION, "date", "", ("On what date was {} founded?",)),
    Relation("creator", WORK, PERSON, "the creator of {}", ("Who created {}?",)),
    Relation("sponsor", WORK, ORGANISATION, "the sponsor of {}", ("Which organisation commissioned {}?",)),
    Relation("dedicatee", WORK, PERSON, "the person to whom {} is dedicated", ("To whom is {} dedicated?",)),
    Relation("inspiration", WORK, TOWN, "the town that inspired {}", ("Which town inspired {}?",)),
    Relation("completed", WORK, "year", "", ("In which year was {} completed?",)),
    Relation("venue", EVENT, TOWN, "the town where {} was held", ("In which town was {} held?",)),
    Relation("organiser", EVENT, ORGANISATION, "the organiser of {}", ("Which organisation arranged {}?",)),
    Relation("opener", EVENT, PERSON, "the person who opened {}", ("Who opened {}?",)),
    Relation("began", EVENT, "date", "", ("On what date did {} begin?",)),
)  # fmt: skip

PLAIN_PHRASES = {
    "birthplace": "the birthplace of {}",
    "deathplace": "the place of death of {}",
    "region": "the region of {}",
    "country": "the country of {}",
    "parliament": "the town of the parliament of {}",
    "seat": "the seat of {}",
    "dedicatee": "the dedicatee of {}",
    "inspiration": "the inspiration of {}",
    "venue": "the venue of {}",
    "opener": "the opener of {}",
}
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
