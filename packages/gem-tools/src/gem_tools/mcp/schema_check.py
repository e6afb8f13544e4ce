"""Whether a value fits a JSON schema, for schemas and values that a server wrote: :func:`mismatch`.

The keywords of a schema may cost more time than there is: a pattern backtracks without end, references branch again at
each level, ``uniqueItems`` compares all pairs. So a check runs here only if the schema has keywords of a list, whose
cost is at most one visit of each value by each part of the schema. Every other check runs in a process that is killed
at a time limit.
"""

from __future__ import annotations

import json
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from gem.errors import ProcessCallError, ProcessCrashError, ProcessTimeoutError

if TYPE_CHECKING:
    from gem_processes.pool import ProcessPool

__all__ = ["is_cheap", "mismatch"]

T = TypeVar("T")

SECONDS = 2.0
"""The time limit of a check in another process."""

_MOST_VISITS = 50_000
"""The largest product of the sizes of a schema and a value for a check here, of less than a tenth of a second."""

_LONGEST = 300
"""The number of characters of a sentence."""

_ONE_SCHEMA = ("items", "additionalProperties", "not")
_SCHEMAS_BY_NAME = ("properties",)
_SCHEMAS = ("anyOf", "oneOf", "allOf")
_VALUES = ("enum", "const", "required")
_LINEAR = frozenset((
    *_ONE_SCHEMA, *_SCHEMAS_BY_NAME, *_SCHEMAS, *_VALUES, "type", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
    "$schema", "$defs", "definitions", "$ref", "$comment", "title", "description", "default", "examples", "format",
    "deprecated", "readOnly", "writeOnly", "enumNames",
))  # fmt: skip
"""Keywords of JSON Schema 2020-12 that cost no more than a visit each; ``format`` is an annotation."""

_lock = threading.Lock()
_pool: ProcessPool | None = None


def mismatch(schema: Any, value: Any) -> str | None:
    """Return a sentence on why a value does not fit a schema; None if it fits.

    A schema that is invalid, refers to others that are not part of it, or costs more than two seconds, fits nothing.
    May wait for another process: see :func:`is_cheap`.
    """
    if is_cheap(schema, value):
        return first_mismatch(schema, value)
    try:
        found: str | None = _processes()(schema, value)
    except ProcessTimeoutError:
        return f"the check against its schema takes more than {SECONDS:g} seconds"
    except (ProcessCrashError, ProcessCallError) as error:
        return f"the check against its schema fails: {error}"[:_LONGEST]
    return found


def is_cheap(schema: Any, value: Any) -> bool:
    """Return whether a check is so short that it may run in any thread."""
    try:
        return (_size(schema) + _Parts(schema).size(schema)) * _size(value) <= _MOST_VISITS
    except (_UnknownCostError, RecursionError):
        return False


def first_mismatch(schema: Any, value: Any) -> str | None:
    """Return what :func:`mismatch` returns, however long it takes."""
    from jsonschema.exceptions import SchemaError, best_match
    from referencing.exceptions import Unresolvable

    try:
        error = best_match(_validator(json.dumps(schema)).iter_errors(value))
    except SchemaError as problem:
        return f"its schema is invalid: {problem.message}"[:_LONGEST]
    except Unresolvable as problem:
        return f"its schema refers to what it does not have: {problem}"[:_LONGEST]
    except RecursionError:
        return "its schema or its value is nested too deeply"
    except Exception as problem:  # a pattern that is none, a number beyond all bounds: whatever the library raises
        return f"its schema cannot be used: {type(problem).__name__}: {problem}"[:_LONGEST]
    if error is None:
        return None
    place = "".join(f"[{part!r}]" for part in error.absolute_path)
    return (f"at {place}: {error.message}" if place else str(error.message))[:_LONGEST]


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    """Return the validator of a schema, whose check costs far more than that of a value."""
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    content = json.loads(schema)
    kind: Any = validator_for(content, default=Draft202012Validator)
    kind.check_schema(content)
    # An empty registry: references are resolved within the schema, and nothing is fetched.
    return kind(content, registry=Registry())


class _UnknownCostError(Exception):
    """A schema has a keyword outside the list, or refers to itself."""


class _Parts:
    """The size of a schema, in which each reference counts as what it refers to."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._known: dict[str, int] = {}
        self._open: set[str] = set()

    def size(self, schema: Any) -> int:
        """Return an upper bound of the parts of a schema that visit one value.

        Raises:
            _UnknownCostError: if there is none.
        """
        if isinstance(schema, bool):
            return 1
        if not isinstance(schema, dict) or not _LINEAR.issuperset(schema):
            raise _UnknownCostError
        size = 1 + sum(_size(schema[key]) for key in _VALUES if key in schema)
        size += sum(self.size(schema[key]) for key in _ONE_SCHEMA if key in schema)
        for key in _SCHEMAS_BY_NAME:
            size += sum(map(self.size, _checked(schema.get(key, {}), dict).values()))
        for key in _SCHEMAS:
            size += sum(map(self.size, _checked(schema.get(key, []), list)))
        if "$ref" in schema:
            size += self._referred(schema["$ref"])
        return size

    def _referred(self, reference: Any) -> int:
        if not isinstance(reference, str) or reference in self._open:
            raise _UnknownCostError
        if reference not in self._known:
            group = self._root.get("$defs")
            name = reference.removeprefix("#/$defs/")
            if name == reference or not isinstance(group, dict) or name not in group:
                raise _UnknownCostError
            self._open.add(reference)
            self._known[reference] = self.size(group[name])
            self._open.discard(reference)
        return self._known[reference]


def _checked(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise _UnknownCostError
    return value


def _size(value: Any) -> int:
    """Return the number of values in a JSON value; a text counts by its length.

    Raises:
        _UnknownCostError: if there are more than any check here may visit.
    """
    count, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        count += 1
        if isinstance(item, dict):
            count += len(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, str):
            count += len(item) // 1000
        if count > _MOST_VISITS:
            raise _UnknownCostError
    return count


def _processes() -> ProcessPool:
    global _pool
    with _lock:
        if _pool is None:
            from gem_processes.pool import ProcessPool

            _pool = ProcessPool(
                f"{__name__}:first_mismatch", seconds=SECONDS, memory=1 << 30, workers=2, warm_up=f"{__name__}:warm_up"
            )
        return _pool


def warm_up() -> None:
    """Load what checks need."""
    first_mismatch({"type": "object", "properties": {"a": {"pattern": "b"}}}, {"a": "b"})
