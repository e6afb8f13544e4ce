"""Tasks of three levels: a graph, a question, and the expression that answers it."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import NamedTuple

from gem_envs_data.graph.expressions import (
    Anchor,
    Both,
    Count,
    Expression,
    Extreme,
    Hop,
    Step,
    nodes,
    program_of,
    worded,
)
from gem_envs_data.graph.generator import make_graph
from gem_envs_data.graph.schema import ATTRIBUTES, INVERSE, RELATIONS, RELATIONS_FROM
from gem_envs_data.graph.store import TripleStore

__all__ = ["LEVELS", "GraphTask", "task_of"]

LEVELS = (1, 2, 3)

_KEPT = 16
"""Tasks that stay in memory. Of more, a full garbage collection would make one reset in thirty wait for 30 ms."""
_MOST_ANSWERS = 12
_WIDEST = 60
"""Maximum number of entities of a set on the way."""


class GraphTask(NamedTuple):
    """A question about a graph; what an environment knows of its episode."""

    store: TripleStore
    question: str
    entities: tuple[str, ...]
    """The entities that the question names, in its order."""
    expression: Expression
    answer: frozenset[str] | int
    program: list[Step]
    """Calls of the tools that lead to the answer."""


@lru_cache(maxsize=_KEPT)
def task_of(number: int, level: int, split: str) -> GraphTask:
    """Return a task; a pure function of its arguments. The episodes of a group share it."""
    rng = random.Random(f"graph {split} {level} {number}")
    store = make_graph(rng, split)
    while True:
        expression = _drawn(rng, store, level)
        if expression is not None and _is_sound(expression, store, level):
            break
    answer = expression.value(store)
    anchors = [part.name for part in nodes(expression) if isinstance(part, Anchor)]
    question = worded(expression, rng, level == 3)
    entities = tuple(sorted(dict.fromkeys(anchors), key=question.index))
    return GraphTask(store, question, entities, expression, answer, program_of(expression))


def _drawn(rng: random.Random, store: TripleStore, level: int) -> Expression | None:
    """Return an expression of a form of the level, or None if the draw led nowhere."""
    form = rng.random()
    if level == 1:
        return _chain(rng, store, 1 if form < 0.5 else 2)
    if level == 2:
        if form < 0.4:
            return _both(rng, store, _chain(rng, store, 2), 1)
        inner = _chain(rng, store, 2)
        return _extreme(rng, inner) if form < 0.75 else _count(inner)
    if form < 0.2:
        return _extreme(rng, _both(rng, store, _chain(rng, store, 2), 1))
    if form < 0.4:
        return _hop(rng, _both(rng, store, _chain(rng, store, 2), 1))
    if form < 0.55:
        return _count(_both(rng, store, _chain(rng, store, 2), 2))
    if form < 0.7:
        return _hop(rng, _extreme(rng, _chain(rng, store, 2)))
    if form < 0.85:
        return _both(rng, store, _chain(rng, store, 3), 1)
    return _hop(rng, _extreme(rng, _both(rng, store, _chain(rng, store, 1), 1)))


def _hop(rng: random.Random, of: Expression | None) -> Expression | None:
    if of is None:
        return None
    previous = of.relation if isinstance(of, Hop) else None
    # The way straight back gives what was there before, and more: no one asks that.
    ways = [one for one in RELATIONS_FROM[of.kind] if previous is None or one.object != previous.subject]
    return Hop(rng.choice(ways), of) if ways else None


def _chain(rng: random.Random, store: TripleStore, hops: int) -> Expression | None:
    name = rng.choice(list(store.kinds))
    expression: Expression | None = Anchor(name, store.kinds[name])
    for _ in range(hops):
        expression = _hop(rng, expression)
    return expression


def _both(rng: random.Random, store: TripleStore, one: Expression | None, hops: int) -> Expression | None:
    """Return what a chain has in common with another one, which begins at an entity that one of its own leads to."""
    if one is None:
        return None
    value = one.value(store)
    if not isinstance(value, frozenset) or not 2 <= len(value) <= _WIDEST:
        return None
    # Walk backwards from a member, so that the second chain meets the first.
    place, way = rng.choice(sorted(value)), []
    for _ in range(hops):
        steps = [(relation, other) for relation, others in store.links[place].items() for other in others]
        if not steps:
            return None
        back, place = rng.choice(steps)
        way.append(RELATIONS[INVERSE[back]])
    other: Expression = Anchor(place, store.kinds[place])
    for relation in reversed(way):
        other = Hop(relation, other)
    return Both(one, other)


def _extreme(rng: random.Random, of: Expression | None) -> Expression | None:
    return None if of is None else Extreme(rng.choice(ATTRIBUTES[of.kind]), rng.random() < 0.5, of)


def _count(of: Expression | None) -> Expression | None:
    return None if of is None else Count(of)


def _is_sound(expression: Expression, store: TripleStore, level: int) -> bool:
    """Return whether every part of the expression matters, and no shorter program has the same answer."""
    answer = expression.value(store)
    size = answer if isinstance(answer, int) else len(answer)
    if not (2 if isinstance(answer, int) else 1) <= size <= _MOST_ANSWERS * (2 if isinstance(answer, int) else 1):
        return False
    anchors = [part for part in nodes(expression) if isinstance(part, Anchor)]
    names = [part.name for part in anchors]
    if len(set(names)) < len(names) or (isinstance(answer, frozenset) and not answer.isdisjoint(names)):
        return False
    if not all(_matters(part, store) for part in nodes(expression)):
        return False
    if level == 1 or isinstance(answer, int):
        return True
    return all(
        store.neighbors((anchor.name,), relation) != answer
        for anchor in anchors
        for relation in store.links[anchor.name]
        if not (isinstance(expression, Hop) and expression.of == anchor)
    )


def _matters(part: Expression, store: TripleStore) -> bool:
    value = part.value(store)
    if isinstance(value, int):
        return True
    if not 0 < len(value) <= _WIDEST:
        return False
    if isinstance(part, Hop):
        inner = part.of.value(store)
        assert isinstance(inner, frozenset)
        return value != inner and all(
            store.neighbors(inner, relation) != value
            for relation in store.relations(inner)
            if relation != part.relation.name
        )
    if isinstance(part, Both):
        return all(value != inner.value(store) for inner in part.parts)
    if isinstance(part, Extreme):
        inner = part.of.value(store)
        assert isinstance(inner, frozenset)
        # Three or more, so that guessing an attribute and a direction is right less often.
        others = [
            store.extreme(inner, attribute.name, largest)
            for attribute in ATTRIBUTES[part.kind]
            for largest in (True, False)
            if (attribute, largest) != (part.attribute, part.largest)
        ]
        return len(inner) >= 3 and len(value) == 1 and sum(other == value for other in others) <= 1
    return True
