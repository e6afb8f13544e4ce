"""A reader of Atlas: what its articles say, and the reasoning from a question to its answer.

It knows the wordings of articles and questions, written down from the texts and not from the code that writes them, and
none of the facts. The tests of Atlas use it as a second opinion; the reader of DeepSearch
(:mod:`gem_envs_qa.deep_search.sentence_reader`) knows the wordings of that world instead.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from gem.tables import read_table

__all__ = ["LINK_WORDS", "AtlasReader", "AtlasReasoning", "Wish", "answer_to"]

HE = "(?:he|she|it)"
HIS = "(?:[Hh]is|[Hh]er|[Ii]ts)"
OPENING = re.compile(
    r"(?:also known as|who often signed as|formerly called|known in old charters as|also called|at first named|"
    r"published at first as) (.+?), (?:is|was) "
)

_TABLES = read_table(__file__, "reader.toml")
LISTS = re.compile(
    rf"(?:{HIS} (?:towns|works) are |.+ (?:has these towns|left these works) and no others: |"
    rf"The complete list of {HIS} (?:towns|works): )(.+)"
)
COMPARISONS = {
    r"Who was born (earlier|later): (.+) or (.+)\?": "born",
    r"Which town has (fewer|more) inhabitants: (.+) or (.+)\?": "population",
    r"Which town received its charter (earlier|later): (.+) or (.+)\?": "chartered",
    r"Which organisation was founded (earlier|later): (.+) or (.+)\?": "founded",
}
YEARS = {
    "(.+) was born": "born",
    "(.+) died": "died",
    "(.+) received its charter": "chartered",
    "(.+) was founded": "founded",
    "(.+) was completed": "completed",
    "(.+) began": "began",
}
MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
]  # fmt: skip

LINK_WORDS: Mapping[str, str] = _TABLES["link_words"]
"""Relation → what else stands in an article that says it of another entity."""

# What a step of reasoning wants to know, and is told: ("fact", relation, entity) → text, ("list", entity) → names.
Wish = tuple[str, ...]
AtlasReasoning = Generator[Wish, Any, Any]


class AtlasReader:
    """What is said in the articles that were read."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self.facts: dict[tuple[str, str], str] = {}
        self.lists: dict[str, list[str]] = {}
        self.unread: list[str] = []

    def read(self, title: str, text: str) -> None:
        opening, *sentences = text.rstrip(".").split(". ")
        self.names[bare(title)] = title
        alias = OPENING.search(opening)
        if alias is not None:
            self.aliases[bare(alias[1])] = title
        for sentence in sentences:
            self._heard(title, sentence, *said_in(sentence))

    def _heard(self, title: str, sentence: str, kind: str, relation: str, what: str) -> None:
        if kind == "list":
            self.lists[title] = re.split(", | and ", what)
        elif kind == "own":
            self._learn(relation, title, what)
        elif kind == "other":
            self._learn(relation, what, title)
        else:
            self.unread.append(sentence)

    def _learn(self, relation: str, entity: str, value: str) -> None:
        known = self.facts.setdefault((relation, bare(entity)), value)
        assert bare(known) == bare(value), (relation, entity, known, value)

    def canonical(self, name: str) -> str | None:
        return self.names.get(bare(name)) or self.aliases.get(bare(name))

    def called(self, name: str) -> list[str]:
        """Everything that an entity is known to be called."""
        title = self.canonical(name) or name
        return [title, *(alias for alias, owner in self.aliases.items() if owner == title)]

    def know(self, wish: Wish) -> Any:
        """What was wished for, or None if nothing that was read says it."""
        for name in self.called(wish[-1]):
            if wish[0] == "list":
                found: Any = self.lists.get(name)
            else:
                found = self.facts.get((wish[1], bare(name)))
                if found is None and wish[1] in ("spouse", "twin"):
                    found = next(
                        (
                            entity
                            for (relation, entity), value in self.facts.items()
                            if relation == wish[1] and bare(value) == bare(name)
                        ),
                        None,
                    )
                if found is None and wish[1] in ("region", "creator"):
                    found = next((owner for owner, names in self.lists.items() if bare(name) in map(bare, names)), None)
            if found is not None:
                return found
        return None


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _spelt_out(form: str) -> str:
    return form.replace("<he>", HE).replace("<his>", HIS)


