"""Live wikis, against HTTP servers on this machine that speak the APIs of MediaWiki and kiwix-serve."""

from __future__ import annotations

import json
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest

from gem.errors import ArgumentError, ArgumentTypeError, MissingPluginError
from gem_envs_games.wiki_backends import BackendError, Kiwix, MediaWiki
from gem_envs_games.wiki_game import WikiGameEnv, WikiGamePolicy
from gem_envs_games.wiki_graph import Page

PAGES = {
    "Lion": ("The lion is a cat.\nIt \ud800 roars.", ["Cat", "King", "Savanna", "Lion", "Nowhere", "Talk\u0007"]),
    "Cat": ("The cat purrs.", ["Pit", "House cat", "Mouse", "Lion"]),
    "Mouse": ("", ["Cat", "Cheese", "AC/DC"]),
    "Cheese": ("Cheese is made of milk.", ["Mouse", "Feline"]),
    "AC/DC": ("A band.", ["Cheese", "C++ {draft}"]),
    "C++ {draft}": ("A draft.", ["Mouse"]),
    "Pit": ("There is no way out.", []),
}
REDIRECTS = {"House cat": "Cat", "Feline": "Cat", "King": "Lion", "Savanna": "Pit"}

Answer = tuple[int, dict[str, str], bytes]


