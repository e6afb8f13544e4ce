"""Descriptions for the tests: a library as an OpenAPI document, and bicycles as a list of tools."""

from __future__ import annotations

from functools import cache
from typing import Any

from gem_envs_desk.synthesis.openapi import spec_of_openapi
from gem_envs_desk.synthesis.store_spec import StoreSpec


@cache
def library_spec() -> StoreSpec:
    """Return the library as a service, read when a test asks for it: what the reader imports takes two seconds."""
    return spec_of_openapi(library(), "library.json")


def library() -> dict[str, Any]:
    """Return a document with a type in a path of its own, one below another, and operations to refuse."""
    book = {
        "type": "object",
        "required": ["id", "title"],
        "properties": {
            "id": {"type": "integer", "readOnly": True},
            "title": {"type": "string"},
            "pages": {"type": "integer", "minimum": 10, "maximum": 900},
            "genre": {"type": "string", "enum": ["crime", "poetry", "travel"]},
            "shelf": {"$ref": "#/components/schemas/Shelf"},
        },
    }
    loan = {
        "type": "object",
        "required": ["loanId", "reader", "book_id"],
        "properties": {
            "loanId": {"type": "string", "format": "uuid"},
            "reader": {"type": "string"},
            "book_id": {"type": "integer"},
            "days": {"type": ["integer", "null"], "minimum": 1, "maximum": 60},
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Town Library API", "version": "1"},
        "paths": {
            "/books": {
                "get": _operation(
                    "listBooks",
                    {"type": "object", "properties": {"books": _array("Book"), "total": {"type": "integer"}}},
                    parameters=[_query("genre", {"type": "string"}), _query("limit", {"type": "integer"})],
                ),
                "post": _operation("addBook", _ref("Book"), body=_ref("Book")),
            },
            "/books/{bookId}": {
                "parameters": [_path("bookId", {"type": "integer"})],
                "get": _operation("getBook", _ref("Book")),
                "patch": _operation("changeBook", _ref("Book"), body=_ref("Book")),
                "delete": _operation("deleteBook", None),
            },
            "/books/{bookId}/burn": {
                "parameters": [_path("bookId", {"type": "integer"})],
                "post": _operation("burnBook", None),
            },
            "/loans": {
                "get": _operation("listLoans", _array("Loan")),
                "post": _operation("lend", _ref("Loan"), body=_ref("Loan")),
            },
            "/loans/{loanId}": {
                "parameters": [_path("loanId", {"type": "string"})],
                "get": _operation("getLoan", _ref("Loan")),
                "delete": _operation("returnBook", None),
            },
            "/statistics": {"get": _operation("statistics", {"type": "integer"})},
        },
        "components": {
            "schemas": {
                "Book": book,
                "Loan": loan,
                "Shelf": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Shelf"}}},
            }
        },
    }


def bicycles() -> dict[str, Any]:
    """Return tools whose names say what they do, two with effects, and one to refuse."""
    days = {"type": "integer", "minimum": 1, "maximum": 30}
    bike = {"bike_id": {"type": "string"}}
    booking = {"booking_id": {"type": "string"}}
    return {
        "title": "Bike rental",
        "resources": {
            "booking": {
                "key": "booking_id",
                "properties": {
                    **booking,
                    **bike,
                    "rider": {"type": "string"},
                    "days": days,
                    "status": {"enum": ["open", "cancelled"]},
                },
                "required": ["bike_id", "rider", "days", "status"],
            }
        },
        "tools": [
            _tool("add_bike", {"model": {"type": "string"}, "gears": days}, ["model"]),
            _tool("get_bike", bike, ["bike_id"]),
            {"type": "function", "function": _tool("list_bikes", {"model": {"type": "string"}}, [])},
            _tool("search_bookings", {"rider": {"type": "string"}, **bike}, []),
            {
                **_tool("book_bike", {**bike, "rider": {"type": "string"}, "days": days}, ["bike_id", "rider", "days"]),
                "effect": {"create": "booking", "set": {"status": "open"}},
            },
            {
                **_tool("cancel_booking", booking, ["booking_id"]),
                "effect": {"update": "booking", "set": {"status": "cancelled"}, "where": {"status": "open"}},
            },
            _tool("polish_bike", bike, ["bike_id"]),
        ],
    }


def _tool(name: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": f"{name}.", "parameters": schema}


def _operation(name: str, answer: Any, **rest: Any) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": name, "responses": {"200": {"description": "fine"}}}
    if answer is not None:
        operation["responses"]["200"]["content"] = {"application/json": {"schema": answer}}
    if "body" in rest:
        body = rest.pop("body")
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return {**operation, **rest}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _array(name: str) -> dict[str, Any]:
    return {"type": "array", "items": _ref(name)}


def _query(name: str, schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema}


def _path(name: str, schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}
