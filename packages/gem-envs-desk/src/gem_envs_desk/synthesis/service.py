"""A simulated service: the records of one episode, and the operations on them."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gem_envs_desk.domain import RefusedCallError
from gem_envs_desk.synthesis.schemas import kind_of
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
    RecordType,
    StoreOperation,
    StoreSpec,
)

__all__ = ["Record", "SimulatedService", "argument_problem"]

Record = dict[str, Any]

_MOMENT = "2026-01-01T00:00:00Z"
"""The time of every new record; a clock would make two replays differ."""
_INTEGER_KEYS = 9_000_000
_LONGEST_PROBLEM = 300


class SimulatedService:
    """Records in memory, on which the operations of a specification work.

    A new record gets a key that its content determines, so that the order of creations leaves no trace. Links must
    lead to records that exist, and a record to which others link cannot be deleted.

    Args:
        spec: the types and operations.
        state: type → records.
    """

    def __init__(self, spec: StoreSpec, state: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
        self.spec = spec
        self.records: dict[str, dict[str, Record]] = {
            name: {str(record[kind.key]): copy.deepcopy(dict(record)) for record in state.get(name, ())}
            for name, kind in spec.types.items()
        }
        self._carry_out: dict[str, Callable[[StoreOperation, Mapping[str, Any]], Any]] = {
            CREATE: self._create,
            READ: lambda operation, arguments: copy.deepcopy(self._chosen(operation, arguments)),
            UPDATE: self._update,
            DELETE: self._delete,
            LIST: self._list,
        }

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Carry out an operation and return its answer, a JSON value.

        Raises:
            RefusedCallError: if the arguments are invalid, or the records do not allow the call.
        """
        operation = self.spec.operations[name]
        problem = argument_problem(operation, arguments)
        if problem is not None:
            raise RefusedCallError(f"400: {problem}")
        return self._carry_out[operation.kind](operation, arguments)

    def dump(self) -> dict[str, dict[Any, Record]]:
        """Return the whole state: type → key → record."""
        return {name: dict(records) for name, records in copy.deepcopy(self.records).items()}

    def _create(self, operation: StoreOperation, arguments: Mapping[str, Any]) -> Record:
        kind = self.spec.types[operation.type]
        record = {of: arguments[name] for name, of in operation.bound(VALUE) if name in arguments}
        record |= {of: arguments[name] for name, of in operation.bound(MATCH) if name in arguments}
        record = copy.deepcopy({**record, **operation.sets})
        self._check_links(kind, record)
        for name in kind.properties:
            if name not in record and name != kind.key and (filling := _filled_in(kind, name)) is not None:
                record[name] = filling
        if kind.key in record and record[kind.key] is not None:
            if str(record[kind.key]) in self.records[kind.name]:
                raise RefusedCallError(f"409: there is a {kind.noun} with {kind.key} {record[kind.key]!r} already")
        else:
            record[kind.key] = self._new_key(kind, record)
        ordered = {name: record[name] for name in kind.properties if name in record}
        self.records[kind.name][str(record[kind.key])] = ordered
        return copy.deepcopy(ordered)

    def _update(self, operation: StoreOperation, arguments: Mapping[str, Any]) -> Record:
        kind = self.spec.types[operation.type]
        record = self._chosen(operation, arguments)
        changes = {of: arguments[name] for name, of in operation.bound(VALUE) if name in arguments}
        self._check_links(kind, changes)
        record.update(copy.deepcopy({**changes, **operation.sets}))
        return copy.deepcopy(record)

    def _delete(self, operation: StoreOperation, arguments: Mapping[str, Any]) -> Any:
        kind = self.spec.types[operation.type]
        record = self._chosen(operation, arguments)
        key = record[kind.key]
        for other in self.spec.types.values():
            for field, target in other.links.items():
                if target == kind.name and any(
                    one is not record and one.get(field) == key for one in self.records[other.name].values()
                ):
                    raise RefusedCallError(f"409: a {other.noun} still has the {field} {key!r}")
        del self.records[kind.name][str(key)]
        return {"deleted": key}

    def _list(self, operation: StoreOperation, arguments: Mapping[str, Any]) -> Any:
        kind = self.spec.types[operation.type]
        for name, of in operation.bound(MATCH):
            self._check_links(kind, {of: arguments[name]})
        wanted = [
            (of, arguments[name])
            for role in (MATCH, FILTER)
            for name, of in operation.bound(role)
            if arguments.get(name) is not None
        ]
        found = [
            one for one in self.records[kind.name].values() if all(_fits(one.get(of), value) for of, value in wanted)
        ]
        found = [one for one in found if all(one.get(of) == value for of, value in operation.where.items())]
        begin = max(0, next((arguments[name] for name, _ in operation.bound(OFFSET) if name in arguments), 0))
        end = next((begin + max(0, arguments[name]) for name, _ in operation.bound(LIMIT) if name in arguments), None)
        page = copy.deepcopy(found[begin:end])
        return page if operation.envelope is None else {operation.envelope: page}

    def _chosen(self, operation: StoreOperation, arguments: Mapping[str, Any]) -> Record:
        kind = self.spec.types[operation.type]
        ((name, of),) = operation.bound(KEY)
        value = arguments[name]
        records = self.records[kind.name]
        found = records.get(str(value)) if of == kind.key else None
        if of != kind.key:
            fitting = [one for one in records.values() if one.get(of) == value]
            found = fitting[0] if len(fitting) == 1 else None
        matches = all(
            found is not None and found.get(field) == arguments[argument] for argument, field in operation.bound(MATCH)
        )
        if found is None or not matches:
            raise RefusedCallError(f"404: there is no {kind.noun} with {of} {value!r}")
        for field, expected in operation.where.items():
            allowed = expected if isinstance(expected, list) else [expected]
            if found.get(field) not in allowed:
                raise RefusedCallError(
                    f"409: {operation.name} needs {field} {' or '.join(map(repr, allowed))}, and the {kind.noun} has "
                    f"{found.get(field)!r}"
                )
        return found

    def _check_links(self, kind: RecordType, values: Mapping[str, Any]) -> None:
        for field, target in kind.links.items():
            value = values.get(field)
            if value is not None and str(value) not in self.records[target]:
                raise RefusedCallError(f"404: there is no {self.spec.types[target].noun} with the key {value!r}")

    def _new_key(self, kind: RecordType, record: Record) -> Any:
        content = json.dumps([kind.name, record], sort_keys=True, ensure_ascii=True)
        taken = self.records[kind.name]
        for attempt in range(len(taken) + 1):
            digest = hashlib.sha256(f"{attempt} {content}".encode()).hexdigest()
            schema = kind.properties[kind.key]
            key: Any
            if kind_of(schema) in ("integer", "number"):
                key = 1_000_000 + int(digest[:12], 16) % _INTEGER_KEYS
            elif schema.get("format") == "uuid":
                key = f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
            else:
                key = f"{kind.name}_{digest[:8]}"
            if str(key) not in taken:
                return key
        raise AssertionError("one key more than records was tried")


def argument_problem(operation: StoreOperation, arguments: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the arguments of a call, or None."""
    from jsonschema.exceptions import best_match

    error = best_match(operation.validator.iter_errors(dict(arguments)))
    if error is None:
        return None
    place = ".".join(map(str, error.absolute_path))
    return f"{place}: {error.message}"[:_LONGEST_PROBLEM] if place else error.message[:_LONGEST_PROBLEM]


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return value in wanted
    return bool(value == wanted)


def _filled_in(kind: RecordType, name: str) -> Any:
    """Return what the service gives to a property that a creation leaves open; None for nothing."""
    schema = kind.properties[name]
    if "default" in schema:
        return copy.deepcopy(schema["default"])
    if name not in kind.required or name in kind.links:
        return None
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("format") == "date-time":
        return _MOMENT
    if schema.get("format") == "date":
        return _MOMENT[:10]
    return {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}.get(kind_of(schema))