class Server(ThreadingHTTPServer):
    """Answers as ``reply`` says; first with what stands in ``failures``."""

    daemon_threads = True
    reply: Callable[[str, dict[str, str]], Answer]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[str] = []
        self.failures: list[Answer] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        failures = self.server.failures
        status, headers, body = failures.pop(0) if failures else self.server.reply(unquote(parts.path), query)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Stay silent."""


def as_json(value: Any) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


def mediawiki_reply(path: str, query: dict[str, str]) -> Answer:
    """Answer like ``api.php`` of a MediaWiki with the extension TextExtracts, two links at a time."""
    assert path == "/w/api.php"
    assert (query["action"], query["format"], query["formatversion"]) == ("query", "json", "2")
    if query.get("list") == "allpages":
        assert (query["apnamespace"], query["apfilterredir"]) == ("0", "nonredirects")
        titles = sorted(title for title in PAGES if title >= query.get("apfrom", ""))
        return as_json(
            {"query": {"allpages": [{"ns": 0, "title": title} for title in titles[: int(query["aplimit"])]]}}
        )
    assert query["redirects"] == "1"
    title = REDIRECTS.get(query["titles"], query["titles"])
    if query.get("prop") == "extracts":
        page: dict[str, Any] = {"ns": 0, "title": title}
        page |= {"extract": PAGES[title][0]} if title in PAGES else {"missing": True}
        return as_json({"batchcomplete": True, "query": {"pages": [page]}})
    assert (query["generator"], query["gplnamespace"], query["gpllimit"]) == ("links", "0", "max")
    links = PAGES[title][1]
    begin = int(query.get("gplcontinue", "0"))
    pages = [
        {"ns": 0, "title": target} if target in PAGES or "\u0007" in target else {"title": target, "missing": True}
        for target in (REDIRECTS.get(link, link) for link in links[begin : begin + 2])
    ]
    answer: dict[str, Any] = {"query": {"pages": pages}} if pages else {"batchcomplete": True}
    if begin + 2 < len(links):
        answer["continue"] = {"gplcontinue": str(begin + 2), "continue": "gplcontinue||"}
    return as_json(answer)


def kiwix_reply(path: str, query: dict[str, str]) -> Answer:
    """Answer like kiwix-serve, for a ZIM file of the older kind named ``tiny zim``."""
    if path == "/suggest":
        assert query["content"] == "tiny zim"
        found = [title for title in sorted(PAGES) if title[0] == query["term"][0]][: int(query["count"])]
        items = [{"value": t, "label": t, "kind": "path", "path": "A/" + t.replace(" ", "_")} for t in found]
        return as_json([*items, {"value": query["term"] + " ", "label": "search", "kind": "pattern"}])
    prefix = "/content/tiny zim/A/"
    title = path.removeprefix(prefix).replace("_", " ")
    if title in REDIRECTS and path.startswith(prefix):
        return 302, {"Location": quote(prefix + REDIRECTS[title].replace(" ", "_"))}, b""
    if title not in PAGES or not path.startswith(prefix):
        return 404, {}, b"not found"
    text, links = PAGES[title]
    up = "../" * title.count("/")
    anchors = "".join(f'<a href="{up or "./"}{quote(link.replace(" ", "_"))}#top">{link}</a>, ' for link in links)
    html = (
        "<html><head><title>x</title><style>p {}</style></head><body><p> </p>"
        f"<p>{text.encode('utf-8', 'replace').decode()}<sup>[1]</sup></p><p>See {anchors}</p>"
        f'<a href="{up}../I/photo">photo</a><a href="https://example.org/A/Else">else</a><a name="x">x</a>'
        '<a href="photo.png">photo</a><a href="">top</a><a href="http://[broken">broken</a></body></html>'
    )
    return 200, {"Content-Type": "text/html"}, html.encode()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def mediawiki(server: Server) -> Iterator[MediaWiki]:
    server.reply = mediawiki_reply
    wiki = MediaWiki(**options_for(server))
    yield wiki
    wiki.close()


@pytest.fixture
def kiwix(server: Server) -> Iterator[Kiwix]:
    server.reply = kiwix_reply
    wiki = Kiwix("tiny zim", server.url, query_delay_ms=0, max_query_attempts=3)
    yield wiki
    wiki.close()


def options_for(server: Server) -> dict[str, Any]:
    return {"url": f"{server.url}/w/api.php", "query_delay_ms": 0, "max_query_attempts": 3}


def game(server: Server, **kwargs: Any) -> WikiGameEnv:
    server.reply = mediawiki_reply
    return WikiGameEnv(backend="mw", trawler_kwargs=options_for(server), **kwargs)


def test_mediawiki_pages_have_text_and_sorted_links(mediawiki: MediaWiki) -> None:
    """Red links, links to itself and unprintable titles are left out, redirects are resolved, text is one line."""
    assert mediawiki.page("Lion") == Page("Lion", "The lion is a cat. It ? roars.", ("Cat", "Pit"))
    assert mediawiki.page("House cat") == Page("Cat", "The cat purrs.", ("Lion", "Mouse", "Pit"))
    assert mediawiki.page("Mouse").text == ""
    assert mediawiki.page("Pit").links == ()


def test_mediawiki_without_such_a_page(mediawiki: MediaWiki) -> None:
    """A page that does not exist has no links."""
    assert mediawiki.page("Nowhere") == Page("Nowhere", "", ())


def test_kiwix_pages_have_text_and_links_in_their_order(kiwix: Kiwix) -> None:
    """Links are those to other articles, in the order of the text; titles may hold slashes and braces."""
    lion = kiwix.page("Lion")
    assert lion.title == "Lion"
    assert lion.text.startswith("The lion is a cat. It ? roars. See Cat,")
    assert lion.links == ("Cat", "King", "Savanna", "Nowhere")
    assert kiwix.page("House cat").title == "Cat"
    assert kiwix.page("AC/DC").links == ("Cheese", "C++ {draft}")
    assert kiwix.page("Nowhere") == Page("Nowhere", "", ())


@pytest.mark.parametrize("name", ["mediawiki", "kiwix"])
def test_what_is_drawn_is_a_function_of_the_seed(name: str, request: pytest.FixtureRequest) -> None:
    """Two different pages with links, the same ones for the same seed, not always the same ones."""
    wiki = request.getfixturevalue(name)
    pairs = []
    for seed in range(8):
        start, target = wiki.draw_pair(Random(seed), 10)
        assert start.links
        assert start.title != target.title
        assert wiki.draw_pair(Random(seed), 10) == (start, target)
        pairs.append((start.title, target.title))
    assert len(set(pairs)) > 1


@pytest.mark.parametrize(
    "failure", [(503, {"Retry-After": "0"}, b""), (429, {}, b""), (500, {"Retry-After": "x"}, b"")]
)
def test_a_busy_server_is_asked_again(mediawiki: MediaWiki, server: Server, failure: Answer) -> None:
    """Up to max_query_attempts times."""
    server.failures = [failure, failure]
    assert mediawiki.page("Cat").title == "Cat"
    server.failures = [failure] * 3
    with pytest.raises(BackendError, match=f"status {failure[0]}"):
        mediawiki.page("Cat")


def test_a_refusal_is_not_asked_again(mediawiki: MediaWiki, server: Server) -> None:
    """A status such as 403 will not change."""
    server.failures = [(403, {}, b"")]
    with pytest.raises(BackendError, match="status 403"):
        mediawiki.page("Cat")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"\xff",
        b"[]",
        b"5",
        b"null",
        b"{}",
        b'{"query": 5}',
        b'{"query": {"pages": []}}',
        b'{"query": {"pages": [{}]}}',
        b'{"error": {"code": "x", "info": "no"}}',
        b'{"error": 5}',
        b"[" * 100_000,
    ],
)
def test_nonsense_answers_are_backend_errors(mediawiki: MediaWiki, server: Server, body: bytes) -> None:
    """Whatever a server sends instead of what was asked for."""
    server.reply = lambda path, query: (200, {}, body)
    with pytest.raises(BackendError):
        mediawiki.page("Cat")
    with pytest.raises(BackendError):
        mediawiki.draw_pair(Random(0), 5)


@pytest.mark.parametrize("body", [b"<html>", b"5", b"[5]", b"{}", b'[{"kind": "path"}]', b"[]"])
def test_nonsense_suggestions_are_backend_errors(kiwix: Kiwix, server: Server, body: bytes) -> None:
    """Whatever kiwix-serve sends instead of suggestions."""
    server.reply = lambda path, query: (200, {}, body)
    with pytest.raises(BackendError):
        kiwix.draw_pair(Random(0), 5)


def test_a_huge_answer_is_cut_off(mediawiki: MediaWiki, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is read beyond the limit."""
    monkeypatch.setattr("gem_envs_games.wiki_backends._MOST_BYTES", 1000)
    server.reply = lambda path, query: (200, {}, b" " * 1001)
    with pytest.raises(BackendError, match="more than 1000 bytes"):
        mediawiki.page("Cat")


