"""The articles of the world: one for each entity, in varied prose.

A sentence states at most one fact. It refers to the subject of the article by its name, by its type or by a pronoun,
and to other entities now and then by their alias. Some sentences state no fact, and some name unrelated entities.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from gem.tables import read_table
from gem_envs_qa.atlas.schema import EVENT, ORGANISATION, PERSON, WORK
from gem_envs_qa.atlas.world import AtlasWorld, Date, Entity

__all__ = ["date_text", "number_text", "write_articles"]

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip

_TABLES = read_table(__file__, "articles.json")
_OWN: Mapping[str, Sequence[str]] = _TABLES["own"]
"""Relation → sentences for the article of its subject; {o} is its object."""

_OTHERS: Mapping[str, Sequence[str]] = _TABLES["others"]
"""Relation → sentences for the article of its object; {x} is its subject."""

_LISTS: Mapping[str, Sequence[str]] = _TABLES["lists"]

_OPENINGS: Mapping[str, Sequence[str]] = _TABLES["openings"]
_WITH_ALIAS: Mapping[str, Sequence[str]] = _TABLES["with_alias"]

_EMPTY: Mapping[str, Sequence[str]] = _TABLES["empty"]
"""Kind → sentences that state no fact."""
_CONFUSIONS: Sequence[str] = _TABLES["confusions"]
_ALIAS_RATE = 0.25

_Words = tuple[str, str, str, str]
"""Pronoun, possessive and object form of an entity, and another name of it for the beginning of a sentence."""


def write_articles(world: AtlasWorld, rng: random.Random) -> list[str]:
    """Return the article of each entity of a world, without a heading."""
    entities, choice, chance = world.entities, rng.choice, rng.random
    articles = []
    for entity, told in zip(entities, world.told_in(), strict=True):
        words = _words_for(entity)
        sentences = []
        for name, subject in told:
            if subject is entity:
                value = entity.facts[name]
                said = (
                    _mention(entities[value], chance) if type(value) is int and _leads_on(name) else _value(name, value)
                )
                sentences.append(_filled(choice(_OWN[name]), words, chance, "{o}", said))
            else:
                said = _mention(subject, chance)
                sentences.append(_filled(choice(_OTHERS[name]), words, chance, "{x}", said))
        if entity.members is not None:
            listed = _enumeration([_mention(entities[member], chance) for member in entity.members])
            sentences.append(_filled(choice(_LISTS[entity.kind]), words, chance, "{l}", listed))
        empty = rng.sample(_EMPTY[entity.kind], int(3 * chance()))
        sentences += [_filled(sentence, words, chance) for sentence in empty]
        if chance() < 0.25:
            other = choice(world.of_kind[entity.kind])
            if other is not entity:
                sentences.append(_filled(choice(_CONFUSIONS), words, chance, "{z}", other.said))
        rng.shuffle(sentences)
        articles.append(" ".join((_opening(entity, choice), *sentences)))
    return articles


def date_text(date: Date) -> str:
    """Return a date as articles have it: ``14 March 1732``."""
    return f"{date.day} {_MONTHS[date.month - 1]} {date.year}"


def number_text(number: int) -> str:
    """Return a number as articles have it: ``12,345``."""
    return f"{number:,}"


def _leads_on(name: str) -> bool:
    return name not in ("chartered", "population", "completed")


def _value(name: str, value: object) -> str:
    if isinstance(value, Date):
        return date_text(value)
    return number_text(value) if name == "population" and isinstance(value, int) else f"{value}"


def _words_for(entity: Entity) -> _Words:
    if entity.kind == PERSON:
        short = entity.name.partition(" ")[2]
        return ("she", "her", "her", short) if entity.feminine else ("he", "his", "him", short)
    if entity.kind in (WORK, ORGANISATION):
        return "it", "its", "it", f"the {entity.type.lower()}"
    return "it", "its", "it", entity.said if entity.kind == EVENT else f"the {entity.kind}"


def _filled(template: str, words: _Words, chance: Callable[[], float], slot: str = "", said: str = "") -> str:
    pronoun, possessive, object_form, short = words
    text = template
    if "{S}" in text:
        text = text.replace("{S}", pronoun if chance() < 0.6 else short)
    elif "{P}" in text:
        text = text.replace("{P}", possessive)
    if slot:
        text = text.replace(slot, said)
    if "{" in text:
        text = text.replace("{s}", pronoun).replace("{p}", possessive).replace("{h}", object_form)
    return text[0].upper() + text[1:]


def _mention(entity: Entity, chance: Callable[[], float]) -> str:
    if entity.alias is not None and chance() < _ALIAS_RATE:
        return f"the {entity.alias}" if entity.kind in (ORGANISATION, EVENT) else entity.alias
    return entity.said


def _enumeration(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]


def _opening(entity: Entity, choice: Callable[[Sequence[str]], str]) -> str:
    name = entity.said
    if entity.alias is not None:
        alias = f"the {entity.alias}" if entity.kind == ORGANISATION else entity.alias
        name = choice(_WITH_ALIAS[entity.kind]).replace("{n}", name).replace("{a}", alias)
    what = entity.type.lower()
    article = "an" if what[0] in "aeiou" else "a"
    text = choice(_OPENINGS[entity.kind])
    text = text.replace("{n}", name).replace("{t}", f"{article} {what}")
    return text[0].upper() + text[1:]
