"""The web search APIs, against a local server that answers in the form that each provider publishes.

No provider is asked here: these tests show that requests and answers are as their documentation has them, not that the
providers still keep to it.
"""

from __future__ import annotations

import json
import logging
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from gem.errors import ArgumentError
from gem_tools import SearchTool
from gem_tools.search import BraveSearch, GoogleSearch, SearchError, SerpApiSearch, TavilySearch
from gem_tools.search.engine import SearchHit
from gem_tools.search.web import WebSearch, web_engine

KEY = "k3y-for-tests"


@dataclass
class Provider:
    """A server with one answer, which remembers what it was asked."""

    status: int
    body: bytes
    url: str = ""
    method: str = ""
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    sent: Any = None
    count: int = 0


@contextmanager
def provider(answer: Any, status: int = 200) -> Iterator[Provider]:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    state = Provider(status, body)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length", "0")))
            state.method, state.count = self.command, state.count + 1
            state.query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
            state.headers = {name.lower(): value for name, value in self.headers.items()}
            state.sent = json.loads(content) if content else None
            self.send_response(state.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(state.body)))
            self.end_headers()
            self.wfile.write(state.body)

        do_GET = do_POST

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}/search"
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def google(**arguments: Any) -> GoogleSearch:
    return GoogleSearch(engine_id="cx-id", **arguments)


ALL: list[Callable[..., WebSearch]] = [BraveSearch, google, SerpApiSearch, TavilySearch]

BRAVE = {
    "type": "search",
    "query": {"original": "capital of peru"},
    "web": {
        "type": "search",
        "results": [
            {"title": "Lima - <strong>Peru</strong>", "url": "https://a.example/lima", "is_source_local": False,
             "description": "Lima is the <strong>capital</strong> of Peru &amp; its largest city.", "language": "en"},
            {"title": "Peru", "url": "https://a.example/peru", "description": "A country."},
        ],
    },
}  # fmt: skip
GOOGLE = {
    "kind": "customsearch#search",
    "searchInformation": {"totalResults": "2"},
    "items": [
        {"kind": "customsearch#result", "title": "Lima - Peru", "htmlTitle": "Lima - <b>Peru</b>",
         "link": "https://a.example/lima", "displayLink": "a.example",
         "snippet": "Lima is the capital of Peru &\n its largest city."},
        {"kind": "customsearch#result", "title": "Peru", "link": "https://a.example/peru", "snippet": "A country."},
    ],
}  # fmt: skip
SERPAPI = {
    "search_metadata": {"id": "x", "status": "Success"},
    "search_parameters": {"engine": "google", "q": "capital of peru"},
    "organic_results": [
        {"position": 1, "title": "Lima - Peru", "link": "https://a.example/lima",
         "snippet": "Lima is the capital of Peru & its largest city."},
        {"position": 2, "title": "Peru", "link": "https://a.example/peru", "snippet": "A country."},
    ],
}  # fmt: skip
TAVILY = {
    "query": "capital of peru",
    "answer": None,
    "images": [],
    "results": [
        {"title": "Lima - Peru", "url": "https://a.example/lima", "score": 0.97, "raw_content": None,
         "content": "Lima is the capital of Peru & its largest city."},
        {"title": "Peru", "url": "https://a.example/peru", "score": 0.5, "content": "A country."},
    ],
    "response_time": 1.1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("make", "answer", "scores"),
    [
        (BraveSearch, BRAVE, (None, None)),
        (google, GOOGLE, (None, None)),
        (SerpApiSearch, SERPAPI, (None, None)),
        (TavilySearch, TAVILY, (0.97, 0.5)),
    ],
)
def test_a_published_answer_is_read(make: Callable[..., WebSearch], answer: Any, scores: tuple[Any, Any]) -> None:
    """The address is the id; title and excerpt are plain text."""
    with provider(answer) as asked:
        engine = make(key=KEY, endpoint=asked.url)
        hits = engine.search("capital of peru", 2)
        assert hits == [
            SearchHit(
                "https://a.example/lima", '"Lima - Peru"\nLima is the capital of Peru & its largest city.', scores[0]
            ),
            SearchHit("https://a.example/peru", '"Peru"\nA country.', scores[1]),
        ]
        assert engine.search("capital of peru", 1) == hits[:1]


def test_brave_is_asked_as_published() -> None:
    """The key is in a header of its own."""
    with provider(BRAVE) as asked:
        BraveSearch(key=KEY, endpoint=asked.url).search("a b&c", 7)
    assert (asked.method, asked.headers["x-subscription-token"]) == ("GET", KEY)
    assert asked.query == {"q": "a b&c", "count": "7", "text_decorations": "false"}


def test_google_is_asked_as_published() -> None:
    """For ten results at most, the most that it gives."""
    with provider(GOOGLE) as asked:
        google(key=KEY, endpoint=asked.url).search("a b", 50)
    assert (asked.method, asked.headers["x-goog-api-key"]) == ("GET", KEY)
    assert asked.query == {"cx": "cx-id", "q": "a b", "num": "10"}


def test_serpapi_is_asked_as_published() -> None:
    """For Google's results."""
    with provider(SERPAPI) as asked:
        SerpApiSearch(key=KEY, endpoint=asked.url).search("a b", 7)
    assert asked.method == "GET"
    assert asked.query == {"engine": "google", "q": "a b", "num": "7", "api_key": KEY}


def test_tavily_is_asked_as_published() -> None:
    """With JSON and a bearer token."""
    with provider(TAVILY) as asked:
        TavilySearch(key=KEY, endpoint=asked.url).search("a b", 7)
    assert (asked.method, asked.headers["authorization"]) == ("POST", f"Bearer {KEY}")
    assert asked.sent == {"query": "a b", "max_results": 7}


