"""The operations of an OpenAPI document, each with its resolved parameters, body and answer: :class:`HttpCall`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gem_envs_desk.synthesis.errors import UnsupportedSchemaError
from gem_envs_desk.synthesis.schemas import SchemaReader, kind_of

__all__ = ["HttpCall", "PathParameter", "http_calls", "singular", "snake_case"]

_METHODS = ("get", "post", "put", "patch", "delete")
_PARAMETER = re.compile(r"\{([^{}]+)\}")
_LONGEST_NAME = 64
_LONGEST_ABOUT = 300


@dataclass(frozen=True)
class PathParameter:
    """A parameter in a path, with the path before it: ``/users`` for the first of ``/users/{id}/orders``."""

    name: str
    before: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class HttpCall:
    """One operation of a document."""

    name: str
    method: str
    path: str
    description: str
    path_parameters: tuple[PathParameter, ...]
    query: Mapping[str, Mapping[str, Any]]
    required_query: tuple[str, ...]
    body: Mapping[str, Any] | None = None
    """The resolved schema of a JSON body; None without one."""
    body_name: str | None = None
    answer: Mapping[str, Any] | None = None
    """The resolved schema of one record in the answer; None if it holds none."""
    answer_name: str | None = None
    is_list: bool = False
    envelope: str | None = None
    key: str | None = None
    """The property that identifies a record, where a description says it."""
    sets: Mapping[str, Any] = field(default_factory=dict)
    """Fixed values that the call sets."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """Values that the record must have."""

    @property
    def chooses_one(self) -> bool:
        """Whether the path ends with a parameter."""
        return self.path.endswith("}")

    @property
    def collection(self) -> str:
        """The path without a parameter at its end."""
        return self.path_parameters[-1].before if self.chooses_one else self.path


def snake_case(text: str) -> str:
    """Return a name of letters, digits and single underscores: ``findPetsByStatus`` → ``find_pets_by_status``."""
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", text)
    text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", text)
    return re.sub(r"[^a-zA-Z0-9]+", "_", text).strip("_").lower()


def singular(word: str) -> str:
    """Return the singular of an English word in lower case, as far as its ending tells."""
    for ending, single in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("s", "")):
        if word.endswith(ending) and not word.endswith(("ss", "us", "is")) and len(word) > len(ending) + 1:
            return word.removesuffix(ending) + single
    return word


def http_calls(document: Mapping[str, Any]) -> tuple[list[HttpCall], dict[str, str]]:
    """Return the calls of a valid document, and the operations that cannot be read, each with the reason."""
    reader = _CallReader(document)
    calls: list[HttpCall] = []
    refused: dict[str, str] = {}
    taken: set[str] = set()
    for path, method, operation, shared in _operations(document):
        name = _free_name(operation, method, path, taken)
        taken.add(name)
        try:
            calls.append(reader.call(name, method, path, operation, shared))
        except UnsupportedSchemaError as error:
            refused[name] = str(error)
    return calls, refused


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any], list[Any]]]:
    paths = document.get("paths")
    for path, item in (paths if isinstance(paths, Mapping) else {}).items():
        if not isinstance(item, Mapping):
            continue
        shared = item.get("parameters")
        for method in _METHODS:
            operation = item.get(method)
            if isinstance(operation, Mapping):
                yield path, method, operation, shared if isinstance(shared, list) else []


def _free_name(operation: Mapping[str, Any], method: str, path: str, taken: set[str]) -> str:
    given = operation.get("operationId")
    name = snake_case(given) if isinstance(given, str) else ""
    name = (name or snake_case(f"{method} {path}") or method)[:_LONGEST_NAME].strip("_")
    free, number = name, 2
    while free in taken:
        free = f"{name[: _LONGEST_NAME - 4]}_{number}"
        number += 1
    return free


class _CallReader:
    """Reads operations of a document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._schemas = SchemaReader(document)

    def call(self, name: str, method: str, path: str, operation: Mapping[str, Any], shared: list[Any]) -> HttpCall:
        own = operation.get("parameters")
        parameters: dict[tuple[str, str], Mapping[str, Any]] = {}
        for given in [*shared, *(own if isinstance(own, list) else [])]:
            parameter = self._schemas.followed(given)
            if isinstance(parameter, Mapping):
                parameters[str(parameter.get("in")), str(parameter.get("name"))] = parameter
        if any(place == "formData" for place, _ in parameters):
            raise UnsupportedSchemaError("it takes a form, not JSON")
        query, required = self._query(parameters)
        body, body_name = self._body(operation, parameters)
        answer, answer_name, is_list, envelope = self._answer(operation)
        about = operation.get("summary") or operation.get("description") or f"{method.upper()} {path}"
        return HttpCall(
            name,
            method,
            path.rstrip("/") or "/",
            " ".join(str(about).split())[:_LONGEST_ABOUT],
            tuple(self._path_parameters(path, parameters)),
            query,
            required,
            body,
            body_name,
            answer,
            answer_name,
            is_list,
            envelope,
        )

    def _path_parameters(
        self, path: str, parameters: Mapping[tuple[str, str], Mapping[str, Any]]
    ) -> Iterator[PathParameter]:
        for found in _PARAMETER.finditer(path):
            if path[found.start() - 1 : found.start()] != "/" or path[found.end() : found.end() + 1] not in ("", "/"):
                raise UnsupportedSchemaError("a part of its path is only in part a parameter")
            parameter = parameters.get(("path", found[1]))
            schema = self._of_parameter(parameter) if parameter is not None else {"type": "string"}
            yield PathParameter(found[1], path[: found.start()].rstrip("/"), schema)

    def _query(
        self, parameters: Mapping[tuple[str, str], Mapping[str, Any]]
    ) -> tuple[dict[str, Mapping[str, Any]], tuple[str, ...]]:
        query: dict[str, Mapping[str, Any]] = {}
        required: list[str] = []
        for (place, name), parameter in parameters.items():
            if place != "query":
                continue  # headers and cookies are the client's business
            try:
                query[name] = self._of_parameter(parameter)
            except UnsupportedSchemaError:
                if parameter.get("required") is True:
                    raise
                continue
            if parameter.get("required") is True:
                required.append(name)
        return query, tuple(required)

    def _of_parameter(self, parameter: Mapping[str, Any]) -> dict[str, Any]:
        schema = parameter.get("schema")
        if schema is None and "content" in parameter:
            raise UnsupportedSchemaError(f"the parameter {str(parameter.get('name'))[:40]!r} is serialized in a format")
        if schema is None:  # version 2 writes the keywords of the schema into the parameter
            schema = {key: value for key, value in parameter.items() if key not in ("name", "in", "required")}
        plain = self._schemas.plain(schema)
        about = parameter.get("description")
        return {**plain, "description": about} if isinstance(about, str) else plain

    def _body(
        self, operation: Mapping[str, Any], parameters: Mapping[tuple[str, str], Mapping[str, Any]]
    ) -> tuple[dict[str, Any] | None, str | None]:
        schema = next((one.get("schema") for (place, _), one in parameters.items() if place == "body"), None)
        if schema is None and "requestBody" in operation:
            body = self._schemas.followed(operation["requestBody"])
            content = body.get("content") if isinstance(body, Mapping) else None
            schema = _json_schema(content)
            if schema is None:
                if isinstance(content, Mapping) and content:
                    raise UnsupportedSchemaError(f"its body is {', '.join(map(str, content))[:60]}, not JSON")
                return None, None
        if schema is None:
            return None, None
        plain = self._schemas.plain(schema)
        if kind_of(plain) != "object":
            raise UnsupportedSchemaError(f"its body is {kind_of(plain) or 'no'} JSON, not an object")
        wrapped = _wrapped(plain)
        if wrapped is not None:
            return plain["properties"][wrapped], self._schemas.name_of(self._raw_property(schema, wrapped))
        return plain, self._schemas.name_of(schema)

    def _answer(self, operation: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str | None, bool, str | None]:
        """Return the schema of a record in the answer, its name, whether it is in a list, and in which property."""
        schema = self._answer_schema(operation)
        if schema is None:
            return None, None, False, None
        try:
            resolved = self._schemas.followed(schema)
            plain = self._schemas.plain(schema)
        except UnsupportedSchemaError:
            return None, None, False, None
        kind = kind_of(plain)
        if kind == "array":
            items = resolved.get("items") if isinstance(resolved, Mapping) else None
            if kind_of(plain.get("items", {})) == "object":
                return plain["items"], self._schemas.name_of(items), True, None
            return None, None, True, None
        if kind != "object":
            return None, None, False, None
        lists = [
            name
            for name, inner in plain.get("properties", {}).items()
            if kind_of(inner) == "array" and kind_of(inner.get("items", {})) == "object"
        ]
        others = [name for name, inner in plain.get("properties", {}).items() if name not in lists]
        if len(lists) == 1 and all(_is_paging(name) for name in others):
            inner = self._schemas.followed(self._raw_property(resolved, lists[0]))
            name = self._schemas.name_of(inner.get("items")) if isinstance(inner, Mapping) else None
            return plain["properties"][lists[0]]["items"], name, True, lists[0]
        wrapped = _wrapped(plain)
        if wrapped is not None:
            return (
                plain["properties"][wrapped],
                self._schemas.name_of(self._raw_property(resolved, wrapped)),
                False,
                None,
            )
        return plain, self._schemas.name_of(schema), False, None

    def _raw_property(self, schema: Any, name: str) -> Any:
        """Return the unresolved schema of a property, also of one that ``allOf`` adds."""
        schema = self._schemas.followed(schema)
        if not isinstance(schema, Mapping):
            return None
        members = schema.get("allOf")
        for one in [schema, *(members if isinstance(members, list) else [])]:
            one = self._schemas.followed(one)
            properties = one.get("properties") if isinstance(one, Mapping) else None
            if isinstance(properties, Mapping) and name in properties:
                return properties[name]
        return None

    def _answer_schema(self, operation: Mapping[str, Any]) -> Any:
        responses = operation.get("responses")
        for code, given in (responses if isinstance(responses, Mapping) else {}).items():
            if not str(code).startswith("2"):
                continue
            response = self._schemas.followed(given)
            if isinstance(response, Mapping):
                schema = response.get("schema") or _json_schema(response.get("content"))
                if schema is not None:
                    return schema
        return None


_PAGING = re.compile(
    r"(?i)^_?(links?|meta|metadata|total|count|size|page|pages|per_?page|page_?size|limit|offset|next|prev\w*|cursor|has_?more|object|total\w*|\w+count|next\w*|pagination)$"
)


def _wrapped(plain: Mapping[str, Any]) -> str | None:
    """Return the property that holds the whole record, as in ``{"article": {…}}``; None if there is none."""
    names = [name for name in plain.get("properties", {}) if not _is_paging(name)]
    if len(names) != 1:
        return None
    inner = plain["properties"][names[0]]
    return names[0] if kind_of(inner) == "object" and inner.get("properties") else None


def _is_paging(name: str) -> bool:
    return _PAGING.match(name) is not None


def _json_schema(content: Any) -> Any:
    """Return the schema of a content in JSON; None if there is none."""
    for media, described in (content if isinstance(content, Mapping) else {}).items():
        kind = str(media).partition(";")[0].strip().lower()
        if (kind == "*/*" or kind == "application/json" or kind.endswith("+json")) and isinstance(described, Mapping):
            return described.get("schema")
    return None
