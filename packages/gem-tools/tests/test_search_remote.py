"""Searching through a server: what is sent, what is understood, and what goes wrong."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_tools.search.engine import SearchHit
from gem_tools.search.errors import SearchError
from gem_tools.search.protocol import (
    JSON,
    MSGPACK,
    BadMessageError,
    build_answer,
    decode_message,
    encode_message,
    message_format,
    parse_hits,
    read_request,
)
from gem_tools.search.remote import RemoteEngine
from gem_tools.search.tool import SearchTool

HITS = [SearchHit("1", '"Lima"\nThe capital.', 2.5), SearchHit("2", '"Cusco"\nA city.', 1.0)]
WRAPPED = [{"document": {"id": hit.id, "contents": hit.contents}, "score": hit.score} for hit in HITS]


@dataclass
class Script:
    """A server that does what a test tells it to, in ``answer``."""

    answer: Callable[[Handler], None]
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    connections: int = 0
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    script: Script

    def setup(self) -> None:
        super().setup()
        self.script.connections += 1

    def do_POST(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("content-length", "0")))
        self.script.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, self.body))
        self.script.answer(self)

    do_GET = do_POST

    def say(self, body: bytes, status: int = 200, kind: str = "") -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        if kind:
            self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def serving(answer: Callable[[Handler], None]) -> Iterator[Script]:
    script = Script(answer)
    handler = type("Scripted", (Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}/retrieve"
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def asking(answer: Callable[[Handler], None], **arguments: Any) -> Iterator[tuple[RemoteEngine, Script]]:
    with serving(answer) as script:
        engine = RemoteEngine(script.url, **arguments)
        try:
            yield engine, script
        finally:
            engine.close()


def msgpack_server(handler: Handler) -> None:
    """As the original GEM's: the body alone says what it is."""
    asked = msgpack.unpackb(handler.body)
    handler.say(msgpack.packb({"result": WRAPPED[: asked["topk"]]}))


def json_server(handler: Handler) -> None:
    """As Search-R1's: FastAPI refuses with 422 what is no JSON."""
    try:
        asked = json.loads(handler.body)
    except ValueError:
        handler.say(b'{"detail": [{"type": "json_invalid"}]}', 422, "application/json")
        return
    result = [WRAPPED[: asked["topk"]] for _ in asked["queries"]]
    handler.say(json.dumps({"result": result}).encode(), kind="application/json")


def test_messagepack_is_spoken_first() -> None:
    """With the members that the original's servers read."""
    with asking(msgpack_server) as (engine, script):
        assert engine.search("capital", 2) == HITS
        assert engine.search("capital", 1) == HITS[:1]
    path, headers, body = script.requests[0]
    assert path == "/retrieve"
    assert headers["content-type"] == MSGPACK
    assert msgpack.unpackb(body) == {"query": "capital", "topk": 2, "return_scores": True}


def test_json_is_spoken_where_messagepack_is_not_understood() -> None:
    """And from then on at once."""
    with asking(json_server) as (engine, script):
        for _ in range(3):
            assert engine.search("capital", 2) == HITS
    kinds = [headers["content-type"] for _, headers, _ in script.requests]
    assert kinds == [MSGPACK, JSON, JSON, JSON]
    assert json.loads(script.requests[1][2]) == {"queries": ["capital"], "topk": 2, "return_scores": True}


@pytest.mark.parametrize(("protocol", "server"), [("json", json_server), ("msgpack", msgpack_server)])
def test_a_protocol_that_is_given_is_spoken_alone(protocol: str, server: Callable[[Handler], None]) -> None:
    """There is nothing to find out."""
    with asking(server, protocol=protocol) as (engine, script):
        assert engine.search("capital", 2) == HITS
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (WRAPPED, HITS),
        ([WRAPPED], HITS),
        ([{"document": {"contents": "a\nb"}}], [SearchHit("", "a\nb")]),
        ([[{"id": 7, "contents": "a\nb"}]], [SearchHit("7", "a\nb")]),
        ([{"id": "x", "title": "T", "text": "b"}], [SearchHit("x", '"T"\nb')]),
        ([{"document": {"text": "b"}, "score": float("nan")}], [SearchHit("", "b")]),
        ([], []),
        ([[]], []),
    ],
)
def test_every_form_of_a_result_is_understood(result: Any, expected: list[SearchHit]) -> None:
    """Single and batched, with scores and without, contents or title and text."""
    assert parse_hits({"result": result}) == expected


