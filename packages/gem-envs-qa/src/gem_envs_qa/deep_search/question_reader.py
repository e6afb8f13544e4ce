"""The reasoning from a question of DeepSearch to its answer: :func:`answer_by_steps`.

It knows the wordings of the questions, written down from the texts and not from the code that writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gem_envs_qa.deep_search.reader import AtlasReasoning

__all__ = ["answer_by_steps"]

# In each, X is the entity from which the relation leads on.
_NOUNS: dict[str, Sequence[str]] = {
    "parliament": [
        "the town where the parliament of X meets", "the town in which the parliament of X assembles",
    ],
    "birthplace": [
        "the birthplace of X", "the native town of X", "the town (?:where|in which) X was born", "X's birthplace",
    ],
    "deathplace": ["the place of death of X", "the town (?:where|in which) X died", "X's place of death"],
    "mentor": [
        "the mentor of X", "the (?:person|mentor) who taught X", "the person who had X as a pupil", "X's mentor",
    ],
    "spouse": [
        "the spouse of X", "the person who was married to X", "the person to whom X was married",
        "the person whom X married", "X's spouse",
    ],
    "employer": [
        "the employer of X", "the organisation that employed X", "the organisation by which X was employed",
        "X's employer",
    ],
    "born": [
        "the date of birth of X", "the date on which X was born", "the day, month and year in which X was born",
        "X's date of birth",
    ],
    "died": [
        "the date of death of X", "the date on which X died", "the date until which X lived", "X's date of death",
    ],
    "region": [
        "the region of X", "the region in which X lies", "the region to which X belongs", "the region that includes X",
    ],
    "mayor": ["the mayor of X", "the person who was mayor of X", "the person who held the office of mayor in X"],
    "twin": ["the twin town of X", "the town with which X is twinned", "the town that is twinned with X"],
    "chartered": [
        "the year of the charter of X", "the year in which X received its charter",
        "the year from which the charter of X dates",
    ],
    "population": [
        "the population of X", "the number of inhabitants of X", "the number of people who live in X",
    ],
    "river": [
        "the river of X", "the river that runs through X", "the river on which X lies",
        "the river crossed by the bridges of X",
    ],
    "country": [
        "the country of X", "the country to which X belongs", "the country of which X forms part",
        "the country that includes X",
    ],
    "capital": [
        "the capital of X", "the town from which X is governed", "the town in which the government of X sits",
    ],
    "ruler": ["the ruler of X", "the person who ruled X", "the person who sat on the throne of X"],
    "founder": ["the founder of X", "the person who founded X", "the person by whom X was founded", "X's founder"],
    "director": ["the director of X", "the person who headed X", "the person by whom X was headed", "X's director"],
    "seat": [
        "the seat of X", "the town where X has its seat", "the town in which X is based",
        "the town with the head office of X",
    ],
    "founded": [
        "the date of foundation of X", "the date on which X was founded", "the date on which X came into being",
    ],
    "creator": ["the creator of X", "the person who created X", "the person by whom X was created"],
    "sponsor": [
        "the sponsor of X", "the organisation that commissioned X", "the organisation that paid for X",
    ],
    "dedicatee": [
        "the dedicatee of X", "the person to whom X is dedicated", "the person named in the dedication of X",
    ],
    "inspiration": [
        "the town that inspired X", "the town by which X was inspired", "the town that gave the idea for X",
    ],
    "venue": ["the venue of X", "the town where X was held", "the town in which X took place"],
    "organiser": [
        "the organiser of X", "the organisation that arranged X", "the organisation by which X was arranged",
    ],
    "opener": [
        "the person who opened X", "the person by whom X was opened", "the person who declared X open",
    ],
}  # fmt: skip
_STATEMENTS: dict[str, Sequence[str]] = {
    "parliament": [
        "X has a parliament that meets in a certain town",
        "X has a parliament, and it assembles in a town",
    ],
    "birthplace": ["X was born in a certain town", "X was a native of a town", "X came into the world in a town"],
    "deathplace": ["X died in a certain town", "X met with death in a town"],
    "mentor": ["X had a mentor", "X was the pupil of a mentor", "X learned from a mentor"],
    "spouse": ["X had a spouse", "X was married to somebody"],
    "employer": ["X had an employer", "X was employed by an organisation", "X was on the payroll of an organisation"],
    "born": ["X was born on a certain date"],
    "died": ["X died on a certain date", "X lived until a certain date"],
    "region": ["X lies in a certain region", "X belongs to a region", "X is one of the towns of a region"],
    "mayor": ["X had a mayor", "X was governed by a mayor"],
    "twin": ["X has a twin town", "X is twinned with a town"],
    "chartered": ["X received its charter in a certain year", "X has a charter from a certain year"],
    "population": ["X has a certain number of inhabitants", "X is home to a certain number of people"],
    "river": ["X lies on a river", "X has bridges across a river", "X stands on the banks of a river"],
    "country": ["X belongs to a certain country", "X forms part of a country", "X is one of the regions of a country"],
    "capital": ["X has a capital", "X is governed from a capital"],
    "ruler": ["X had a ruler", "X was governed by a ruler"],
    "founder": ["X had a founder", "X owes its existence to a founder", "X goes back to a founder"],
    "director": ["X had a director", "X was headed by a director"],
    "seat": ["X has its seat in a certain town", "X is based in a town", "X has its head office in a town"],
    "founded": ["X was founded on a certain date", "X came into being on a certain date"],
    "creator": ["X had a creator", "X is the work of a creator", "X comes from the hand of a creator"],
    "sponsor": ["X was commissioned by an organisation", "X had a sponsor", "X was paid for by an organisation"],
    "dedicatee": ["X has a dedicatee", "X is dedicated to somebody", "X bears a dedication to somebody"],
    "inspiration": ["X was inspired by a town", "X goes back to an idea that came up in a town"],
    "venue": ["X was held in a certain town", "X took place in a town"],
    "organiser": ["X had an organiser", "X was arranged by an organisation"],
    "opener": ["X was opened by a person", "X was declared open by a person"],
}
_QUESTIONS: dict[str, Sequence[str]] = {
    "parliament": [
        "in which town (?:does )?the parliament of X meets?", "which town is the seat of the parliament of X",
        "the parliament of X meets in which town", "in which town does the parliament of X assemble",
    ],
    "birthplace": [
        "in which town (?:was X|X was) born", "which town was the birthplace of X", "X was born in which town",
        "of which town (?:was X|X was) a native", "which town saw the birth of X",
    ],
    "deathplace": [
        "in which town (?:did X die|X died)", "which town was the place of death of X", "X died in which town",
        "which town saw the death of X", "in which town (?:did )?the life of X end(?:ed)?",
    ],
    "mentor": [
        "who was the mentor of X", "whose pupil (?:was X|X was)", "who taught X", "from whom (?:did X learn|X learned)",
        "which person was the mentor of X", "by whom (?:was X|X was) taught",
    ],
    "spouse": [
        "who was the spouse of X", "to whom (?:was X|X was) married", "who was married to X",
        "whom (?:did X marry|X married)",
        "with whom was X joined in marriage", "which person was the spouse of X",
    ],
    "employer": [
        "which organisation employed X", "by which organisation (?:was X|X was) employed",
        "which organisation was the employer of X", "on the payroll of which organisation was X",
        "X was employed by which organisation",
    ],
    "born": [
        "on what date (?:was X|X was) born", "what is the date of birth of X", "which date is the date of birth of X",
        "on which day, in which month and year, was X born", "X was born on what date",
        "on which day X was born, with month and year",
    ],
    "died": [
        "on what date (?:did X die|X died)", "what is the date of death of X",
        "until which date (?:did X live|X lived)",
        "on which day, in which month and year, did X die", "X died on what date",
        "on which day X died, with month and year",
    ],
    "mayor": [
        "who was (?:the )?mayor of X", "who held the office of mayor in X", "which person was mayor of X",
        "by which mayor (?:was X|X was) governed", "who governed X as its mayor",
    ],
    "twin": [
        "which town is the twin town of X", "with which town (?:is X|X is) twinned", "which town is twinned with X",
        "X is twinned with which town", "which other town is the twin of X",
    ],
    "chartered": [
        "in which year (?:did X receive|X received) its charter", "from which year (?:does )?the charter of X dates?",
        "since which year has X had a charter", "what is the year of the charter of X",
        "in what year was the charter of X sealed",
    ],
    "population": [
        "how many inhabitants (?:does X have|X has)", "what is the population of X", "how many people live in X",
        "how large (?:is )?the population of X(?: is)?", "X has how many inhabitants",
    ],
    "river": [
        "on which river (?:does X lie|X lies)", "which river runs through X",
        "which river (?:do )?the bridges of X cross",
        "X lies on which river", "on the banks of which river does X stand",
    ],
    "capital": [
        "which town is the capital of X", "from which town (?:is X|X is) governed",
        "in which town (?:does )?the government of X sits?", "X has which town as its capital",
        "what is the capital of X called",
    ],
    "ruler": [
        "who was the ruler of X", "who ruled X", "who sat on the throne of X", "by whom (?:was X|X was) ruled",
        "who wore the crown of X",
    ],
    "founder": [
        "who founded X", "who was the founder of X", "by whom (?:was X|X was) founded",
        "to whom (?:does X owe|X owes) its existence", "which person founded X",
    ],
    "director": [
        "who was the director of X", "who headed X", "by whom (?:was X|X was) headed",
        "who held the post of director at X", "which person stood at the head of X",
    ],
    "seat": [
        "in which town (?:does X have|X has) its seat", "which town is the seat of X",
        "in which town (?:is X|X is) based",
        "X has its seat in which town", "in which town is the head office of X",
    ],
    "founded": [
        "on what date (?:was X|X was) founded", "what is the date of foundation of X",
        "since which date (?:has X existed|X has existed)", "on which day, in which month and year, was X founded",
        "which date does the founding deed of X bear", "on what date X came into being",
    ],
}  # fmt: skip
_REFERENCE = re.compile("(?:that|who|the latter)(?: [a-z ]+)?")
_REQUEST = re.compile(
    "(?:(?:please )?find out|tell me|i would like to know|work out|can you tell me|establish|we need to know|"
    "could you find out|my question is|discover|let me know|(?:please |can you )?name|find|identify|look for|"
    "i am looking for|wanted:|search for|consider|think of|take|this is about|the subject is|let us look at|"
    "here we ask about|start with) (.+)",
    re.IGNORECASE,
)
_SHORT = re.compile(
    "(?:who|which [a-z]+|what [a-z]+) (?:is|was) (?:it|that)|what is that [a-z]+(?: called)?|"
    "what was that person's name|(?:name|give) that [a-z]+",
    re.IGNORECASE,
)


class _Forms:
    """Forms of texts for relations."""

    def __init__(self, table: Mapping[str, Sequence[str]]) -> None:
        self._forms = [
            (
                relation,
                max(re.split(r"\bX\b|\(.*?\)[?]?|[?]", text), key=len),
                re.compile(re.sub(r"\bX\b", "(.+)", text)),
            )
            for relation, texts in table.items()
            for text in texts
        ]

    def read(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield each relation that a text can be about, with the phrase for the entity that it leads on from."""
        for relation, literal, expression in self._forms:
            if literal in text:
                found = expression.fullmatch(text)
                if found is not None:
                    yield relation, next(filter(None, found.groups()))


