"""From an agent's text to an OpenEnv action, which is an object with the fields of the server's schema."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gem_bridges.errors import BridgeError
from gem_bridges.foreign_env import MalformedActionError, text_of_action

__all__ = ["OpenEnvActions"]

_MCP = "call_tool"  # the type of the action that calls a tool of an environment that has MCP tools
_JSON_TYPES: Mapping[str, tuple[type, ...]] = {"number": (int, float), "boolean": (bool,), "array": (list,)}
_INTEGER = re.compile(r"[+-]?\d{1,18}")


@dataclass(frozen=True)
class OpenEnvActions:
    """The actions of a server.

    An action is a JSON object. Where the schema has one field to fill, the text itself is its value. Where the server
    offers tools (MCP), an assistant message with tool calls is the call of its first tool.
    """

    schema: Mapping[str, Any]
    """The JSON schema of an action; empty if unknown."""
    field: str | None
    """The field that takes the whole text; None if an action must be a JSON object."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """The server's tools: ``name``, ``description``, ``input_schema``."""

    @classmethod
    def of(cls, schema: Any, field: str | None, tools: Any = ()) -> OpenEnvActions:
        """Return the form from the answer to ``GET /schema`` and to ``tools/list``.

        Raises:
            BridgeError: if they are none.
        """
        if not isinstance(schema, dict) or not isinstance(schema.get("properties", {}), dict):
            raise BridgeError(f"the schema of actions is no JSON schema: {schema!r:.300}")
        if not isinstance(tools, (list, tuple)) or not all(isinstance(tool, dict) for tool in tools):
            raise BridgeError(f"the list of tools is no list of objects: {tools!r:.300}")
        return cls(schema, field or (None if tools else _only_field(schema)), tuple(tools))

    @property
    def calls_tools(self) -> bool:
        """Whether actions are calls of tools that the server lists."""
        fields = _fields(self.schema)
        return bool(self.schema) and (not fields or {"tool_name", "arguments"} <= fields.keys())

    def parse(self, action: object) -> dict[str, Any]:
        """Return the fields of an action.

        Raises:
            MalformedActionError: with the form of actions.
        """
        if isinstance(action, Mapping) and action.get("tool_calls"):
            return self._called(action["tool_calls"])
        text = text_of_action(action)
        stripped = text.strip()
        if stripped.startswith("{"):
            try:
                fields = json.loads(stripped)
            except (ValueError, RecursionError):
                fields = None
            if isinstance(fields, dict):
                return fields
        if self.field is None:
            raise MalformedActionError(self.describe())
        return {self.field: self._value(text)}

    def describe(self) -> str:
        """Return what an agent must know to act, in one or more sentences."""
        if self.tools:
            offered = "\n".join(
                f"- {tool.get('name')}: {' '.join(str(tool.get('description', '')).split())} Arguments: "
                f"{json.dumps(_plain(tool.get('input_schema') or tool.get('inputSchema')), ensure_ascii=False)}"
                for tool in self.tools
            )
            example = '{"type": "call_tool", "tool_name": "…", "arguments": {…}}'
            return f"Call a tool with an action such as {example}. The tools are:\n{offered}"
        if self.field is not None:
            return f"Your whole answer is the action: {_described(self.field, self._schema_of(self.field))}."
        fields = {name: _plain(part) for name, part in _fields(self.schema).items()}
        return f"An action is a JSON object with these fields: {json.dumps(fields, ensure_ascii=False)}."

    def sample(self, rng: random.Random) -> str:
        """Return a random action as JSON, drawn from the schema as far as it says what is allowed."""
        if self.tools:
            tool = rng.choice(self.tools)
            arguments = _sampled(tool.get("input_schema") or tool.get("inputSchema") or {}, rng)
            return json.dumps({"type": _MCP, "tool_name": tool.get("name"), "arguments": arguments})
        return json.dumps(_sampled_object({**self.schema, "properties": _fields(self.schema)}, rng, 0))

    def _called(self, calls: Any) -> dict[str, Any]:
        """Return the action that calls the first tool of a message."""
        try:
            function = calls[0]["function"]
            arguments = function["arguments"]
            arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
            if isinstance(function["name"], str) and isinstance(arguments, dict):
                return {"type": _MCP, "tool_name": function["name"], "arguments": arguments}
        except (LookupError, TypeError, ValueError, RecursionError):
            pass
        raise MalformedActionError(
            f"the tool call has no name, or no arguments that are a JSON object. {self.describe()}"
        )

    def _schema_of(self, name: str) -> Mapping[str, Any]:
        schema = self.schema.get("properties", {}).get(name)
        return schema if isinstance(schema, dict) else {}

    def _value(self, text: str) -> Any:
        assert self.field is not None
        kind = self._schema_of(self.field).get("type", "string")
        stripped = text.strip()
        if kind == "string":
            return text
        try:
            if kind == "integer" and _INTEGER.fullmatch(stripped):
                return int(stripped)
            if kind in _JSON_TYPES and isinstance(value := json.loads(stripped), _JSON_TYPES[kind]):
                return value
        except (ValueError, RecursionError):
            pass
        raise MalformedActionError(self.describe())