@pytest.mark.parametrize("message", [None, [], {}, {"result": None}, {"result": [3]}, {"result": [{"document": 3}]},
                                     {"result": [{"document": {}}]}, {"result": [{"contents": 3}]}])  # fmt: skip
def test_anything_else_is_no_result(message: Any) -> None:
    """It says which member is wrong."""
    with pytest.raises(BadMessageError, match="result"):
        parse_hits(message)


def test_a_connection_is_kept_alive() -> None:
    """A search does not pay for a new one."""
    with asking(msgpack_server) as (engine, script):
        for _ in range(20):
            engine.search("capital", 2)
        assert script.connections == 1


def test_many_threads_share_an_engine() -> None:
    """Each gets its own answer."""

    def echo(handler: Handler) -> None:
        query = msgpack.unpackb(handler.body)["query"]
        handler.say(msgpack.packb({"result": [{"document": {"contents": query}}]}))

    wrong: list[str] = []
    with asking(echo) as (engine, script):

        def run(name: str) -> None:
            for number in range(30):
                query = f"{name} {number}"
                if [hit.contents for hit in engine.search(query, 1)] != [query]:
                    wrong.append(query)

        threads = [threading.Thread(target=run, args=(f"thread {number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert script.connections <= 8
    assert wrong == []


def test_a_request_that_was_lost_is_sent_again() -> None:
    """A connection that breaks, and a server that is overloaded."""
    ways = [
        lambda handler: handler.connection.shutdown(socket.SHUT_RDWR),
        lambda handler: handler.say(b"busy", 503),
        msgpack_server,
    ]

    def failing(handler: Handler) -> None:
        ways.pop(0)(handler)

    with asking(failing, retries=2) as (engine, script):
        assert engine.search("capital", 2) == HITS
    assert len(script.requests) == 3


def test_after_the_last_try_the_reason_is_told() -> None:
    """With the status and what the server said."""
    with (
        asking(lambda handler: handler.say(b"on fire", 500), retries=1) as (engine, script),
        pytest.raises(SearchError, match=r"at 127\.0\.0\.1 answered with status 500: on fire"),
    ):
        engine.search("capital", 2)
    assert [kind_of(request) for request in script.requests] == [MSGPACK, JSON, MSGPACK, MSGPACK]


def kind_of(request: tuple[str, dict[str, str], bytes]) -> str:
    return request[1]["content-type"]


def test_a_server_that_fails_at_messagepack_is_asked_in_json() -> None:
    """One failure is enough to try the other format, which is kept from then on."""

    def answer(handler: Handler) -> None:
        if handler.headers["content-type"] == MSGPACK:
            handler.say(b"Internal Server Error", 500)
        else:
            handler.say(json.dumps({"result": [WRAPPED]}).encode())

    with asking(answer, retries=2) as (engine, script):
        assert engine.search("capital", 2) == engine.search("capital", 2) == HITS
    assert [kind_of(request) for request in script.requests] == [MSGPACK, JSON, JSON]


def test_a_passing_fault_of_a_messagepack_server_changes_nothing() -> None:
    """A server that cannot answer JSON either is asked again in its own format, which is kept."""
    faults = iter([True])

    def answer(handler: Handler) -> None:
        if next(faults, False):
            handler.say(b"busy", 500)
        elif handler.headers["content-type"] == MSGPACK:
            msgpack_server(handler)
        else:
            handler.say(b"what is this?", 500)

    with asking(answer, retries=2) as (engine, script):
        assert engine.search("capital", 2) == engine.search("capital", 2) == HITS
    assert [kind_of(request) for request in script.requests] == [MSGPACK, JSON, MSGPACK, MSGPACK]


@pytest.mark.parametrize(("protocol", "kind"), [("json", JSON), ("msgpack", MSGPACK)])
def test_the_tool_speaks_the_chosen_protocol(protocol: str, kind: str) -> None:
    """The argument decides on the first request already."""

    def answer(handler: Handler) -> None:
        if kind == MSGPACK:
            msgpack_server(handler)
        else:
            handler.say(json.dumps({"result": [WRAPPED]}).encode())

    with serving(answer) as script:
        assert SearchTool(search_url=script.url, protocol=protocol).execute({"query": "capital"}).ok
    assert [kind_of(request) for request in script.requests] == [kind]


def test_a_refusal_is_not_asked_again() -> None:
    """The same request would be refused again."""
    with (
        asking(lambda handler: handler.say(b'{"error": "no such user"}', 403, JSON)) as (engine, script),
        pytest.raises(SearchError, match="answered with status 403: no such user"),
    ):
        engine.search("capital", 2)
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "sent an invalid search result"),
        (b"<html>welcome</html>", "sent an invalid search result"),
        (b"\xc1", "sent an invalid search result"),
        (msgpack.packb({"result": 3}), "has no list 'result'"),
        (b'{"result": [{"document": {"contents": null}}]}', "result 0 has no 'contents' that is a string"),
        (b"[" * 100_000, "sent an invalid search result"),
    ],
)
def test_an_answer_that_is_none_is_an_error(body: bytes, message: str) -> None:
    """Whatever answers at the address."""
    with (
        asking(lambda handler: handler.say(body), retries=0) as (engine, _),
        pytest.raises(SearchError, match=message),
    ):
        engine.search("capital", 2)


