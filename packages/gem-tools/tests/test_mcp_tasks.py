"""Calls that go on: tasks and progress; and what servers offer besides: prompts, data of a schema, other tools."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_asking import VERSIONS, Asking, every_version, every_version_at_night

import gem
from gem.core import Info
from gem.tools import ToolEnvWrapper
from gem_tools.mcp import MCPTool, schema_check
from gem_tools.mcp.schema_check import first_mismatch, is_cheap, mismatch

pytestmark = pytest.mark.usefixtures("no_connections_left")


@every_version
def test_a_task_is_waited_for_and_its_end_is_that_of_the_call(version: str, tmp_path: Path) -> None:
    """Its result, its error and its cancellation, each with the server's words; its questions reach the user."""
    server = Asking(version, tmp_path, user={"name": "Ada"})
    assert server("dig").text == "found gold"
    assert server("dig_for_someone").text == 'found gold, accept {"seats": 2, "name": "Ada"}'
    assert server.fails("dig_in_vain") == "dig_in_vain failed: MCP server default: only rock."
    assert "its task was cancelled: told to stop" in server.fails("dig_until_told")
    assert "is invalid" in server.fails("dig_a_wrong_thing")


@pytest.mark.slow
@every_version_at_night
def test_a_task_without_end_is_cancelled_at_its_time_limit(version: str, tmp_path: Path) -> None:
    """The server is told, and the message has its last words."""
    server = Asking(version, tmp_path, execution_timeout=2.0)
    assert "did not answer within 2 seconds; it last reported: metre " in server.fails("dig_for_ever")
    deadline = time.monotonic() + 60
    while "cancelled dig_for_ever" not in server.diary:  # the caller does not wait for the server to write it down
        assert time.monotonic() < deadline, server.diary


@pytest.mark.nightly
@every_version_at_night
@pytest.mark.parametrize("tool", ["work", pytest.param("dig", marks=pytest.mark.nightly)])
def test_a_call_that_shows_that_it_goes_on_may_last_longer(version: str, tool: str, tmp_path: Path) -> None:
    """Longer than a silent one, that is: each sign begins the time of silence anew."""
    patient = Asking(version, tmp_path, execution_timeout=5.0, longest_execution=60.0)
    assert patient(tool).ok
    policy = patient.source._policy
    assert (policy.limits.silence, policy.limits.total) == (5.0, 60.0)


@pytest.mark.nightly
@every_version_at_night
def test_progress_without_end_and_progress_that_is_none_are_cut_off(version: str, tmp_path: Path) -> None:
    """The first at the limit of the call, the second at that of silence."""
    server = Asking(version, tmp_path, execution_timeout=1.0, longest_execution=2.0)
    assert "did not answer within 2 seconds; it last reported: " in server.fails("spin")
    assert "did not answer within 1 seconds; it last reported: 1: step " in server.fails("stand")


@every_version_at_night
def test_progress_beyond_all_numbers_ends_no_session(version: str, tmp_path: Path) -> None:
    """An int need not fit into a float."""
    assert Asking(version, tmp_path)("beyond").text == "worked"


@pytest.mark.nightly
@every_version
def test_a_flood_of_progress_slows_down_no_other_server(version: str, tmp_path: Path) -> None:
    """Neither while its call waits nor afterwards, when it does not stop: this process uses little CPU for it."""
    quiet = Asking(version, tmp_path)
    loud = {tool.name: tool for tool in MCPTool({"mcpServers": {"loud": quiet.config}}, execution_timeout=2.0)}

    def cost() -> float:
        begin = time.process_time()
        for _ in range(50):
            assert quiet("old").ok
        return time.process_time() - begin

    alone = min(cost() for _ in range(3))
    other = threading.Thread(target=lambda: loud["flood"].execute({}))
    other.start()
    during = min(cost() for _ in range(3))
    other.join()
    afterwards = min(cost() for _ in range(3))
    assert max(during, afterwards) < 5 * alone


