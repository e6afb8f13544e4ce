"""The kinds of entities of a graph, their relations and attributes, and the words that questions have for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gem.tables import read_table

__all__ = [
    "ATTRIBUTES",
    "FORWARD",
    "INVERSE",
    "NOUNS",
    "RELATIONS",
    "RELATIONS_FROM",
    "TYPES",
    "Attribute",
    "GraphRelation",
]

_TABLES = read_table(__file__, "schema.json")

TYPES: Mapping[str, str] = _TABLES["types"]
"""Kind → the name of the type that the tools show."""

NOUNS: Mapping[str, Sequence[str]] = _TABLES["nouns"]
"""Kind → its noun in the singular and in the plural."""


class GraphRelation(NamedTuple):
    """A relation, in the direction in which a question follows it."""

    name: str
    subject: str
    object: str
    functional: bool
    """Whether a subject has at most one object."""
    plain: tuple[str, ...]
    """Phrases for its objects that share words with its name; ``{n}`` is their noun, ``{s}`` the subject."""
    veiled: tuple[str, ...]
    """Phrases that share no word with the name, unlike those of a relation with a similar meaning."""


class Attribute(NamedTuple):
    """A number that every entity of a kind has."""

    name: str
    kind: str
    lowest: int
    highest: int
    most: str
    """``{}`` with the largest number, as in "with the {}"."""
    least: str


def _pair(
    *,
    subject: str,
    forward: str,
    target: str,
    backward: str,
    functional: bool,
    plain: Sequence[str],
    veiled: Sequence[str],
    plain_back: Sequence[str],
    veiled_back: Sequence[str],
) -> tuple[GraphRelation, GraphRelation]:
    """Return a relation and its inverse."""
    there, back = f"{TYPES[subject]}.{forward}", f"{TYPES[target]}.{backward}"
    return (
        GraphRelation(there, subject, target, functional, tuple(plain), tuple(veiled)),
        GraphRelation(back, target, subject, False, tuple(plain_back), tuple(veiled_back)),
    )


_PAIRS = tuple(_pair(**row) for row in _TABLES["pairs"])

RELATIONS = {relation.name: relation for pair in _PAIRS for relation in pair}

RELATIONS_FROM = {
    kind: tuple(relation for relation in RELATIONS.values() if relation.subject == kind) for kind in TYPES
}

FORWARD = tuple(pair[0] for pair in _PAIRS)
"""One relation of each pair; the generator draws these, and their inverses follow."""

INVERSE = {one.name: other.name for pair in _PAIRS for one, other in (pair, pair[::-1])}

ATTRIBUTES = {
    kind: tuple(Attribute(f"{TYPES[kind]}.{name}", kind, *words) for name, *words in rows)
    for kind, rows in _TABLES["attributes"].items()
}
"""Kind → its attributes."""
