"""The wordings of DeepSearch's questions: several for each relation, as a part of a sentence and as a whole one.

``{}`` is the entity from which a relation leads on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gem_envs_qa.deep_search.sentences import words_of

__all__ = ["ENDINGS", "QUESTION_WORDS", "RELATION_WORDINGS", "REQUESTS", "TOPICS", "WANTED", "RelationWording"]


class RelationWording(NamedTuple):
    """How questions speak of a relation; what is empty does not occur for it."""

    nouns: Sequence[str] = ()
    """What it leads to, without a clause."""
    clauses: Sequence[str] = ()
    """The same with a clause at the end."""
    possessive: str = ""
    """The same for a first entity that is a person or an organisation."""
    states: Sequence[str] = ()
    """Statements that there is something it leads to, at the end of the statement."""
    role: str = ""
    """What that is called in the next sentence."""
    asks: Sequence[str] = ()
    """Questions."""
    says: Sequence[str] = ()
    """Clauses that follow "Find out …"."""


RELATION_WORDINGS: Mapping[str, RelationWording] = {
    "birthplace": RelationWording(
        ("the birthplace of {}", "the native town of {}"),
        ("the town where {} was born", "the town in which {} was born"),
        "{}'s birthplace",
        ("{} was born in a certain town", "{} was a native of a town", "{} came into the world in a town"),
        "birthplace",
        (
            "In which town was {} born?",
            "Which town was the birthplace of {}?",
            "{} was born in which town?",
            "Of which town was {} a native?",
            "Which town saw the birth of {}?",
        ),
        ("in which town {} was born", "which town was the birthplace of {}", "of which town {} was a native"),
    ),
    "deathplace": RelationWording(
        ("the place of death of {}",),
        ("the town where {} died", "the town in which {} died"),
        "{}'s place of death",
        ("{} died in a certain town", "{} met with death in a town"),
        "place of death",
        (
            "In which town did {} die?",
            "Which town was the place of death of {}?",
            "{} died in which town?",
            "Which town saw the death of {}?",
            "In which town did the life of {} end?",
        ),
        ("in which town {} died", "which town was the place of death of {}", "in which town the life of {} ended"),
    ),
    "mentor": RelationWording(
        ("the mentor of {}",),
        ("the person who taught {}", "the person who had {} as a pupil", "the mentor who taught {}"),
        "{}'s mentor",
        ("{} had a mentor", "{} was the pupil of a mentor", "{} learned from a mentor"),
        "mentor",
        (
            "Who was the mentor of {}?",
            "Whose pupil was {}?",
            "Who taught {}?",
            "From whom did {} learn?",
            "Which person was the mentor of {}?",
            "By whom was {} taught?",
        ),
        ("who taught {}", "whose pupil {} was", "from whom {} learned", "by whom {} was taught"),
    ),
    "spouse": RelationWording(
        ("the spouse of {}",),
        ("the person who was married to {}", "the person to whom {} was married", "the person whom {} married"),
        "{}'s spouse",
        ("{} had a spouse", "{} was married to somebody"),
        "spouse",
        (
            "Who was the spouse of {}?",
            "To whom was {} married?",
            "Who was married to {}?",
            "Whom did {} marry?",
            "With whom was {} joined in marriage?",
            "Which person was the spouse of {}?",
        ),
        ("to whom {} was married", "who was married to {}", "whom {} married"),
    ),
    "employer": RelationWording(
        ("the employer of {}",),
        ("the organisation that employed {}", "the organisation by which {} was employed"),
        "{}'s employer",
        ("{} had an employer", "{} was employed by an organisation", "{} was on the payroll of an organisation"),
        "employer",
        (
            "Which organisation employed {}?",
            "By which organisation was {} employed?",
            "Which organisation was the employer of {}?",
            "On the payroll of which organisation was {}?",
            "{} was employed by which organisation?",
        ),
        ("which organisation employed {}", "by which organisation {} was employed"),
    ),
    "born": RelationWording(
        ("the date of birth of {}",),
        ("the date on which {} was born", "the day, month and year in which {} was born"),
        "{}'s date of birth",
        ("{} was born on a certain date",),
        "",
        (
            "On what date was {} born?",
            "What is the date of birth of {}?",
            "Which date is the date of birth of {}?",
            "On which day, in which month and year, was {} born?",
            "{} was born on what date?",
        ),
        ("on what date {} was born", "on which day {} was born, with month and year"),
    ),
    "died": RelationWording(
        ("the date of death of {}",),
        ("the date on which {} died", "the date until which {} lived"),
        "{}'s date of death",
        ("{} died on a certain date", "{} lived until a certain date"),
        "",
        (
            "On what date did {} die?",
            "What is the date of death of {}?",
            "Until which date did {} live?",
            "On which day, in which month and year, did {} die?",
            "{} died on what date?",
        ),
        ("on what date {} died", "until which date {} lived", "on which day {} died, with month and year"),
    ),
    "region": RelationWording(
        ("the region of {}",),
        ("the region in which {} lies", "the region to which {} belongs", "the region that includes {}"),
        "",
        ("{} lies in a certain region", "{} belongs to a region", "{} is one of the towns of a region"),
        "region",
    ),
    "mayor": RelationWording(
        ("the mayor of {}",),
        ("the person who was mayor of {}", "the person who held the office of mayor in {}"),
        "",
        ("{} had a mayor", "{} was governed by a mayor"),
        "mayor",
        (
            "Who was the mayor of {}?",
            "Who held the office of mayor in {}?",
            "Which person was mayor of {}?",
            "By which mayor was {} governed?",
            "Who governed {} as its mayor?",
        ),
        ("who was mayor of {}", "who held the office of mayor in {}", "by which mayor {} was governed"),
    ),
    "twin": RelationWording(
        ("the twin town of {}",),
        ("the town with which {} is twinned", "the town that is twinned with {}"),
        "",
        ("{} has a twin town", "{} is twinned with a town"),
        "twin town",
        (
            "Which town is the twin town of {}?",
            "With which town is {} twinned?",
            "Which town is twinned with {}?",
            "{} is twinned with which town?",
            "Which other town is the twin of {}?",
        ),
        ("which town is twinned with {}", "with which town {} is twinned", "which town is the twin town of {}"),
    ),
    "chartered": RelationWording(
        ("the year of the charter of {}",),
        ("the year in which {} received its charter", "the year from which the charter of {} dates"),
        "",
        ("{} received its charter in a certain year", "{} has a charter from a certain year"),
        "",
        (
            "In which year did {} receive its charter?",
            "From which year does the charter of {} date?",
            "Since which year has {} had a charter?",
            "What is the year of the charter of {}?",
            "In what year was the charter of {} sealed?",
        ),
        ("in which year {} received its charter", "from which year the charter of {} dates"),
    ),
    "population": RelationWording(
        ("the population of {}", "the number of inhabitants of {}"),
        ("the number of people who live in {}",),
        "",
        ("{} has a certain number of inhabitants", "{} is home to a certain number of people"),
        "",
        (
            "How many inhabitants does {} have?",
            "What is the population of {}?",
            "How many people live in {}?",
            "How large is the population of {}?",
            "{} has how many inhabitants?",
        ),
        ("how many inhabitants {} has", "how many people live in {}", "how large the population of {} is"),
    ),
    "river": RelationWording(
        ("the river of {}",),
        ("the river that runs through {}", "the river on which {} lies", "the river crossed by the bridges of {}"),
        "",
        ("{} lies on a river", "{} has bridges across a river", "{} stands on the banks of a river"),
        "",
        (
            "On which river does {} lie?",
            "Which river runs through {}?",
            "Which river do the bridges of {} cross?",
            "{} lies on which river?",
            "On the banks of which river does {} stand?",
        ),
        ("on which river {} lies", "which river runs through {}", "which river the bridges of {} cross"),
    ),
    "country": RelationWording(
        ("the country of {}",),
        ("the country to which {} belongs", "the country of which {} forms part", "the country that includes {}"),
        "",
        ("{} belongs to a certain country", "{} forms part of a country", "{} is one of the regions of a country"),
        "country",
    ),
    "capital": RelationWording(
        ("the capital of {}",),
        ("the town from which {} is governed", "the town in which the government of {} sits"),
        "",
        ("{} has a capital", "{} is governed from a capital"),
        "capital",
        (
            "Which town is the capital of {}?",
            "From which town is {} governed?",
            "In which town does the government of {} sit?",
            "{} has which town as its capital?",
            "What is the capital of {} called?",
        ),
        (
            "which town is the capital of {}",
            "from which town {} is governed",
            "in which town the government of {} sits",
        ),
    ),
    "ruler": RelationWording(
        ("the ruler of {}",),
        ("the person who ruled {}", "the person who sat on the throne of {}"),
        "",
        ("{} had a ruler", "{} was governed by a ruler"),
        "ruler",
        (
            "Who was the ruler of {}?",
            "Who ruled {}?",
            "Who sat on the throne of {}?",
            "By whom was {} ruled?",
            "Who wore the crown of {}?",
        ),
        ("who ruled {}", "by whom {} was ruled", "who sat on the throne of {}"),
    ),
    "parliament": RelationWording(
        (),
        ("the town where the parliament of {} meets", "the town in which the parliament of {} assembles"),
        "",
        ("{} has a parliament that meets in a certain town", "{} has a parliament, and it assembles in a town"),
        "meeting place",
        (
            "In which town does the parliament of {} meet?",
            "Which town is the seat of the parliament of {}?",
            "The parliament of {} meets in which town?",
            "In which town does the parliament of {} assemble?",
        ),
        ("in which town the parliament of {} meets", "which town is the seat of the parliament of {}"),
    ),
    "founder": RelationWording(
        ("the founder of {}",),
        ("the person who founded {}", "the person by whom {} was founded"),
        "{}'s founder",
        ("{} had a founder", "{} owes its existence to a founder", "{} goes back to a founder"),
        "founder",
        (
            "Who founded {}?",
            "Who was the founder of {}?",
            "By whom was {} founded?",
            "To whom does {} owe its existence?",
            "Which person founded {}?",
        ),
        ("who founded {}", "by whom {} was founded", "to whom {} owes its existence"),
    ),
    "director": RelationWording(
        ("the director of {}",),
        ("the person who headed {}", "the person by whom {} was headed"),
        "{}'s director",
        ("{} had a director", "{} was headed by a director"),
        "director",
        (
            "Who was the director of {}?",
            "Who headed {}?",
            "By whom was {} headed?",
            "Who held the post of director at {}?",
            "Which person stood at the head of {}?",
        ),
        ("who headed {}", "by whom {} was headed", "who held the post of director at {}"),
    ),
    "seat": RelationWording(
        ("the seat of {}",),
        ("the town where {} has its seat", "the town in which {} is based", "the town with the head office of {}"),
        "",
        ("{} has its seat in a certain town", "{} is based in a town", "{} has its head office in a town"),
        "seat",
        (
            "In which town does {} have its seat?",
            "Which town is the seat of {}?",
            "In which town is {} based?",
            "{} has its seat in which town?",
            "In which town is the head office of {}?",
        ),
        ("in which town {} has its seat", "in which town {} is based", "which town is the seat of {}"),
    ),
    "founded": RelationWording(
        ("the date of foundation of {}",),
        ("the date on which {} was founded", "the date on which {} came into being"),
        "",
        ("{} was founded on a certain date", "{} came into being on a certain date"),
        "",
        (
            "On what date was {} founded?",
            "What is the date of foundation of {}?",
            "Since which date has {} existed?",
            "On which day, in which month and year, was {} founded?",
            "Which date does the founding deed of {} bear?",
        ),
        ("on what date {} was founded", "since which date {} has existed", "on what date {} came into being"),
    ),
    "creator": RelationWording(
        ("the creator of {}",),
        ("the person who created {}", "the person by whom {} was created"),
        "",
        ("{} had a creator", "{} is the work of a creator", "{} comes from the hand of a creator"),
        "creator",
    ),
    "sponsor": RelationWording(
        ("the sponsor of {}",),
        ("the organisation that commissioned {}", "the organisation that paid for {}"),
        "",
        ("{} was commissioned by an organisation", "{} had a sponsor", "{} was paid for by an organisation"),
        "sponsor",
    ),
    "dedicatee": RelationWording(
        ("the dedicatee of {}",),
        ("the person to whom {} is dedicated", "the person named in the dedication of {}"),
        "",
        ("{} has a dedicatee", "{} is dedicated to somebody", "{} bears a dedication to somebody"),
        "dedicatee",
    ),
    "inspiration": RelationWording(
        (),
        ("the town that inspired {}", "the town by which {} was inspired", "the town that gave the idea for {}"),
        "",
        ("{} was inspired by a town", "{} goes back to an idea that came up in a town"),
        "town",
    ),
    "venue": RelationWording(
        ("the venue of {}",),
        ("the town where {} was held", "the town in which {} took place"),
        "",
        ("{} was held in a certain town", "{} took place in a town"),
        "venue",
    ),
    "organiser": RelationWording(
        ("the organiser of {}",),
        ("the organisation that arranged {}", "the organisation by which {} was arranged"),
        "",
        ("{} had an organiser", "{} was arranged by an organisation"),
        "organiser",
    ),
    "opener": RelationWording(
        (),
        ("the person who opened {}", "the person by whom {} was opened", "the person who declared {} open"),
        "",
        ("{} was opened by a person", "{} was declared open by a person"),
        "person",
    ),
}
"""The name of a relation → its wordings."""

REQUESTS = (
    "Find out {}.",
    "Tell me {}.",
    "Please find out {}.",
    "I would like to know {}.",
    "Work out {}.",
    "Can you tell me {}?",
    "Establish {}.",
    "We need to know {}.",
    "Could you find out {}?",
    "My question is {}.",
    "Discover {}.",
    "Let me know {}.",
)
"""Sentences around a clause of a relation."""

WANTED = (
    "Name {}.",
    "Find {}.",
    "Identify {}.",
    "Please name {}.",
    "Look for {}.",
    "I am looking for {}.",
    "Wanted: {}.",
    "Search for {}.",
    "Can you name {}?",
)
"""Sentences around a noun."""

TOPICS = (
    "Consider {}.",
    "Think of {}.",
    "Take {}.",
    "This is about {}.",
    "The subject is {}.",
    "Let us look at {}.",
    "Here we ask about {}.",
    "Start with {}.",
)
"""Sentences before a question about the noun in them."""

ENDINGS: Mapping[str, Sequence[str]] = {
    "person": ("Who was it?", "Who was that?", "What was that person's name?", "Which person was that?"),
    "town": ("Which town is it?", "Which town was that?", "What is that town called?", "Name that town."),
    "organisation": ("Which organisation was it?", "What is that organisation called?", "Name that organisation."),
    "date": ("Which date was it?", "What date was that?", "Give that date."),
    "year": ("Which year was it?", "What year was that?", "Give that year."),
    "number": ("What number is that?", "Give that number.", "What is that number?"),
    "river": ("Which river is it?", "What is that river called?", "Name that river."),
}
"""The kind of an object → questions after a statement that there is one."""

QUESTION_WORDS = words_of(
    (
        *REQUESTS,
        *WANTED,
        *TOPICS,
        *(text for texts in ENDINGS.values() for text in texts),
        *(
            text
            for wording in RELATION_WORDINGS.values()
            for text in (*wording.nouns, *wording.clauses, *wording.states, wording.role, *wording.asks, *wording.says)
        ),
        "that latter person town organisation region country and who",
    )
)
"""Every word of these wordings."""
