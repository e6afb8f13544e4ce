"""The OpenAPI document: what a client that is made from it relies on."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from gem_server.http_routes import ROUTES
from gem_server.openapi import document

DOCUMENT = document()
TURN = {"observation": "x", "reward": 0.0, "terminated": False, "truncated": False, "info": {}, "step_id": 1}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_an_operation_says_what_its_route_does(route: Any) -> None:
    """Its status, its answer and its body by name, its parameters, whether it needs the token, and 503 if it may be."""
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    answers = {str(route.status), "default"} | ({"503"} if route.handler == "ready" else set())
    assert operation["responses"].keys() == answers
    assert operation.get("security", []) == ([{"bearer": []}] if route.needs_token else [])
    assert [one["name"] for one in operation.get("parameters", [])] == (
        ["session"] if "{session}" in route.path else []
    )
    assert ("requestBody" in operation) == (route.body is not None)
    for part, name in (
        (operation["responses"][str(route.status)], route.answer),
        (operation.get("requestBody"), route.body),
    ):
        if name not in (None, "text"):
            assert part["content"]["application/json"]["schema"] == {"$ref": f"#/components/schemas/{name}"}


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ("Open", {"env": "game:Sudoku-v0"}, True),
        ("Open", {"env": "game:Sudoku-v0", "seed": 0, "autoreset": "same_step"}, True),
        ("Open", {"seed": 1}, False),
        ("Open", {"env": "game:Sudoku-v0", "seed": -1}, False),
        ("Open", {"env": "game:Sudoku-v0", "autoreset": "often"}, False),
        ("Open", {"env": "game:Sudoku-v0", "misspelt": 1}, False),
        ("Reset", {}, True),
        ("Reset", {"seed": None}, True),
        ("Reset", {"seed": -1}, False),
        ("Step", {"action": None, "step_id": 1}, True),
        ("Step", {"step_id": 1}, False),
        ("Step", {"action": "x", "step_id": 0}, False),
        ("Turn", TURN, True),
        ("Turn", {**TURN, "reward": None}, False),
        ("Turn", {**TURN, "terminated": 1}, False),
        ("Turn", {name: value for name, value in TURN.items() if name != "truncated"}, False),
        ("State", {}, False),
        ("Error", {"error": {"kind": "ArgumentError"}}, False),
    ],
)
def test_a_schema_takes_what_the_server_takes(schema: str, value: Any, fits: bool) -> None:
    """No field of another name, none missing, no number below its least."""
    reference = {"$ref": f"#/components/schemas/{schema}", "components": DOCUMENT["components"]}
    assert jsonschema.Draft202012Validator(reference).is_valid(value) is fits
