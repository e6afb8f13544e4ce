"""Research tasks drawn from a world: subjects, what a report must say of them, and the facts behind it.

Four kinds. *Compare* sets several things of a kind side by side and draws a conclusion; *trace* follows a line of
mentors back; *explain* asks for the people behind a thing and what formed them; *dispute* lists statements, half of
them false. What is asked for is always a row of relations from a named entity, so that the checklist of a task is the
facts on the way, each with the article that states it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, NamedTuple

from gem.tables import read_table
from gem_envs_qa.atlas.atlas import SPLITS
from gem_envs_qa.atlas.questions import FactChain, follow
from gem_envs_qa.atlas.schema import EVENT, ORGANISATION, PERSON, RELATIONS, TOWN, WORK, Relation, paths
from gem_envs_qa.atlas.world import AtlasWorld, Entity

__all__ = [
    "GLOSSES",
    "KINDS",
    "LEVELS",
    "OPENINGS",
    "PAIRED",
    "PLURALS",
    "Conclusion",
    "ReportFact",
    "ResearchTask",
    "Statement",
    "draw_task",
]

KINDS = ("compare", "trace", "explain", "dispute")
_TABLES = read_table(__file__, "tasks.json")
OPENINGS: Mapping[str, Sequence[str]] = _TABLES["openings"]
PLURALS: Mapping[str, str] = _TABLES["plurals"]
GLOSSES: Mapping[str, str] = _TABLES["glosses"]
"""Relation → what it leads to, in words."""

_MEASURES: Mapping[str, tuple[str, str, str]] = {kind: tuple(row) for kind, row in _TABLES["measures"].items()}
"""Kind → the relation by which its entities are compared, and the words for the least and the greatest."""
_BEHIND = {WORK: ("creator", "dedicatee"), ORGANISATION: ("founder", "director"), EVENT: ("opener",)}
"""Kind → the relations to the people behind it."""
_TEST_SHARE = 5

PAIRED = ("spouse", "twin")
"""Relations that may be told from either side."""


class ResearchLevel(NamedTuple):
    """The size of a task."""

    subjects: int
    aspects: int
    """Rows of relations that are followed from each subject; of a dispute, half as many statements for each."""
    hops: int
    """Relations of the longest row."""
    topk: int
    turns: int


LEVELS: Mapping[str, ResearchLevel] = MappingProxyType(
    {
        "easy": ResearchLevel(2, 4, 2, 5, 100),
        "medium": ResearchLevel(3, 4, 3, 5, 250),
        "hard": ResearchLevel(4, 6, 3, 3, 600),
    }
)
"""Name → level, from the easiest to the hardest."""


class ReportFact(NamedTuple):
    """A fact that a report must state."""

    subject: int
    relation: str
    value: Any
    """The id of an entity, or a value."""
    document: int
    """The id of the one article that states it."""


class Statement(NamedTuple):
    """A disputed statement: what a row of relations from an entity is said to lead to."""

    start: Entity
    path: tuple[str, ...]
    said: Any
    true: bool


class Conclusion(NamedTuple):
    """Which of the compared entities comes first by a measure."""

    word: str
    relation: str
    entity: int
    documents: frozenset[int]
    """One article for the measure of each compared entity."""


@dataclass(frozen=True)
class ResearchTask:
    """A task before its wording."""

    kind: str
    subjects: tuple[Entity, ...]
    aspects: tuple[tuple[str, ...], ...]
    """Rows of relations to follow from each subject; none in a dispute, whose rows are in ``statements``."""
    statements: tuple[Statement, ...]
    must: tuple[ReportFact, ...]
    conclusion: Conclusion | None
    met: frozenset[int]
    """Ids of all entities of these facts."""

    @property
    def split(self) -> str:
        """The split of the task, which its subjects and rows of relations alone decide."""
        rows = [*self.aspects, *(one.path for one in self.statements)]
        name = f"{self.kind}:{[one.id for one in self.subjects]}:{rows}"
        return SPLITS[int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big") % _TEST_SHARE == 0]


def draw_task(world: AtlasWorld, kind: str, level: ResearchLevel, rng: random.Random) -> ResearchTask:
    """Return a random task of a kind; every row of relations of it leads to its end."""
    drawers = {"compare": _compare, "trace": _trace, "explain": _explain, "dispute": _dispute}
    while True:
        task = drawers[kind](world, level, rng)
        if task is not None:
            return task


def _compare(world: AtlasWorld, level: ResearchLevel, rng: random.Random) -> ResearchTask | None:
    kind = rng.choice([*_MEASURES])
    measure, least, greatest = _MEASURES[kind]
    possible = [path for hops in range(1, level.hops + 1) for path in paths(hops) if path[0].subject == kind]
    longer = [path for path in possible if len(path) > 1]
    subjects: list[Entity] = []
    chains: list[FactChain] = []
    subject = rng.choice(world.of_kind[kind])
    led = [path for path in longer if follow(world, subject, path) is not None]
    aspects = [(RELATIONS[measure],), *_apart(led, level.aspects - 1, rng)]
    for _ in range(200 if len(aspects) == level.aspects else 0):
        own = _followed(world, subject, aspects)
        if own is not None and subject not in subjects:
            subjects.append(subject)
            chains += own
        if len(subjects) == level.subjects:
            break
        subject = rng.choice(world.of_kind[kind])
    values = [subject.facts[measure] for subject in subjects]
    if len(subjects) < level.subjects or len(set(values)) < len(values):
        return None
    word, pick = rng.choice(((least, min), (greatest, max)))
    best = pick(subjects, key=lambda one: one.facts[measure])
    documents = frozenset(one.homes.get(measure, one.id) for one in subjects)
    return _task(world, "compare", subjects, aspects, chains, conclusion=Conclusion(word, measure, best.id, documents))


def _trace(world: AtlasWorld, level: ResearchLevel, rng: random.Random) -> ResearchTask | None:
    person = rng.choice(world.of_kind[PERSON])
    mentor = (RELATIONS["mentor"],)
    about = [path for path in _about_people() if path[0] not in mentor]
    aspects: list[tuple[Relation, ...]] = []
    # Each mentor has rows of their own, so that one line of mentors makes many tasks.
    for step in range(1, level.subjects + 1):
        rows = [mentor * step + path for path in about]
        own = _apart([row for row in rows if follow(world, person, row) is not None], level.aspects // 2, rng)
        if len(own) < level.aspects // 2:
            return None
        aspects += own
    chains = _followed(world, person, aspects)
    return None if chains is None else _task(world, "trace", [person], aspects, chains)


def _explain(world: AtlasWorld, level: ResearchLevel, rng: random.Random) -> ResearchTask | None:
    kind = rng.choice([*_BEHIND])
    subject = rng.choice(world.of_kind[kind])
    roles = [(RELATIONS[role],) for role in _BEHIND[kind]]
    about = [path for path in _about_people() if all(follow(world, subject, role + path) for role in roles)]
    about = _apart(about, level.aspects, rng)
    if len(about) < level.aspects:
        return None
    places = [path for path in paths(2) if path[0].subject == kind and path[0].object == TOWN]
    aspects = [role + path for role in roles for path in about]
    aspects += rng.sample(places, min(level.subjects, len(places)))
    chains = _followed(world, subject, aspects)
    return None if chains is None else _task(world, "explain", [subject], aspects, chains)


def _dispute(world: AtlasWorld, level: ResearchLevel, rng: random.Random) -> ResearchTask | None:
    count = level.subjects * level.aspects // 2
    ways = [path for hops in range(2, level.hops + 1) for path in paths(hops)]
    false = set(rng.sample(range(count), count // 2))
    statements: list[Statement] = []
    chains = []
    while len(statements) < count:
        path = rng.choice(ways)
        start = rng.choice(world.of_kind[path[0].subject])
        chain = follow(world, start, path)
        other = follow(world, rng.choice(world.of_kind[path[0].subject]), path)
        if chain is None or other is None or chain.value == other.value:
            continue
        said = other.value if len(statements) in false else chain.value
        statements.append(Statement(start, tuple(one.name for one in path), said, said == chain.value))
        chains.append(chain)
    return _task(world, "dispute", [one.start for one in statements], [], chains, statements=statements)


def _about_people() -> list[tuple[Relation, ...]]:
    return [path for hops in (1, 2) for path in paths(hops) if path[0].subject == PERSON]


def _apart(ways: Sequence[tuple[Relation, ...]], count: int, rng: random.Random) -> list[tuple[Relation, ...]]:
    """Return at most so many of the rows, at random, of which none is the beginning of another."""
    apart: list[tuple[Relation, ...]] = []
    for way in rng.sample(ways, len(ways)):
        if len(apart) == count:
            break
        if all(way[: len(one)] != one[: len(way)] for one in apart):
            apart.append(way)
    return apart


def _each_ends_anew(chains: Sequence[FactChain]) -> bool:
    """Return whether each row of relations ends with a fact that is on no other row, whatever name leads there."""
    ways = [[(one, relation.name) for one, relation in zip(chain.met, chain.path, strict=False)] for chain in chains]
    passed = Counter(fact for way in ways for fact in way)
    return all(passed[way[-1]] == 1 for way in ways)


def _followed(world: AtlasWorld, start: Entity, aspects: Sequence[tuple[Relation, ...]]) -> list[FactChain] | None:
    """Return where the rows of relations lead; None if one leads nowhere."""
    chains = []
    for path in aspects:
        chain = follow(world, start, path)
        if chain is None:
            return None
        chains.append(chain)
    return chains


def _task(
    world: AtlasWorld,
    kind: str,
    subjects: Sequence[Entity],
    aspects: Sequence[tuple[Relation, ...]],
    chains: Sequence[FactChain],
    statements: Sequence[Statement] = (),
    conclusion: Conclusion | None = None,
) -> ResearchTask | None:
    """Return the task of these rows; None if one asks for nothing new, or a marriage is asked for from both sides."""
    if not _each_ends_anew(chains):
        return None
    must: dict[ReportFact, None] = {}
    met: set[int] = set()
    for chain in chains:
        met.update(chain.met)
        for place, (relation, document) in enumerate(zip(chain.path, chain.documents, strict=True)):
            last = place + 1 == len(chain.path)
            value = chain.value if last else chain.met[place + 1]
            must[ReportFact(chain.met[place], relation.name, value, document)] = None
    if any(fact._replace(subject=fact.value, value=fact.subject) in must for fact in must if fact.relation in PAIRED):
        return None
    rows = tuple(tuple(relation.name for relation in path) for path in aspects)
    return ResearchTask(kind, tuple(subjects), rows, tuple(statements), tuple(must), conclusion, frozenset(met))
