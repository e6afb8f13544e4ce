"""A reader of DeepSearch's articles, :class:`SearchReader`, and what a single sentence says, :func:`said_by`.

It knows the wordings of the articles, written down from the texts and not from the code that writes them, and none of
the facts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from gem_envs_qa.deep_search.reader import AtlasReader, bare

__all__ = ["SearchReader", "about_itself", "said_by", "second_name_in"]

_TOKENS = {
    "S": "(?:SELF|[Hh]e|[Ss]he|[Ii]t|[Tt]he [a-z]+)",
    "P": "(?:SELF's|[Hh]is|[Hh]er|[Ii]ts|[Tt]he [a-z]+'s)",
    "H": "(?:SELF|him|her|it|the [a-z]+)",
    "N": "((?:[Tt]he )?[A-Z][A-Za-z]*(?: (?:of )?[A-Z][A-Za-z]*)*)",
    "V": r"(\d[\d,]*|\d+ [A-Z][a-z]+ \d+)",
    "L": "(.+)",
}
"""The entity of the article as subject, its possessive and object form; a name, a value and a list, each a group."""
_TOKEN = re.compile(r"\b[SPHNVL]\b")

# What a sentence says of the entity of its article.
_OWN: dict[str, Sequence[str]] = {
    "birthplace": [
        "S was born in N", "P birthplace was N", "S came into the world in N", "S was a native of N",
        "It was in N that S was born", "N was the town of P birth",
    ],
    "deathplace": [
        "S died in N", "P place of death was N", "S spent P last days in N and died there", "Death overtook H in N",
        "It was in N that S died", "P life ended in N",
    ],
    "mentor": [
        "S was a pupil of N", "P mentor was N", "S learned P craft from N", "S was taught by N", "N was P mentor",
        "As a young [a-z]+, S had N as a mentor",
    ],
    "spouse": [
        "S was married to N", "P spouse was N", "S shared P life with N, to whom S was married", "S married N",
        "S and N were a married couple", "N was P spouse",
    ],
    "employer": [
        "S was employed by N", "P employer was N", "S earned P living in the service of N", "S was on the payroll of N",
        "N employed H", "S drew P wages from N",
    ],
    "born": [
        "S was born on V", "P date of birth is V", "The register of births has P name under V",
        "S first saw the light of day on V", "The day of P birth was V", "Parish records give V as P date of birth",
    ],
    "died": [
        "S died on V", "P death came on V", "S lived until V", "P date of death is V", "The day of P death was V",
        "S passed away on V",
    ],
    "region": [
        "S lies in N", "P region is N", "The region around H is N", "S belongs to the region of N",
        "S is one of the towns of N", "N is the region to which S belongs",
    ],
    "mayor": [
        "P mayor was N", "The office of mayor was held by N", "S was governed by N, its mayor", "N was P mayor",
        "P people had N as their mayor", "In the town hall, N held office as mayor",
    ],
    "twin": [
        "P twin town is N", "S is twinned with N", "S and N are twin towns", "S has a twin town, N",
        "A partnership makes N P twin town",
    ],
    "chartered": [
        "S received its charter in V", "P charter dates from V", "The town charter was sealed in V",
        "P charter is of the year V", "S has had a charter since V", "The year of P charter is V",
    ],
    "population": [
        "S has V inhabitants", "P population is V", "The census counted V people", "S is home to V people",
        "The number of P inhabitants is V", "A total of V people live in H",
    ],
    "river": [
        "S lies on the river N", "The river N runs through H", "P bridges cross the river N",
        "S stands on the banks of the river N", "P mills are driven by the river N", "Boats reach H on the river N",
    ],
    "country": [
        "S belongs to N", "S forms part of N", "The country around H is N", "P country is N",
        "S is one of the regions of N",
    ],
    "capital": [
        "P capital is N", "S is governed from N", "The seat of the regional government is N", "N is P capital",
        "P government sits in N",
    ],
    "ruler": [
        "P ruler was N", "S was ruled by N", "The throne was held by N", "N sat on P throne",
        "The crown belonged to N, P ruler",
    ],
    "parliament": [
        "P parliament meets in N", "The members of parliament assemble in N", "The parliament building stands in N",
        "N is where P parliament meets",
    ],
    "founder": [
        "S was founded by N", "P founder was N", "S owes its existence to N", "N founded H",
        "P foundation was the work of N", "S goes back to N, its founder",
    ],
    "director": [
        "P director was N", "S was headed by N", "The post of director was held by N", "N was P director",
        "At P head stood N", "S had N as its director",
    ],
    "seat": [
        "S has its seat in N", "P headquarters are in N", "The main building stands in N", "P seat is N",
        "S is based in N", "P head office is in N",
    ],
    "founded": [
        "S was founded on V", "P founding deed bears the date V", "S came into being on V", "P date of foundation is V",
        "The day of P foundation was V", "S has existed since V",
    ],
    "creator": [
        "S is the work of N", "P creator was N", "S was created by N", "N created H", "S comes from the hand of N",
        "S is one of the works of N",
    ],
    "sponsor": [
        "S was commissioned by N", "The commission for H came from N", "S was paid for by N", "N commissioned H",
        "P sponsor was N", "The costs were borne by N",
    ],
    "dedicatee": [
        "S is dedicated to N", "P dedication names N", "N is P dedicatee", "S bears a dedication to N",
        "P dedicatee is N",
    ],
    "inspiration": [
        "S was inspired by N", "P inspiration was a stay in N", "The idea for H came up in N",
        "N was the inspiration for H", "A visit to N inspired H", "P inspiration came from N",
    ],
    "completed": [
        "S was completed in V", "P completion fell in V", "Work on H ended in V", "S was finished in V",
        "The year of P completion is V",
    ],
    "venue": [
        "S was held in N", "P venue was N", "S took place in N", "N was P venue", "P guests met in N",
        "P grounds were in N",
    ],
    "organiser": [
        "S was arranged by N", "P organiser was N", "The arrangements were made by N", "N arranged H",
        "S was organised by N", "The invitations were sent by N, P organiser",
    ],
    "opener": [
        "S was opened by N", "P opening speech was given by N", "The ribbon was cut by N", "N opened H",
        "The honour of opening H fell to N", "N declared H open",
    ],
    "began": [
        "S began on V", "P first day was V", "The gates were opened to visitors on V", "S started on V",
        "P opening day was V", "From V on, S received visitors",
    ],
}  # fmt: skip

# What a sentence says of another entity, which it names.
_OTHER: dict[str, Sequence[str]] = {
    "birthplace": [
        "N was born here", "One native of the town is N", "N came into the world here", "S is the birthplace of N",
        "A plaque marks the house in which N was born", "Among P natives is N",
    ],
    "deathplace": [
        "N died here", "Within P walls, N died", "The last days of N were spent here", "S is the place of death of N",
        "The life of N ended here", "In one of P houses, N died",
    ],
    "mentor": [
        "S was the mentor of N", "One of P pupils was N", "S taught N, who was P pupil", "N was P pupil",
        "S counted N among P pupils", "N learned from H",
    ],
    "employer": [
        "S employed N", "On P payroll was N", "One of P employees was N", "N was employed by H",
        "N earned a living in P service", "Among P staff was N",
    ],
    "mayor": [
        "S was mayor of N", "S held the office of mayor in N", "The people of N made H their mayor",
        "S governed N as its mayor", "N had H as its mayor", "As mayor, S governed N",
    ],
    "country": [
        "One of P regions is N", "S includes the region of N", "N is one of P regions", "The region of N belongs to H",
    ],
    "capital": [
        "S is the capital of N", "From here N is governed", "The government of N sits here", "N has its capital here",
    ],
    "ruler": [
        "S ruled N", "S sat on the throne of N", "S was the ruler of N", "N was ruled by H", "S wore the crown of N",
    ],
    "parliament": [
        "The parliament of N meets here", "Here the parliament of N assembles", "S is the seat of the parliament of N",
        "The parliament building of N stands here",
    ],
    "founder": [
        "S founded N", "S was the founder of N", "N was P foundation", "N owes its existence to H",
        "N was founded by H",
        "With P own money, S founded N",
    ],
    "director": [
        "S was the director of N", "S headed N", "At N, S held the post of director", "N was headed by H",
        "S stood at the head of N", "As director, S led N",
    ],
    "seat": [
        "N has its seat here", "The headquarters of N are here", "The main building of N stands here",
        "N is based here",
        "S is the seat of N",
    ],
    "sponsor": [
        "S commissioned N", "S paid for N", "S was the sponsor of N", "N was commissioned by H",
        "The costs of N were borne by H",
    ],
    "dedicatee": [
        "N is dedicated to H", "S is the dedicatee of N", "The dedication of N names H", "N bears a dedication to H",
    ],
    "inspiration": [
        "S inspired N", "The idea for N came up here", "S was the inspiration for N", "A stay here inspired N",
        "N was inspired by H",
    ],
    "venue": [
        "N was held here", "N took place here", "S was the venue of N", "P streets saw N, which was held here",
        "The guests of N met here",
    ],
    "organiser": [
        "S arranged N", "S was the organiser of N", "N was organised by H", "The arrangements for N were made by H",
        "S organised N",
    ],
    "opener": [
        "S opened N", "S gave the opening speech of N", "At N, S cut the ribbon", "The honour of opening N fell to H",
        "S declared N open", "N was opened by H",
    ],
}  # fmt: skip
_LISTS = {
    "": [
        "P (?:towns|works) are L", "S (?:has|left) these (?:towns|works) and no others: L",
        "The complete list of P (?:towns|works): L", "S is made up of these towns: L", "S created these works: L",
        "All of P (?:towns|works) are named here: L",
    ]
}  # fmt: skip
_SECOND_NAME = re.compile(
    ", (?:(?:also|who often signed as|formerly|known|once|at first|at times|sometimes|named|called|titled|published|"
    r"performed|exhibited|who also used the name of|to friends as|to its people as|in old charters as|as) ?)+ "
    r"?((?:[Tt]he )?[A-Z][A-Za-z]*(?: (?:of )?[A-Z][A-Za-z]*)*)(?: in older books)?,"
)


def about_itself(title: str, text: str) -> str:
    """Return an article with ``SELF`` wherever its entity is called by its name."""
    names = rf"(?:[Tt]he )?{re.escape(title)}\b"
    text = re.sub(names, "SELF", text)
    family = title.partition(" ")[2]
    return re.sub(rf"(?<=\. ){family}\b", "SELF", text) if family else text


def second_name_in(opening: str) -> str | None:
    """Return the second name that the first sentence of an article gives its entity."""
    found = _SECOND_NAME.search(opening)
    return None if found is None else found[1]


class _SentenceForm:
    """A form of sentences; ``literal`` stands in each of them."""

    def __init__(self, kind: str, relation: str, text: str) -> None:
        self.says = kind, relation
        self.literal = max(re.split(r"\b[SPHNVL]\b|[\[(].*?[\])]\+?", text), key=len)
        self.expression = re.compile(_TOKEN.sub(lambda token: _TOKENS[token[0]], text))


def _forms(kind: str, table: Mapping[str, Sequence[str]]) -> list[_SentenceForm]:
    return [_SentenceForm(kind, relation, text) for relation, texts in table.items() for text in texts]


_FORMS = [*_forms("list", _LISTS), *_forms("other", _OTHER), *_forms("own", _OWN)]


@lru_cache(maxsize=20_000)
def said_by(sentence: str) -> tuple[str, str, str]:
    """Return what a sentence without its full stop says, with ``SELF`` for the name of the article's entity.

    Returns:
        ``"list"``, ``"own"``, ``"other"`` or ``"nothing"``, the relation, and the other entity or the list.
    """
    for form in _FORMS:
        if form.literal in sentence:
            found = form.expression.fullmatch(sentence)
            if found is not None:
                return *form.says, found[1]
    return "nothing", "", ""


class SearchReader(AtlasReader):
    """What is said in the articles that were read."""

    def read(self, title: str, text: str) -> None:
        opening, *sentences = about_itself(title, text).rstrip(".").split(". ")
        self.names[bare(title)] = title
        alias = second_name_in(opening)
        if alias is not None:
            self.aliases[bare(alias)] = title
        for sentence in sentences:
            self._heard(title, sentence, *said_by(sentence))
