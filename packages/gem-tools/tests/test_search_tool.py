"""The search tool: its syntax, what it answers, and the wrappers that bring it."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError, ArgumentTypeError
from gem.tools import ToolEnvWrapper
from gem_tools import SearchTool
from gem_tools.search import SearchError, SearchHit

CITIES = [
    {"id": "lima", "contents": '"Lima"\nLima is the capital of Peru.'},
    {"id": "quito", "contents": '"Quito"\nQuito is the capital of Ecuador.'},
    {"id": "oslo", "title": "Oslo", "text": "Oslo is the capital of Norway,\nin the north."},
]


class Question(gem.Env[str, str]):
    """One question; brings its own corpus."""

    search_corpus = CITIES

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return "What is the capital of Peru?", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "", float("Lima" in action), True, False, {}

    def get_state(self) -> dict[str, Any]:
        return {}

    def set_state(self, state: Any) -> None:
        pass


class Engine:
    """Finds what it was given, or raises it."""

    def __init__(self, found: Any) -> None:
        self.found = found
        self.asked: list[tuple[str, int]] = []

    def search(self, query: str, topk: int) -> list[SearchHit]:
        self.asked.append((query, topk))
        if isinstance(self.found, Exception):
            raise self.found
        result: list[SearchHit] = self.found
        return result

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No server, and a cache folder of its own."""
    monkeypatch.delenv("SEARCH_URL", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def tool() -> SearchTool:
    return SearchTool(corpus=CITIES)


def answer(tool: SearchTool, text: str) -> str:
    response = tool.respond(text)
    assert response is not None
    return response[1].text


def test_the_answer_is_laid_out_as_published(tool: SearchTool) -> None:
    """Title in brackets, then the text, one document after the other, between information tags."""
    assert answer(tool, "<search>capital of Peru</search>") == (
        "\n\n<information>"
        'Doc 1(Title: "Lima") Lima is the capital of Peru.\n'
        'Doc 2(Title: "Quito") Quito is the capital of Ecuador.\n'
        'Doc 3(Title: "Oslo") Oslo is the capital of Norway,\nin the north.\n'
        "</information>\n\n"
    )


def test_the_first_complete_call_counts_and_ends_the_action(tool: SearchTool) -> None:
    """What comes after it was written without knowing the answer."""
    response = tool.respond("I think <search> Norway\n</search> tail <search>Peru</search>")
    assert response is not None
    parsed_action, result = response
    assert parsed_action == "I think <search> Norway\n</search>"
    assert result.ok
    assert [hit["id"] for hit in result.data] == ["oslo"]


@pytest.mark.parametrize("text", ["", "Lima", "<search>open", "</search><search>", "<Search>Peru</Search>"])
def test_what_is_no_call_is_none(tool: SearchTool, text: str) -> None:
    """Unclosed tags and other cases go on to the environment."""
    assert tool.respond(text) is None


def test_data_holds_the_hits(tool: SearchTool) -> None:
    """For programs, as JSON values."""
    response = tool.respond("<search>Ecuador</search>")
    assert response is not None
    (hit,) = response[1].data
    assert {**hit, "score": 0} == {
        "id": "quito", "title": "Quito", "text": "Quito is the capital of Ecuador.", "score": 0,
    }  # fmt: skip
    assert json.loads(json.dumps(hit)) == hit


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_is_a_failed_call(tool: SearchTool, query: str) -> None:
    """The agent is told, in the published brackets."""
    response = tool.respond(f"<search>{query}</search>")
    assert response is not None
    assert not response[1].ok
    assert response[1].text == "\n\n<information>[SearchTool Error: The query is empty.]</information>\n\n"


def test_a_query_that_fits_nothing_is_answered(tool: SearchTool) -> None:
    """It is no error, and the agent need not guess what an empty answer means."""
    response = tool.respond("<search>zzz</search>")
    assert response is not None
    assert response[1].ok
    assert response[1].data == []
    assert "Nothing was found" in response[1].text


@given(st.text())
def test_any_query_is_answered(query: str) -> None:
    """Whatever stands between the tags."""
    response = SearchTool(corpus=CITIES).respond(f"<search>{query}</search>")
    assert response is not None
    assert response[1].text.startswith("\n\n<information>")


@pytest.mark.parametrize("query", ["a" * 1_000_000, "Peru " * 200_000, "\ud800" * 1000, "<search>" * 50_000])
def test_a_megabyte_is_answered(tool: SearchTool, query: str) -> None:
    """The text of the answer can be written to a file."""
    answer(tool, f"<search>{query}</search>").encode()


def test_a_native_call_may_say_how_many() -> None:
    """From 1 to 10, or to topk if that is more."""
    engine = Engine([])
    tool = SearchTool(engine=engine, topk=4)
    for arguments in ({"query": "a"}, {"query": "a", "topk": 10}, {"query": "a", "topk": None}):
        assert tool.execute(arguments).ok
    assert engine.asked == [("a", 4), ("a", 10), ("a", 4)]
    assert tool.to_openai()["function"]["parameters"]["properties"]["topk"]["maximum"] == 10
    assert SearchTool(engine=engine, topk=50).most_hits == 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "query must be a str, got NoneType"),
        ({"query": 3}, "query must be a str, got int"),
        ({"query": "a", "topk": 0}, "topk must be at least 1, got 0"),
        ({"query": "a", "topk": 11}, "topk must be at most 10, got 11"),
        ({"query": "a", "topk": "3"}, "topk must be an int, got '3'"),
    ],
)
def test_bad_native_arguments_are_told_to_the_agent(tool: SearchTool, arguments: Any, message: str) -> None:
    """As a failed call that names the argument."""
    action = {"tool_calls": [{"id": "1", "function": {"name": "search", "arguments": json.dumps(arguments)}}]}
    env = ToolEnvWrapper(Question(), [tool])
    env.reset()
    observation, _, terminated, _, info = env.step(action)
    assert message in observation
    assert info["tool_error"]
    assert not terminated


