"""The retrieval server, as a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgpack
import pytest
from click.testing import CliRunner

from gem_tools import SearchTool
from gem_tools.search.batching import Batcher, OverloadedError
from gem_tools.search.command import search_server_command
from gem_tools.search.engine import SearchHit
from gem_tools.search.errors import SearchError
from gem_tools.search.local import local_index
from gem_tools.search.remote import RemoteEngine

CITIES = [
    {"id": "lima", "contents": '"Lima"\nLima is the capital of Peru.'},
    {"id": "quito", "contents": '"Quito"\nQuito is the capital of Ecuador, in the Andes.'},
    {"id": "cusco", "contents": '"Cusco"\nCusco lies in the Andes of Peru.'},
]


def write(folder: Path) -> Path:
    path = folder / "cities.jsonl"
    path.write_text("".join(json.dumps(city) + "\n" for city in CITIES), encoding="utf-8")
    return path


@contextmanager
def running(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    command = [sys.executable, "-m", "gem", "search-server", "--corpus", str(write(folder)), "--port", "0", "--json"]
    command += ["--index", str(folder / "indexes"), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with running(tmp_path_factory.mktemp("server")) as (_, ready):
        yield ready


def post(url: str, body: bytes, kind: str | None = None, path: str = "") -> tuple[int, dict[str, str], bytes]:
    place = urlsplit(url)
    assert place.hostname is not None
    connection = http.client.HTTPConnection(place.hostname, place.port or 0, timeout=60)
    try:
        connection.request("POST", path or place.path, body, {"content-type": kind} if kind else {})
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def test_the_ready_line_says_where(server: dict[str, Any]) -> None:
    """One line of JSON, when searches can come."""
    assert server["documents"] == 3
    assert server["url"].startswith("http://127.0.0.1:")
    assert server["url"].endswith("/retrieve")
    assert Path(server["index"]).is_dir()


def test_the_tool_searches_through_the_server(server: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same answer as from the index itself."""
    monkeypatch.setenv("SEARCH_URL", server["url"])
    remote = SearchTool(timeout=60).respond("<search>capital of Peru</search>")
    local = SearchTool(corpus=CITIES).respond("<search>capital of Peru</search>")
    assert remote == local


def test_a_client_of_the_original_gem_is_served(server: dict[str, Any]) -> None:
    """MessagePack without a content type, one query."""
    body = msgpack.packb({"query": "capital of Peru", "topk": 1, "return_scores": True})
    status, headers, answer = post(server["url"], body)
    (hit,) = msgpack.unpackb(answer)["result"]
    assert (status, headers["content-type"]) == (200, "application/msgpack")
    assert hit["document"] == CITIES[0]
    assert hit["score"] > 0


def test_a_client_of_search_r1_is_served(server: dict[str, Any]) -> None:
    """JSON, many queries; each has its own list."""
    request = {"queries": ["Ecuador", "Peru", "zzz"], "topk": 2, "return_scores": True}
    status, _, answer = post(server["url"], json.dumps(request).encode(), "application/json")
    result = json.loads(answer)["result"]
    assert status == 200
    assert [[hit["document"]["id"] for hit in hits] for hits in result] == [["quito"], ["lima", "cusco"], []]


def test_topk_belongs_to_the_request(server: dict[str, Any]) -> None:
    """Requests that are answered together keep their own."""
    engine = RemoteEngine(server["url"])
    wrong: list[int] = []

    def run(topk: int) -> None:
        wrong.extend(topk for _ in range(50) if len(engine.search("capital Andes Peru", topk)) != topk)

    threads = [threading.Thread(target=run, args=(1 + number % 3,)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.close()
    assert wrong == []


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ([], "a request is a map with 'query' or 'queries', got list"),
        ({}, "either 'query', a string, or 'queries'"),
        ({"query": "a", "queries": ["a"]}, "either 'query', a string, or 'queries'"),
        ({"query": 3}, "'query' must be a string"),
        ({"query": None}, "'query' must be a string"),
        ({"queries": "a"}, "'queries' must be a list of strings"),
        ({"queries": ["a", 3]}, "'queries' must be a list of strings"),
        ({"query": "a", "topk": 0}, "'topk' must be an int from 1 to 100, got 0"),
        ({"query": "a", "topk": 101}, "'topk' must be an int from 1 to 100, got 101"),
        ({"query": "a", "topk": "3"}, "'topk' must be an int from 1 to 100, got '3'"),
        ({"query": "a", "topk": True}, "'topk' must be an int from 1 to 100, got True"),
        ({"query": "a", "return_scores": 1}, "'return_scores' must be true or false, got 1"),
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "application/msgpack"])
def test_a_wrong_request_is_refused(server: dict[str, Any], message: Any, error: str, kind: str) -> None:
    """With 400 and the member that is wrong, in the form of the request."""
    packed = kind.endswith("msgpack")
    body = msgpack.packb(message) if packed else json.dumps(message).encode()
    status, headers, answer = post(server["url"], body, kind)
    assert (status, headers["content-type"]) == (400, kind)
    assert error in (msgpack.unpackb(answer) if packed else json.loads(answer))["error"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"{", "application/json"), (b"", "application/json"), (b"", None), (b"\xc1", None), (b"[" * 10_000, None),
     (b"\x91" * 10_000, None), (b'{"query": "\xff"}', None), (msgpack.packb({"query": "a"}) + b"x", None),
     (b"\xdf\xff\xff\xff\xff", None)],
)  # fmt: skip
def test_a_body_that_cannot_be_read_is_refused(server: dict[str, Any], body: bytes, kind: str | None) -> None:
    """With 400, whatever it is."""
    status, _, answer = post(server["url"], body, kind)
    assert status == 400
    assert b"the body is not" in answer


