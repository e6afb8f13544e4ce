"""Gemini's JSON where it differs from other interfaces': the names of fields, and schemas.

The interface is defined in Protocol Buffers, whose JSON takes each field by two names, ``functionCall`` and
``function_call``, and writes 64-bit numbers as texts (https://protobuf.dev/programming-guides/json/). Its ``Schema``
is OpenAPI's, with types in capitals (https://ai.google.dev/api/caching#Schema).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gem_gateway.dialects.fields import unusable

__all__ = ["json_schema", "proto_field"]

_DEEPEST = 64
"""Levels of nested schemas; Gemini itself takes fewer."""

_SAME = ("default", "description", "enum", "format", "maximum", "minimum", "pattern", "required", "title")
_COUNTS = ("maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties")


def proto_field(value: Mapping[str, Any], name: str) -> Any:
    """Return a field by its name in camel case or in snake case; None if it is missing."""
    if name in value:
        return value[name]
    return value.get(re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name))


def json_schema(schema: Any, param: str, depth: int = 0) -> dict[str, Any]:
    """Return a schema of OpenAPI as JSON Schema, which chat completions take.

    Args:
        schema: as a program sent it. Types in small letters, as JSON Schema has them, are taken as well.
        param: where it stands in the request.
        depth: how many schemas it is in.

    Raises:
        ModelCallError: if it is no schema.
    """
    if not isinstance(schema, dict):
        raise unusable(f"{param} must be a schema, that is, an object", param)
    if depth == _DEEPEST:
        raise unusable(f"{param} has more than {_DEEPEST} schemas inside each other", param)
    read: dict[str, Any] = {name: schema[name] for name in _SAME if name in schema}
    kind = schema.get("type")
    if isinstance(kind, str) and kind != "TYPE_UNSPECIFIED":
        read = {"type": kind.lower(), **read}
        if schema.get("nullable") is True:
            read["type"] = [kind.lower(), "null"]
    for name in _COUNTS:
        count = proto_field(schema, name)
        if count is not None:
            read[name] = int(count) if isinstance(count, str) and count.isdecimal() else count
    properties = schema.get("properties")
    if isinstance(properties, dict):
        read["properties"] = {
            name: json_schema(inner, f"{param}.properties", depth + 1) for name, inner in properties.items()
        }
    if schema.get("items") is not None:
        read["items"] = json_schema(schema["items"], f"{param}.items", depth + 1)
    options = proto_field(schema, "anyOf")
    if isinstance(options, list):
        read["anyOf"] = [json_schema(option, f"{param}.anyOf", depth + 1) for option in options]
    further = proto_field(schema, "additionalProperties")
    if further is not None:
        is_schema = isinstance(further, dict)
        read["additionalProperties"] = (
            json_schema(further, f"{param}.additionalProperties", depth + 1) if is_schema else further
        )
    return read
