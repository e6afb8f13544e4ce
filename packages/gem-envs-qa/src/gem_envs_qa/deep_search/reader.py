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

__all__ = ["LINK_WORDS", "AtlasReader", "AtlasReasoning", "Wish", "answer_to"]

HE = "(?:he|she|it)"
HIS = "(?:[Hh]is|[Hh]er|[Ii]ts)"
OPENING = re.compile(
    r"(?:also known as|who often signed as|formerly called|known in old charters as|also called|at first named|"
    r"published at first as) (.+?), (?:is|was) "
)

# Written from the articles, not from the code that writes them. What a sentence says of the entity that its article is
# about (the group is what the relation leads to), and what it says of another entity (the group is that entity).
OWN: dict[str, list[str]] = {
    "birthplace": [r".+ was born in (.+)", rf"{HIS} birthplace was (.+)", r".+ came into the world in (.+)"],
    "deathplace": [
        r".+ died in (.+)",
        rf"{HIS} place of death was (.+)",
        rf".+ spent {HIS} last days in (.+) and died there",
    ],
    "mentor": [r".+ was a pupil of (.+)", rf"{HIS} mentor was (.+)", rf".+ learned {HIS} craft from (.+)"],
    "spouse": [
        r"\S+ was married to (.+)",
        rf"{HIS} spouse was (.+)",
        rf".+ shared {HIS} life with (.+), to whom {HE} was married",
    ],
    "employer": [r".+ was employed by (.+)", rf"{HIS} employer was (.+)", r".+ living in the service of (.+)"],
    "born": [
        r".+ was born on (.+)",
        rf"{HIS} date of birth is (.+)",
        rf"The register of births has {HIS} name under (.+)",
    ],
    "died": [r".+ died on (.+)", rf"{HIS} death came on (.+)", r".+ lived until (.+)"],
    "region": [
        r".+ lies in (.+)",
        r"\S+ is a town of (.+)",
        r"The town is a town of (.+)",
        r"The region around it is (.+)",
    ],
    "mayor": [rf"{HIS} mayor was (.+)", r"The office of mayor was held by (.+)", r".+ was governed by (.+), its mayor"],
    "twin": [rf"{HIS} twin town is (.+)", r".+ is twinned with (.+)"],
    "chartered": [
        r".+ received its charter in (.+)",
        r"Its charter dates from (.+)",
        r"The town charter was sealed in (.+)",
    ],
    "population": [r".+ has ([\d,]+) inhabitants", r"Its population is (.+)", r"The census counted (.+) people"],
    "river": [r".+ lies on the river (.+)", r"The river (.+) runs through it", r"Its bridges cross the river (.+)"],
    "country": [r".+ belongs to (.+)", r".+ forms part of (.+)", r"The country around it is (.+)"],
    "capital": [r"Its capital is (.+)", r".+ is governed from (.+)", r"The seat of the regional government is (.+)"],
    "ruler": [r"Its ruler was (.+)", r".+ was ruled by (.+)", r"The throne was held by (.+)"],
    "parliament": [r"Its parliament meets in (.+)", r"The members of parliament assemble in (.+)"],
    "founder": [r".+ was founded by (.+)", r"Its founder was (.+)", r".+ owes its existence to (.+)"],
    "director": [r"Its director was (.+)", r".+ was headed by (.+)", r"The post of director was held by (.+)"],
    "seat": [r".+ has its seat in (.+)", r"Its headquarters are in (.+)", r"The main building stands in (.+)"],
    "founded": [r".+ was founded on (.+)", r"Its founding deed bears the date (.+)", r".+ came into being on (.+)"],
    "creator": [r".+ is the work of (.+)", r"Its creator was (.+)", r".+ was created by (.+)"],
    "sponsor": [r".+ was commissioned by (.+)", r"The commission for it came from (.+)", r".+ was paid for by (.+)"],
    "dedicatee": [
        r"(?:It|The [a-z]+) is dedicated to (.+)",
        r"Its dedication names (.+)",
        r"An inscription honours (.+) as dedicatee",
    ],
    "inspiration": [
        r".+ was inspired by (.+)",
        r"Its inspiration was a stay in (.+)",
        r"The idea for it came up in (.+)",
    ],
    "completed": [r".+ was completed in (.+)", r"Its completion fell in (.+)", r"Work on it ended in (.+)"],
    "venue": [r".+ was held in (.+)", r"Its venue was (.+)", r".+ took place in (.+)"],
    "organiser": [r".+ was arranged by (.+)", r"Its organiser was (.+)", r"The arrangements were made by (.+)"],
    "opener": [r".+ was opened by (.+)", r"Its opening speech was given by (.+)", r"The ribbon was cut by (.+)"],
    "began": [r".+ began on (.+)", r"Its first day was (.+)", r"The gates were opened to visitors on (.+)"],
}
OTHER: dict[str, list[str]] = {
    "birthplace": [r"(.+) was born here", r"One native of the town is (.+)", r"(.+) came into the world here"],
    "deathplace": [r"(.+) died here", r"Within its walls (.+) died", r"The last days of (.+) were spent here"],
    "mentor": [r".+ was the mentor of (.+)", rf"One of {HIS} pupils was (.+)", rf".+ taught (.+), who was {HIS} pupil"],
    "employer": [r".+ employed (.+)", r"On its payroll was (.+)", r"One of its employees was (.+)"],
    "mayor": [
        r".+ was mayor of (.+)",
        r".+ held the office of mayor in (.+)",
        r"The people of (.+) made (?:him|her) their mayor",
    ],
    "country": [r"One of its regions is (.+)", r".+ includes the region of (.+)"],
    "capital": [r".+ is the capital of (.+)", r"From here (.+) is governed"],
    "ruler": [r"\S+ ruled (.+)", r".+ sat on the throne of (.+)"],
    "parliament": [r"The parliament of (.+) meets here", r"Here the parliament of (.+) assembles"],
    "founder": [r"\S+ founded (.+)", r".+ was the founder of (.+)", rf"(.+) was {HIS} foundation"],
    "director": [r".+ was the director of (.+)", r"\S+ headed (.+)", rf"At (.+) {HE} held the post of director"],
    "seat": [r"(.+) has its seat here", r"The headquarters of (.+) are here", r"The main building of (.+) stands here"],
    "sponsor": [r".+ commissioned (.+)", r".+ paid for (.+)"],
    "dedicatee": [r"(.+) is dedicated to (?:him|her)", r".+ is the dedicatee of (.+)"],
    "inspiration": [r"(?:It|The town) inspired (.+)", r"The idea for (.+) came up here"],
    "venue": [r"(.+) was held here", r"(.+) took place here", r".+ was the venue of (.+)"],
    "organiser": [r".+ arranged (.+)", r".+ was the organiser of (.+)"],
    "opener": [r"\S+ opened (.+)", r".+ gave the opening speech of (.+)", rf"At (.+) {HE} cut the ribbon"],
}
LISTS = re.compile(
    rf"(?:{HIS} (?:towns|works) are |.+ (?:has these towns|left these works) and no others: |"
    rf"The complete list of {HIS} (?:towns|works): )(.+)"
)
PHRASES = {
    "birthplace": "the town where (.+) was born",
    "deathplace": "the town where (.+) died",
    "mentor": "the mentor of (.+)",
    "spouse": "the spouse of (.+)",
    "employer": "the employer of (.+)",
    "region": "the region in which (.+) lies",
    "mayor": "the mayor of (.+)",
    "twin": "the twin town of (.+)",
    "country": "the country to which (.+) belongs",
    "capital": "the capital of (.+)",
    "ruler": "the ruler of (.+)",
    "parliament": "the town where the parliament of (.+) meets",
    "founder": "the founder of (.+)",
    "director": "the director of (.+)",
    "seat": "the town where (.+) has its seat",
    "creator": "the creator of (.+)",
    "sponsor": "the sponsor of (.+)",
    "dedicatee": "the person to whom (.+) is dedicated",
    "inspiration": "the town that inspired (.+)",
    "venue": "the town where (.+) was held",
    "organiser": "the organiser of (.+)",
    "opener": "the person who opened (.+)",
}
NESTED_PHRASES = {
    "birthplace": "the birthplace of (.+)",
    "deathplace": "the place of death of (.+)",
    "region": "the region of (.+)",
    "country": "the country of (.+)",
    "parliament": "the town of the parliament of (.+)",
    "seat": "the seat of (.+)",
    "dedicatee": "the dedicatee of (.+)",
    "inspiration": "the inspiration of (.+)",
    "venue": "the venue of (.+)",
    "opener": "the opener of (.+)",
}
QUESTIONS = {
    r"In which town was (.+) born\?": "birthplace",
    r"In which town did (.+) die\?": "deathplace",
    r"Who was the mentor of (.+)\?": "mentor",
    r"Who was the spouse of (.+)\?": "spouse",
    r"Which organisation employed (.+)\?": "employer",
    r"On what date was (.+) born\?": "born",
    r"What is the date of birth of (.+)\?": "born",
    r"On what date did (.+) die\?": "died",
    r"What is the date of death of (.+)\?": "died",
    r"In which region does (.+) lie\?": "region",
    r"Who was the mayor of (.+)\?": "mayor",
    r"Which town is the twin town of (.+)\?": "twin",
    r"In which year did (.+) receive its charter\?": "chartered",
    r"How many inhabitants does (.+) have\?": "population",
    r"On which river does (.+) lie\?": "river",
    r"Which river runs through (.+)\?": "river",
    r"Which town is the capital of (.+)\?": "capital",
    r"Who was the ruler of (.+)\?": "ruler",
    r"Who founded (.+)\?": "founder",
    r"Who was the director of (.+)\?": "director",
    r"In which town does (.+) have its seat\?": "seat",
    r"On what date was (.+) founded\?": "founded",
    r"Who created (.+)\?": "creator",
    r"Which organisation commissioned (.+)\?": "sponsor",
    r"To whom is (.+) dedicated\?": "dedicatee",
    r"Which town inspired (.+)\?": "inspiration",
    r"In which year was (.+) completed\?": "completed",
    r"In which town was (.+) held\?": "venue",
    r"Which organisation arranged (.+)\?": "organiser",
    r"Who opened (.+)\?": "opener",
    r"On what date did (.+) begin\?": "began",
}
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