def _fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are the environment's own: ``metadata`` is in every schema of OpenEnv."""
    fields = schema.get("properties", {})
    return {name: part for name, part in fields.items() if name != "metadata" and isinstance(part, dict)}


def _only_field(schema: Mapping[str, Any]) -> str | None:
    """Return the field that a plain text fills: the only one, or the only one that is required."""
    fields = _fields(schema)
    required = [name for name in schema.get("required", ()) if name in fields]
    candidates = required if len(required) == 1 else list(fields)
    if len(candidates) != 1:
        return None
    return candidates[0] if fields[candidates[0]].get("type") in _SAMPLES else None


def _plain(schema: Any) -> Any:
    """Return the part of a schema that an agent can use, without titles."""
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: _plain(part) for key, part in value.items()} if name == "properties" else value
        for name, value in schema.items()
        if name not in ("title", "additionalProperties")
    }


def _described(name: str, schema: Mapping[str, Any]) -> str:
    said = " ".join(str(schema.get("description", "")).split())
    choices = f", one of {json.dumps(schema['enum'], ensure_ascii=False)}" if "enum" in schema else ""
    kind = schema.get("type", "string")
    return f"{name} ({kind}{choices}){': ' + said.rstrip('.') if said else ''}"


def _sampled(schema: Mapping[str, Any], rng: random.Random, depth: int = 0) -> Any:
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return rng.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    return _SAMPLES.get(str(schema.get("type")), _sampled_null)(schema, rng, depth)


def _sampled_object(schema: Mapping[str, Any], rng: random.Random, depth: int) -> Any:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or depth > 4:
        return {}
    required = schema.get("required", ())
    return {
        name: _sampled(part, rng, depth + 1)
        for name, part in properties.items()
        if isinstance(part, dict) and (name in required or rng.random() < 0.5)
    }


def _sampled_array(schema: Mapping[str, Any], rng: random.Random, depth: int) -> Any:
    items = schema.get("items")
    return [] if not isinstance(items, dict) or depth > 4 else [_sampled(items, rng, depth + 1)]


def _sampled_integer(schema: Mapping[str, Any], rng: random.Random, depth: int) -> Any:
    low = schema.get("minimum", 0)
    high = schema.get("maximum", low + 9 if isinstance(low, int) else 9)
    return rng.randint(low, high) if isinstance(low, int) and isinstance(high, int) and low <= high else 0


def _sampled_number(schema: Mapping[str, Any], rng: random.Random, depth: int) -> Any:
    return rng.random()


def _sampled_boolean(schema: Mapping[str, Any], rng: random.Random, depth: int) -> Any:
    return rng.random() < 0.5


def _sampled_string(schema: Mapping[str, Any], rng: random.Random, depth: int) -> Any:
    return "".join(rng.choice("abcdefghij ") for _ in range(rng.randint(1, 12)))


def _sampled_null(schema: Mapping[str, Any], rng: random.Random, depth: int) -> Any:
    return None


_SAMPLES = {
    "object": _sampled_object,
    "array": _sampled_array,
    "integer": _sampled_integer,
    "number": _sampled_number,
    "boolean": _sampled_boolean,
    "string": _sampled_string,
}
