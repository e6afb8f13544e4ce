"""The articles of DeepSearch: one for each entity, in prose that varies from article to article.

A sentence states at most one fact. Births come before deaths. Where the sentence before speaks of another person, town
or thing, the entity of the article is called by its name or its kind, so that a pronoun has one meaning.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from gem_envs_qa.atlas.articles import date_text, number_text
from gem_envs_qa.atlas.schema import EVENT, ORGANISATION, PERSON, RELATIONS, WORK
from gem_envs_qa.atlas.world import AtlasWorld, Date, Entity
from gem_envs_qa.deep_search.sentences import (
    CONFUSIONS,
    IDLE,
    LISTS,
    OPENINGS,
    OTHERS,
    OWN,
    SECOND_NAMES,
    STAGES,
    TYPES,
)

__all__ = ["search_articles"]

_ALIAS_RATE = 0.25
_CONFUSED = 0.25
"""Share of the articles that warn of a confusion with another entity."""
_PRONOUN_RATE = 0.6
_OF_OTHERS, _LIST, _LATE = 3.0, 3.5, 8.0
"""Where sentences stand that state a fact of another entity, a list, or a confusion (:data:`.sentences.STAGES`)."""


class _Sentence(NamedTuple):
    """A sentence before its pronouns."""

    place: float
    template: str
    slot: str = ""
    said: str = ""
    other: Entity | None = None
    """The entity that it speaks of beside that of the article."""


def search_articles(world: AtlasWorld, rng: random.Random) -> list[str]:
    """Return the article of each entity of a world, without a heading."""
    return [_article(world, entity, told, rng) for entity, told in zip(world.entities, world.told_in(), strict=True)]


def _article(world: AtlasWorld, entity: Entity, told: list[tuple[str, Entity]], rng: random.Random) -> str:
    entities, chance = world.entities, rng.random
    sentences = []
    for name, subject in told:
        if subject is entity:
            value = entity.facts[name]
            other = entities[value] if isinstance(value, int) and RELATIONS[name].leads_on else None
            said = _value(name, value) if other is None else _mention(other, rng)
            place = STAGES[name] + 1.5 * chance()
            sentences.append(_Sentence(place, rng.choice(OWN[name]), "{o}", said, other))
        else:
            place = _OF_OTHERS + 1.5 * chance()
            said = _mention(subject, rng)
            sentences.append(_Sentence(place, rng.choice(OTHERS[name]), "{x}", said, subject))
    if entity.members is not None:
        listed = _enumeration([_mention(entities[member], rng) for member in entity.members])
        sentences.append(_Sentence(_LIST, rng.choice(LISTS[entity.kind]), "{l}", listed))
    idle = rng.sample(IDLE[entity.kind], int(3 * chance()))
    sentences += [_Sentence(_LATE * chance(), template) for template in idle]
    if chance() < _CONFUSED:
        similar = rng.choice(world.of_kind[entity.kind])
        if (
            similar is not entity
            and similar.id not in entity.facts.values()
            and entity.id not in similar.facts.values()
        ):
            sentences.append(_Sentence(_LATE, rng.choice(CONFUSIONS), "{z}", similar.said, similar))
    text = [_opening(entity, rng)]
    before = None
    for sentence in sorted(sentences, key=_place):
        text.append(_filled(sentence, entity, before, chance() < _PRONOUN_RATE))
        before = sentence.other
    return " ".join(text)


def _place(sentence: _Sentence) -> float:
    return sentence.place


def _filled(sentence: _Sentence, entity: Entity, before: Entity | None, pronoun: bool) -> str:
    """Return the sentence; ``before`` is the entity that the sentence before speaks of beside that of the article."""
    he, his, him, short = _words_for(entity)
    text, first = sentence.template, he if pronoun else short
    if before is not None and (before.kind == PERSON) is (entity.kind == PERSON):
        name = entity.said if before.kind == entity.kind else short
        # Within the sentence, the name is not said a second time.
        if "{S}" in text:
            first = name
        else:
            he, his, him = name, f"{name}'s", name
    for slot, word in (("{S}", first), ("{P}", his), ("{s}", he), ("{p}", his), ("{h}", him), ("{n}", entity.type)):
        text = text.replace(slot, word)
    if sentence.slot:
        text = text.replace(sentence.slot, sentence.said)
    return text[0].upper() + text[1:]


def _words_for(entity: Entity) -> tuple[str, str, str, str]:
    """Return the pronoun of an entity, its possessive and object form, and another name for a sentence's beginning."""
    if entity.kind == PERSON:
        short = entity.name.partition(" ")[2]
        return ("she", "her", "her", short) if entity.feminine else ("he", "his", "him", short)
    if entity.kind in (WORK, ORGANISATION):
        return "it", "its", "it", f"the {entity.type.lower()}"
    return "it", "its", "it", entity.said if entity.kind == EVENT else f"the {entity.kind}"


def _value(name: str, value: object) -> str:
    if isinstance(value, Date):
        return date_text(value)
    return number_text(value) if name == "population" and isinstance(value, int) else f"{value}"


def _mention(entity: Entity, rng: random.Random) -> str:
    if entity.alias is not None and rng.random() < _ALIAS_RATE:
        return _with_article(entity, entity.alias)
    return entity.said


def _with_article(entity: Entity, name: str) -> str:
    return f"the {name}" if entity.kind in (ORGANISATION, EVENT) else name


def _enumeration(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]


def _opening(entity: Entity, rng: random.Random) -> str:
    name = entity.said
    if entity.alias is not None:
        said = rng.choice(SECOND_NAMES.get(entity.type, SECOND_NAMES.get(entity.kind, ())))
        name = f"{name}, {said.replace('{a}', _with_article(entity, entity.alias))},"
    types = TYPES.get(entity.type)
    if types is None:
        what = f"{'an' if entity.type[0].lower() in 'aeiou' else 'a'} {entity.type.lower()}"
    else:
        what = rng.choice(types)
    text = rng.choice(OPENINGS[entity.kind]).replace("{n}", name).replace("{t}", what)
    return text[0].upper() + text[1:]
