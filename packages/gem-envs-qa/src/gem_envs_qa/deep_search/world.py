"""The world of DeepSearch: that of Atlas, with facts that agree with each other in time and place.

People found, create, open, teach and marry as adults and while they live. What they join is there at the time, and so
is what pays for a work or arranges an event. A person governs one town or one country at most, and a parliament meets
in its own country.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import ClassVar

from gem_envs_qa.atlas.schema import COUNTRY, EVENT, ORGANISATION, PERSON, TOWN, WORK
from gem_envs_qa.atlas.world import AtlasWorld, Date, Entity
from gem_envs_qa.deep_search.sentences import ARTICLE_WORDS
from gem_envs_qa.deep_search.wordings import QUESTION_WORDS

__all__ = ["SearchWorld"]

_GROWN, _ACTIVE = 20, 60
"""Ages from which and until which people have a part in what is dated; everybody lives longer than that."""
_PUPIL = 15
"""The age at which a pupil has found a mentor, who is at least as much older."""


class SearchWorld(AtlasWorld):
    """A world without contradictions; a pure function of ``seed`` and ``size``."""

    reserved: ClassVar[frozenset[str]] = ARTICLE_WORDS | QUESTION_WORDS

    def _make_people(self) -> None:
        super()._make_people()
        self._by_age = sorted(self.of_kind[PERSON], key=_born)
        self._births = [_born(person) for person in self._by_age]

    def _make_organisations(self) -> None:
        super()._make_organisations()
        for organisation in self.of_kind[ORGANISATION]:
            facts = organisation.facts
            founder = self._person(facts["founder"])
            year = _born(founder) + self.rng.randint(_GROWN, 45)
            facts["founded"] = self._day(year)
            director = self._chosen(self._active_from(year), founder)
            if director is None:
                del facts["director"]
            else:
                facts["director"] = director.id
        self._by_foundation = sorted(self.of_kind[ORGANISATION], key=_founded)
        self._foundations = [_founded(organisation) for organisation in self._by_foundation]

    def _make_works(self) -> None:
        super()._make_works()
        for work in self.of_kind[WORK]:
            facts = work.facts
            year = facts["completed"]
            assert isinstance(year, int)
            for name, possible in (("sponsor", self._founded_before(year)), ("dedicatee", self._active_in(year))):
                if name in facts:
                    self._put(work, name, self._chosen(possible, self._person(facts["creator"])))

    def _make_events(self) -> None:
        super()._make_events()
        for event in self.of_kind[EVENT]:
            began = event.facts["began"]
            assert isinstance(began, Date)
            self._put(event, "organiser", self._chosen(self._founded_before(began.year)))

    def _make_ties(self) -> None:
        rng, towns = self.rng, self.of_kind[TOWN]
        led: dict[object, list[Entity]] = {}
        for organisation in self.of_kind[ORGANISATION]:
            for post in ("founder", "director"):
                led.setdefault(organisation.facts.get(post), []).append(organisation)
        for person in self._by_age:
            born = _born(person)
            if rng.random() < 0.7:
                possible = self._founded_before(born + _ACTIVE - _GROWN)
                self._put(person, "employer", self._chosen(possible, *led.get(person.id, ())))
            older = self._born_between(born - _ACTIVE + _PUPIL, born - _PUPIL)
            self._put(person, "mentor", self._chosen(older))
        self._pair(sorted(self._by_age, key=lambda one: _born(one) + 8 * rng.random()), "spouse", 0.55)
        self._pair(self._sample(towns, 1.0), "twin", 0.5)
        governing = self._sample(self._by_age, 1.0)
        for town in towns:
            town.facts["mayor"] = governing.pop().id
        for country in self.of_kind[COUNTRY]:
            own_towns = [town for town in towns if self._country_of(town) == country.id]
            country.facts.update(ruler=governing.pop().id, parliament=rng.choice(own_towns).id)

    def _country_of(self, town: Entity) -> object:
        region = town.facts["region"]
        assert isinstance(region, int)
        return self.entities[region].facts["country"]

    def _person(self, number: object) -> Entity:
        assert isinstance(number, int)
        return self.entities[number]

    def _put(self, entity: Entity, name: str, other: Entity | None) -> None:
        """Make a fact anew, or leave it out if nothing agrees with the others."""
        entity.facts.pop(name, None)
        if other is not None:
            entity.facts[name] = other.id

    def _chosen(self, possible: Sequence[Entity], *excluded: Entity) -> Entity | None:
        """Return one of the possible entities; None if there is hardly one."""
        for _ in range(20):
            if not possible:
                break
            one = self.rng.choice(possible)
            if one not in excluded:
                return one
        return None

    def _born_between(self, first: int, last: int) -> Sequence[Entity]:
        return self._by_age[bisect_left(self._births, first) : bisect_right(self._births, last)]

    def _active_in(self, year: int) -> Sequence[Entity]:
        return self._born_between(year - _ACTIVE, year - _GROWN)

    def _active_from(self, year: int) -> Sequence[Entity]:
        """Return the people who can have had a post at some time from a year on."""
        return self._born_between(year - _ACTIVE, year + 100)

    def _founded_before(self, year: int) -> Sequence[Entity]:
        return self._by_foundation[: bisect_left(self._foundations, year)]


def _born(person: Entity) -> int:
    born = person.facts["born"]
    assert isinstance(born, Date)
    return born.year


def _founded(organisation: Entity) -> int:
    founded = organisation.facts["founded"]
    assert isinstance(founded, Date)
    return founded.year
