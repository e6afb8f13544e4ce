"""Triples with an index: the graph that the tools read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gem_envs_data.graph.schema import INVERSE

__all__ = ["TripleStore"]


class TripleStore(NamedTuple):
    """Entities, the relations between them, and their attributes. Read only; environments share it.

    Sets of entities are sets of names, which are unique.
    """

    kinds: dict[str, str]
    """Entity → its kind."""
    links: dict[str, dict[str, tuple[str, ...]]]
    """Entity → relation → the entities that it leads to, in both directions of each relation."""
    attributes: dict[str, dict[str, int]]
    """Entity → attribute → its number."""

    @classmethod
    def empty(cls) -> TripleStore:
        """Return a store without entities."""
        return cls({}, {}, {})

    def add_entity(self, name: str, kind: str, attributes: dict[str, int]) -> None:
        """Add an entity; for generators."""
        self.kinds[name], self.links[name], self.attributes[name] = kind, {}, attributes

    def add_link(self, subject: str, relation: str, object_: str) -> None:
        """Add a triple and its inverse; for generators."""
        for one, name, other in ((subject, relation, object_), (object_, INVERSE[relation], subject)):
            links = self.links[one]
            links[name] = (*links.get(name, ()), other)

    def relations(self, entities: Iterable[str]) -> list[str]:
        """Return the relations that lead from any of the entities, sorted."""
        found: set[str] = set()
        for entity in entities:
            found.update(self.links[entity])
        return sorted(found)

    def neighbors(self, entities: Iterable[str], relation: str) -> frozenset[str]:
        """Return the entities to which the relation leads from any of the entities."""
        links = self.links
        return frozenset([other for entity in entities for other in links[entity].get(relation, ())])

    def attribute_names(self, entities: Iterable[str]) -> list[str]:
        """Return the attributes of the entities, sorted."""
        found: set[str] = set()
        for entity in entities:
            found.update(self.attributes[entity])
        return sorted(found)

    def extreme(self, entities: Iterable[str], attribute: str, largest: bool) -> frozenset[str]:
        """Return the entities with the largest or the smallest number; several where they are equal."""
        numbers = {entity: self.attributes[entity][attribute] for entity in entities}
        if not numbers:
            return frozenset()
        best = max(numbers.values()) if largest else min(numbers.values())
        return frozenset(entity for entity, number in numbers.items() if number == best)

    def triples(self) -> list[tuple[str, str, str]]:
        """Return all triples, in both directions."""
        return [
            (entity, relation, other)
            for entity, links in self.links.items()
            for relation, others in links.items()
            for other in others
        ]
