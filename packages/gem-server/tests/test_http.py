"""The HTTP routes, their OpenAPI document, metrics, tokens; and clients that are not ours."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import gem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import RunningServer

pytestmark = pytest.mark.xdist_group("environment server http")

TOKEN = "a-token-of-the-tests-1234"
OTHER = "another-token-of-the-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def guarded(serve: Any, faulty_specs: dict[str, str]) -> Iterator[RunningServer]:
    """A server with two tokens and tight limits."""
    with serve(
        "faulty", "game:Sudoku-v0", "--workers", "1", "--token", TOKEN, "--token", OTHER, "--max-message", "32768",
        "--max-action", "1000", "--max-sessions", "5", "--max-steps", "50", **faulty_specs
    ) as started:  # fmt: skip
        yield started


def ask(
    server: RunningServer, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    """Make a request; return status and JSON."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    try:
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection.request(method, path, sent, BEARER if headers is None else headers)
        response = connection.getresponse()
        text = response.read().decode()
        return response.status, json.loads(text) if response.headers["Content-Type"] == "application/json" else text
    finally:
        connection.close()


def test_an_episode_over_http_is_that_of_this_process(guarded: RunningServer) -> None:
    """open, reset, step, sample, state and close as JSON; a repeated step id runs nothing."""
    status, opened = ask(guarded, "POST", "/v1/sessions", {"env": "game:Sudoku-v0"})
    assert status == 201
    path = f"/v1/sessions/{opened['session']}"
    with gem.make("game:Sudoku-v0") as here:
        observation, info = here.reset(seed=7)
        _, turn = ask(guarded, "POST", f"{path}/reset", {"seed": 7, "step_id": 1})
        assert (turn["observation"], turn["info"]) == (observation, info)
        result = here.step("\\boxed{1 1 1}")
        first = ask(guarded, "POST", f"{path}/step", {"action": "\\boxed{1 1 1}", "step_id": 2})
        assert list(first[1].values())[:5] == list(result)
        assert ask(guarded, "POST", f"{path}/step", {"action": "ignored", "step_id": 2}) == first
        assert ask(guarded, "POST", f"{path}/step", {"action": "x", "step_id": 9})[0] == 409
        state = ask(guarded, "GET", f"{path}/state")[1]
        assert state == {"state": here.get_state()}
        assert ask(guarded, "PUT", f"{path}/state", state) == (200, {"ok": True})
        assert isinstance(ask(guarded, "POST", f"{path}/sample")[1]["action"], str)
    assert ask(guarded, "DELETE", path) == (200, {"ok": True})
    assert ask(guarded, "GET", path)[0] == 404


