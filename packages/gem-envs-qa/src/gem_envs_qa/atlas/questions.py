"""The questions about a world, each with one right answer.

A *place to start* is an entity and a row of relations to follow from it; each has a number, so that a set of
questions is a walk through the numbers in a pseudo-random order without repetitions. A path that leads nowhere,
returns to an entity, or finds two facts in one article is left out.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import accumulate, islice
from typing import Any, NamedTuple

from gem_envs_qa.atlas.articles import date_text, number_text
from gem_envs_qa.atlas.schema import ORGANISATION, PERSON, PLAIN_PHRASES, REGION, RELATIONS, TOWN, Relation, paths
from gem_envs_qa.atlas.world import AtlasWorld, Date, Entity
from gem_questions import Permutation

__all__ = [
    "HOPS",
    "QUESTION_KINDS",
    "FactChain",
    "FactChains",
    "Question",
    "called",
    "follow",
    "questions_of",
    "row_of",
    "written_forms",
]

HOPS = ("1hop", "2hop", "3hop", "4hop")
QUESTION_KINDS = (*HOPS, "comparison", "count", "date")
"""Chains of one to four facts, and questions that put several chains together."""

_ALIAS_RATE = 0.2
_PATIENCE = 2000
"""After this number of draws without a new question, hardly any is left."""

_ORDERS = {
    (PERSON, "born"): ("Who was born {}: {} or {}?", "earlier", "later"),
    (TOWN, "population"): ("Which town has {} inhabitants: {} or {}?", "fewer", "more"),
    (TOWN, "chartered"): ("Which town received its charter {}: {} or {}?", "earlier", "later"),
    (ORGANISATION, "founded"): ("Which organisation was founded {}: {} or {}?", "earlier", "later"),
}
"""Kind and relation → the comparison of two entities of the kind, and the words for the lesser and the greater."""

_YEARS = {
    "born": "{} was born",
    "died": "{} died",
    "chartered": "{} received its charter",
    "founded": "{} was founded",
    "completed": "{} was completed",
    "began": "{} began",
}
_NUMBER_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip


_LEADING_ON = frozenset(name for name, relation in RELATIONS.items() if relation.leads_on)


class FactChain(NamedTuple):
    """A path through the facts: an entity, the relations followed from it, and the entities on the way."""

    start: Entity
    path: tuple[Relation, ...]
    met: tuple[int, ...]
    """Ids of the entities, the first is that of ``start``; it ends with the last entity, not with a value."""
    documents: tuple[int, ...]
    """Ids of the articles that state the facts, one for each relation."""
    value: Any
    """The object of the last relation."""


class Question(NamedTuple):
    """A question before its wording."""

    form: str
    chains: tuple[FactChain, ...]
    answer: Any
    """An entity, a date, a name or a number."""


def questions_of(world: AtlasWorld, kind: str, count: int) -> list[Question]:
    """Return up to ``count`` different questions of a kind, always the same ones; fewer if there are no more."""
    digest = blake2b(b"%x:%x:%b" % (world.seed, world.size, kind.encode()), digest_size=8).digest()
    key = int.from_bytes(digest, "big")
    if kind in HOPS:
        return list(islice(_chains(world, 1 + HOPS.index(kind), key), count))
    found: dict[frozenset[Any], Question] = {}
    in_vain = 0
    for question in _PUT_TOGETHER[kind](world, random.Random(key)):
        before = len(found)
        if question is not None:
            # The same two chains can be drawn again, also in the other order.
            found.setdefault(frozenset((chain.start.id, chain.path) for chain in question.chains), question)
        in_vain = in_vain + 1 if len(found) == before else 0
        if len(found) == count or in_vain == _PATIENCE:
            break
    return list(found.values())


def row_of(
    world: AtlasWorld,
    kind: str,
    question: Question,
    number: int,
    wording: Callable[[Question, random.Random], str] | None = None,
) -> dict[str, Any]:
    """Return a question in words, with all accepted answers; in those of Atlas, or as ``wording`` puts it."""
    name = f"atlas-{world.seed}-{world.size}-{kind}-{number}"
    rng = random.Random(int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big"))
    # Counting reads one more fact, the list in the article of the last entity.
    lists = [chain.met[-1] for chain in question.chains] if question.form == "count" else []
    facts = [one for chain in question.chains for one in chain.documents] + lists
    return {
        "id": name,
        "question": (wording or _in_words)(question, rng),
        "answer": _accepted(question),
        "kind": kind,
        "hops": len(facts),
        "documents": [str(one) for one in dict.fromkeys(facts)],
    }


class _Starts:
    """Numbered places to start."""

    def __init__(self, world: AtlasWorld, ways: Iterable[tuple[str, tuple[Relation, ...]]]) -> None:
        # Each is the kind of entity to start from, and a path.
        self._ways = [(world.of_kind[kind], path) for kind, path in ways]
        self._ends = list(accumulate(len(entities) for entities, _ in self._ways))
        self.size = self._ends[-1]

    def __getitem__(self, number: int) -> tuple[Entity, tuple[Relation, ...]]:
        way = bisect_right(self._ends, number)
        entities, path = self._ways[way]
        return entities[number - self._ends[way]], path  # counted from the end of the entities


class FactChains:
    """All chains of a number of facts, to draw from without listing them.

    Args:
        world: the world of the facts.
        hops: number of facts of a chain, at least 1.
    """

    def __init__(self, world: AtlasWorld, hops: int) -> None:
        self._world = world
        self._starts = _Starts(world, ((path[0].subject, path) for path in paths(hops)))

    def draw(self, rng: random.Random) -> Question | None:
        """Return the question of a random place to start; None if its path leads nowhere, as about half of them do."""
        chain = _drawn(self._world, self._starts, rng)
        return None if chain is None else Question("chain", (chain,), _answer(self._world, chain))

    def __len__(self) -> int:
        """Return the number of places to start."""
        return self._starts.size


def _chains(world: AtlasWorld, hops: int, key: int) -> Iterator[Question]:
    starts = _Starts(world, ((path[0].subject, path) for path in paths(hops)))
    order = Permutation(starts.size, key)
    for position in range(starts.size):
        chain = follow(world, *starts[order[position]])
        if chain is not None:
            yield Question("chain", (chain,), _answer(world, chain))


def _comparisons(world: AtlasWorld, rng: random.Random) -> Iterator[Question | None]:
    measures = [(RELATIONS[name], _ends_at(world, kind, (1,))) for kind, name in _ORDERS]
    while True:
        last, starts = rng.choice(measures)
        one, other = _drawn(world, starts, rng, last), _drawn(world, starts, rng, last)
        if one is None or other is None or one.value == other.value or not _apart(one, other):
            yield None
            continue
        form = rng.choice(("lesser", "greater"))
        winner = one if (one.value < other.value) is (form == "lesser") else other
        yield Question(form, (one, other), world.entities[winner.met[-1]])


def _counts(world: AtlasWorld, rng: random.Random) -> Iterator[Question | None]:
    ends = [_ends_at(world, kind, (1, 2)) for kind in (REGION, PERSON)]
    while True:
        starts = rng.choice(ends)
        one, other = _drawn(world, starts, rng), _drawn(world, starts, rng)
        first, second = _members(world, one), _members(world, other)
        if one is None or first is None:
            yield None
        elif rng.random() < 0.3:
            yield Question("count", (one,), len(first))
        elif other is None or second is None or not _apart(one, other):
            yield None
        else:
            yield Question("count", (one, other), len(first) + len(second))


def _dates(world: AtlasWorld, rng: random.Random) -> Iterator[Question | None]:
    measures = [(RELATIONS[name], _ends_at(world, RELATIONS[name].subject, (0, 1))) for name in _YEARS]
    while True:
        (last, starts), (other_last, other_starts) = rng.choice(measures), rng.choice(measures)
        one, other = _drawn(world, starts, rng, last), _drawn(world, other_starts, rng, other_last)
        if one is None or other is None or not _apart(one, other):
            yield None
            continue
        years = abs(_year(one.value) - _year(other.value))
        yield Question("years", (one, other), years) if years else None


_PUT_TOGETHER: dict[str, Callable[[AtlasWorld, random.Random], Iterator[Question | None]]] = {
    "comparison": _comparisons,
    "count": _counts,
    "date": _dates,
}
"""Kind → draws questions without end, None for a draw that gives no question."""


def _ends_at(world: AtlasWorld, kind: str, hops: tuple[int, ...]) -> _Starts:
    """Return ways that end at entities of a kind."""
    ways: list[tuple[str, tuple[Relation, ...]]] = []
    for number in hops:
        ways += [(path[0].subject, path) for path in paths(number, kind)] if number else [(kind, ())]
    return _Starts(world, ways)


def _drawn(world: AtlasWorld, starts: _Starts, rng: random.Random, last: Relation | None = None) -> FactChain | None:
    start, path = starts[int(rng.random() * starts.size)]
    return follow(world, start, path if last is None else (*path, last))


def follow(world: AtlasWorld, start: Entity, path: tuple[Relation, ...]) -> FactChain | None:
    """Follow a path; None if it does not lead on, meets an entity twice, or finds two of its facts in one article."""
    entities = world.entities
    entity = start
    value: Any = start.id
    met, documents = [value], []
    for relation in path:
        name = relation.name
        value = entity.facts.get(name)
        if value is None:
            return None
        document = entity.homes.get(name, entity.id)
        if document in documents:
            return None
        documents.append(document)
        if name in _LEADING_ON:
            if value in met:
                return None
            met.append(value)
            entity = entities[value]
    return FactChain(start, path, tuple(met), tuple(documents), value)


def _apart(one: FactChain, other: FactChain) -> bool:
    """Return whether two chains share no entity and no article."""
    return not ({*one.met, *one.documents} & {*other.met, *other.documents})


def _members(world: AtlasWorld, chain: FactChain | None) -> list[int] | None:
    if chain is None:
        return None
    return world.entities[chain.met[-1]].members


def _answer(world: AtlasWorld, chain: FactChain) -> Any:
    return world.entities[chain.value] if chain.path[-1].leads_on else chain.value


def _year(value: Date | int) -> int:
    return value.year if isinstance(value, Date) else value


def _in_words(question: Question, rng: random.Random) -> str:
    one, *more = question.chains
    if question.form == "chain":
        last = one.path[-1]
        said = called(one.start, rng)
        subject, plain = _nested(said, one.path[:-1]), _nested(said, one.path[:-1], plain=True)
        # A clause between a question's subject and its verb is hard to read.
        ways = [text.format(subject if text.endswith("{}?") else plain) for text in last.questions]
        if last.phrase:
            ways.append(f"What is the name of {_nested(said, one.path)}?")
        return rng.choice(ways)
    if question.form == "count":
        towns = one.path[-1].object == REGION
        subjects = " and ".join(_phrase(chain.start, chain.path, rng) for chain in question.chains)
        together = " together" if more else ""
        if towns:
            return f"How many towns {'do' if more else 'does'} {subjects} have{together}?"
        return f"How many works did {subjects} create{together}?"
    other = more[0]
    if question.form == "years":
        first, second = (
            _YEARS[chain.path[-1].name].format(_phrase(chain.start, chain.path[:-1], rng)) for chain in (one, other)
        )
        return f"How many years lie between the year in which {first} and the year in which {second}?"
    text, lesser, greater = _ORDERS[one.path[-1].subject, one.path[-1].name]
    word = lesser if question.form == "lesser" else greater
    return text.format(word, *(_phrase(chain.start, chain.path[:-1], rng) for chain in (one, other)))


def _phrase(start: Entity, path: Iterable[Relation], rng: random.Random) -> str:
    return _nested(called(start, rng), path)


def called(start: Entity, rng: random.Random) -> str:
    """Return one of the names of an entity, as it stands in a sentence."""
    if start.alias is not None and rng.random() < _ALIAS_RATE:
        return f"the {start.alias}" if start.kind == ORGANISATION else start.alias
    return start.said


def _nested(said: str, path: Iterable[Relation], plain: bool = False) -> str:
    """Return the phrase for the end of a path; only its first relation may be a clause, and none if it is plain."""
    text = said
    for place, relation in enumerate(path):
        phrase = PLAIN_PHRASES.get(relation.name, relation.phrase) if place or plain else relation.phrase
        text = phrase.format(text)
    return text


def _accepted(question: Question) -> list[str]:
    """Return every accepted way of writing the answer, the plainest first."""
    answer = question.answer
    if not isinstance(answer, int):
        return written_forms(answer)
    if question.form == "years":
        return [str(answer), f"{answer} years" if answer > 1 else f"{answer} year"]
    if question.form == "count":
        what = "towns" if question.chains[0].path[-1].object == REGION else "works"
        words = [_NUMBER_WORDS[answer]] if answer < len(_NUMBER_WORDS) else []
        return [str(answer), *words, *(f"{number} {what}" for number in (str(answer), *words))]
    return written_forms(answer, question.chains[0].path[-1].object)


def written_forms(value: Entity | Date | str | int, kind: str = "") -> list[str]:
    """Return every accepted way of writing an entity or a value, the plainest first.

    Args:
        value: the object of a relation, as an entity where it is one; a name stands for a river.
        kind: of the object; ``"number"`` for inhabitants.
    """
    if isinstance(value, Entity):
        return [value.name] if value.alias is None else [value.name, value.alias]
    if isinstance(value, Date):
        day, month, year = date_text(value).split()
        return [
            f"{day} {month} {year}",
            f"{month} {day}, {year}",
            f"{value.year:04}-{value.month:02}-{value.day:02}",
            *(f"{form} {year}" for form in (f"{_ordinal(value.day)} {month}", f"{_ordinal(value.day)} of {month}")),
            f"{month} {_ordinal(value.day)}, {year}",
        ]
    if isinstance(value, str):
        return [value, f"River {value}", f"{value} River"]
    if kind == "number":
        return [number_text(value), f"{number_text(value)} inhabitants"]
    return [str(value)]


def _ordinal(day: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10 if day // 10 != 1 else 0, "th")
    return f"{day}{ending}"
