"""The sentences of DeepSearch's articles: several for each fact, for each opening, and some that state no fact.

``{S}`` and ``{P}`` begin a sentence with the entity of the article and with its possessive; ``{s}``, ``{p}`` and
``{h}`` are its subject, possessive and object form within a sentence. ``{o}`` is the object of a fact, ``{x}`` its
subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from gem_envs_qa.atlas.schema import COUNTRY, EVENT, ORGANISATION, PERSON, REGION, TOWN, WORK

__all__ = [
    "ARTICLE_WORDS",
    "CONFUSIONS",
    "IDLE",
    "LISTS",
    "OPENINGS",
    "OTHERS",
    "OWN",
    "SECOND_NAMES",
    "STAGES",
    "TYPES",
    "words_of",
]

OWN: Mapping[str, Sequence[str]] = {
    "birthplace": (
        "{S} was born in {o}.",
        "{P} birthplace was {o}.",
        "{S} came into the world in {o}.",
        "{S} was a native of {o}.",
        "It was in {o} that {s} was born.",
        "{o} was the town of {p} birth.",
    ),
    "deathplace": (
        "{S} died in {o}.",
        "{P} place of death was {o}.",
        "{S} spent {p} last days in {o} and died there.",
        "Death overtook {h} in {o}.",
        "It was in {o} that {s} died.",
        "{P} life ended in {o}.",
    ),
    "mentor": (
        "{S} was a pupil of {o}.",
        "{P} mentor was {o}.",
        "{S} learned {p} craft from {o}.",
        "{S} was taught by {o}.",
        "{o} was {p} mentor.",
        "As a young {n}, {s} had {o} as a mentor.",
    ),
    "spouse": (
        "{S} was married to {o}.",
        "{P} spouse was {o}.",
        "{S} shared {p} life with {o}, to whom {s} was married.",
        "{S} married {o}.",
        "{S} and {o} were a married couple.",
        "{o} was {p} spouse.",
    ),
    "employer": (
        "{S} was employed by {o}.",
        "{P} employer was {o}.",
        "{S} earned {p} living in the service of {o}.",
        "{S} was on the payroll of {o}.",
        "{o} employed {h}.",
        "{S} drew {p} wages from {o}.",
    ),
    "born": (
        "{S} was born on {o}.",
        "{P} date of birth is {o}.",
        "The register of births has {p} name under {o}.",
        "{S} first saw the light of day on {o}.",
        "The day of {p} birth was {o}.",
        "Parish records give {o} as {p} date of birth.",
    ),
    "died": (
        "{S} died on {o}.",
        "{P} death came on {o}.",
        "{S} lived until {o}.",
        "{P} date of death is {o}.",
        "The day of {p} death was {o}.",
        "{S} passed away on {o}.",
    ),
    "region": (
        "{S} lies in {o}.",
        "{P} region is {o}.",
        "The region around {h} is {o}.",
        "{S} belongs to the region of {o}.",
        "{S} is one of the towns of {o}.",
        "{o} is the region to which {s} belongs.",
    ),
    "mayor": (
        "{P} mayor was {o}.",
        "The office of mayor was held by {o}.",
        "{S} was governed by {o}, its mayor.",
        "{o} was {p} mayor.",
        "{P} people had {o} as their mayor.",
        "In the town hall, {o} held office as mayor.",
    ),
    "twin": (
        "{P} twin town is {o}.",
        "{S} is twinned with {o}.",
        "{S} and {o} are twin towns.",
        "{S} has a twin town, {o}.",
        "A partnership makes {o} {p} twin town.",
    ),
    "chartered": (
        "{S} received its charter in {o}.",
        "{P} charter dates from {o}.",
        "The town charter was sealed in {o}.",
        "{P} charter is of the year {o}.",
        "{S} has had a charter since {o}.",
        "The year of {p} charter is {o}.",
    ),
    "population": (
        "{S} has {o} inhabitants.",
        "{P} population is {o}.",
        "The census counted {o} people.",
        "{S} is home to {o} people.",
        "The number of {p} inhabitants is {o}.",
        "A total of {o} people live in {h}.",
    ),
    "river": (
        "{S} lies on the river {o}.",
        "The river {o} runs through {h}.",
        "{P} bridges cross the river {o}.",
        "{S} stands on the banks of the river {o}.",
        "{P} mills are driven by the river {o}.",
        "Boats reach {h} on the river {o}.",
    ),
    "country": (
        "{S} belongs to {o}.",
        "{S} forms part of {o}.",
        "The country around {h} is {o}.",
        "{P} country is {o}.",
        "{S} is one of the regions of {o}.",
    ),
    "capital": (
        "{P} capital is {o}.",
        "{S} is governed from {o}.",
        "The seat of the regional government is {o}.",
        "{o} is {p} capital.",
        "{P} government sits in {o}.",
    ),
    "ruler": (
        "{P} ruler was {o}.",
        "{S} was ruled by {o}.",
        "The throne was held by {o}.",
        "{o} sat on {p} throne.",
        "The crown belonged to {o}, {p} ruler.",
    ),
    "parliament": (
        "{P} parliament meets in {o}.",
        "The members of parliament assemble in {o}.",
        "The parliament building stands in {o}.",
        "{o} is where {p} parliament meets.",
    ),
    "founder": (
        "{S} was founded by {o}.",
        "{P} founder was {o}.",
        "{S} owes its existence to {o}.",
        "{o} founded {h}.",
        "{P} foundation was the work of {o}.",
        "{S} goes back to {o}, its founder.",
    ),
    "director": (
        "{P} director was {o}.",
        "{S} was headed by {o}.",
        "The post of director was held by {o}.",
        "{o} was {p} director.",
        "At {p} head stood {o}.",
        "{S} had {o} as its director.",
    ),
    "seat": (
        "{S} has its seat in {o}.",
        "{P} headquarters are in {o}.",
        "The main building stands in {o}.",
        "{P} seat is {o}.",
        "{S} is based in {o}.",
        "{P} head office is in {o}.",
    ),
    "founded": (
        "{S} was founded on {o}.",
        "{P} founding deed bears the date {o}.",
        "{S} came into being on {o}.",
        "{P} date of foundation is {o}.",
        "The day of {p} foundation was {o}.",
        "{S} has existed since {o}.",
    ),
    "creator": (
        "{S} is the work of {o}.",
        "{P} creator was {o}.",
        "{S} was created by {o}.",
        "{o} created {h}.",
        "{S} comes from the hand of {o}.",
        "{S} is one of the works of {o}.",
    ),
    "sponsor": (
        "{S} was commissioned by {o}.",
        "The commission for {h} came from {o}.",
        "{S} was paid for by {o}.",
        "{o} commissioned {h}.",
        "{P} sponsor was {o}.",
        "The costs were borne by {o}.",
    ),
    "dedicatee": (
        "{S} is dedicated to {o}.",
        "{P} dedication names {o}.",
        "{o} is {p} dedicatee.",
        "{S} bears a dedication to {o}.",
        "{P} dedicatee is {o}.",
    ),
    "inspiration": (
        "{S} was inspired by {o}.",
        "{P} inspiration was a stay in {o}.",
        "The idea for {h} came up in {o}.",
        "{o} was the inspiration for {h}.",
        "A visit to {o} inspired {h}.",
        "{P} inspiration came from {o}.",
    ),
    "completed": (
        "{S} was completed in {o}.",
        "{P} completion fell in {o}.",
        "Work on {h} ended in {o}.",
        "{S} was finished in {o}.",
        "The year of {p} completion is {o}.",
    ),
    "venue": (
        "{S} was held in {o}.",
        "{P} venue was {o}.",
        "{S} took place in {o}.",
        "{o} was {p} venue.",
        "{P} guests met in {o}.",
        "{P} grounds were in {o}.",
    ),
    "organiser": (
        "{S} was arranged by {o}.",
        "{P} organiser was {o}.",
        "The arrangements were made by {o}.",
        "{o} arranged {h}.",
        "{S} was organised by {o}.",
        "The invitations were sent by {o}, {p} organiser.",
    ),
    "opener": (
        "{S} was opened by {o}.",
        "{P} opening speech was given by {o}.",
        "The ribbon was cut by {o}.",
        "{o} opened {h}.",
        "The honour of opening {h} fell to {o}.",
        "{o} declared {h} open.",
    ),
    "began": (
        "{S} began on {o}.",
        "{P} first day was {o}.",
        "The gates were opened to visitors on {o}.",
        "{S} started on {o}.",
        "{P} opening day was {o}.",
        "From {o} on, {s} received visitors.",
    ),
}
"""Relation → sentences for the article of its subject."""

OTHERS: Mapping[str, Sequence[str]] = {
    "birthplace": (
        "{x} was born here.",
        "One native of the town is {x}.",
        "{x} came into the world here.",
        "{S} is the birthplace of {x}.",
        "A plaque marks the house in which {x} was born.",
        "Among {p} natives is {x}.",
    ),
    "deathplace": (
        "{x} died here.",
        "Within {p} walls, {x} died.",
        "The last days of {x} were spent here.",
        "{S} is the place of death of {x}.",
        "The life of {x} ended here.",
        "In one of {p} houses, {x} died.",
    ),
    "mentor": (
        "{S} was the mentor of {x}.",
        "One of {p} pupils was {x}.",
        "{S} taught {x}, who was {p} pupil.",
        "{x} was {p} pupil.",
        "{S} counted {x} among {p} pupils.",
        "{x} learned from {h}.",
    ),
    "employer": (
        "{S} employed {x}.",
        "On {p} payroll was {x}.",
        "One of {p} employees was {x}.",
        "{x} was employed by {h}.",
        "{x} earned a living in {p} service.",
        "Among {p} staff was {x}.",
    ),
    "mayor": (
        "{S} was mayor of {x}.",
        "{S} held the office of mayor in {x}.",
        "The people of {x} made {h} their mayor.",
        "{S} governed {x} as its mayor.",
        "{x} had {h} as its mayor.",
        "As mayor, {s} governed {x}.",
    ),
    "country": (
        "One of {p} regions is {x}.",
        "{S} includes the region of {x}.",
        "{x} is one of {p} regions.",
        "The region of {x} belongs to {h}.",
    ),
    "capital": (
        "{S} is the capital of {x}.",
        "From here {x} is governed.",
        "The government of {x} sits here.",
        "{x} has its capital here.",
    ),
    "ruler": (
        "{S} ruled {x}.",
        "{S} sat on the throne of {x}.",
        "{S} was the ruler of {x}.",
        "{x} was ruled by {h}.",
        "{S} wore the crown of {x}.",
    ),
    "parliament": (
        "The parliament of {x} meets here.",
        "Here the parliament of {x} assembles.",
        "{S} is the seat of the parliament of {x}.",
        "The parliament building of {x} stands here.",
    ),
    "founder": (
        "{S} founded {x}.",
        "{S} was the founder of {x}.",
        "{x} was {p} foundation.",
        "{x} owes its existence to {h}.",
        "{x} was founded by {h}.",
        "With {p} own money, {s} founded {x}.",
    ),
    "director": (
        "{S} was the director of {x}.",
        "{S} headed {x}.",
        "At {x}, {s} held the post of director.",
        "{x} was headed by {h}.",
        "{S} stood at the head of {x}.",
        "As director, {s} led {x}.",
    ),
    "seat": (
        "{x} has its seat here.",
        "The headquarters of {x} are here.",
        "The main building of {x} stands here.",
        "{x} is based here.",
        "{S} is the seat of {x}.",
    ),
    "sponsor": (
        "{S} commissioned {x}.",
        "{S} paid for {x}.",
        "{S} was the sponsor of {x}.",
        "{x} was commissioned by {h}.",
        "The costs of {x} were borne by {h}.",
    ),
    "dedicatee": (
        "{x} is dedicated to {h}.",
        "{S} is the dedicatee of {x}.",
        "The dedication of {x} names {h}.",
        "{x} bears a dedication to {h}.",
    ),
    "inspiration": (
        "{S} inspired {x}.",
        "The idea for {x} came up here.",
        "{S} was the inspiration for {x}.",
        "A stay here inspired {x}.",
        "{x} was inspired by {h}.",
    ),
    "venue": (
        "{x} was held here.",
        "{x} took place here.",
        "{S} was the venue of {x}.",
        "{P} streets saw {x}, which was held here.",
        "The guests of {x} met here.",
    ),
    "organiser": (
        "{S} arranged {x}.",
        "{S} was the organiser of {x}.",
        "{x} was organised by {h}.",
        "The arrangements for {x} were made by {h}.",
        "{S} organised {x}.",
    ),
    "opener": (
        "{S} opened {x}.",
        "{S} gave the opening speech of {x}.",
        "At {x}, {s} cut the ribbon.",
        "The honour of opening {x} fell to {h}.",
        "{S} declared {x} open.",
        "{x} was opened by {h}.",
    ),
}
"""Relation → sentences for the article of its object."""

LISTS: Mapping[str, Sequence[str]] = {
    REGION: (
        "{P} towns are {l}.",
        "{S} has these towns and no others: {l}.",
        "The complete list of {p} towns: {l}.",
        "{S} is made up of these towns: {l}.",
        "All of {p} towns are named here: {l}.",
    ),
    PERSON: (
        "{P} works are {l}.",
        "{S} left these works and no others: {l}.",
        "The complete list of {p} works: {l}.",
        "All of {p} works are named here: {l}.",
        "{S} created these works: {l}.",
    ),
}

STAGES: Mapping[str, float] = {
    "born": 0, "birthplace": 0, "mentor": 1, "spouse": 2, "employer": 2, "died": 6, "deathplace": 6,
    "region": 0, "river": 0, "population": 1, "chartered": 1, "mayor": 2, "twin": 3,
    "country": 0, "capital": 1, "ruler": 1, "parliament": 2,
    "founder": 0, "founded": 0, "seat": 1, "director": 2,
    "creator": 0, "completed": 0, "inspiration": 1, "sponsor": 2, "dedicatee": 2,
    "began": 0, "venue": 0, "organiser": 1, "opener": 2,
}  # fmt: skip
"""Relation → where its sentence stands in the article of its subject: births before deaths."""

OPENINGS: Mapping[str, Sequence[str]] = {
    PERSON: (
        "{n} was {t}.",
        "{n} is remembered as {t}.",
        "{n} made a name as {t}.",
        "{n} worked as {t}.",
        "{n} was active as {t}.",
        "{n} won some fame as {t}.",
        "By profession, {n} was {t}.",
        "{n} was well known as {t}.",
    ),
    TOWN: (
        "{n} is a town.",
        "{n} is a town with a long history.",
        "{n} is an old town.",
        "{n} is a market town.",
        "{n} is a town of merchants and craftsmen.",
        "{n} is a walled town.",
        "{n} is a town with a river harbour.",
        "{n} is a town of many churches.",
    ),
    REGION: (
        "{n} is a region.",
        "{n} is a region of hills and rivers.",
        "{n} is a region of farms and forests.",
        "{n} is a rural region.",
        "{n} is a region of small farms.",
        "{n} is a region with fertile soil.",
    ),
    COUNTRY: (
        "{n} is a country.",
        "{n} is a country of several regions.",
        "{n} is a country with a long history.",
        "{n} is an old kingdom.",
        "{n} is a country of farmers and traders.",
    ),
    ORGANISATION: (
        "{n} is {t}.",
        "{n} is {t} and has a varied history.",
        "{n} is {t} and enjoys some renown.",
        "{n} has long been {t}.",
        "{n} is known as {t}.",
        "{n} is {t}, and many visitors praise it.",
    ),
    WORK: (
        "{n} is {t}.",
        "{n} is {t} and has often been discussed.",
        "{n} is the title of {t}.",
        "{n} is {t}, and much has been written about it.",
        "{n} is {t} and has divided the critics.",
        "{n} is {t} and enjoys a modest fame.",
    ),
    EVENT: (
        "{n} was {t}.",
        "{n} was {t} and is still talked about.",
        "{n} is remembered as {t}.",
        "{n} was {t}, and many guests came.",
        "{n} drew large crowds as {t}.",
        "{n} was {t} and cost a great deal.",
    ),
}
"""Kind → first sentences; ``{n}`` is the name of the entity, ``{t}`` what it is."""

TYPES: Mapping[str, Sequence[str]] = {
    "Academy": ("a learned body", "a school of the sciences", "a place of learning"),
    "Bank": ("a banking house", "a lender to merchants", "a house for savings and loans"),
    "Company": ("a trading house", "a merchant house", "a dealer in salt and timber"),
    "Guild": ("a body of craftsmen", "an association of master craftsmen", "a brotherhood of trades"),
    "Institute": ("a place of research", "a centre of study", "a house of science"),
    "Library": ("a collection of books", "a house of books and manuscripts", "a place for readers"),
    "Museum": ("a public collection", "a collection of art and curiosities", "a house of old treasures"),
    "Observatory": ("a place for watching the stars", "a station of astronomers", "a house with large telescopes"),
    "Press": ("a printing house", "a publishing house", "a maker of books"),
    "Shipyard": ("a builder of ships", "a yard for merchant ships", "a workshop for boats and ships"),
    "Society": ("a circle of scholars", "a learned club", "an association of scholars"),
    "Theatre": ("a playhouse", "a stage for plays and music", "a house for drama"),
    "ballet": ("a ballet", "a ballet in three acts", "a ballet for a large company"),
    "chronicle": ("a chronicle", "a chronicle in twelve books", "a long chronicle"),
    "fresco": ("a fresco", "a large fresco", "a fresco in bright colours"),
    "novel": ("a novel", "a long novel", "a novel in two volumes"),
    "opera": ("an opera", "an opera in four acts", "a comic opera"),
    "painting": ("a painting", "a painting in oil", "a small painting"),
    "play": ("a play", "a play in five acts", "a play in verse"),
    "poem": ("a poem", "a long poem", "a poem in rhyme"),
    "statue": ("a statue", "a bronze statue", "a statue of stone"),
    "symphony": ("a symphony", "a symphony in four movements", "a symphony for a large orchestra"),
    "treatise": ("a treatise", "a learned treatise", "a short treatise"),
    "Congress": ("a meeting of scholars", "a gathering of delegates", "an assembly of experts"),
    "Exhibition": ("a public show", "a show of arts and crafts", "a display of inventions"),
    "Fair": ("a market for traders from many towns", "a large market", "a market of goods and cattle"),
    "Festival": ("a feast with music and games", "a public feast", "a celebration of song"),
    "Jubilee": ("an anniversary celebration", "a celebration of many days", "a feast of remembrance"),
    "Pageant": ("a procession in costume", "a show with costumes and floats", "a parade with music"),
    "Regatta": ("a race of boats", "a contest of sailing crews", "a contest of rowers"),
    "Tournament": ("a contest of many teams", "a contest with prizes", "a contest of strength"),
}
"""The type of an entity → what it is in its first sentence; a person is what the type says."""

_TEXT, _STAGE, _SIGHT = "published", "performed", "exhibited"
_FIRST = {
    **dict.fromkeys(("chronicle", "novel", "poem", "treatise"), _TEXT),
    **dict.fromkeys(("ballet", "opera", "play", "symphony"), _STAGE),
    **dict.fromkeys(("fresco", "painting", "statue"), _SIGHT),
}
SECOND_NAMES: Mapping[str, Sequence[str]] = {
    PERSON: (
        "also known as {a}",
        "who often signed as {a}",
        "known to friends as {a}",
        "who also used the name of {a}",
        "at times called {a}",
    ),
    TOWN: ("formerly called {a}", "known in old charters as {a}", "once named {a}", "also known as {a}"),
    REGION: ("also called {a}", "known to its people as {a}", "named {a} in older books"),
    ORGANISATION: ("formerly called {a}", "at first named {a}", "also known as {a}", "once called {a}"),
    **{
        type_: ("also known as {a}", f"{verb} at first as {{a}}", "at first titled {a}", "sometimes called {a}")
        for type_, verb in _FIRST.items()
    },
}
"""Kind, or form of a work → what its first sentence says of its second name."""

IDLE: Mapping[str, Sequence[str]] = {
    PERSON: (
        "Few letters from {p} hand survive.",
        "Contemporaries praised {p} patience.",
        "Little is known about {p} youth.",
        "A portrait of {h} was lost in a fire.",
        "{P} handwriting was hard to read.",
        "{S} kept a diary for many years.",
        "{S} spoke several languages.",
        "Two biographies of {h} have appeared.",
        "{S} was fond of long walks.",
        "A street bears {p} name.",
    ),
    TOWN: (
        "Most of the old houses are built of grey stone.",
        "The market is known for its cheese.",
        "In winter the harbour freezes.",
        "Two fires have changed {p} face.",
        "Many of the streets are narrow and steep.",
        "The old quarter has four gates.",
        "A bell is rung at noon.",
        "A windmill stands on the hill above {h}.",
        "{P} bakers are known for dark bread.",
    ),
    REGION: (
        "Barley and flax are grown in the valleys.",
        "The winters are long.",
        "Many of the roads are unpaved.",
        "Sheep are kept on the hills.",
        "Old songs are still sung in the villages.",
        "Deer live in the forests.",
    ),
    COUNTRY: (
        "Salt and timber are traded abroad.",
        "The coins are struck in copper.",
        "There are three official holidays.",
        "The flag is green and white.",
        "Travellers praise the inns.",
    ),
    ORGANISATION: (
        "The archive is open on weekdays.",
        "A yearbook appears every spring.",
        "Visitors are admitted on Sundays.",
        "{P} seal shows a ship.",
        "Part of {p} records was lost in a flood.",
        "{P} early years were difficult.",
        "{P} rooms have been enlarged twice.",
    ),
    WORK: (
        "Several travellers mention {h}.",
        "Opinions on {p} merits differ.",
        "{S} has been imitated many times.",
        "{P} fame came late.",
        "An essay about {h} won a prize.",
        "Many schoolchildren learn about {h}.",
    ),
    EVENT: (
        "The weather was poor on most days.",
        "No full list of guests survives.",
        "A medal was struck for {h}.",
        "Fireworks closed the last evening.",
        "Several poems describe {h}.",
        "Traders came from far away.",
    ),
}
CONFUSIONS = (
    "{S} should not be confused with {z}.",
    "Older handbooks mix {h} up with {z}.",
    "Some catalogues mistake {h} for {z}.",
    "{P} name is sometimes confused with that of {z}.",
    "Careless readers take {h} for {z}.",
)


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the words of texts in lower case."""
    return frozenset(word for text in texts for word in re.findall("[a-z]+", text.lower()))


ARTICLE_WORDS = words_of(
    text
    for table in (OWN, OTHERS, LISTS, OPENINGS, TYPES, SECOND_NAMES, IDLE, {"": CONFUSIONS})
    for texts in table.values()
    for text in texts
)
"""Every word of these sentences."""
