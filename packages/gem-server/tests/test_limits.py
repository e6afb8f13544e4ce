"""Limits that hold whatever a client does: idle sessions, bodies in parts, batches, names, messages."""

from __future__ import annotations

import json
import socket
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import gem
from gem_server.access import TICKET_SECONDS, AccessControl
from gem_server.errors import AccessDeniedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import RunningServer
    from websockets.sync.client import ClientConnection

pytestmark = pytest.mark.xdist_group("environment server hostile")

COUNTING = "faulty:Counting-v0"


@pytest.fixture(scope="module")
def strict(serve: Any, faulty_specs: dict[str, str]) -> Iterator[RunningServer]:
    """A server on which sessions end after a second without a call."""
    with serve("faulty", "--workers", "1", "--idle-timeout", "1", "--max-message", "65536", **faulty_specs) as started:
        yield started


def ask(server: RunningServer, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Make a request; return status and JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.url + path, data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def websocket(server: RunningServer, path: str = "/v1/socket") -> Any:
    """Connect to a WebSocket."""
    return connect(f"ws://127.0.0.1:{server.port}{path}", open_timeout=60, compression=None, proxy=None)


def call(link: ClientConnection, *calls: list[Any]) -> list[Any]:
    """Send calls in one message, and return as many answers."""
    link.send(json.dumps(calls))
    answers: list[Any] = []
    while len(answers) < len(calls):
        answers += json.loads(link.recv(60))
    return answers


def test_a_session_that_nobody_uses_ends(strict: RunningServer) -> None:
    """After the idle time it is closed; a call begins the time anew."""
    path = f"/v1/sessions/{ask(strict, 'POST', '/v1/sessions', {'env': COUNTING})[1]['session']}"
    ask(strict, "POST", f"{path}/reset", {})
    began = time.monotonic()
    while ask(strict, "GET", path)[0] == 200:
        assert time.monotonic() - began < 60
        time.sleep(0.05)
    assert time.monotonic() - began > 0.9
    assert ask(strict, "POST", f"{path}/step", {"action": "x"})[0] == 404


def test_a_body_in_parts_has_the_limit_of_a_whole_one(strict: RunningServer) -> None:
    """A body without an announced length is refused as soon as it is too long."""
    with socket.create_connection((strict.host, strict.port), timeout=60) as raw:
        raw.sendall(b"POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        received = b""
        try:
            for _ in range(9):
                raw.sendall(b"2000\r\n" + b" " * 0x2000 + b"\r\n")
            while data := raw.recv(65536):
                received += data
        except ConnectionError:  # it need not read what it has refused
            pass
        assert received.startswith(b"HTTP/1.1 413 ")


def test_a_limit_of_a_step_is_no_longer_than_the_operators(strict: RunningServer) -> None:
    """A client may ask for a shorter one."""
    status, answer = ask(strict, "POST", "/v1/sessions", {"env": COUNTING, "step_timeout": 301})
    assert (status, "300" in answer["error"]["message"]) == (422, True)
    assert ask(strict, "POST", "/v1/sessions", {"env": COUNTING, "step_timeout": 299})[0] == 201


def test_a_message_holds_a_limited_number_of_calls(strict: RunningServer) -> None:
    """One call more than the limit closes the connection, and the reason says the limit."""
    with websocket(strict) as link:
        assert len(call(link, *([[0, 0, 0]] * 4096))) == 4096
        link.send(json.dumps([[0, 0, 0]] * 4097))
        with pytest.raises(ConnectionClosed, match="4096 calls"):
            link.recv(60)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"session": "too-short"}, "16 to 64"),
        ({"session": "x" * 65}, "16 to 64"),
        ({"session": "ä" * 20}, "ASCII"),
        ({"session": "a-name-of-a-session", "what": 1}, "does not know 'what'"),
        ({"session": "a-name-of-a-session", "resume": True}, "no such session"),
        ({"session": "a-name-of-a-session", "lost": "x"}, "comes with an account"),
        ({"session": "a-name-of-a-session", "lost": "x", "account": [1, 2, 3]}, "five values"),
        ({"session": "a-name-of-a-session", "lost": "x", "account": [1, -1, 0, None, 0]}, "faults"),
    ],
)
def test_a_wrong_open_is_refused(strict: RunningServer, fields: dict[str, Any], words: str) -> None:
    """The answer says what is wrong, and the connection lives on."""
    with websocket(strict) as link:
        (answer,) = call(link, [3, 0, "open", {"env": COUNTING, **fields}])
        assert answer[:3] == [3, 0, "error"]
        assert words in answer[4]
        assert call(link, [3, 0, "open", {"env": COUNTING, "session": "another-name-of-one"}])[0][2]["step_id"] == 0


