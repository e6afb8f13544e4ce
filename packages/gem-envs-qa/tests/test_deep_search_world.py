"""The world of DeepSearch contradicts itself nowhere, and its texts have many forms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

import gem
from gem_envs_qa.atlas.schema import ORGANISATION, PERSON, RELATIONS, TOWN
from gem_envs_qa.atlas.world import AtlasWorld, Date, Entity
from gem_envs_qa.deep_search.articles import _value
from gem_envs_qa.deep_search.env import LEVELS
from gem_envs_qa.deep_search.searched_world import corpus_of, searched_world
from gem_envs_qa.deep_search.sentence_reader import about_itself, said_by, second_name_in
from gem_envs_qa.deep_search.world import SearchWorld

SMALL = 1_200
OLDEST = 62
"""Everybody lives to this age at least; of some, no death is told."""


class Order(NamedTuple):
    """Two things that must not come in the other order, as years."""

    rule: str
    first: int
    then: int
    about: str


def year(entity: Entity, relation: str) -> int:
    value = entity.facts[relation]
    return value.year if isinstance(value, Date) else int(str(value))


def end_of(person: Entity) -> int:
    """The last year in which a person certainly lives."""
    return year(person, "died") if "died" in person.facts else year(person, "born") + OLDEST


def orders(world: AtlasWorld) -> Iterator[Order]:
    """Every pair of dated facts of a world that must be in order."""

    def other(entity: Entity, relation: str) -> Entity | None:
        number = entity.facts.get(relation)
        return None if number is None else world.entities[int(str(number))]

    for entity in world.entities:
        links = {name: met for name in entity.facts if RELATIONS[name].leads_on and (met := other(entity, name))}
        dated = next((name for name in ("founded", "completed", "began") if name in entity.facts), None)
        if entity.kind == PERSON:
            born = year(entity, "born")
            yield Order("lives", born + OLDEST, end_of(entity), entity.name)
            if "died" in entity.facts:
                yield Order("is not too old", year(entity, "died"), born + 100, entity.name)
            if employer := links.get("employer"):
                yield Order("is employed while alive", year(employer, "founded"), born + 60, entity.name)
            if mentor := links.get("mentor"):
                yield Order("has an older mentor", year(mentor, "born") + 15, born, entity.name)
                yield Order("is taught while the mentor lives", born + 15, end_of(mentor), entity.name)
            if spouse := links.get("spouse"):
                yield Order("marries as an adult", born + 18, end_of(spouse), entity.name)
                yield Order("marries somebody of a like age", abs(born - year(spouse, "born")), 20, entity.name)
            for place in ("birthplace", "deathplace"):
                if place in links:
                    yield Order(f"has a {place}", year(links[place], "chartered"), born, entity.name)
        if entity.kind == TOWN:
            yield Order("has a mayor", year(entity, "chartered"), end_of(links["mayor"]), entity.name)
        for name in ("founder", "creator", "opener", "dedicatee"):
            if dated and name in links:
                yield Order(f"{name} is adult", year(links[name], "born") + 18, year(entity, dated), entity.name)
                yield Order(f"{name} is alive", year(entity, dated), end_of(links[name]), entity.name)
        for name in ("sponsor", "organiser"):
            if dated and name in links:
                yield Order(f"{name} exists", year(links[name], "founded"), year(entity, dated), entity.name)
        for name in ("seat", "venue", "inspiration"):
            if dated and name in links:
                yield Order(f"{name} exists", year(links[name], "chartered"), year(entity, dated), entity.name)
        if entity.kind == ORGANISATION and "director" in links:
            born = year(links["director"], "born")
            yield Order("director is active after the foundation", year(entity, "founded"), born + 60, entity.name)


def contradictions(world: AtlasWorld) -> list[Order]:
    return [order for order in orders(world) if order.first > order.then]


@pytest.mark.parametrize(
    ("seed", "size"),
    [(0, SMALL), (1, SMALL), *(pytest.param(seed, 10_000, marks=pytest.mark.nightly) for seed in (0, 7))],
)
def test_no_two_dates_contradict_each_other(seed: int, size: int) -> None:
    """No pair of dated facts that must be ordered; in Atlas, whose facts are drawn freely, hundreds do."""
    world = SearchWorld(seed, size)
    checked = Counter(order.rule for order in orders(world))
    assert len(checked) == 24
    assert checked.total() > 2 * size
    assert contradictions(world) == []
    if size == SMALL:
        assert len(contradictions(AtlasWorld(seed, size))) > 100


@pytest.mark.parametrize("size", [SMALL, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_offices_and_places_agree(size: int) -> None:
    """A person governs one place at most and has each part for somebody else; parliaments are in their countries."""
    world = SearchWorld(3, size)
    governing = [entity.facts[name] for entity in world.entities for name in ("mayor", "ruler") if name in entity.facts]
    assert len(set(governing)) == len(governing)
    for entity in world.entities:
        facts: dict[str, Any] = entity.facts
        people = [
            facts[name] for name in ("creator", "dedicatee", "founder", "director", "mentor", "spouse") if name in facts
        ]
        assert len({*people, entity.id}) == len(people) + 1
        if "parliament" in facts:
            region = world.entities[facts["parliament"]].facts["region"]
            assert isinstance(region, int)
            assert world.entities[region].facts["country"] == entity.id
        if "capital" in facts:
            assert world.entities[facts["capital"]].facts["region"] == entity.id
        if "employer" in facts:
            assert entity.id not in [
                world.entities[facts["employer"]].facts.get(post) for post in ("founder", "director")
            ]


@pytest.mark.parametrize("size", [SMALL, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_the_articles_say_the_facts_and_nothing_else(size: int) -> None:
    """A reader with forms of sentences of its own reads each fact once, and no fact that is not there."""
    world = SearchWorld(0, size)
    called = {name: entity for entity in world.entities for name in (entity.name, entity.alias) if name is not None}
    stated: Counter[tuple[str, int]] = Counter()
    unread: set[str] = set()

    def meant(name: str) -> Entity:
        return called.get(name) or called[name.removeprefix("the ").removeprefix("The ")]

    for entity, document in zip(world.entities, corpus_of(world), strict=True):
        opening, *sentences = about_itself(entity.name, document["contents"].partition("\n")[2]).rstrip(".").split(". ")
        alias = second_name_in(opening)
        assert (entity.alias is None) is (alias is None)
        assert alias is None or meant(alias) is entity
        for sentence in sentences:
            kind, relation, what = said_by(sentence)
            if kind == "list":
                assert [meant(name).id for name in re.split(", | and ", what)] == entity.members
            elif kind == "other":
                assert meant(what).facts[relation] == entity.id
                stated[relation, meant(what).id] += 1
            elif kind == "own":
                value = entity.facts[relation]
                assert (meant(what).id if RELATIONS[relation].leads_on else what) == (
                    value if RELATIONS[relation].leads_on else _value(relation, value)
                )
                stated[relation, entity.id] += 1
            else:
                unread.add(sentence)
    assert set(stated.values()) == {1}
    listed = sum(len(entity.members or ()) for entity in world.entities)
    doubled = sum(name in entity.facts for entity in world.entities for name in ("spouse", "twin"))
    assert stated.total() + listed + doubled // 2 == sum(len(entity.facts) for entity in world.entities)
    assert not [sentence for sentence in unread if re.search(r"\d", sentence)]


NAME = re.compile(r"\b(?:[Tt]he )?[A-Z]\w{3,}(?: (?:of )?[A-Z]\w{3,})*")


def without_names(question: str) -> str:
    """A question with X for each run of words that has an invented name or is a title."""
    invented = searched_world(0, 10_000).vocabulary.term_of
    return NAME.sub(
        lambda name: "X" if name[0].startswith("The ") or invented.keys() & {*name[0].split()} else name[0], question
    )


@cache
def share_of_the_commonest(number: int, masked: bool) -> float:
    """Of the first four words of questions of all levels, as they stand or with one word for every name."""
    starts: Counter[str] = Counter()
    for level in LEVELS:
        env = gem.make("qa:DeepSearch-v0", level=level, names="world")
        for seed in range(number):
            question = env.reset(seed=seed)[0].rpartition("Question: ")[2]
            if masked:
                question = without_names(question)
            starts[" ".join(question.split()[:4])] += 1
    return starts.most_common(1)[0][1] / starts.total()


@pytest.mark.slow(reason="the first test makes the world of 10,000 articles and its index")
@pytest.mark.parametrize("number", [300, pytest.param(2_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("masked", [False, True])
def test_no_form_of_questions_dominates(number: int, masked: bool) -> None:
    """The commonest first four words begin at most 8 % of the questions, also where all names count as one."""
    assert share_of_the_commonest(number, masked) < 0.08


@pytest.mark.slow(reason="the first test makes the world of 10,000 articles and its index")
def test_no_form_of_sentences_dominates() -> None:
    """No first sentence of a kind is that of a quarter of the articles, and no sentence that of 4 % of all."""
    world = searched_world(0, 10_000)
    openings: dict[str, Counter[str]] = {}
    forms: Counter[str] = Counter()
    for entity, document in list(zip(world.world.entities, world.corpus, strict=True))[::4]:
        opening, *sentences = about_itself(entity.name, document["contents"].partition("\n")[2]).rstrip(".").split(". ")
        bare = re.sub(r", .*?,", "", opening) if entity.alias else opening
        openings.setdefault(entity.kind, Counter())[bare.replace(entity.type, "T")] += 1
        forms.update(re.sub(r"SELF|\b[A-Z]\w+\b|\d[\d,]*", "X", sentence) for sentence in sentences)
    for kind, counter in openings.items():
        if counter.total() > 30:
            assert counter.most_common(1)[0][1] < 0.25 * counter.total(), kind
    assert forms.most_common(1)[0][1] < 0.04 * forms.total()