def test_an_answer_without_end_is_cut_off() -> None:
    """It costs no more memory than the limit."""

    def flood(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(1000):
                handler.wfile.write(b"x" * (1 << 20))
        except OSError:
            handler.close_connection = True

    with (
        asking(flood, retries=0, timeout=30) as (engine, _),
        pytest.raises(SearchError, match="more than 16 MiB"),
    ):
        engine.search("capital", 2)


@contextmanager
def never_ending(step: Callable[[Handler], None]) -> Iterator[Callable[[Handler], None]]:
    """An answer that begins and goes on in small steps until the test is over."""
    over = threading.Event()

    def answer(handler: Handler) -> None:
        handler.close_connection = True
        with suppress(OSError):
            while not over.wait(0.02):
                step(handler)

    try:
        yield answer
    finally:
        over.set()


def test_a_server_that_hangs_is_given_up() -> None:
    """After the time for the whole search; it is not asked again."""
    with (
        never_ending(lambda handler: None) as answer,
        asking(answer, timeout=0.2) as (engine, script),
    ):
        with pytest.raises(SearchError, match=r"did not answer within 0\.2 seconds"):
            engine.search("capital", 2)
        assert len(script.requests) <= 1  # on a busy machine the server has not read it yet


def test_a_server_that_dribbles_is_given_up() -> None:
    """The limit holds for the whole answer, not for each byte of it."""

    def begin(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "100000")
        handler.end_headers()
        answer(handler)

    with (
        never_ending(lambda handler: handler.wfile.write(b"x") and None) as answer,
        asking(begin, timeout=0.3, retries=0) as (engine, _),
        pytest.raises(SearchError, match=r"did not answer within 0\.3 seconds"),
    ):
        engine.search("capital", 2)


def test_nobody_there_is_an_error() -> None:
    """With the reason of the system."""
    with serving(msgpack_server) as script:
        url = script.url
    with pytest.raises(SearchError, match=r"the search server at 127\.0\.0\.1 cannot be reached: Connection refused"):
        RemoteEngine(url, retries=1).search("capital", 2)


def test_a_server_that_comes_back_is_found() -> None:
    """An engine outlives its server."""
    with serving(msgpack_server) as script:
        engine = RemoteEngine(script.url)
        assert engine.search("capital", 2) == HITS
    with pytest.raises(SearchError):
        RemoteEngine(script.url, retries=0).search("capital", 2)
    engine.close()
    with serving(msgpack_server) as again:
        engine = RemoteEngine(again.url)
        assert engine.search("capital", 2) == HITS
        engine.close()
        assert engine.search("capital", 2) == HITS
        engine.close()


def test_an_engine_can_be_pickled() -> None:
    """It opens connections of its own."""
    with asking(msgpack_server, timeout=7, retries=1, protocol="msgpack") as (engine, _):
        twin = pickle.loads(pickle.dumps(engine))
        assert (twin.timeout, twin.retries, twin.protocol) == (7.0, 1, "msgpack")
        assert twin.search("capital", 2) == HITS
        twin.close()


FORKED = """
import os, sys
from gem_tools.search.remote import RemoteEngine

engine = RemoteEngine(sys.argv[1], timeout=60)
expected = [hit.contents for hit in engine.search("before", 1)]
child = os.fork()
right = all([hit.contents for hit in engine.search(f"{child} {n}", 1)] == [f"{child} {n}"] for n in range(50))
if child == 0:
    os._exit(0 if right else 1)
sys.exit(not right or os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_opens_connections_of_its_own() -> None:
    """Two processes on one connection would read each other's answers."""

    def echo(handler: Handler) -> None:
        query = msgpack.unpackb(handler.body)["query"]
        handler.say(msgpack.packb({"result": [{"document": {"contents": query}}]}))

    with serving(echo) as script:
        command = [sys.executable, "-W", "ignore", "-c", FORKED, script.url]
        assert subprocess.run(command, check=False, timeout=60).returncode == 0


def test_hostile_queries_are_sent() -> None:
    """Shortened, and without what no encoding holds."""
    with asking(msgpack_server) as (engine, script):
        for query in ("a" * 1_000_000, "\ud800", "\0", ""):
            assert engine.search(query, 2) == HITS
    sent = [msgpack.unpackb(body)["query"] for _, _, body in script.requests]
    assert sent == ["a" * 10_000, "?", "\0", ""]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["query", "queries", "topk", "return_scores", "more"]), JSON_VALUES))