def test_a_session_has_one_connection(strict: RunningServer) -> None:
    """A connection that takes a session over gets its results; the first can neither call it nor end its use."""
    opening = {"env": COUNTING, "session": "a-name-for-two-connections"}
    with websocket(strict) as second:
        with websocket(strict) as first:
            call(first, [0, 0, "open", opening])
            call(first, [0, 1, "reset", {}])
            assert call(second, [9, 0, "open", {**opening, "resume": True}])[0][2] == {
                "resumed": True,
                "step_id": 1,
                "follows_order": False,
            }
            assert call(second, [9, 2, "step", "x"])[0][:3] == [9, 2, "1: x"]
            assert call(first, [0, 3, "step", "y"])[0][3] == "UnknownSessionError"
        assert call(second, [9, 3, "step", "z"])[0][:3] == [9, 3, "2: z"]


def test_a_client_of_openenv_waits_for_answers(strict: RunningServer) -> None:
    """One that sends without end and takes nothing is closed, and told why."""
    with websocket(strict, "/openenv/faulty:Slow-v0/ws") as link:
        link.send(json.dumps({"type": "reset", "data": {}}))
        link.recv(60)
        with suppress(ConnectionClosed):  # it may come before all are sent
            for _ in range(20):
                link.send(json.dumps({"type": "step", "data": {"action": "30"}}))
        with pytest.raises(ConnectionClosed, match="wait for the answers"):
            link.recv(60)


def test_a_ticket_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands for its token within its time, once."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    access = AccessControl(["a-token-of-the-tests-1234"])
    for late, valid in ((TICKET_SECONDS - 0.1, True), (TICKET_SECONDS + 0.1, False)):
        target = f"/v1/socket?ticket={access.ticket('token 0')}"
        now[0] += late
        if valid:
            assert access.owner(target, {}, redeem=False) == access.owner(target, {}) == "token 0"
        with pytest.raises(AccessDeniedError, match="too old"):
            access.owner(target, {})


@pytest.mark.slow(reason="nine megabytes go through a server")
def test_a_large_step_leaves_in_several_messages(serve: Any, faulty_specs: dict[str, str]) -> None:
    """Actions that together exceed the largest message of the server arrive all the same."""
    with serve("faulty", "--workers", "1", **faulty_specs) as server:
        size = 890_000
        with gem.make_vec(server.env(COUNTING), num_envs=10, mode="server") as envs:
            envs.reset()
            observations = envs.step([f"{index} {'x' * size}" for index in range(10)])[0]
            assert [len(text) for text in observations] == [size + 5] * 10
            assert [text[:5] for text in observations] == [f"1: {index} " for index in range(10)]


@pytest.mark.slow(reason="it waits for the limit of a step")
def test_a_worker_with_a_step_that_never_ends_goes_when_it_is_empty(serve: Any, faulty_specs: dict[str, str]) -> None:
    """It gets no new environments, and ends with the last one that it has."""
    with serve("faulty", "--workers", "1", **faulty_specs) as server:
        url = server.env("faulty:Faulty-v0")
        with gem.make_vec(url, num_envs=2, mode="server", step_timeout=0.5) as envs:
            envs.reset()
            (pid,) = {info["pid"] for info in envs.step(["x", "x"])[4]}
            assert envs.step({0: "hang"})[3].all()
            # Another one takes its place; until then, new environments have to live here.
            while metric(server, "gem_workers") < 2 and Path(f"/proc/{pid}").exists():
                pass
            with gem.make_vec(url, num_envs=2, mode="server") as others:
                others.reset()
                assert pid not in {info["pid"] for info in others.step(["x", "x"])[4]}
        end = time.monotonic() + 60
        while Path(f"/proc/{pid}").exists():
            assert time.monotonic() < end
            time.sleep(0.02)


def metric(server: RunningServer, name: str) -> float:
    """Return a metric without labels."""
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=60) as response:
        lines = response.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))