@pytest.mark.parametrize(
    ("make", "answer"),
    [
        (BraveSearch, {"type": "search"}),
        (BraveSearch, {"web": {"results": []}}),
        (google, {"kind": "customsearch#search", "searchInformation": {"totalResults": "0"}}),
        (SerpApiSearch, {"search_metadata": {"status": "Success"}, "error": "Google hasn't returned any results."}),
        (TavilySearch, {"results": []}),
    ],
)
def test_an_answer_without_results_is_empty(make: Callable[..., WebSearch], answer: Any) -> None:
    """As each provider says that there are none."""
    with provider(answer) as asked:
        assert make(key=KEY, endpoint=asked.url).search("zzz", 3) == []


@pytest.mark.parametrize(
    ("make", "status", "answer", "message"),
    [
        (BraveSearch, 422, {"type": "ErrorResponse", "error": {"code": "X", "detail": "Bad token " + KEY}},
         "Brave Search answered with status 422: Bad token …"),
        (google, 400, {"error": {"code": 400, "message": "API key not valid.", "errors": []}},
         "Google Custom Search answered with status 400: API key not valid."),
        (SerpApiSearch, 401, {"error": f"Invalid key {KEY}"}, "SerpApi answered with status 401: Invalid key …"),
        (SerpApiSearch, 200, {"search_metadata": {"status": "Error"}, "error": "no"}, "SerpApi failed: no"),
        (TavilySearch, 401, {"detail": {"error": "Unauthorized"}}, "Tavily answered with status 401: Unauthorized"),
        (TavilySearch, 200, {"results": None}, "Tavily answered in an unknown format"),
        (TavilySearch, 200, {"results": [3]}, "Tavily answered in an unknown format"),
        (TavilySearch, 200, b"<html>", "Tavily answered with status 200"),
        (TavilySearch, 200, [], "Tavily answered with status 200"),
        (TavilySearch, 500, b"", "Tavily answered with status 500"),
    ],
)  # fmt: skip
def test_a_refusal_is_told_without_the_key(
    make: Callable[..., WebSearch], status: int, answer: Any, message: str
) -> None:
    """With the status and the provider's own words."""
    with provider(answer, status) as asked:
        tool = SearchTool(engine=make(key=KEY, endpoint=asked.url, retries=0))
        response = tool.respond("<search>a</search>")
    assert response is not None
    assert not response[1].ok
    assert f"[SearchTool Error: {message}]" in response[1].text
    assert KEY not in response[1].text


@pytest.mark.parametrize("make", ALL)
def test_no_key_shows_in_an_error(make: Callable[..., WebSearch]) -> None:
    """Not even where the address with the key could not be reached."""
    with provider({}) as asked:
        address = asked.url
    engine = make(key=KEY, endpoint=address, retries=0)
    with pytest.raises(SearchError, match="cannot be reached: Connection refused") as caught:
        engine.search("a", 1)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert KEY not in repr(engine)


@pytest.mark.parametrize("make", [BraveSearch, google, TavilySearch])
def test_no_key_shows_in_a_log(make: Callable[..., WebSearch], caplog: pytest.LogCaptureFixture) -> None:
    """A program that logs all requests logs their addresses."""
    answers = {BraveSearch: BRAVE, google: GOOGLE, TavilySearch: TAVILY}
    with caplog.at_level(logging.DEBUG, "httpx2"), provider(answers[make]) as asked:
        make(key=KEY, endpoint=asked.url).search("a", 1)
    assert asked.url in caplog.text
    assert KEY not in caplog.text


def test_too_many_requests_are_tried_again() -> None:
    """429 is what providers say to a burst."""
    with provider({"detail": "slow down"}, 429) as asked:
        with pytest.raises(SearchError, match="status 429: slow down"):
            TavilySearch(key=KEY, endpoint=asked.url, retries=2).search("a", 1)
        assert asked.count == 3


def test_long_and_hostile_queries_are_shortened() -> None:
    """To what the provider takes."""
    with provider(BRAVE) as asked:
        engine = BraveSearch(key=KEY, endpoint=asked.url)
        engine.search("a" * 1_000_000, 3)
        assert asked.query["q"] == "a" * 400
        engine.search("a " * 1000, 3)
        assert asked.query["q"].split() == ["a"] * 50
        engine.search("\ud800\0", 3)
        assert asked.query["q"] == "?\0"


@pytest.mark.parametrize(
    ("name", "variable"),
    [("brave", "BRAVE_API_KEY"), ("google", "GOOGLE_API_KEY"), ("serpapi", "SERPAPI_API_KEY"),
     ("tavily", "TAVILY_API_KEY")],
)  # fmt: skip
def test_keys_come_from_the_environment(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says which variable is missing."""
    monkeypatch.setenv("GOOGLE_CSE_ID", "cx-id")
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ArgumentError, match=f"set {variable} in the environment"):
        SearchTool(engine=name)
    monkeypatch.setenv(variable, KEY)
    assert isinstance(SearchTool(engine=name).engine, type(web_engine(name)))


def test_google_needs_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key alone is not enough."""
    monkeypatch.delenv("GOOGLE_CSE_ID", raising=False)
    with pytest.raises(ArgumentError, match="GOOGLE_CSE_ID"):
        GoogleSearch(key=KEY)


@pytest.mark.parametrize("key", ["a\nb", "kéy", "\0"])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    """A line break would begin another header."""
    with pytest.raises(ArgumentError, match="characters that no key has"):
        BraveSearch(key=key)


def test_an_engine_can_be_pickled() -> None:
    """It opens connections of its own."""
    with provider(BRAVE) as asked:
        twin = pickle.loads(pickle.dumps(BraveSearch(key=KEY, endpoint=asked.url)))
        assert len(twin.search("a", 3)) == 2
