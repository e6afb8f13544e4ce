"""The types of records behind the calls of a document, and the operation that each call is: :class:`Resources`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gem_envs_desk.synthesis.errors import UnsupportedSchemaError
from gem_envs_desk.synthesis.links import links_of, without_circles
from gem_envs_desk.synthesis.openapi_calls import HttpCall, PathParameter, singular, snake_case
from gem_envs_desk.synthesis.schemas import is_scalar, kind_of
from gem_envs_desk.synthesis.store_spec import (
    CREATE,
    DELETE,
    FILTER,
    KEY,
    LIMIT,
    LIST,
    MATCH,
    OFFSET,
    READ,
    UPDATE,
    VALUE,
    Binding,
    RecordType,
    StoreOperation,
)

__all__ = ["Resources"]

_AFFIX = re.compile(
    r"^(new|create|update|base|full)_|_(response|dto|model|schema|object|entity|read|out|output|input|request|create|update|payload|resource|record)$"
)
_LIMITS = ("limit", "per_page", "page_size", "size", "max_results", "top")
_OFFSETS = ("offset", "skip", "start")
_NOT_SENT = ("readOnly", "writeOnly", "default")
_GENERATED = ("id", "uuid", "guid", "key")


class Resources:
    """The types that the calls of one document work on."""

    def __init__(self, calls: list[HttpCall]) -> None:
        self._calls = calls
        self._by_path: dict[str, str] = {}
        """The path of a collection → its type."""
        self._name_types()
        described = {name: self._described(name) for name in dict.fromkeys(self._by_path.values())}
        keys = {name: key for name in described if (key := self._key(name, described[name])) is not None}
        self._types = {
            name: RecordType(
                name,
                key,
                described[name]["properties"],
                tuple(one for one in described[name]["required"] if one in described[name]["properties"]),
                generated_key=_is_generated(name, key, described[name]["properties"][key]),
            )
            for name, key in keys.items()
        }
        self._link()

    def linked_types(self, used: Iterable[str]) -> dict[str, RecordType]:
        """Return these types, and those that they link to."""
        found: dict[str, RecordType] = {}
        waiting = list(used)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self._types[name]
                waiting.extend(self._types[name].links.values())
        return {name: kind for name, kind in self._types.items() if name in found}

    def operation(self, call: HttpCall) -> StoreOperation:
        """Return the operation that a call is.

        Raises:
            UnsupportedSchemaError: if its path and schemas do not say what it does.
        """
        kind, type_name = self._kind(call)
        if type_name not in self._types:
            raise UnsupportedSchemaError(f"no property of a {type_name or 'record'} is known to identify it")
        record = self._types[type_name]
        arguments = _Arguments(call, record, kind)
        parents = call.path_parameters
        if call.chooses_one:
            *above, own = call.path_parameters
            parents = tuple(above)
            key = (
                call.key
                if call.key in record.properties
                else self._property_of(own.name, record.name, record.properties)
            )
            if key is None:
                raise UnsupportedSchemaError(f"no property of a {record.noun} is the {own.name!r} of its path")
            arguments.add(own.name, KEY, key, own.schema, required=True)
        for parent in parents:
            field = self._parent_property(parent, record)
            if field is None:
                raise UnsupportedSchemaError(f"no record is known for {parent.name!r} in its path")
            arguments.add(parent.name, MATCH, field, record.properties[field], required=True)
        if kind == LIST:
            arguments.add_filters()
        elif kind in (CREATE, UPDATE):
            arguments.add_body()
        return StoreOperation(
            call.name,
            arguments.description(),
            kind,
            record.name,
            arguments.schema(),
            arguments.bindings,
            call.envelope if kind == LIST else None,
            call.sets,
            call.where,
        )

    def _kind(self, call: HttpCall) -> tuple[str, str]:
        of_path = self._by_path.get(call.collection, "")
        if call.method == "get":
            if call.chooses_one and not call.is_list and call.answer is not None:
                return READ, of_path
            if not call.chooses_one and call.is_list and call.answer is not None:
                return LIST, self._answer_type(call) or of_path
            raise UnsupportedSchemaError(
                "it answers neither with the record that its path names nor with a list of records"
            )
        if call.method == "delete":
            if call.chooses_one and of_path:
                return DELETE, of_path
            raise UnsupportedSchemaError("its path does not name the record to delete")
        if call.body is None:
            raise UnsupportedSchemaError("it takes no JSON body that says what it changes")
        if call.chooses_one:
            if call.method == "post" or not of_path:
                raise UnsupportedSchemaError("it does something to a record that no schema describes")
            return UPDATE, of_path
        of_body = _type_name(call.body_name) if call.body_name else ""
        if call.method == "post":
            created = of_path or of_body
            if created in self._types and (of_path or of_body == self._answer_type(call)):
                return CREATE, created
            raise UnsupportedSchemaError("it does something to records that no schema describes")
        if of_body in self._types:
            return UPDATE, of_body
        raise UnsupportedSchemaError("its path does not name the record to change")

    def _name_types(self) -> None:
        """Find the type of each collection: from reading one, listing them, or creating one."""
        for call in self._calls:
            if call.method == "get" and call.chooses_one and call.answer is not None and not call.is_list:
                self._by_path[call.collection] = self._answer_type(call) or _noun(call.collection)
        items = {call.collection for call in self._calls if call.chooses_one}
        for call in self._calls:
            if call.method == "get" and not call.chooses_one and call.is_list and call.answer is not None:
                self._by_path.setdefault(call.path, self._answer_type(call) or _noun(call.path))
        for call in self._calls:
            if call.method == "post" and not call.chooses_one and call.body is not None and call.path in items:
                name = self._answer_type(call) or (_type_name(call.body_name) if call.body_name else "")
                self._by_path.setdefault(call.path, name or _noun(call.path))
        known = set(self._by_path.values())
        for call in self._calls:  # POST /pet, where GET /pet/{petId} has named the type, or PUT /pet
            if (
                call.method == "post"
                and call.body_name
                and _type_name(call.body_name) in known
                and call.path not in self._by_path
                and _type_name(call.body_name) == self._answer_type(call)
            ):
                self._by_path[call.path] = _type_name(call.body_name)

    def _answer_type(self, call: HttpCall) -> str:
        return "" if call.answer is None or call.answer_name is None else _type_name(call.answer_name)

    def _described(self, name: str) -> dict[str, Any]:
        """Return the properties of a type, from the answers and bodies of its calls."""
        ranked: list[tuple[int, Mapping[str, Any]]] = []
        for call in self._calls:
            if self._by_path.get(call.collection) != name and self._answer_type(call) != name:
                continue
            if call.answer is not None and (self._answer_type(call) or name) == name:
                ranked.append((0 if call.method == "get" and call.chooses_one else 1, call.answer))
            if call.body is not None and call.method in ("post", "put") and self._by_path.get(call.collection) == name:
                ranked.append((2, call.body))
        properties: dict[str, Any] = {}
        required: list[str] = []
        for rank, schema in sorted(ranked, key=lambda one: one[0]):
            for field, inner in schema.get("properties", {}).items():
                if inner.get("writeOnly") is not True:
                    properties.setdefault(field, inner)
            if rank == 0 or not required:
                required += [one for one in schema.get("required", []) if one not in required]
        return {"properties": properties, "required": required}

    def _key(self, name: str, described: Mapping[str, Any]) -> str | None:
        for call in self._calls:
            if call.key in described["properties"] and self._by_path.get(call.collection) == name:
                return call.key
        for call in self._calls:
            if call.chooses_one and self._by_path.get(call.collection) == name:
                key = self._property_of(call.path_parameters[-1].name, name, described["properties"])
                if key is not None:
                    return key
        return next(
            (one for one in ("id", f"{name}_id", f"{name}Id", "uuid") if _can_be_key(described["properties"].get(one))),
            None,
        )

    def _property_of(self, parameter: str, type_name: str, properties: Mapping[str, Any]) -> str | None:
        """Return the property that a parameter of a path stands for."""
        wanted = snake_case(parameter)
        short = wanted.removeprefix(f"{type_name}_")
        last = wanted.rsplit("_", 1)[-1]
        candidates = [wanted, short, *([last] if last in (*_GENERATED, "name", "slug", "code", "number") else ())]
        if wanted == type_name:
            candidates += ["id", "name", "slug"]
        by_name = {snake_case(name): name for name in properties}
        for candidate in candidates:
            name = by_name.get(candidate)
            if name is not None and _can_be_key(properties[name]):
                return name
        return None

    def _link(self) -> None:
        parents: dict[str, dict[str, str]] = {name: {} for name in self._types}
        for call in self._calls:
            name = self._by_path.get(call.collection, "")
            if name not in self._types:
                continue
            for parent in call.path_parameters[: -1 if call.chooses_one else None]:
                target = self._by_path.get(parent.before, "")
                if target in self._types and target != name:
                    parents[name][parent.name] = target
        for name, kind in self._types.items():
            links = links_of(kind, self._types)
            properties = dict(kind.properties)
            for parameter, target in parents[name].items():
                if target in links.values():
                    continue
                key = self._types[target]
                field = parameter if parameter not in properties else f"{target}_{key.key}"
                properties[field] = key.properties[key.key]
                links[field] = target
            required = dict.fromkeys((*kind.required, *(one for one in links if one not in kind.properties)))
            self._types[name] = RecordType(name, kind.key, properties, tuple(required), links, kind.generated_key)
        self._types = without_circles(self._types)

    def _parent_property(self, parent: PathParameter, record: RecordType) -> str | None:
        target = self._by_path.get(parent.before, "")
        return next((field for field, linked in record.links.items() if linked == target), None)


class _Arguments:
    """Collects the arguments of one operation."""

    def __init__(self, call: HttpCall, record: RecordType, kind: str) -> None:
        self._call, self._record, self._kind = call, record, kind
        self.bindings: dict[str, Binding] = {}
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []
        self._notes: list[str] = []

    def add(self, name: str, role: str, field: str, schema: Mapping[str, Any], *, required: bool = False) -> None:
        self.bindings[name] = Binding(role, field)
        # Documents limit the keys of their demonstration servers; the store has keys of its own.
        kept = (
            ("type", "format", "description") if role == KEY else tuple(one for one in schema if one not in _NOT_SENT)
        )
        self._properties[name] = {one: schema[one] for one in kept if one in schema}
        if required:
            self._required.append(name)

    def add_filters(self) -> None:
        by_name = {snake_case(name): name for name in self._record.properties}
        for name, schema in self._call.query.items():
            if name in self.bindings:
                continue
            short = snake_case(name)
            required = name in self._call.required_query
            if short in by_name and (is_scalar(schema) or is_scalar(schema.get("items", {}))):
                field = by_name[short]
                if is_scalar(self._record.properties[field]):
                    self.add(name, FILTER, field, schema, required=required)
                    continue
            if kind_of(schema) == "integer" and short in (*_LIMITS, *_OFFSETS):
                self.add(name, LIMIT if short in _LIMITS else OFFSET, "", schema, required=required)
                continue
            if required:
                raise UnsupportedSchemaError(f"it needs {name!r}, and no schema says what that does")
            self._notes.append(name)

    def add_body(self) -> None:
        assert self._call.body is not None
        body, record = self._call.body, self._record
        required = body.get("required", [])
        by_path = {binding.field for binding in self.bindings.values()}
        by_name = {snake_case(name): name for name in record.properties}
        for name, schema in body.get("properties", {}).items():
            field = name if name in record.properties else by_name.get(snake_case(name))
            if field in by_path:
                continue
            if field == record.key and self._kind == UPDATE:
                self.add(name, KEY, record.key, schema, required=True)
                continue
            if schema.get("readOnly") is True:
                continue
            if field == record.key:
                if not record.generated_key:
                    self.add(name, VALUE, record.key, schema, required=True)
                continue
            if field is None or name in self.bindings:
                if name in required:
                    raise UnsupportedSchemaError(f"its body needs {name!r}, which a {record.noun} does not have")
                self._notes.append(name)
                continue
            self.add(name, VALUE, field, schema, required=name in required)
        if self._kind == UPDATE and not any(binding.role == KEY for binding in self.bindings.values()):
            raise UnsupportedSchemaError("neither its path nor its body names the record to change")
        if not self._call.sets and not any(binding.role == VALUE for binding in self.bindings.values()):
            raise UnsupportedSchemaError("its body has no property of the record")

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": self._properties,
            "required": self._required,
            "additionalProperties": False,
        }

    def description(self) -> str:
        about = self._call.description
        if self._kind == UPDATE:
            about = f"{about.rstrip('.')}. Properties that are not given stay as they are."
        return about


def _can_be_key(schema: Mapping[str, Any] | None) -> bool:
    return schema is not None and kind_of(schema) in ("string", "integer") and "enum" not in schema


def _is_generated(name: str, key: str, schema: Mapping[str, Any]) -> bool:
    last = snake_case(key).rsplit("_", 1)[-1]
    return last in _GENERATED or schema.get("format") == "uuid" or schema.get("readOnly") is True


def _type_name(schema_name: str) -> str:
    name = snake_case(schema_name.rsplit(".", 1)[-1])
    return _AFFIX.sub("", name) or name


def _noun(path: str) -> str:
    static = [part for part in path.split("/") if part and not part.startswith("{")]
    return (singular(snake_case(static[-1])) if static else "") or "record"