def test_the_document_describes_every_route_and_every_answer(guarded: RunningServer) -> None:
    """The OpenAPI document is valid; each route answers as its schema says, refusals too; no route is missing."""
    from openapi_spec_validator import validate

    from gem_server.http_routes import ROUTES

    document = ask(guarded, "GET", "/openapi.json", headers={})[1]
    validate(document)
    named = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert named == {(route.method, route.path) for route in ROUTES}
    session = ask(guarded, "POST", "/v1/sessions", {"env": "faulty:Counting-v0"})[1]["session"]
    bodies: dict[tuple[str, str], Any] = {
        ("POST", "/v1/sessions"): {"env": "faulty:Counting-v0"},
        ("POST", "/v1/sessions/{session}/reset"): {"seed": 1},
        ("POST", "/v1/sessions/{session}/step"): {"action": "x"},
    }
    order = ["/reset", "/step", "/sample", "/state"]
    for route in sorted(ROUTES, key=lambda each: (each.method == "DELETE", *(end not in each.path for end in order))):
        body = bodies.get((route.method, route.path))
        if route.handler == "set_state":
            body = ask(guarded, "GET", f"/v1/sessions/{session}/state")[1]
        status, answer = ask(guarded, route.method, route.path.replace("{session}", session), body)
        described = document["paths"][route.path][route.method.lower()]["responses"]
        assert str(status) in described or status == 501 or route.handler == "sample"
        content = described.get(str(status), described["default"])["content"]
        schema = content.get("application/json", {}).get("schema")
        if schema is not None:
            jsonschema.validate(answer, {**schema, "components": document["components"]})
        else:
            assert isinstance(answer, str)
        security = document["paths"][route.path][route.method.lower()].get("security", [])
        assert security == ([{"bearer": []}] if route.needs_token else [])
        if route.needs_token:
            refused, why = ask(guarded, route.method, route.path.replace("{session}", session), body, headers={})
            assert refused == 401
            jsonschema.validate(why, {"$ref": "#/components/schemas/Error", "components": document["components"]})


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "/v1/sessions", {"env": "game:Sudoko-v0"}, 404, "did you mean 'game:Sudoku-v0'"),
        ("POST", "/v1/sessions", {}, 404, "does not serve"),
        ("POST", "/v1/sessions", {"env": "game:Sudoku-v0", "seed": -1}, 422, "-1"),
        ("POST", "/v1/sessions", {"env": "game:Sudoku-v0", "what": 1}, 422, "'what' is not known"),
        ("POST", "/v1/sessions", {"env": "game:Sudoku-v0", "arguments": {"scale": 9}}, 403, "--allow-arguments"),
        ("POST", "/v1/sessions", {"env": "game:Sudoku-v0", "wrappers": ["record"]}, 403, "--allow-wrapper record"),
        ("POST", "/v1/sessions", {"env": "game:Sudoku-v0", "autoreset": "often"}, 422, "often"),
        ("POST", "/v1/sessions", b"{", 422, "not JSON"),
        ("POST", "/v1/sessions", b"[" * 4000, 422, "not JSON"),
        ("POST", "/v1/sessions", b"[]", 422, "JSON object"),
        ("POST", "/v1/sessions", b" " * 33_000, 413, "32768"),
        ("POST", "/v1/sessions/0123456789abcdef/step", {"action": "x"}, 404, "no such session"),
        ("GET", "/v1/nothing", None, 404, "/openapi.json"),
        ("PATCH", "/v1/sessions", None, 405, "takes POST"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_wrong_request_gets_a_clear_answer(
    guarded: RunningServer, method: str, path: str, body: Any, status: int, words: str
) -> None:
    """Each says what was wrong, with the value, under the status that HTTP has for it."""
    got, answer = ask(guarded, method, path, body)
    assert got == status
    assert words in answer["error"]["message"]


def test_limits_of_actions_steps_and_sessions(guarded: RunningServer) -> None:
    """An action that is too long, one step too many and one session too many are refused, and nothing else is."""
    path = f"/v1/sessions/{ask(guarded, 'POST', '/v1/sessions', {'env': 'faulty:Counting-v0'})[1]['session']}"
    assert ask(guarded, "POST", f"{path}/reset", {})[0] == 200
    assert ask(guarded, "POST", f"{path}/step", {"action": "x" * 1001})[0] == 422
    for _ in range(50):
        assert ask(guarded, "POST", f"{path}/step", {"action": "x" * 1000})[0] == 200
    assert ask(guarded, "POST", f"{path}/step", {"action": "x"})[0] == 503
    opened = [path]
    while True:
        status, answer = ask(guarded, "POST", "/v1/sessions", {"env": "faulty:Counting-v0"})
        if status != 201:
            break
        opened.append(f"/v1/sessions/{answer['session']}")
    assert status == 503
    assert "all 5 sessions" in answer["error"]["message"]
    assert ask(guarded, "GET", "/ready", headers={})[0] == 503
    for path in opened:
        ask(guarded, "DELETE", path)


def test_a_session_belongs_to_its_token(guarded: RunningServer) -> None:
    """Another valid token finds no session of this one."""
    status, opened = ask(guarded, "POST", "/v1/sessions", {"env": "faulty:Counting-v0"})
    assert status == 201
    path = f"/v1/sessions/{opened['session']}"
    assert ask(guarded, "GET", path, headers={"Authorization": f"Bearer {OTHER}"})[0] == 404
    assert ask(guarded, "GET", path)[0] == 200
    ask(guarded, "DELETE", path)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {**BEARER, "Origin": "https://evil.example"},
    ],
)
def test_without_a_token_nothing_is_given(guarded: RunningServer, headers: dict[str, str]) -> None:
    """A missing, wrong or half token, and a foreign page with a token, are refused; health and readiness are public."""
    assert ask(guarded, "GET", "/v1/environments", headers=headers)[0] in (401, 403)
    assert ask(guarded, "GET", "/health", headers={})[0] == 200