def test_a_request_may_hold_any_number_of_queries(server: dict[str, Any]) -> None:
    """As a trainer sends all searches of a batch at once; the answers keep the order of the queries."""
    asked = ["capital of Peru" if n % 2 else f"nothing{n}" for n in range(2560)]
    status, _, answer = post(server["url"], json.dumps({"queries": asked}).encode())
    assert status == 200
    found = json.loads(answer)["result"]
    assert len(found) == len(asked)
    _, _, one = post(server["url"], json.dumps({"queries": asked[1:2]}).encode())
    assert [found[1]] == [found[2559]] == json.loads(one)["result"]
    assert found[1] != found[2]


def test_a_body_that_is_too_large_is_refused(server: dict[str, Any]) -> None:
    """With 413; the limit is sixteen mebibytes."""
    status, _, answer = post(server["url"], json.dumps({"query": "a" * (1 << 24)}).encode())
    assert status == 413
    assert "16,777,216 bytes" in json.loads(answer)["error"]
    status, _, _ = post(server["url"], json.dumps({"query": "a" * 1_000_000}).encode())
    assert status == 200


@pytest.mark.parametrize("query", ["", "\ud800", "\0", "AND (", "the", "🙂" * 1000])
def test_hostile_queries_are_answered(server: dict[str, Any], query: str) -> None:
    """With documents or none."""
    status, _, answer = post(server["url"], json.dumps({"query": query}).encode())
    assert status == 200
    assert isinstance(json.loads(answer)["result"], list)


def test_other_addresses_say_where_to_go(server: dict[str, Any]) -> None:
    """404 and 405 name the right one."""
    status, _, answer = post(server["url"], b"{}", path="/")
    assert (status, json.loads(answer)) == (
        404,
        {"error": "there is no page /; searches are sent to POST /retrieve"},
    )
    place = urlsplit(server["url"])
    connection = http.client.HTTPConnection(f"{place.hostname}:{place.port}")
    connection.request("GET", "/retrieve")
    answered = connection.getresponse()
    assert (answered.status, "POST /retrieve" in json.loads(answered.read())["error"]) == (405, True)
    connection.request("GET", "/health")
    answered = connection.getresponse()
    assert (answered.status, json.loads(answered.read())) == (200, {"status": "ok", "documents": 3})
    connection.close()