@every_version_at_night
def test_structured_content_keeps_to_the_schema_that_the_server_declares(version: str, tmp_path: Path) -> None:
    """Or the call fails, and says what is wrong."""
    server = Asking(version, tmp_path)
    assert server("right").data == {"n": 5}
    assert "does not fit its output schema: at ['n']: 'word' is not of type 'integer'" in server.fails("wrong")
    assert "does not fit its output schema: at ['n']: [1] is not of type 'integer'" in server.fails("list")
    assert "has an output schema, but its result has no structured content" in server.fails("missing")


@pytest.mark.nightly
@every_version
def test_a_schema_that_takes_for_ever_fails_its_call_alone(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pattern backtracks; calls of others are answered meanwhile."""
    server = Asking(version, tmp_path)
    failed: list[str] = []
    other = threading.Thread(target=lambda: failed.append(server.fails("backtrack")))
    other.start()
    while other.is_alive():
        assert server("right").ok
    assert "takes more than 2 seconds" in failed[0]


HOSTILE_SCHEMAS = {
    "a pattern": {"properties": {"a": {"pattern": "^(a+)+$"}}},
    "names of a pattern": {"patternProperties": {"^(a+)+$": True}},
    "all pairs": {"uniqueItems": True},
    "references that branch": {
        "$defs": {**{f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)}, "a60": True},
        "$ref": "#/$defs/a0",
    },
    "itself": {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, True]}}, "$ref": "#/$defs/a"},
    "the root": {"items": {"$ref": "#"}},
    "elsewhere": {"$ref": "https://schemas.example/a.json"},
    "later keywords": {"unevaluatedProperties": False},
    "an unknown keyword": {"x-cost": 5},
    "no schema": "a",
    "no group": {"properties": 5},
    "many parts": {"anyOf": [{"const": n} for n in range(60_000)]},
}


@pytest.mark.parametrize("name", HOSTILE_SCHEMAS)
def test_a_schema_whose_cost_is_unknown_is_not_checked_in_this_process(name: str) -> None:
    """Only keywords of a list are, none of which visits a value more than once."""
    assert not is_cheap(HOSTILE_SCHEMAS[name], {"a": ["a" * 40] * 10})


def _with_references(schemas: list[Any]) -> dict[str, Any]:
    """Return a schema whose parts refer to the ones before."""
    group = {
        f"s{n}": {"anyOf": [schema, *([{"$ref": f"#/$defs/s{n - 1}"}] if n else [])]}
        for n, schema in enumerate(schemas)
    }
    return {"$defs": group, "properties": {"a": {"$ref": f"#/$defs/s{len(schemas) - 1}"}}}


LEAVES = st.sampled_from(
    [
        {"type": "integer"},
        {"type": "string", "minLength": 2},
        {"const": 1},
        {"enum": ["ab", None]},
        {"minimum": 2},
        True,
    ]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"properties": st.dictionaries(st.sampled_from("ab"), inner), "required": st.just(["a"])}
        ),
        st.fixed_dictionaries({"items": inner, "maxItems": st.just(2)}),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"additionalProperties": inner}),
        st.lists(inner, min_size=1, max_size=3).map(_with_references),
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.sampled_from([None, True, 1, 2.5, "ab", "x"]),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner)),
    max_leaves=5,
)


@pytest.mark.nightly
@given(schema=SCHEMAS, value=VALUES)
def test_a_value_fits_a_schema_as_the_library_says(schema: Any, value: Any) -> None:
    """The schemas of the list are checked here, and by the usual rules."""
    from jsonschema import Draft202012Validator

    if not any("$defs" in str(part) for part in ([] if schema is True else schema.values())):
        assert is_cheap(schema, value)
    assert (first_mismatch(schema, value) is None) is Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "no type"}, "its schema is invalid"),
        ({"$ref": "https://schemas.example/a.json"}, "refers to what it does not have"),
        (5, "its schema cannot be used"),
    ],
)
def test_a_schema_that_is_none_fits_nothing(schema: Any, message: str) -> None:
    """The sentence says that it is the schema's fault."""
    found = first_mismatch(schema, 1)
    assert found is not None
    assert message in found


@pytest.mark.nightly
def test_a_costly_check_has_a_time_limit_in_its_own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ends in time gives what a check here gives."""
    monkeypatch.setattr(schema_check, "SECONDS", 0.2)
    monkeypatch.setattr(schema_check, "_pool", None)
    schema = HOSTILE_SCHEMAS["a pattern"]
    assert mismatch(schema, {"a": "aa"}) is None
    assert mismatch(schema, {"a": "b"}) == "at ['a']: 'b' does not match '^(a+)+$'"
    assert mismatch(schema, {"a": "a" * 40 + "b"}) == "the check against its schema takes more than 0.2 seconds"
    schema_check._processes().close()


def test_prompts_are_listed_and_read_and_huge_ones_lose_their_middle(tmp_path: Path) -> None:
    """By the agent through tools, and by a program as messages of a chat."""
    server = Asking(VERSIONS[1], tmp_path, prompts=True, max_chars=1000)
    assert server("list_prompts").text.splitlines() == ["greet: Greets.; arguments: name, title (optional)", "huge: "]
    result = server("get_prompt", name="greet", arguments={"name": "Ada"})
    assert result.text == "[user]\nSay hello to Ada.\n[assistant]"
    assert result.content[0]["type"] == "image_url"
    assert len(server("get_prompt", name="huge").text) < 1100
    messages = server.source.prompt("greet", {"name": "Ada"})
    assert messages[0] == {"role": "user", "content": "Say hello to Ada."}
    assert messages[1]["content"][0]["image_url"]["url"] == "data:image/png;base64,aGk="
    assert len(server.source.prompt("huge")[0]["content"]) < 1100
    assert "no such prompt" in server.fails("get_prompt", name="none")
    assert "get_prompt" not in Asking(VERSIONS[1], tmp_path).tools


class Room(gem.Env[Any, str]):
    """Has no end."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        return "task", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "next", 0.0, False, False, {}


def _names(env: ToolEnvWrapper) -> list[str]:
    return [schema["function"]["name"] for schema in env.tool_schemas]


def test_tools_that_a_server_changes_are_those_of_the_next_episode(tmp_path: Path) -> None:
    """The episode keeps its own to the end; other tools of the environment keep their places."""
    source = Asking(VERSIONS[0], tmp_path).source

    def clap() -> str:
        return "clap"

    def bow() -> str:
        return "bow"

    env, other = (ToolEnvWrapper(Room(), [clap, source, bow], max_tool_uses=None) for _ in range(2))
    for each in (env, other):
        each.reset(seed=0)
    before = _names(env)
    assert env.step('<tool_call>{"name": "change", "arguments": {}}</tool_call>')[0] == "change"
    assert _names(env) == before
    for each in (env, other):
        observation, _ = each.reset()
        assert "book: Book seats." in observation
        assert _names(each) == ["new" if name == "old" else name for name in before]
        assert each.step('<tool_call>{"name": "new", "arguments": {}}</tool_call>')[0] == "new"
    later = ToolEnvWrapper(Room(), [source], max_tool_uses=None)
    assert {"new", "change"} <= set(_names(later))
    assert "old" not in _names(later)
    twin = env.spawn()
    assert _names(twin) == _names(env)
    for each in (env, other, later, twin):
        each.close()


NEWEST = """
import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Resolve
from pydantic import BaseModel
from typing import Annotated

server = MCPServer("newest")

class Guest(BaseModel):
    name: str

async def asked() -> Elicit[Guest]:
    return Elicit("Who comes?", Guest)

@server.tool()
async def invite(guest: Annotated[Guest, Resolve(asked)]) -> str:
    return guest.name

@server.tool()
async def work(context: Context) -> int:
    for number in range(3):
        await context.report_progress(number + 1, 3, "hard")
    return 3

@server.prompt()
def greet(name: str) -> str:
    return f"Say hello to {name}."

server.run()
"""


@pytest.mark.nightly
def test_a_server_of_the_newest_sdk() -> None:
    """Progress, data and prompts, as the SDK itself sends them."""
    source = MCPTool({"command": sys.executable, "args": ["-c", NEWEST]}, prompts=True, user={"name": "Ada"})
    tools = {tool.name: tool for tool in source}
    assert tools["work"].execute({}).data == {"result": 3}
    assert source.prompt("greet", {"name": "Ada"})[0]["content"] == "Say hello to Ada."
    assert tools["invite"].execute({}).text == "Ada"
