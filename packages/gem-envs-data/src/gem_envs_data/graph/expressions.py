"""Questions as expressions over sets of entities: their sets, their programs, and their wording."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gem_envs_data.graph.schema import NOUNS, Attribute, GraphRelation
from gem_envs_data.graph.store import TripleStore

__all__ = ["Anchor", "Both", "Count", "Expression", "Extreme", "Hop", "Step", "program_of", "worded"]

Value = frozenset[str] | int
"""A set of entities, or the number of entities of one."""
Step = tuple[str, ...]
"""A tool and its arguments, as texts: an entity, ``#0`` for the first variable, a relation, an attribute."""


@dataclass(frozen=True)
class Anchor:
    """An entity that the question names."""

    name: str
    kind: str

    def value(self, store: TripleStore) -> frozenset[str]:
        return frozenset((self.name,))

    @property
    def parts(self) -> tuple[Expression, ...]:
        return ()


@dataclass(frozen=True)
class Hop:
    """The entities to which a relation leads."""

    relation: GraphRelation
    of: Expression

    @property
    def kind(self) -> str:
        return self.relation.object

    def value(self, store: TripleStore) -> frozenset[str]:
        return store.neighbors(_entities(self.of, store), self.relation.name)

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.of,)


@dataclass(frozen=True)
class Both:
    """The entities that two sets have in common."""

    one: Expression
    other: Expression

    @property
    def kind(self) -> str:
        return self.one.kind

    def value(self, store: TripleStore) -> frozenset[str]:
        return _entities(self.one, store) & _entities(self.other, store)

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.one, self.other)


@dataclass(frozen=True)
class Extreme:
    """The entity with the largest or the smallest number."""

    attribute: Attribute
    largest: bool
    of: Expression

    @property
    def kind(self) -> str:
        return self.of.kind

    def value(self, store: TripleStore) -> frozenset[str]:
        return store.extreme(_entities(self.of, store), self.attribute.name, self.largest)

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.of,)


@dataclass(frozen=True)
class Count:
    """The number of entities."""

    of: Expression

    @property
    def kind(self) -> str:
        return "number"

    def value(self, store: TripleStore) -> int:
        return len(_entities(self.of, store))

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.of,)


Expression = Anchor | Hop | Both | Extreme | Count


def nodes(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and all of its parts, the innermost first."""
    for part in expression.parts:
        yield from nodes(part)
    yield expression


def program_of(expression: Expression) -> list[Step]:
    """Return calls of the tools whose last variable is the answer, with the look-ups that the tools demand."""
    steps: list[Step] = []
    made = 0

    def reference(part: Expression) -> str:
        nonlocal made
        if isinstance(part, Anchor):
            return part.name
        arguments = [reference(inner) for inner in part.parts]
        if isinstance(part, Hop):
            steps.append(("get_relations", *arguments))
            steps.append(("get_neighbors", *arguments, part.relation.name))
        elif isinstance(part, Extreme):
            steps.append(("get_attributes", *arguments))
            steps.append(("argmax" if part.largest else "argmin", *arguments, part.attribute.name))
        else:
            steps.append(("intersection" if isinstance(part, Both) else "count", *arguments))
        made += 1
        return f"#{made - 1}"

    reference(expression)
    return steps


_ASKING = (
    "{What} {is} the {np}?",
    "Name the {np}.",
    "I need to know the {np}.",
    "Find the {np}.",
    "Please look up the {np}.",
)
_COUNTING = (
    "What is the number of {np}?",
    "Count the {np}.",
    "I need to know the number of {np}.",
    "Take the {np}. How many are there?",
)
_JOINING = (
    "{one} that are also {other}",
    "{one} that are at the same time {other}",
    "{n} that are both {one} and {other}",
)
_JOINING_PEOPLE = tuple(text.replace("that are", "who are") for text in _JOINING)
_WITH_ARTICLE = ("university", "award")
"""Kinds whose names take "the" within a sentence."""


def worded(expression: Expression, rng: random.Random, veiled: bool) -> str:
    """Return the question for an expression.

    Args:
        expression: what is asked for.
        rng: chooses among phrasings.
        veiled: use phrases that do not repeat the words of the relations' names.
    """
    choose: Callable[[Sequence[str]], str] = rng.choice
    if isinstance(expression, Count):
        return choose(_COUNTING).format(np=_noun_phrase(expression.of, choose, veiled))
    phrase = _noun_phrase(expression, choose, veiled)
    what = "Who" if expression.kind == "person" else "What"
    return choose(_ASKING).format(np=phrase, What=what, **{"is": "is" if _is_single(expression) else "are"})


def _is_single(part: Expression) -> bool:
    """Return whether there can be one entity alone, whatever the graph."""
    return isinstance(part, (Anchor, Extreme)) or (
        isinstance(part, Hop) and part.relation.functional and _is_single(part.of)
    )


def _noun_phrase(part: Expression, choose: Callable[[Sequence[str]], str], veiled: bool) -> str:
    if isinstance(part, Hop):
        phrases: Sequence[str] = part.relation.veiled if veiled else part.relation.plain
        if not isinstance(part.of, Anchor):
            # A long subject in the middle of a phrase is hard to read.
            phrases = [phrase for phrase in phrases if phrase.endswith("{s}")]
        phrase, single = choose(phrases), _is_single(part)
        subject = _subject(part.of, choose, veiled)
        return (phrase if single else _in_plural(phrase)).format(n=NOUNS[part.kind][0 if single else 1], s=subject)
    if isinstance(part, Both):
        # The shorter phrase first: what follows a long one could be taken to belong to its end.
        shortest = sorted(part.parts, key=lambda inner: len(list(nodes(inner))))
        one, other = (_noun_phrase(inner, choose, veiled) for inner in shortest)
        joining = choose(_JOINING_PEOPLE if part.kind == "person" else _JOINING)
        return joining.format(n=NOUNS[part.kind][1], one=one, other=other)
    assert isinstance(part, Extreme)
    superlative = part.attribute.most if part.largest else part.attribute.least
    return f"{NOUNS[part.kind][0]} with the {superlative} among the {_noun_phrase(part.of, choose, veiled)}"


def _subject(part: Expression, choose: Callable[[Sequence[str]], str], veiled: bool) -> str:
    if isinstance(part, Anchor):
        return f"the {part.name}" if part.kind in _WITH_ARTICLE else part.name
    return f"{'the' if _is_single(part) else 'any of the'} {_noun_phrase(part, choose, veiled)}"


_PLURAL = (
    ("that is ", "that are "), ("who is ", "who are "), ("who was the ", "who were the "), ("that pays ", "that pay "),
    ("that owns ", "that own "), ("who decides ", "who decide "),
)  # fmt: skip


def _in_plural(phrase: str) -> str:
    """Give the verb after the noun its plural; phrases of functional relations are written in the singular."""
    for singular, plural in _PLURAL:
        phrase = phrase.replace(f"{{n}} {singular}", f"{{n}} {plural}", 1)
    return phrase


def _entities(part: Expression, store: TripleStore) -> frozenset[str]:
    value = part.value(store)
    assert isinstance(value, frozenset)
    return value