def test_metrics_are_what_prometheus_reads(guarded: RunningServer) -> None:
    """Prometheus' own parser reads the page, every family has help and type, and a step shows."""
    from prometheus_client.parser import text_string_to_metric_families

    def steps() -> float:
        families = list(text_string_to_metric_families(ask(guarded, "GET", "/metrics")[1]))
        assert all(family.documentation and family.type in ("counter", "gauge") for family in families)
        return next(f.samples[0].value for f in families if f.name == "gem_steps")

    before = steps()
    path = f"/v1/sessions/{ask(guarded, 'POST', '/v1/sessions', {'env': 'faulty:Counting-v0'})[1]['session']}"
    ask(guarded, "POST", f"{path}/reset", {})
    ask(guarded, "POST", f"{path}/step", {"action": "x"})
    ask(guarded, "DELETE", path)
    assert steps() == before + 1


def test_foreign_clients_drive_it(guarded: RunningServer) -> None:
    """The WebSocket client of websockets and the HTTP client of aiohttp play the same environment."""
    import aiohttp
    from websockets.asyncio.client import connect

    async def play() -> None:
        url = f"ws://{guarded.host}:{guarded.port}/v1/socket"
        name = "a-session-name-of-a-test"
        async with connect(url, additional_headers=BEARER, subprotocols=["gem.v1"], proxy=None) as socket:
            assert socket.subprotocol == "gem.v1"
            await socket.send(json.dumps([[7, 0, "open", {"session": name, "env": "faulty:Counting-v0", "seed": 1}]]))
            (opened,) = json.loads(await socket.recv())
            assert opened == [7, 0, {"resumed": False, "step_id": 0, "follows_order": False}]
            await socket.send(json.dumps([[7, 1, "reset", {}]]))
            assert json.loads(await socket.recv())[0][2].startswith("begin")
            await socket.send(
                [json.dumps([[7, 2, "step", "fragmented"]])[:9], json.dumps([[7, 2, "step", "fragmented"]])[9:]]
            )
            (turn,) = json.loads(await socket.recv())
            assert turn[:6] == [7, 2, "1: fragmented", 1.0, False, False]
            await socket.send(json.dumps([[7, 2, "step", "again"], [7, 5, "step", "x"], [8, 1, "step", "x"]]))
            answers: list[Any] = []
            while len(answers) < 3:
                answers += json.loads(await socket.recv())
            assert answers[0] == turn
            assert [answer[3] for answer in answers[1:]] == ["SequenceError", "UnknownSessionError"]
        # Another connection takes the session over by its name.
        ticket = None
        async with aiohttp.ClientSession(headers=BEARER) as client:
            base = f"http://{guarded.host}:{guarded.port}/v1"
            async with client.get(f"{base}/sessions/{name}") as response:
                assert (await response.json())["step_id"] == 2
            async with client.post(f"{base}/sessions/{name}/step", json={"action": "x", "step_id": 3}) as response:
                assert (await response.json())["observation"] == "2: x"
            async with client.post(f"{base}/ticket") as response:
                ticket = (await response.json())["ticket"]
        async with connect(f"{url}?ticket={ticket}", proxy=None) as socket:
            await socket.send(json.dumps([[0, 0, "open", {"session": name, "resume": True}]]))
            assert json.loads(await socket.recv())[0][2]["step_id"] == 3
            await socket.send(json.dumps([[0, 4, "close"]]))
            assert json.loads(await socket.recv()) == [[0, 4, True]]
        for again in (f"{url}?ticket={ticket}", url):  # a ticket is good for one use
            with pytest.raises(Exception, match=re.compile("401")):
                await connect(again, proxy=None)

    asyncio.run(play())
