"""Arguments that a model wrote as texts, converted to the types of a tool's schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gem.tools.json_values import decoded

__all__ = ["typed_arguments"]

_DEEPEST = 8
"""Levels of references and alternatives in a schema that are followed."""
_WORDS = {"True": True, "False": False, "None": None}
_COMMON = {
    "float": "number",
    "double": "number",
    "int": "integer",
    "str": "string",
    "bool": "boolean",
    "dict": "object",
    "list": "array",
}
"""Names that are not JSON schema's, but occur in the schemas of published tools."""
_TYPES: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object"}


def typed_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return arguments with every text read as the type that the schema demands.

    A text stays a text if the schema allows only strings, or if it is not JSON of a type that the schema names; the
    tool then reports the wrong type. Python's ``True``, ``False`` and ``None`` are read like JSON's.

    Args:
        arguments: by name, texts, or objects and lists with texts in them.
        schema: the JSON schema of the arguments, an object.
    """
    root = schema if isinstance(schema, Mapping) else {}
    return _members(arguments, root, root)


def _members(values: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    return {name: _typed(value, known.get(name), root) for name, value in values.items()}


def _typed(text: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    if not isinstance(schema, Mapping):
        return text
    if not isinstance(text, str):
        found = _referenced(schema.get("$ref"), root)
        inner = found if isinstance(found, Mapping) else schema
        if isinstance(text, dict):
            return _members(text, inner, root)
        return [_typed(each, inner.get("items"), root) for each in text] if isinstance(text, list) else text
    word = text.strip()
    if word in _WORDS:
        value: Any = _WORDS[word]
    else:
        try:
            value, end = decoded(word)
        except ValueError:
            return text
        if end < len(word):
            return text
    allowed = set(_allowed(schema, root, _DEEPEST))
    fits = not isinstance(value, str) and (not allowed or bool(_kinds(value) & allowed))
    return value if fits else text


def _kinds(value: Any) -> set[str]:
    """Return the names of JSON schema for the type of a value."""
    if value is None:
        return {"null"}
    if isinstance(value, list):
        return {"array"}
    kind = _TYPES[type(value)]
    whole = kind == "integer" or (kind == "number" and value.is_integer())
    return {"integer", "number"} if whole else {kind}


def _allowed(schema: Any, root: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield the types that a schema names; nothing for a schema without types."""
    if not isinstance(schema, Mapping) or depth == 0:
        return
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if isinstance(kind, str):
            yield _COMMON.get(kind, kind)
    if kinds is None:
        for value in [*_list(schema.get("enum")), *([schema["const"]] if "const" in schema else [])]:
            if value is None or type(value) in (*_TYPES, list):
                yield from _kinds(value)
    for key in ("anyOf", "oneOf", "allOf"):
        for inner in _list(schema.get(key)):
            yield from _allowed(inner, root, depth - 1)
    yield from _allowed(_referenced(schema.get("$ref"), root), root, depth - 1)


def _referenced(reference: Any, root: Mapping[str, Any]) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: Any = root
    for name in reference[2:].split("/"):
        found = found.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