# What else stands in an article that says a relation of another entity.
LINK_WORDS = {
    "birthplace": "born native world here",
    "deathplace": "died walls days here",
    "mentor": "mentor pupils taught",
    "spouse": "married spouse life",
    "employer": "employed payroll employees",
    "region": "towns list",
    "mayor": "mayor office people",
    "twin": "twin town twinned",
    "country": "regions includes region",
    "capital": "capital governed here",
    "ruler": "ruled throne",
    "parliament": "parliament meets assembles here",
    "founder": "founded founder foundation",
    "director": "director headed post",
    "seat": "seat headquarters building here",
    "creator": "works list left",
    "sponsor": "commissioned paid",
    "dedicatee": "dedicated dedicatee",
    "inspiration": "inspired idea here",
    "venue": "held place venue here",
    "organiser": "arranged organiser",
    "opener": "opened speech ribbon",
}

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


class SentenceForms:
    """Forms of sentences as one expression, which is quicker than one after the other; the first that fits counts."""

    def __init__(self, patterns: Mapping[str, Iterable[str]]) -> None:
        forms = [(relation, form) for relation, forms in patterns.items() for form in forms]
        self._relations = ["", *(relation for relation, _ in forms)]
        self._expression = re.compile("|".join(form for _, form in forms))

    def read(self, sentence: str) -> tuple[str, str] | None:
        """Return the relation and what it leads to or comes from."""
        found = self._expression.fullmatch(sentence)
        return None if found is None else (self._relations[found.lastindex or 0], found[found.lastindex or 0])


_OWN_FORMS, _OTHER_FORMS = SentenceForms(OWN), SentenceForms(OTHER)


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
    for relation, form in (*PHRASES.items(), *NESTED_PHRASES.items()):
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
    for form, relation in QUESTIONS.items():
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
