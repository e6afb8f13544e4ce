"""JSON schemas of descriptions, resolved into the plain part of JSON schema that the store simulates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_envs_desk.synthesis.errors import UnsupportedSchemaError

__all__ = ["SCALARS", "SchemaReader", "is_scalar", "kind_of"]

SCALARS = ("string", "integer", "number", "boolean")

_KEPT = (
    "enum", "const", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
    "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "default", "description", "readOnly", "writeOnly",
)  # fmt: skip
_DEEPEST = 12


def kind_of(schema: Mapping[str, Any]) -> str:
    """Return the type of a resolved schema, ``""`` for one without a type; null does not count."""
    kind = schema.get("type")
    if isinstance(kind, list):
        return next((str(one) for one in kind if one != "null"), "")
    if isinstance(kind, str):
        return kind
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return "string" if values and all(isinstance(value, str) for value in values) else ""


def is_scalar(schema: Mapping[str, Any]) -> bool:
    """Return whether the values of a resolved schema are texts, numbers or truth values."""
    return kind_of(schema) in SCALARS


class SchemaReader:
    """Resolves the schemas of one document.

    Args:
        document: the document, in which references such as ``#/components/schemas/Pet`` are looked up.
    """

    def __init__(self, document: Any) -> None:
        self._document = document

    def name_of(self, schema: Any) -> str | None:
        """Return the last part of the reference that a schema is, through ``allOf`` with a single member."""
        for _ in range(_DEEPEST):
            if not isinstance(schema, Mapping):
                return None
            reference = schema.get("$ref")
            if isinstance(reference, str):
                return reference.rsplit("/", 1)[-1] or None
            members = schema.get("allOf")
            if not (isinstance(members, list) and len(members) == 1) or "properties" in schema:
                return None
            schema = members[0]
        return None

    def at(self, reference: str) -> Any:
        """Return the value at a reference within the document.

        Raises:
            UnsupportedSchemaError: if it is not there.
        """
        if not reference.startswith("#"):
            raise UnsupportedSchemaError(f"the reference {reference[:80]!r} leads out of the document")
        found = self._document
        for part in reference[1:].split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and part in found:
                found = found[part]
            elif isinstance(found, list) and part.isascii() and part.isdigit() and int(part) < len(found):
                found = found[int(part)]
            else:
                raise UnsupportedSchemaError(f"the reference {reference[:80]!r} leads nowhere")
        return found

    def followed(self, value: Any) -> Any:
        """Return a value of the document, or the one that it refers to."""
        for _ in range(_DEEPEST):
            if not (isinstance(value, Mapping) and isinstance(value.get("$ref"), str)):
                return value
            value = self.at(value["$ref"])
        raise UnsupportedSchemaError("references lead in a circle")

    def plain(self, schema: Any, above: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return a schema without references and combinations.

        An optional property whose schema is unsupported is left out.

        Args:
            schema: a schema of the document.
            above: the references on the way to it, which may not come again.

        Raises:
            UnsupportedSchemaError: if it is no schema, recursive, or has alternatives.
        """
        if schema is True:
            schema = {}
        if not isinstance(schema, Mapping):
            raise UnsupportedSchemaError("a schema is not an object")
        if len(above) > _DEEPEST:
            raise UnsupportedSchemaError("a schema is nested too deeply")
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference in above:
                raise UnsupportedSchemaError(f"the schema {reference.rsplit('/', 1)[-1]!r} contains itself")
            found = self.plain(self.at(reference), (*above, reference))
            # OpenAPI 3.1 allows a description and other keywords beside a reference.
            beside = self._own_keywords(schema)
            return {**found, **beside}
        result = self._own_keywords(schema)
        for member in _list(schema.get("allOf")):
            _merge(result, self.plain(member, (*above, "allOf")))
        alternatives = _list(schema.get("oneOf")) or _list(schema.get("anyOf"))
        if alternatives:
            real = [one for one in alternatives if not (isinstance(one, Mapping) and one.get("type") == "null")]
            if len(real) != 1:
                raise UnsupportedSchemaError("a schema has alternatives (oneOf or anyOf)")
            _merge(result, self.plain(real[0], (*above, "anyOf")))
        for unsupported in ("not", "if", "patternProperties", "prefixItems", "discriminator"):
            if unsupported in schema:
                raise UnsupportedSchemaError(f"a schema uses {unsupported!r}")
        self._add_members(result, schema, above)
        return _checked(result)

    def _own_keywords(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        result = {key: schema[key] for key in _KEPT if key in schema}
        kind = schema.get("type")
        kinds = [one for one in kind if isinstance(one, str)] if isinstance(kind, list) else [kind]
        named = [one for one in kinds if isinstance(one, str) and one != "null"]
        if len(named) > 1:
            raise UnsupportedSchemaError(f"a schema has several types ({', '.join(named)})")
        if named:
            result["type"] = named[0]
        # OpenAPI 3.0 writes exclusive limits as truth values beside the limit.
        for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if result.get(exclusive) is True and limit in result:
                result[exclusive] = result.pop(limit)
            elif isinstance(result.get(exclusive), bool):
                del result[exclusive]
        if "const" in result and "enum" not in result:
            result["enum"] = [result.pop("const")]
        return result

    def _add_members(self, result: dict[str, Any], schema: Mapping[str, Any], above: tuple[str, ...]) -> None:
        if "items" in schema:
            result["items"] = self.plain(schema["items"], (*above, "items"))
            result.setdefault("type", "array")
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            required = [one for one in _list(schema.get("required")) if isinstance(one, str)]
            known: dict[str, Any] = {}
            for name, inner in properties.items():
                try:
                    known[name] = self.plain(inner, (*above, f".{name}"))
                except UnsupportedSchemaError:
                    if name in required:
                        raise
            _merge(result, {"type": "object", "properties": known, "required": [r for r in required if r in known]})


def _merge(result: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        if key == "properties" and isinstance(result.get(key), dict):
            result[key] = {**result[key], **value}
        elif key == "required" and isinstance(result.get(key), list):
            result[key] = list(dict.fromkeys([*result[key], *value]))
        elif key in ("description", "default"):
            result.setdefault(key, value)
        else:
            result[key] = value


_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")


def _checked(schema: dict[str, Any]) -> dict[str, Any]:
    """Raise for keywords of wrong types, on which sampling and validation would fail later."""
    kind = schema.get("type")
    if kind is not None and kind not in (*SCALARS, "array", "object"):
        raise UnsupportedSchemaError(f"a schema has the type {str(kind)[:40]!r}")
    for key in (*_NUMBERS, *_COUNTS):
        value = schema.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise UnsupportedSchemaError(f"{key} is no number")
    for key in _COUNTS:
        if key in schema and (schema[key] < 0 or schema[key] != int(schema[key])):
            raise UnsupportedSchemaError(f"{key} is no count")
    if schema.get("multipleOf", 1) <= 0:
        raise UnsupportedSchemaError("multipleOf is not positive")
    if "enum" in schema and not (isinstance(schema["enum"], list) and schema["enum"]):
        raise UnsupportedSchemaError("an enum has no values")
    for key in ("format", "pattern", "description"):
        if key in schema and not isinstance(schema[key], str):
            raise UnsupportedSchemaError(f"{key} is no text")
    return schema


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