def test_the_cache_asks_once(server: Server) -> None:
    """With query_use_cache a page is fetched once, without it each time."""
    server.reply = mediawiki_reply
    for use_cache in (True, False):
        wiki = MediaWiki(**options_for(server), query_use_cache=use_cache)
        wiki.page("Cat")
        asked = len(server.requests)
        assert wiki.page("cat" if use_cache else "Cat").title == "Cat"
        assert (len(server.requests) == asked) == use_cache
        wiki.close()


def test_a_game_on_a_live_wiki_is_won(server: Server) -> None:
    """The policy, which does not know this wiki, arrives by trying links; a redirect to the target counts."""
    env = game(server, variant="freenav", max_turns=30)
    policy = WikiGamePolicy()
    observation, info = env.reset(seed=3, options={"start": "Lion", "target": "Cheese"})
    policy.reset(observation, info)
    terminated = False
    while not terminated:
        observation, reward, terminated, _, info = env.step(policy.act(observation, info))
    assert (reward, info["success"]) == (1.0, True)
    env.close()


def test_a_redirect_to_the_target_wins(server: Server) -> None:
    """A link whose title is another one, but which leads to the target page, pays like the target."""
    server.reply = kiwix_reply
    options = {"zimfile": "tiny zim", "url": f"{server.url}/", "query_delay_ms": 0}
    env = WikiGameEnv(backend="kiwix", trawler_kwargs=options)
    env.reset(options={"start": "Cheese", "target": "Cat"})
    observation, reward, terminated, truncated, _ = env.step("\\boxed{Feline}")
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert "Current page: Cat" in observation
    env.close()


def test_a_dead_end_loses_a_game_without_regrets(server: Server) -> None:
    """Without a way back, a page without links ends the game for 0.0."""
    env = game(server)
    env.reset(options={"start": "Cat", "target": "Cheese"})
    observation, reward, terminated, truncated, info = env.step("\\boxed{Pit}")
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info == {"turn": 1, "action_status": "legal", "success": False}
    assert "dead end" in observation
    assert env.sample_random_action() == "\\boxed{Cheese}"
    env.close()