_NOUN_FORMS, _STATEMENT_FORMS, _QUESTION_FORMS = _Forms(_NOUNS), _Forms(_STATEMENTS), _Forms(_QUESTIONS)


def answer_by_steps(question: str) -> AtlasReasoning:
    """Work out the answer to a question, fact by fact.

    Raises:
        AssertionError: for a question of another wording.
    """
    meant = None
    for part in re.split(r"(?<=[.?]) |; |, and (?=that |the latter )|, (?=who )", question):
        text = part.rstrip(".?")
        request = _REQUEST.fullmatch(text)
        if meant is not None and _SHORT.fullmatch(text):
            continue
        meant = yield from _told(_lower(text if request is None else request[1]), meant)
    return meant


def _told(text: str, meant: str | None) -> AtlasReasoning:
    """Find out what a part of a question leads to; ``meant`` is what the part before it led to."""
    for forms in (_STATEMENT_FORMS, _QUESTION_FORMS, _NOUN_FORMS):
        for relation, subject in forms.read(text):
            entity = yield from _entity(subject, meant)
            return (yield "fact", relation, entity)
    raise AssertionError(f"not understood: {text}")


def _entity(phrase: str, meant: str | None) -> AtlasReasoning:
    """Find out which entity a phrase means."""
    if meant is not None and _REFERENCE.fullmatch(phrase):
        return meant
    for relation, subject in _NOUN_FORMS.read(_lower(phrase)):
        entity = yield from _entity(subject, meant)
        return (yield "fact", relation, entity)
    return phrase


def _lower(text: str) -> str:
    """Return a text as it stands within a sentence, if its first word is not a name."""
    return text[0].lower() + text[1:]