def test_clients_that_go_away_harm_nobody(server: dict[str, Any]) -> None:
    """In the middle of a request, or before the answer."""
    place = urlsplit(server["url"])
    for sent in (b"POST /retrieve HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nabc", b"\x00" * 100, b"POST"):
        with socket.create_connection((place.hostname, place.port)) as client:
            client.sendall(sent)
    body = json.dumps({"query": "Peru"}).encode()
    for _ in range(20):
        with socket.create_connection((place.hostname, place.port)) as client:
            client.sendall(b"POST /retrieve HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
    assert post(server["url"], body)[0] == 200


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_the_server_ends_when_it_is_told_to(tmp_path: Path, end: signal.Signals, workers: str) -> None:
    """With success and without a word, and its port is free again."""
    with running(tmp_path, "--workers", workers) as (process, ready):
        for _ in range(10):
            assert post(ready["url"], b'{"query": "Peru"}')[0] == 200
        process.send_signal(end)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")
    with pytest.raises(ConnectionRefusedError):
        post(ready["url"], b"{}")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_a_request_that_has_begun_is_answered_before_the_end(tmp_path: Path) -> None:
    """Stopping the server loses nothing."""
    body = b'{"query": "Ecuador"}'
    head = b"POST /retrieve HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n" % len(body)
    with running(tmp_path) as (process, ready):
        place = urlsplit(ready["url"])
        with socket.create_connection((place.hostname, place.port), timeout=60) as client:
            answer = client.makefile("rb")
            client.sendall(head)
            assert answer.readline().startswith(b"HTTP/1.1 100")  # the server waits for the body
            process.terminate()
            with suppress(ConnectionError):
                while True:  # until it has closed its door
                    socket.create_connection((place.hostname, place.port), timeout=60).close()
            client.sendall(body)
            assert b"Quito" in answer.read()
        assert process.wait(timeout=60) == 0


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds workers through /proc")
def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    """The others answer in the meantime."""
    with running(tmp_path, "--workers", "2") as (process, ready):
        engine = RemoteEngine(ready["url"], retries=20, timeout=60)
        assert engine.search("Peru", 1)
        for pid in _workers(process.pid):
            os.kill(pid, signal.SIGKILL)
        assert engine.search("Peru", 1)
        engine.close()


def _workers(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    workers = []
    for child in children:
        with suppress(OSError):  # it has ended meanwhile
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                workers.append(int(child))
    return workers


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "holds no documents"),
        ('{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}\n', "cities.jsonl:2: the id '1' is also that of line 1"),
        ("{", "cities.jsonl:1: not JSON"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_bad_corpus_is_one_line(tmp_path: Path, text: str | None, error: str) -> None:
    """And the status is 1."""
    corpus = tmp_path / "cities.jsonl"
    if text is not None:
        corpus.write_text(text)
    command = [sys.executable, "-m", "gem", "search-server", "--corpus", str(corpus), "--port", "0"]
    done = subprocess.run(
        [*command, "--index", str(tmp_path / "indexes")], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert error in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    """It is found out before anything is indexed."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        arguments = ["--corpus", str(write(tmp_path)), "--port", port, "--index", str(tmp_path / "indexes")]
        done = CliRunner().invoke(search_server_command, arguments)
    assert done.exit_code == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in done.output
    assert not (tmp_path / "indexes").exists()


class Slow:
    """Searches only while it is let, and counts."""

    def __init__(self) -> None:
        self.let = threading.Event()
        self.searched: list[tuple[str, int]] = []

    def search(self, query: str, topk: int) -> list[SearchHit]:
        assert self.let.wait(60)
        self.searched.append((query, topk))
        if query == "bad":
            raise SearchError("broken")
        return [SearchHit(query, query)] * topk

    def close(self) -> None:
        pass


def test_searches_that_wait_are_carried_out_together() -> None:
    """A query that several ask for is searched for once; one that fails fails alone."""
    import asyncio

    engine = Slow()

    async def main() -> list[Any]:
        batcher = Batcher(engine)
        asked = [("first", 1), ("a", 1), ("a", 2), ("a", 1), ("bad", 1), ("b", 3)]
        tasks = [asyncio.create_task(batcher.search((query,), topk)) for query, topk in asked]
        await asyncio.sleep(0)
        engine.let.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        batcher.close()
        return answers

    first, one, two, again, bad, three = asyncio.run(main())
    assert [len(answer[0]) for answer in (first, one, two, again, three)] == [1, 1, 2, 1, 3]
    assert isinstance(bad, SearchError)
    assert sorted(engine.searched) == [("a", 1), ("a", 2), ("b", 3), ("bad", 1), ("first", 1)]


def test_more_searches_than_can_wait_are_refused() -> None:
    """At once, so that those that wait are answered in time."""
    import asyncio

    engine = Slow()

    async def main() -> None:
        batcher = Batcher(engine, most_waiting=2)
        waiting = asyncio.create_task(batcher.search(("a", "b"), 1))
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError, match="2 searches are waiting"):
            await batcher.search(("c",), 1)
        engine.let.set()
        assert len(await waiting) == 2
        assert len(await batcher.search(("c",), 1)) == 1
        batcher.close()

    asyncio.run(main())


def test_a_server_that_is_overloaded_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 503, which clients try again."""
    from starlette.testclient import TestClient

    from gem_tools.search import server as module

    async def refuse(self: Batcher, queries: tuple[str, ...], topk: int) -> list[list[SearchHit]]:
        raise OverloadedError("9 searches are waiting; try again later")

    monkeypatch.setattr(Batcher, "search", refuse)
    with TestClient(module.application(local_index(CITIES))) as client:
        answer = client.post("/retrieve", content=b'{"query": "a"}')
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json() == {"error": "9 searches are waiting; try again later"}