@pytest.mark.parametrize("variant", ["oneback", "freenav", "eidetic"])
def test_a_dead_end_costs_two_turns_where_there_is_a_way_back(server: Server, variant: str) -> None:
    """The agent stays where it was, for -0.1, and has one turn less; never more turns than there are."""
    env = game(server, variant=variant, max_turns=3)
    env.reset(options={"start": "Cat", "target": "Cheese"})
    observation, reward, terminated, truncated, info = env.step("\\boxed{Pit}")
    assert (reward, terminated, truncated, info) == (-0.1, False, False, {"turn": 2, "action_status": "legal"})
    assert observation.startswith("Turn 2 of 3. ")
    assert "Current page: Cat" in observation
    _, reward, terminated, truncated, info = env.step("\\boxed{Pit}")
    assert (reward, terminated, truncated, info["turn"]) == (-0.1, True, True, 3)
    env.close()


def test_a_fault_in_mid_episode_truncates(server: Server) -> None:
    """The episode counts for nothing, info says why, and the next reset begins anew."""
    env = game(server)
    env.reset(options={"start": "Lion", "target": "Cheese"})
    server.failures = [(500, {}, b"")] * 3
    observation, reward, terminated, truncated, info = env.step("\\boxed{Cat}")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert "status 500" in info["error"]
    assert json.dumps(info)
    assert "does not answer" in observation
    env.reset(seed=1)
    assert env.step(env.sample_random_action())[4]["action_status"] == "legal"
    env.close()


def test_a_server_that_is_not_there() -> None:
    """A reset raises BackendError, which is an OSError, and names the address."""
    with Server() as gone:
        url = f"{gone.url}/w/api.php"
    options = {"url": url, "query_delay_ms": 0, "max_query_attempts": 2, "timeout_s": 5}
    env = WikiGameEnv(backend="mw", trawler_kwargs=options)
    with pytest.raises(OSError, match=r"127\.0\.0\.1"):
        env.reset(seed=0)
    env.close()


def test_a_live_game_keeps_its_state(server: Server) -> None:
    """State, JSON and pickle go on without asking the server for what is known."""
    env = game(server, variant="freenav")
    env.reset(options={"start": "Lion", "target": "Cheese"})
    env.step("\\boxed{Cat}")
    asked = len(server.requests)
    twin, copied = game(server, variant="freenav"), pickle.loads(pickle.dumps(env))
    twin.set_state(json.loads(json.dumps(env.get_state())))
    results = [one.step("\\boxed{<PREV_PAGE>}") for one in (env, twin, copied)]
    assert results[0] == results[1] == results[2]
    assert len(server.requests) == asked
    for one in (env, twin, copied):
        one.close()
        one.close()
    assert env.step("\\boxed{Cat}")[1] == -0.05
    env.close()


def test_without_the_library_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled encyclopedia needs nothing; a live wiki names the extra at construction."""
    monkeypatch.setitem(sys.modules, "httpx2", None)
    WikiGameEnv().reset(seed=0)
    with pytest.raises(MissingPluginError, match=r"pip install 'gem-envs-games\[wiki\]'"):
        WikiGameEnv(backend="mw")


@pytest.mark.parametrize(
    ("backend", "kwargs"),
    [
        ("mw", {"url": "ftp://example.org"}),
        ("mw", {"url": "http://"}),
        ("mw", {"url": "http://[1"}),
        ("mw", {"url": 5}),
        ("mw", {"query_delay_ms": -1}),
        ("mw", {"max_query_attempts": 0}),
        ("mw", {"query_use_cache": "yes"}),
        ("mw", {"timeout_s": 0}),
        ("mw", {"query_delay": 5}),
        ("mw", {5: 5}),
        ("mw", "url"),
        ("kiwix", {}),
        ("kiwix", None),
        ("kiwix", {"zimfile": 5}),
    ],
)
def test_impossible_arguments_are_refused(backend: str, kwargs: Any) -> None:
    """With an error of GEM, before anything is asked of a server."""
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        WikiGameEnv(backend=backend, trawler_kwargs=kwargs)
