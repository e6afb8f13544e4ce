"""Lists of tools as specifications of a simulated service.

A list is what chat APIs or MCP servers take and give: ``[{"type": "function", "function": {…}}, …]``, or
``{"tools": [{"name": …, "description": …, "inputSchema": {…}}, …]}``. The name of a tool says what it does:
``create_order``, ``get_order``, ``list_orders``, ``update_order``, ``delete_order``, and synonyms of the verbs. Where a
name does not say it, the tool has an ``effect``, and ``resources`` may describe the records::

    {"resources": {"order": {"key": "order_id", "properties": {"status": {"enum": ["open", "cancelled"]}}}},
     "tools": [{"name": "cancel_order", "parameters": {…},
                "effect": {"update": "order", "set": {"status": "cancelled"}, "where": {"status": "open"}}}]}

The list then becomes calls like those of an OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gem_envs_desk.synthesis.errors import DescriptionError, UnsupportedSchemaError
from gem_envs_desk.synthesis.openapi_calls import HttpCall, PathParameter, singular, snake_case
from gem_envs_desk.synthesis.resources import Resources
from gem_envs_desk.synthesis.schemas import SchemaReader, kind_of
from gem_envs_desk.synthesis.store_spec import CREATE, DELETE, KINDS, LIST, READ, UPDATE, StoreOperation, StoreSpec

__all__ = ["is_tool_list", "spec_of_tools"]

_VERBS = {
    CREATE: ["create", "add", "new", "make", "insert", "register", "open", "book", "place", "post", "submit", "record"],
    READ: ["get", "read", "show", "fetch", "retrieve", "view", "describe", "inspect"],
    LIST: ["list", "search", "find", "query", "browse", "filter", "all"],
    UPDATE: ["update", "edit", "set", "change", "modify", "patch", "replace", "alter"],
    DELETE: ["delete", "remove", "destroy", "erase", "drop"],
}
_KIND_OF_VERB = {verb: kind for kind, verbs in _VERBS.items() for verb in verbs}
_FILLERS = {"a", "an", "the", "all", "by", "id", "details", "detail", "info", "information", "one", "new", "record"}
_METHODS = {CREATE: "post", READ: "get", LIST: "get", UPDATE: "patch", DELETE: "delete"}
_PAGING = ("limit", "per_page", "page_size", "max_results", "offset", "skip", "page")


@dataclass(frozen=True)
class _Tool:
    """A tool whose effect is known."""

    name: str
    description: str
    kind: str
    type: str
    parameters: Mapping[str, Any]
    sets: Mapping[str, Any]
    where: Mapping[str, Any]


def is_tool_list(document: Any) -> bool:
    """Return whether a document has the form of a list of tools."""
    return isinstance(document, list) or (isinstance(document, Mapping) and "tools" in document)


def spec_of_tools(document: Any, source: str) -> StoreSpec:
    """Return the service that a list of tools describes.

    Args:
        document: JSON values.
        source: the name of the document, for messages.

    Raises:
        DescriptionError: if the document is no list of tools, or describes nothing that can be simulated.
    """
    listed = document.get("tools") if isinstance(document, Mapping) else document
    if not isinstance(listed, list) or not listed:
        raise DescriptionError(f"{source} must hold a list of tools, each with a name and a schema of its parameters")
    declared = document.get("resources", {}) if isinstance(document, Mapping) else {}
    if not isinstance(declared, Mapping):
        raise DescriptionError(f"{source}: resources must be an object of record types by name")
    refused: dict[str, str] = {}
    tools: dict[str, _Tool] = {}
    for number, given in enumerate(listed):
        name = _name(given, number, source)
        if name in tools or name in refused:
            raise DescriptionError(f"{source} has two tools with the name {name!r}")
        try:
            tools[name] = _tool(name, given)
        except UnsupportedSchemaError as error:
            refused[name] = str(error)
    types = _types(tools, declared, source)
    operations: dict[str, StoreOperation] = {}
    calls: list[HttpCall] = []
    for tool in tools.values():
        try:
            calls.append(_call(tool, types))
        except UnsupportedSchemaError as error:
            refused[tool.name] = str(error)
    resources = Resources(calls)
    for call in calls:
        try:
            operations[call.name] = resources.operation(call)
        except UnsupportedSchemaError as error:
            refused[call.name] = str(error)
    if not operations:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(refused.items())[:5])
        raise DescriptionError(f"{source} describes no tool that can be simulated; {reasons}")
    title = document.get("title") if isinstance(document, Mapping) else None
    used = resources.linked_types({operation.type for operation in operations.values()})
    return StoreSpec(title if isinstance(title, str) and title.strip() else "Tools", used, operations, refused)


def _name(given: Any, number: int, source: str) -> str:
    function = _function(given)
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str) or not snake_case(name) or len(name) > 64:
        raise DescriptionError(f"{source}: tool {number + 1} needs a name of 1 to 64 characters, got {name!r:.80}")
    return "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in name)


def _function(given: Any) -> Any:
    return given.get("function", given) if isinstance(given, Mapping) else given


def _tool(name: str, given: Any) -> _Tool:
    function = _function(given)
    schema: Any = next(
        (function[key] for key in ("parameters", "inputSchema", "input_schema") if function.get(key) is not None), {}
    )
    parameters = SchemaReader(schema).plain(schema)
    if kind_of(parameters) not in ("object", ""):
        raise UnsupportedSchemaError("the schema of its parameters is no object")
    effect = function.get("effect", given.get("effect"))
    about = function.get("description")
    description = " ".join(about.split())[:300] if isinstance(about, str) else ""
    if effect is None:
        kind, of = _guessed(name, parameters)
        return _Tool(name, description, kind, of, parameters, {}, {})
    kinds = [kind for kind in KINDS if isinstance(effect, Mapping) and kind in effect]
    if len(kinds) != 1 or not isinstance(effect[kinds[0]], str):
        raise UnsupportedSchemaError(f"its effect must have one of {', '.join(KINDS)}, with the name of a resource")
    sets, where = effect.get("set", {}), effect.get("where", {})
    if not isinstance(sets, Mapping) or not isinstance(where, Mapping):
        raise UnsupportedSchemaError("set and where of its effect must be objects of values by property")
    return _Tool(name, description, kinds[0], snake_case(effect[kinds[0]]), parameters, sets, where)


def _guessed(name: str, parameters: Mapping[str, Any]) -> tuple[str, str]:
    """Return what the name of a tool says: the kind of operation, and the type of record."""
    words = snake_case(name).split("_")
    position = next((number for number, word in enumerate(words) if word in _KIND_OF_VERB), None)
    if position is None:
        raise UnsupportedSchemaError("its name does not say what it does; give it an effect")
    kind = _KIND_OF_VERB[words[position]]
    nouns = words[position + 1 :]
    if "by" in nouns:
        nouns = nouns[: nouns.index("by")]
    nouns = [word for word in nouns if word not in _FILLERS] or [
        word for word in words[:position] if word not in _FILLERS
    ]
    if not nouns:
        raise UnsupportedSchemaError("its name does not say which records it works on; give it an effect")
    of = "_".join([*nouns[:-1], singular(nouns[-1])])
    if kind in (READ, LIST):
        kind = READ if _key_parameter(of, None, parameters) in parameters.get("required", []) else LIST
    return kind, of


def _key_parameter(of: str, key: str | None, parameters: Mapping[str, Any]) -> str | None:
    """Return the parameter that names a record of a type."""
    names = {snake_case(name): name for name in parameters.get("properties", {})}
    last = of.rsplit("_", 1)[-1]
    candidates = [*([snake_case(key)] if key else []), f"{of}_id", f"{last}_id", "id", f"{of}_name", of, "uuid", "key"]
    return next((names[one] for one in candidates if one in names), None)


def _types(tools: Mapping[str, _Tool], declared: Mapping[str, Any], source: str) -> dict[str, dict[str, Any]]:
    """Return the schema of each type, with its key under ``x-key``: declared, or what the tools take."""
    types: dict[str, dict[str, Any]] = {}
    for name, given in declared.items():
        if not isinstance(given, Mapping) or not isinstance(given.get("properties"), Mapping):
            raise DescriptionError(f"{source}: the resource {name!r:.80} needs properties, schemas by name")
        if not isinstance(given.get("key", ""), str):
            raise DescriptionError(f"{source}: the key of the resource {name!r:.80} must be the name of a property")
        try:
            types[snake_case(name)] = {**SchemaReader(given).plain(given), "x-key": given.get("key")}
        except UnsupportedSchemaError as error:
            raise DescriptionError(f"{source}: the resource {name!r:.80}: {error}") from error
    for tool in tools.values():
        schema: dict[str, Any] = types.setdefault(
            tool.type, {"type": "object", "properties": {}, "required": [], "x-key": None}
        )
        key = schema.get("x-key") if isinstance(schema.get("x-key"), str) else None
        known = schema["properties"]
        names = {snake_case(name) for name in known}
        if tool.type in {snake_case(name) for name in declared}:
            continue
        chosen = _key_parameter(tool.type, key, tool.parameters) if tool.kind in (READ, UPDATE, DELETE) else None
        for name, inner in tool.parameters.get("properties", {}).items():
            if snake_case(name) not in names and (tool.kind != LIST or snake_case(name) not in _PAGING):
                known[name] = inner
        if chosen is not None:
            schema["x-key"] = chosen
    for name, schema in types.items():
        key = schema.get("x-key")
        if isinstance(key, str) and key not in schema["properties"]:
            schema["properties"] = {key: {"type": "string"}, **schema["properties"]}
        elif key is None:
            found = _key_parameter(name, None, schema)
            if found is None:
                schema["properties"] = {f"{name}_id": {"type": "string"}, **schema["properties"]}
            schema["x-key"] = found or f"{name}_id"
    return types


def _call(tool: _Tool, types: Mapping[str, Mapping[str, Any]]) -> HttpCall:
    """Return the call of an API that does the same."""
    schema = types[tool.type]
    answer = {key: value for key, value in schema.items() if key != "x-key"}
    properties = dict(tool.parameters.get("properties", {}))
    required = [name for name in tool.parameters.get("required", []) if name in properties]
    path = f"/{tool.type}"
    parameters: tuple[PathParameter, ...] = ()
    if tool.kind in (READ, UPDATE, DELETE):
        key = _key_parameter(tool.type, str(schema["x-key"]), tool.parameters)
        if key is None:
            raise UnsupportedSchemaError(f"none of its parameters names a {tool.type.replace('_', ' ')}")
        parameters = (PathParameter(key, path, properties.pop(key)),)
        path = f"{path}/{{{key}}}"
        required = [name for name in required if name != key]
    takes_body = tool.kind in (CREATE, UPDATE)
    body = {"type": "object", "properties": properties, "required": required} if takes_body else None
    if tool.kind in (READ, DELETE) and required:
        raise UnsupportedSchemaError(f"nothing says what its parameter {required[0]!r} does")
    return HttpCall(
        tool.name,
        _METHODS[tool.kind],
        path,
        tool.description,
        parameters,
        properties if tool.kind == LIST else {},
        tuple(required) if tool.kind == LIST else (),
        body,
        tool.type,
        answer,
        tool.type,
        is_list=tool.kind == LIST,
        key=str(schema["x-key"]),
        sets=tool.sets,
        where=tool.where,
    )
