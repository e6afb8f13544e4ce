"""The graph of tools by types: an edge where the answer of one tool holds what another one takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gem_envs_desk.synthesis.store_spec import CREATE, DELETE, KEY, LIST, READ, StoreOperation, StoreSpec

__all__ = ["ToolEdge", "ToolGraph"]


class ToolEdge(NamedTuple):
    """The answer of a tool holds the value of another one's argument."""

    producer: str
    consumer: str
    argument: str
    type: str
    """The type of the record whose key is the value."""


class ToolGraph:
    """The operations of a service and the keys that they hand on.

    Args:
        spec: the service.
    """

    def __init__(self, spec: StoreSpec) -> None:
        self._spec = spec
        self.edges = tuple(self._edges())

    def takes(self, operation: StoreOperation) -> dict[str, str]:
        """Return the arguments of an operation that are keys of records: argument → type."""
        record = self._spec.types[operation.type]
        found: dict[str, str] = {}
        for name, binding in operation.bindings.items():
            if binding.field in record.links:
                found[name] = record.links[binding.field]
            elif binding.role == KEY and binding.field == record.key:
                found[name] = record.name
        return found

    def gives(self, operation: StoreOperation) -> set[str]:
        """Return the types of records whose keys the answer of an operation holds."""
        if operation.kind == DELETE:
            return set()
        return {operation.type, *self._spec.types[operation.type].links.values()}

    def finders(self, type_name: str) -> list[StoreOperation]:
        """Return the operations that list the records of a type."""
        return [one for one in self._spec.operations.values() if one.kind == LIST and one.type == type_name]

    def showing(self, type_name: str) -> list[StoreOperation]:
        """Return the operations whose answer shows one record of a type, chosen by its key."""
        key = self._spec.types[type_name].key
        return [
            one
            for one in self._spec.operations.values()
            if one.kind == READ and one.type == type_name and [of for _, of in one.bound(KEY)] == [key]
        ]

    def creators(self, type_name: str) -> list[StoreOperation]:
        """Return the operations that create a record of a type."""
        return [one for one in self._spec.operations.values() if one.kind == CREATE and one.type == type_name]

    def _edges(self) -> Iterator[ToolEdge]:
        for consumer in self._spec.operations.values():
            for argument, type_name in self.takes(consumer).items():
                for producer in self._spec.operations.values():
                    if producer is not consumer and type_name in self.gives(producer):
                        yield ToolEdge(producer.name, consumer.name, argument, type_name)
