"""What a simulated service is: types of records, and operations on them. Plain data that survives JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from gem_envs_desk.synthesis.schemas import is_scalar

__all__ = [
    "CREATE",
    "DELETE",
    "KINDS",
    "LIST",
    "READ",
    "UPDATE",
    "Binding",
    "RecordType",
    "StoreOperation",
    "StoreSpec",
]

CREATE, READ, UPDATE, DELETE, LIST = "create", "read", "update", "delete", "list"
KINDS = (CREATE, READ, UPDATE, DELETE, LIST)

KEY, VALUE, FILTER, MATCH, LIMIT, OFFSET = "key", "value", "filter", "match", "limit", "offset"


@dataclass(frozen=True)
class RecordType:
    """A type of records.

    ``links`` are properties that hold the key of another record: property → type.
    """

    name: str
    key: str
    properties: Mapping[str, Any]
    """Property → resolved schema, the key included."""
    required: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    generated_key: bool = True
    """Whether the store makes the key of a new record."""

    @property
    def noun(self) -> str:
        """The name for a text, as ``order item``."""
        return self.name.replace("_", " ")

    def scalars(self) -> list[str]:
        """Return the properties with texts, numbers or truth values, without the key and links."""
        return [
            name
            for name, schema in self.properties.items()
            if name != self.key and name not in self.links and is_scalar(schema)
        ]


@dataclass(frozen=True)
class Binding:
    """The meaning of an argument.

    ``role`` is ``"key"`` (chooses the record by a property), ``"match"`` (a property that the record must have, as the
    parent in a path), ``"value"`` (sets a property), ``"filter"`` (records with this value), ``"limit"`` or
    ``"offset"``.
    """

    role: str
    field: str = ""


@dataclass(frozen=True)
class StoreOperation:
    """A tool on records of one type."""

    name: str
    description: str
    kind: str
    type: str
    parameters: Mapping[str, Any]
    """JSON schema of the arguments, an object."""
    bindings: Mapping[str, Binding]
    """Argument → its meaning."""
    envelope: str | None = None
    """A list is the value of this property of the answer; None for a bare list."""
    sets: Mapping[str, Any] = field(default_factory=dict)
    """Properties that the operation sets to fixed values."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """Values that the record must have before; otherwise the call fails."""

    @property
    def writes(self) -> bool:
        return self.kind in (CREATE, UPDATE, DELETE)

    def bound(self, role: str) -> Iterator[tuple[str, str]]:
        """Yield the arguments of a role and their properties."""
        return ((name, binding.field) for name, binding in self.bindings.items() if binding.role == role)

    @cached_property
    def validator(self) -> Any:
        """The validator of arguments; making one costs more than a call."""
        from jsonschema import Draft202012Validator

        return Draft202012Validator(self.parameters)

    @property
    def required(self) -> list[str]:
        return list(self.parameters.get("required", []))

    def schema(self) -> dict[str, Any]:
        """Return the tool as chat APIs take it."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}


@dataclass(frozen=True)
class StoreSpec:
    """A simulated service."""

    title: str
    types: Mapping[str, RecordType]
    operations: Mapping[str, StoreOperation]
    refused: Mapping[str, str] = field(default_factory=dict)
    """Operation of the description → the reason why it is not simulated."""

    def to_json(self) -> dict[str, Any]:
        """Return the specification as JSON values."""
        return {
            "title": self.title,
            "types": [asdict(one) for one in self.types.values()],
            "operations": [asdict(one) for one in self.operations.values()],
            "refused": dict(self.refused),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> StoreSpec:
        """Undo :meth:`to_json`."""
        types = [RecordType(**{**one, "required": tuple(one["required"])}) for one in value["types"]]
        operations = [
            StoreOperation(**{**one, "bindings": {name: Binding(**of) for name, of in one["bindings"].items()}})
            for one in value["operations"]
        ]
        return cls(
            value["title"],
            {one.name: one for one in types},
            {one.name: one for one in operations},
            value["refused"],
        )
