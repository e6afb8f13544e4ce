"""The OpenAPI 3.1 document of the HTTP routes, made from the table of routes."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any

from gem_server.http_routes import ROUTES, HttpRoute

__all__ = ["document"]

_ANY: dict[str, Any] = {}
_STRING = {"type": "string"}
_INTEGER = {"type": "integer", "minimum": 0}
_NUMBER = {"type": "number"}
_FLAG = {"type": "boolean"}
_OBJECT = {"type": "object"}
_STEP_ID = {
    "type": "integer",
    "minimum": 1,
    "description": "One more than the last; a call with the last id runs nothing and is answered with the same result.",
}


def _record(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_OBSERVATION = {"description": "A text, or a list of content parts with pictures.", "type": ["string", "array"]}
SCHEMAS: dict[str, dict[str, Any]] = {
    "Error": _record({"error": _record({"kind": _STRING, "message": _STRING})}),
    "Health": _record({"status": _STRING}),
    "Object": _OBJECT,
    "Ticket": _record({"ticket": _STRING, "seconds": _NUMBER}),
    "Environments": _record({"environments": _list({"type": "object", "required": ["id", "description", "turns"]})}),
    "Open": _record(
        {"env": _STRING},
        seed=_INTEGER,
        autoreset={"enum": ["disabled", "same_step", "next_step"]},
        arguments=_OBJECT,
        wrappers=_list(_STRING),
        step_timeout=_NUMBER,
    ),
    "Opened": _record({"session": _STRING, "env": _STRING, "follows_order": _FLAG}),
    "SessionInfo": _record({"env": _STRING, "step_id": {"type": "integer"}, "busy": _FLAG, "steps": _INTEGER}),
    "Reset": _record({}, seed={"type": ["integer", "null"], "minimum": 0}, options=_OBJECT, step_id=_STEP_ID),
    "Step": _record({"action": _ANY}, step_id=_STEP_ID),
    "Turn": _record(
        {
            "observation": _OBSERVATION,
            "reward": _NUMBER,
            "terminated": _FLAG,
            "truncated": _FLAG,
            "info": _OBJECT,
            "step_id": _STEP_ID,
        }
    ),
    "Sampled": _record({"action": _ANY}),
    "State": _record({"state": _OBJECT}),
    "Closed": _record({"ok": _FLAG}),
}


def document() -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "GEM environment server",
            "version": version("gem-server"),
            "description": "Environments as sessions. For many steps a second use the WebSocket at /v1/socket.",
        },
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: HttpRoute) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.handler,
        "summary": route.summary,
        "responses": {
            str(route.status): {"description": "Done.", "content": _content(route.answer)},
            "default": {"description": "Refused, or failed.", "content": _content("Error")},
        },
    }
    if route.handler == "ready":
        operation["responses"]["503"] = {"description": "Not ready.", "content": _content("Health")}
    names = re.findall(r"\{(\w+)\}", route.path)
    if names:
        operation["parameters"] = [{"name": name, "in": "path", "required": True, "schema": _STRING} for name in names]
    if route.body is not None:
        operation["requestBody"] = {"content": _content(route.body)}
    if route.needs_token:
        operation["security"] = [{"bearer": []}]
    return operation


def _content(schema: str) -> dict[str, Any]:
    if schema == "text":
        return {"text/plain": {"schema": _STRING}}
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