def test_any_request_is_read_or_refused(message: dict[str, Any]) -> None:
    """And what is read is within all limits."""
    try:
        request = read_request(message, most_hits=20, topk=3)
    except BadMessageError:
        return
    assert 1 <= request.topk <= 20
    assert all(isinstance(query, str) for query in request.queries)


@given(st.binary(max_size=100), st.sampled_from([JSON, MSGPACK, "text/plain", "", None]))
def test_any_body_is_read_or_refused(body: bytes, content_type: str | None) -> None:
    """Nothing else is raised."""
    kind = message_format(content_type, body)
    try:
        value = decode_message(body, kind)
    except BadMessageError as error:
        assert "the body is not" in str(error)  # noqa: PT017  # most bodies raise nothing
    else:
        with suppress(BadMessageError):
            read_request(value)


@pytest.mark.parametrize("kind", [JSON, MSGPACK])
def test_answers_come_in_the_forms_that_clients_expect(kind: str) -> None:
    """One query, many queries, with scores and without."""
    document = {"id": "1", "contents": "a\nb"}
    hit = SearchHit("1", "a\nb", 1.5)
    cases: list[tuple[dict[str, Any], Any]] = [
        ({"query": "q", "return_scores": True}, [{"document": document, "score": 1.5}]),
        ({"query": "q"}, [{"document": document}]),
        ({"queries": ["q"], "return_scores": True}, [[{"document": document, "score": 1.5}]]),
        ({"queries": ["q"], "return_scores": False}, [[document]]),
        ({"queries": []}, []),
    ]
    for message, expected in cases:
        request = read_request(message)
        answer = build_answer(request, [[hit]] * len(request.queries))
        assert decode_message(encode_message(answer, kind), kind) == {"result": expected}


def test_a_body_says_itself_what_it_is() -> None:
    """Clients of the original GEM send no content type."""
    assert message_format(None, msgpack.packb({"query": "a"})) == MSGPACK
    assert message_format(None, b' {"query": "a"}') == JSON
    assert message_format("application/x-msgpack", b"{") == MSGPACK
    assert message_format("application/json; charset=utf-8", b"\x80") == JSON
