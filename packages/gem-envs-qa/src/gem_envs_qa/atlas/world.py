"""The generated world: its entities, the facts about them, and the article that states each fact.

Exactly one article states a fact: that of its subject or that of its object. So a question over several facts needs
several articles.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import accumulate
from typing import ClassVar, NamedTuple

from gem_envs_qa.atlas.names import Language, NameGenerator
from gem_envs_qa.atlas.schema import COUNTRY, EVENT, KINDS, ORGANISATION, PERSON, REGION, RELATIONS, TOWN, WORK

__all__ = ["LARGEST", "SMALLEST", "AtlasWorld", "Date", "Entity"]

SMALLEST, LARGEST = 100, 200_000
"""Things that a world can have."""

_OCCUPATIONS = (
    "architect", "astronomer", "botanist", "composer", "engineer", "explorer", "geologist", "historian", "inventor",
    "mathematician", "merchant", "naturalist", "novelist", "painter", "philosopher", "physician", "poet", "printer",
    "sculptor", "surveyor",
)  # fmt: skip
_ORGANISATIONS = (
    "Academy", "Bank", "Company", "Guild", "Institute", "Library", "Museum", "Observatory", "Press", "Shipyard",
    "Society", "Theatre",
)  # fmt: skip
_WORKS = (
    "ballet", "chronicle", "fresco", "novel", "opera", "painting", "play", "poem", "statue", "symphony", "treatise",
)  # fmt: skip
_EVENTS = ("Congress", "Exhibition", "Fair", "Festival", "Jubilee", "Pageant", "Regatta", "Tournament")
_ALIAS_RATES = {PERSON: 0.35, TOWN: 0.3, ORGANISATION: 0.3, WORK: 0.25, REGION: 0.2}

_PAIRED = ("spouse", "twin")
"""Relations that hold both ways."""
_MEMBERSHIPS = ("region", "creator")
"""Relations to entities that may have a list of their members."""

_TOLD_BY_THE_OTHER = 0.3
"""Share of the facts that are in the article of their object."""
_LISTED = 0.7
"""Share of the regions and creators whose own articles have the whole list of towns or works."""


class Date(NamedTuple):
    """A day of the Gregorian calendar."""

    year: int
    month: int
    day: int


@dataclass(eq=False, slots=True)
class Entity:
    """A person, place, organisation, work or event."""

    id: int
    kind: str
    type: str
    """Its subtype: an occupation, the form of a work, and so on."""
    name: str
    alias: str | None = None
    feminine: bool = False
    facts: dict[str, int | Date | str] = field(default_factory=dict)
    """Relation → the id of another entity, a date, a number or a name."""
    homes: dict[str, int] = field(default_factory=dict)
    """Relation → the id of the entity whose article states the fact, where that is not its own article."""
    members: list[int] | None = None
    """Ids of all towns of a region, or of all works of a person, if the article has them as a list."""

    @property
    def said(self) -> str:
        """Its name within a sentence."""
        return f"the {self.name}" if self.kind in (ORGANISATION, EVENT) else self.name


class AtlasWorld:
    """A world of entities; a pure function of ``seed`` and ``size``.

    Args:
        seed: determines the world and its names.
        size: number of entities, :data:`SMALLEST` … :data:`LARGEST`.
    """

    reserved: ClassVar[frozenset[str]] = frozenset()
    """Words that are no names, in lower case."""

    def __init__(self, seed: int, size: int) -> None:
        self.seed, self.size = seed, size
        digest = blake2b(b"atlas:%x:%x" % (seed, size), digest_size=16).digest()
        self.rng = random.Random(int.from_bytes(digest, "little"))
        self.entities: list[Entity] = []
        self.of_kind: dict[str, list[Entity]] = {kind: [] for kind in KINDS}
        self._counts = _counts(size)
        countries = self._counts[COUNTRY]
        self._namer = NameGenerator(self.rng, self._counts[PERSON], countries, self.reserved)
        self._make_places()
        self._make_people()
        self._make_organisations()
        self._make_works()
        self._make_events()
        self._make_ties()
        self._choose_homes()

    @property
    def languages(self) -> Sequence[Language]:
        """The languages of its countries, with every invented word."""
        return self._namer.languages

    def told_in(self) -> list[list[tuple[str, Entity]]]:
        """Return the facts that each article states, as pairs of the relation and its subject."""
        told: list[list[tuple[str, Entity]]] = [[] for _ in self.entities]
        for entity in self.entities:
            for name in entity.facts:
                home = entity.homes.get(name, entity.id)
                if name in _PAIRED:
                    if home == entity.id:
                        told[home].append((name, entity))
                elif name not in _MEMBERSHIPS or self.entities[home].members is None or home == entity.id:
                    told[home].append((name, entity))
        return told

    def _add(self, kind: str, type_: str, name: str, language: Language) -> Entity:
        rng = self.rng
        entity = Entity(len(self.entities), kind, type_, name)
        if rng.random() < _ALIAS_RATES.get(kind, 0.0):
            entity.alias = self._name(kind, type_, language)
        self.entities.append(entity)
        self.of_kind[kind].append(entity)
        return entity

    def _name(self, kind: str, type_: str, language: Language) -> str:
        names = self._namer
        if kind == PERSON:
            return names.person(language)
        if kind == TOWN:
            return names.town(language)
        if kind == WORK:
            return names.title(language)
        word = names.word(language)
        return f"{word} {type_}" if kind in (ORGANISATION, EVENT) else word

    def _make(self, kind: str, type_: str, language: Language | None = None) -> Entity:
        language = self.rng.choice(self._namer.languages) if language is None else language
        return self._add(kind, type_, self._name(kind, type_, language), language)

    def _make_places(self) -> None:
        rng = self.rng
        tongues = {}
        for language in self._namer.languages:
            tongues[self._make(COUNTRY, "country", language).id] = language
        countries = self.of_kind[COUNTRY]
        for number in range(self._counts[REGION]):
            country = countries[number % len(countries)]
            region = self._make(REGION, "region", tongues[country.id])
            region.facts["country"] = country.id
            tongues[region.id] = tongues[country.id]
        regions = self.of_kind[REGION]
        towns_of: dict[int, list[int]] = {region.id: [] for region in regions}
        # Each region has at least two, and some far more than others, so that an agent has to count.
        drawing = list(accumulate(rng.random() ** 3 for _ in regions))
        for number in range(self._counts[TOWN]):
            if number < 2 * len(regions):
                region = regions[number % len(regions)]
            else:
                region = rng.choices(regions, cum_weights=drawing)[0]
            town = self._make(TOWN, "town", tongues[region.id])
            town.facts.update(
                region=region.id,
                chartered=rng.randint(870, 1490),
                population=rng.randint(900, 999_999) // rng.choice((1, 7, 40)) + 411,
                river=self._namer.word(tongues[region.id]),
            )
            towns_of[region.id].append(town.id)
        for region in regions:
            region.facts["capital"] = rng.choice(towns_of[region.id])
            if rng.random() < _LISTED:
                region.members = towns_of[region.id]

    def _make_people(self) -> None:
        rng, towns = self.rng, self.of_kind[TOWN]
        for _ in range(self._counts[PERSON]):
            person = self._make(PERSON, rng.choice(_OCCUPATIONS))
            person.feminine = rng.random() < 0.5
            born = self._day(rng.randint(1550, 1880))
            person.facts.update(birthplace=rng.choice(towns).id, born=born)
            if rng.random() < 0.7:
                person.facts.update(deathplace=rng.choice(towns).id, died=self._day(born.year + rng.randint(62, 94)))

    def _make_organisations(self) -> None:
        rng, people = self.rng, self.of_kind[PERSON]
        for _ in range(self._counts[ORGANISATION]):
            organisation = self._make(ORGANISATION, rng.choice(_ORGANISATIONS))
            founder = rng.choice(people)
            organisation.facts.update(
                founder=founder.id,
                director=rng.choice(people).id,
                seat=rng.choice(self.of_kind[TOWN]).id,
                founded=self._day_in_the_life_of(founder),
            )

    def _make_works(self) -> None:
        rng = self.rng
        creators = self._sample(self.of_kind[PERSON], 0.12)
        drawing = list(accumulate(rng.random() ** 2 for _ in creators))
        works_of: dict[int, list[int]] = {}
        for _ in range(self._counts[WORK]):
            work = self._make(WORK, rng.choice(_WORKS))
            creator = rng.choices(creators, cum_weights=drawing)[0]
            work.facts.update(creator=creator.id, completed=self._day_in_the_life_of(creator).year)
            work.facts["inspiration"] = rng.choice(self.of_kind[TOWN]).id
            if rng.random() < 0.6:
                work.facts["sponsor"] = rng.choice(self.of_kind[ORGANISATION]).id
            if rng.random() < 0.6:
                work.facts["dedicatee"] = rng.choice(self.of_kind[PERSON]).id
            works_of.setdefault(creator.id, []).append(work.id)
        for number, works in works_of.items():
            if len(works) > 1 and rng.random() < _LISTED:
                self.entities[number].members = works

    def _make_events(self) -> None:
        rng = self.rng
        for _ in range(self._counts[EVENT]):
            event, opener = self._make(EVENT, rng.choice(_EVENTS)), rng.choice(self.of_kind[PERSON])
            event.facts.update(
                venue=rng.choice(self.of_kind[TOWN]).id,
                organiser=rng.choice(self.of_kind[ORGANISATION]).id,
                opener=opener.id,
                began=self._day_in_the_life_of(opener),
            )

    def _make_ties(self) -> None:
        """Make the ties between people, and between places and people."""
        rng, people, towns = self.rng, self.of_kind[PERSON], self.of_kind[TOWN]
        by_age = sorted(people, key=_birth)
        for place, person in enumerate(by_age):
            if rng.random() < 0.7:
                person.facts["employer"] = rng.choice(self.of_kind[ORGANISATION]).id
            mentor = by_age[max(0, place - rng.randint(1, 1 + len(by_age) // 10))]
            if _birth(person).year - _birth(mentor).year > 14:
                person.facts["mentor"] = mentor.id
        self._pair(by_age, "spouse", 0.55)
        self._pair(self._sample(towns, 1.0), "twin", 0.5)
        for town in towns:
            town.facts["mayor"] = rng.choice(people).id
        for country in self.of_kind[COUNTRY]:
            country.facts.update(ruler=rng.choice(people).id, parliament=rng.choice(towns).id)

    def _pair(self, entities: list[Entity], name: str, share: float) -> None:
        left = iter(entities)
        for one, other in zip(left, left, strict=False):
            if self.rng.random() < share:
                one.facts[name], other.facts[name] = other.id, one.id
                one.homes[name] = other.homes[name] = self.rng.choice((one.id, other.id))

    def _choose_homes(self) -> None:
        for entity in self.entities:
            for name, value in entity.facts.items():
                if name in entity.homes or not RELATIONS[name].leads_on:
                    continue
                assert isinstance(value, int)
                other = self.entities[value]
                if name in _MEMBERSHIPS:
                    if other.members is not None:
                        entity.homes[name] = value
                elif self.rng.random() < _TOLD_BY_THE_OTHER:
                    entity.homes[name] = value

    def _sample(self, entities: list[Entity], share: float) -> list[Entity]:
        return self.rng.sample(entities, max(1, int(share * len(entities))))

    def _day(self, year: int) -> Date:
        return Date(year, self.rng.randint(1, 12), self.rng.randint(1, 28))

    def _day_in_the_life_of(self, person: Entity) -> Date:
        return self._day(_birth(person).year + self.rng.randint(20, 60))


def _birth(person: Entity) -> Date:
    born = person.facts["born"]
    assert isinstance(born, Date)
    return born


def _counts(size: int) -> dict[str, int]:
    counts = {
        COUNTRY: max(2, min(40, size // 120)),
        REGION: max(4, size // 40),
        TOWN: max(12, size * 16 // 100),
        ORGANISATION: size * 13 // 100,
        WORK: size * 19 // 100,
        EVENT: size * 10 // 100,
    }
    return {**counts, PERSON: size - sum(counts.values())}