def test_a_failed_search_is_told_to_the_agent() -> None:
    """In the published brackets, with the reason."""
    tool = SearchTool(engine=Engine(SearchError("the search server at x cannot be reached: Connection refused")))
    response = tool.respond("<search>a</search>")
    assert response is not None
    assert not response[1].ok
    assert response[1].text == (
        "\n\n<information>[SearchTool Error: the search server at x cannot be reached: Connection refused]"
        "</information>\n\n"
    )


def test_something_must_be_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names all ways to say what."""
    with pytest.raises(ArgumentError, match=r"one of search_url, corpus and engine .* SEARCH_URL is not set"):
        SearchTool()
    monkeypatch.setenv("SEARCH_URL", "http://127.0.0.1:9/retrieve")
    assert SearchTool().engine.url == "http://127.0.0.1:9/retrieve"  # type: ignore[attr-defined]
    assert len(SearchTool(corpus=CITIES).engine) == 3  # type: ignore[arg-type]


def test_only_one_thing_can_be_searched() -> None:
    """Two are named in the message."""
    with pytest.raises(ArgumentError, match="got search_url and corpus"):
        SearchTool(search_url="http://127.0.0.1:9/retrieve", corpus=CITIES)


@pytest.mark.parametrize(
    "arguments",
    [
        {"search_url": ""}, {"search_url": "127.0.0.1:8000"}, {"search_url": "ftp://a/b"}, {"search_url": "http://"},
        {"search_url": "http://a:99999/"}, {"search_url": "http://[::1/"}, {"topk": 0}, {"topk": 101}, {"timeout": 0},
        {"timeout": float("inf")}, {"retries": -1}, {"engine": "altavista"},
    ],
)  # fmt: skip
def test_impossible_arguments_are_refused(arguments: Any) -> None:
    """When the tool is made, not in the first search."""
    defaults = {} if {"search_url", "engine"} & arguments.keys() else {"corpus": CITIES}
    with pytest.raises(ArgumentError):
        SearchTool(**defaults, **arguments)


@pytest.mark.parametrize("arguments", [{"engine": 3}, {"corpus": 3}, {"topk": "3"}, {"search_url": b"http://a/"}])
def test_arguments_of_a_wrong_type_are_refused(arguments: Any) -> None:
    """With the type that they have."""
    defaults = {"corpus": CITIES} if "topk" in arguments else {}
    with pytest.raises(ArgumentTypeError):
        SearchTool(**defaults, **arguments)


def test_a_function_is_called_by_the_first_search() -> None:
    """Making an environment costs nothing; its index is made when somebody searches."""
    calls: list[int] = []

    def documents() -> list[dict[str, str]]:
        calls.append(1)
        return CITIES

    tool = SearchTool(corpus=documents)
    assert calls == []
    assert "Lima" in answer(tool, "<search>Peru</search>")
    answer(tool, "<search>Peru</search>")
    assert calls == [1]


def test_copies_share_the_engine(tool: SearchTool) -> None:
    """Spawning environments multiplies no index and no connection."""
    for original in (tool, SearchTool(search_url="http://127.0.0.1:9/retrieve"), SearchTool(engine=Engine([]))):
        twin = copy.deepcopy(original)
        assert twin is not original
        assert twin.engine is original.engine


def test_a_tool_can_be_pickled(tool: SearchTool, tmp_path: Path) -> None:
    """It opens its corpus, or its connection, where it is unpickled."""
    path = tmp_path / "cities.jsonl"
    path.write_text("".join(json.dumps(city) + "\n" for city in CITIES))
    for original in (tool, SearchTool(corpus=cities), SearchTool(corpus=path)):
        twin = pickle.loads(pickle.dumps(original))
        assert answer(twin, "<search>Peru</search>") == answer(original, "<search>Peru</search>")
    twin = pickle.loads(pickle.dumps(SearchTool(search_url="http://127.0.0.1:9/x", retries=0)))
    assert not twin.execute({"query": "a"}).ok


def cities() -> list[dict[str, str]]:
    return CITIES


def test_tools_of_many_environments_share_one_index() -> None:
    """From many threads as well."""
    tools: list[SearchTool] = []

    def make() -> None:
        tools.append(SearchTool(corpus=[dict(city) for city in CITIES]))

    threads = [threading.Thread(target=make) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(tool.engine) for tool in tools}) == 1


def test_the_tool_announces_its_syntax(tool: SearchTool) -> None:
    """An agent that reads the instructions can call it."""
    instructions = tool.instruction_string()
    assert tool.parse(instructions) is not None
    assert "<information>" in instructions


def test_search_tool_pays_as_published() -> None:
    """0.3 for each search, five of them, three documents each."""
    from gem.wrappers import wrapper

    env = wrapper("search_tool")(Question())
    assert isinstance(env, ToolEnvWrapper)
    assert (env.tool_reward, env.tool_success_reward, env.tool_execute_error_reward) == (0.3, 0.0, 0.0)
    assert (env.max_tool_uses, env.tools[0].topk) == (5, 3)  # type: ignore[attr-defined]
    plain = wrapper("search_tool_no_int_reward")(Question())
    assert isinstance(plain, ToolEnvWrapper)
    assert (plain.tool_reward, plain.tool_success_reward, plain.max_tool_uses) == (0.0, 0.0, 5)


def test_the_wrapper_searches_what_the_environment_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before SEARCH_URL, since that server knows nothing of this environment; under other wrappers too."""
    from gem.wrappers import wrapper
    from gem.wrappers.tracking import EpisodeTracking

    monkeypatch.setenv("SEARCH_URL", "http://127.0.0.1:9/retrieve")
    env = wrapper("search_tool")(EpisodeTracking(Question()))
    env.reset()
    observation, reward, terminated, _, info = env.step("<search>capital of Peru</search>")
    assert "Lima is the capital of Peru." in observation
    assert (reward, terminated, info["tool_name"]) == (0.3, False, "search")
    _, reward, terminated, _, _ = env.step("Lima")
    assert (reward, terminated) == (1.0, True)


def test_a_spawned_environment_shares_the_index() -> None:
    """Though its wrapper and tool are its own."""
    from gem.wrappers import wrapper

    env = wrapper("search_tool")(Question())
    twin = env.spawn()
    assert twin.tools[0] is not env.tools[0]
    assert twin.tools[0].engine is env.tools[0].engine
