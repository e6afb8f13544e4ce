"""The articles of the world: one for each entity, in varied prose.

A sentence states at most one fact. It refers to the subject of the article by its name, by its type or by a pronoun,
and to other entities now and then by their alias. Some sentences state no fact, and some name unrelated entities.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from gem_envs_qa.atlas.schema import COUNTRY, EVENT, ORGANISATION, PERSON, REGION, TOWN, WORK
from gem_envs_qa.atlas.world import AtlasWorld, Date, Entity

__all__ = ["date_text", "number_text", "write_articles"]

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip

_OWN = {
    "birthplace": ("{S} was born in {o}.", "{P} birthplace was {o}.", "{S} came into the world in {o}."),
    "deathplace": ("{S} died in {o}.", "{P} place of death was {o}.", "{S} spent {p} last days in {o} and died there."),
    "mentor": ("{S} was a pupil of {o}.", "{P} mentor was {o}.", "{S} learned {p} craft from {o}."),
    "spouse": (
        "{S} was married to {o}.",
        "{P} spouse was {o}.",
        "{S} shared {p} life with {o}, to whom {s} was married.",
    ),
    "employer": ("{S} was employed by {o}.", "{P} employer was {o}.", "{S} earned {p} living in the service of {o}."),
    "born": ("{S} was born on {o}.", "{P} date of birth is {o}.", "The register of births has {p} name under {o}."),
    "died": ("{S} died on {o}.", "{P} death came on {o}.", "{S} lived until {o}."),
    "region": ("{S} lies in {o}.", "{S} is a town of {o}.", "The region around it is {o}."),
    "mayor": ("{P} mayor was {o}.", "The office of mayor was held by {o}.", "{S} was governed by {o}, its mayor."),
    "twin": ("{P} twin town is {o}.", "{S} is twinned with {o}."),
    "chartered": (
        "{S} received its charter in {o}.",
        "{P} charter dates from {o}.",
        "The town charter was sealed in {o}.",
    ),
    "population": ("{S} has {o} inhabitants.", "{P} population is {o}.", "The census counted {o} people."),
    "river": ("{S} lies on the river {o}.", "The river {o} runs through it.", "{P} bridges cross the river {o}."),
    "country": ("{S} belongs to {o}.", "{S} forms part of {o}.", "The country around it is {o}."),
    "capital": ("{P} capital is {o}.", "{S} is governed from {o}.", "The seat of the regional government is {o}."),
    "ruler": ("{P} ruler was {o}.", "{S} was ruled by {o}.", "The throne was held by {o}."),
    "parliament": ("{P} parliament meets in {o}.", "The members of parliament assemble in {o}."),
    "founder": ("{S} was founded by {o}.", "{P} founder was {o}.", "{S} owes its existence to {o}."),
    "director": ("{P} director was {o}.", "{S} was headed by {o}.", "The post of director was held by {o}."),
    "seat": ("{S} has its seat in {o}.", "{P} headquarters are in {o}.", "The main building stands in {o}."),
    "founded": ("{S} was founded on {o}.", "{P} founding deed bears the date {o}.", "{S} came into being on {o}."),
    "creator": ("{S} is the work of {o}.", "{P} creator was {o}.", "{S} was created by {o}."),
    "sponsor": ("{S} was commissioned by {o}.", "The commission for it came from {o}.", "{S} was paid for by {o}."),
    "dedicatee": ("{S} is dedicated to {o}.", "{P} dedication names {o}.", "An inscription honours {o} as dedicatee."),
    "inspiration": (
        "{S} was inspired by {o}.",
        "{P} inspiration was a stay in {o}.",
        "The idea for it came up in {o}.",
    ),
    "completed": ("{S} was completed in {o}.", "{P} completion fell in {o}.", "Work on it ended in {o}."),
    "venue": ("{S} was held in {o}.", "{P} venue was {o}.", "{S} took place in {o}."),
    "organiser": ("{S} was arranged by {o}.", "{P} organiser was {o}.", "The arrangements were made by {o}."),
    "opener": ("{S} was opened by {o}.", "{P} opening speech was given by {o}.", "The ribbon was cut by {o}."),
    "began": ("{S} began on {o}.", "{P} first day was {o}.", "The gates were opened to visitors on {o}."),
}
"""Relation → sentences for the article of its subject; {o} is its object."""

_OTHERS = {
    "birthplace": ("{x} was born here.", "One native of the town is {x}.", "{x} came into the world here."),
    "deathplace": ("{x} died here.", "Within its walls {x} died.", "The last days of {x} were spent here."),
    "mentor": ("{S} was the mentor of {x}.", "One of {p} pupils was {x}.", "{S} taught {x}, who was {p} pupil."),
    "employer": ("{S} employed {x}.", "On its payroll was {x}.", "One of its employees was {x}."),
    "mayor": (
        "{S} was mayor of {x}.",
        "{S} held the office of mayor in {x}.",
        "The people of {x} made {h} their mayor.",
    ),
    "country": ("One of its regions is {x}.", "{S} includes the region of {x}."),
    "capital": ("{S} is the capital of {x}.", "From here {x} is governed."),
    "ruler": ("{S} ruled {x}.", "{S} sat on the throne of {x}."),
    "parliament": ("The parliament of {x} meets here.", "Here the parliament of {x} assembles."),
    "founder": ("{S} founded {x}.", "{S} was the founder of {x}.", "{x} was {p} foundation."),
    "director": ("{S} was the director of {x}.", "{S} headed {x}.", "At {x} {s} held the post of director."),
    "seat": ("{x} has its seat here.", "The headquarters of {x} are here.", "The main building of {x} stands here."),
    "sponsor": ("{S} commissioned {x}.", "{S} paid for {x}."),
    "dedicatee": ("{x} is dedicated to {h}.", "{S} is the dedicatee of {x}."),
    "inspiration": ("{S} inspired {x}.", "The idea for {x} came up here."),
    "venue": ("{x} was held here.", "{x} took place here.", "{S} was the venue of {x}."),
    "organiser": ("{S} arranged {x}.", "{S} was the organiser of {x}."),
    "opener": ("{S} opened {x}.", "{S} gave the opening speech of {x}.", "At {x} {s} cut the ribbon."),
}
"""Relation → sentences for the article of its object; {x} is its subject."""

_LISTS = {
    REGION: ("Its towns are {l}.", "{S} has these towns and no others: {l}.", "The complete list of its towns: {l}."),
    PERSON: (
        "{P} works are {l}.",
        "{S} left these works and no others: {l}.",
        "The complete list of {p} works: {l}.",
    ),
}

_OPENINGS = {
    PERSON: ("{n} was {t}.", "{n} is remembered as {t}."),
    TOWN: ("{n} is {t}.", "{n} is {t} with a long history."),
    REGION: ("{n} is {t}.", "{n} is {t} of hills and rivers."),
    COUNTRY: ("{n} is {t}.", "{n} is {t} of several regions."),
    ORGANISATION: ("{n} is {t}.", "{n} is {t} with a varied history."),
    WORK: ("{n} is {t}.", "{n} is {t} that has often been discussed."),
    EVENT: ("{n} was {t}.", "{n} was {t} that is still remembered."),
}
_WITH_ALIAS = {
    PERSON: ("{n}, also known as {a},", "{n}, who often signed as {a},"),
    TOWN: ("{n}, formerly called {a},", "{n}, known in old charters as {a},"),
    REGION: ("{n}, also called {a},",),
    ORGANISATION: ("{n}, formerly called {a},", "{n}, at first named {a},"),
    WORK: ("{n}, also known as {a},", "{n}, published at first as {a},"),
}

_EMPTY = {
    PERSON: (
        "Few letters from {p} hand survive.",
        "Contemporaries praised {p} patience.",
        "Little is known about {p} youth.",
        "A portrait of {h} was lost in a fire.",
    ),
    TOWN: (
        "Most of the old houses are built of grey stone.",
        "The market is known for its cheese.",
        "In winter the harbour freezes.",
        "Two fires have changed its face.",
    ),
    REGION: ("Barley and flax are grown in the valleys.", "The winters are long.", "Many of the roads are unpaved."),
    COUNTRY: (
        "Salt and timber are traded abroad.",
        "The coins are struck in copper.",
        "There are three official holidays.",
    ),
    ORGANISATION: (
        "The archive is open on weekdays.",
        "Membership fell in later years.",
        "A yearbook appears every spring.",
    ),
    WORK: ("Critics were divided.", "A copy was damaged by water.", "It has been copied many times."),
    EVENT: (
        "The weather was poor on most days.",
        "Tickets sold out within a week.",
        "No full list of guests survives.",
    ),
}
_CONFUSIONS = (
    "{S} should not be confused with {z}.",
    "Older handbooks mix {h} up with {z}.",
    "Nothing connects {h} with {z}, whatever guides say.",
)
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