class SentenceForms:
    """Forms of sentences as one expression, which is quicker than one after the other; the first that fits counts."""

    def __init__(self, patterns: Mapping[str, Iterable[str]]) -> None:
        forms = [(relation, _spelt_out(form)) for relation, forms in patterns.items() for form in forms]
        self._relations = ["", *(relation for relation, _ in forms)]
        self._expression = re.compile("|".join(form for _, form in forms))

    def read(self, sentence: str) -> tuple[str, str] | None:
        """Return the relation and what it leads to or comes from."""
        found = self._expression.fullmatch(sentence)
        return None if found is None else (self._relations[found.lastindex or 0], found[found.lastindex or 0])


_OWN_FORMS, _OTHER_FORMS = SentenceForms(_TABLES["own"]), SentenceForms(_TABLES["other"])


@lru_cache(maxsize=10_000)
def said_in(sentence: str) -> tuple[str, str, str]:
    """Return ``"list"``, ``"own"``, ``"other"`` or ``"nothing"``, the relation, and the other entity or the list."""
    found = LISTS.fullmatch(sentence)
    if found is not None:
        return "list", "", found[1]
    for kind, forms in (("own", _OWN_FORMS), ("other", _OTHER_FORMS)):
        read = forms.read(sentence)
        if read is not None:
            return kind, *read
    return "nothing", "", ""


def bare(name: str) -> str:
    return name.lower().removeprefix("the ")


def fact(relation: str, entity: str) -> AtlasReasoning:
    return (yield "fact", relation, entity)


def thing_meant(phrase: str) -> AtlasReasoning:
    """Find out which entity a phrase means."""
    for relation, form in (*_TABLES["phrases"].items(), *_TABLES["nested_phrases"].items()):
        found = compiled(form).fullmatch(phrase)
        if found is not None:
            subject = yield from thing_meant(found[1])
            return (yield from fact(relation, subject))
    return phrase


def answer_to(question: str) -> AtlasReasoning:
    """Work out the answer to a question, wish by wish."""
    for form, relation in COMPARISONS.items():
        found = compiled(form).fullmatch(question)
        if found is not None:
            one = yield from thing_meant(found[2])
            other = yield from thing_meant(found[3])
            first = size((yield from fact(relation, one)))
            second = size((yield from fact(relation, other)))
            return one if (first < second) is (found[1] in ("earlier", "fewer")) else other
    found = re.fullmatch(r"How many (?:towns do(?:es)?|works did) (.+?) (?:have|create)(?: together)?\?", question)
    if found is not None and "inhabitants" not in question:
        total = 0
        for phrase in found[1].split(" and "):
            subject = yield from thing_meant(phrase)
            total += len((yield "list", subject))
        return str(total)
    found = re.fullmatch(r"How many years lie between the year in which (.+) and the year in which (.+)\?", question)
    if found is not None:
        years = []
        for phrase in found.groups():
            relation, subject = next(
                (relation, match[1]) for form, relation in YEARS.items() if (match := re.fullmatch(form, phrase))
            )
            years.append(size((yield from fact(relation, (yield from thing_meant(subject)))))[0])
        return str(abs(years[0] - years[1]))
    found = re.fullmatch(r"What is the name of (.+)\?", question)
    if found is not None:
        return (yield from thing_meant(found[1]))
    for relation, forms in _TABLES["questions"].items():
        for form in forms:
            found = compiled(form).fullmatch(question)
            if found is not None:
                return (yield from fact(relation, (yield from thing_meant(found[1]))))
    raise AssertionError(f"not understood: {question}")


def size(text: str) -> tuple[int, ...]:
    """What a date, a year or a number is compared by."""
    parts = text.split()
    if len(parts) == 3:
        return int(parts[2]), 1 + MONTHS.index(parts[1]), int(parts[0])
    return (int(text.replace(",", "")),)
