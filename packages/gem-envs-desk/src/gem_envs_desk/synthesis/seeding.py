"""Initial states of a simulated service: some records of each type, from a generator of random numbers."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

from gem_envs_desk.synthesis.errors import UnsupportedSchemaError
from gem_envs_desk.synthesis.links import creation_order
from gem_envs_desk.synthesis.sampling import is_valid, sample
from gem_envs_desk.synthesis.schemas import is_scalar, kind_of
from gem_envs_desk.synthesis.store_spec import RecordType, StoreSpec

__all__ = ["RECORDS", "argument_value", "seeded_records"]

RECORDS = (6, 10)
"""The smallest and the largest number of records of a type."""

_PRESENT = 0.85
"""The share of optional properties that a record has."""
_TRIES = 50
_NAMED_FORMATS = (("email", "email"), ("url", "uri"), ("website", "uri"), ("uri", "uri"))


def seeded_records(spec: StoreSpec, rng: random.Random) -> dict[str, list[dict[str, Any]]]:
    """Return an initial state of a service: type → records, whose links lead to records of the state.

    Raises:
        UnsupportedSchemaError: if no value was found for a required property.
    """
    state: dict[str, list[dict[str, Any]]] = {}
    for name in creation_order(spec.types):
        kind = spec.types[name]
        records: dict[str, dict[str, Any]] = {}
        wanted = rng.randint(*RECORDS)
        for _ in range(_TRIES):
            record = _record(kind, state, spec, rng)
            records.setdefault(str(record[kind.key]), record)
            if len(records) == wanted:
                break
        state[name] = list(records.values())
    return state


def argument_value(name: str, schema: Mapping[str, Any], rng: random.Random) -> Any:
    """Return a value for a property or an argument, in a form that its name suggests.

    Raises:
        UnsupportedSchemaError: if none was found.
    """
    word = name.lower()
    if kind_of(schema) == "string" and not {"enum", "format", "pattern", "maxLength"} & schema.keys():
        if re.search(r"phone|mobile|fax", word):
            return f"+1-555-{rng.randrange(100, 1000)}-{rng.randrange(1000, 10000)}"
        for part, form in _NAMED_FORMATS:
            if part in word:
                return sample({**schema, "format": form}, rng)
        if re.search(r"(_at|date|At|Date)$", name):
            return sample({**schema, "format": "date"}, rng)
    return sample(schema, rng)


def _record(kind: RecordType, state: Mapping[str, Any], spec: StoreSpec, rng: random.Random) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, schema in kind.properties.items():
        if name == kind.key:
            record[name] = _key(kind, schema, rng)
        elif name in kind.links:
            target = spec.types[kind.links[name]]
            record[name] = rng.choice(state[target.name])[target.key]
        elif name in kind.required or (is_scalar(schema) and rng.random() < _PRESENT):
            try:
                record[name] = argument_value(name, schema, rng)
            except UnsupportedSchemaError:
                if name in kind.required:
                    raise
    return record


def _key(kind: RecordType, schema: Mapping[str, Any], rng: random.Random) -> Any:
    if kind_of(schema) == "integer":
        key: Any = rng.randrange(1000, 10_000)
    elif kind.generated_key and "format" not in schema:
        key = f"{kind.name}_{rng.randrange(16**6):06x}"
    elif "format" not in schema and "pattern" not in schema:
        key = str(sample({"type": "string"}, rng)).lower().replace(" ", "_")
    else:
        key = sample(schema, rng)
    return key if is_valid(schema, key) else sample(schema, rng)
