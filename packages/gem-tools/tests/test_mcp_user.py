"""Servers that ask their user: who answers, who refuses, and questions without end."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp_asking import VERSIONS, Asking, every_version, every_version_at_night

import gem
from gem.core import Info
from gem.errors import ArgumentTypeError, ToolError
from gem.policies import Policy
from gem.tools import FromEpisode, ToolEnvWrapper
from gem_tools.mcp import MCPTool
from gem_tools.mcp.simulated_user import Elicitation, ElicitedUser

pytestmark = pytest.mark.usefixtures("no_connections_left")

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "seats": {"type": "integer", "default": 2}},
    "required": ["name", "seats"],
}
ACCEPTED = 'accept {"seats": 2, "name": "Ada"}'


@every_version
def test_a_table_answers_forms_and_visits_no_address(version: str, tmp_path: Path) -> None:
    """A field without a value gets the form's default."""
    server = Asking(version, tmp_path, user={"name": "Ada"})
    assert server("book").text == ACCEPTED
    assert server("pay").text == "decline null"


@every_version_at_night
def test_a_function_answers_declines_or_fails_the_call(version: str, tmp_path: Path) -> None:
    """An answer that does not fit the form is the function's mistake, and its call says so."""
    asked: list[Elicitation] = []
    replies: list[Any] = [{"name": "Bo", "seats": 3}, None, {"name": "Bo", "seats": 0}, ["no", "mapping"]]

    def user(question: Elicitation) -> Any:
        asked.append(question)
        return replies[len(asked) - 1]

    server = Asking(version, tmp_path, user=user)
    assert server("book").text == 'accept {"name": "Bo", "seats": 3}'
    assert (asked[0].server, asked[0].message, asked[0].url) == ("default", "Who comes?", None)
    assert server("book").text == "decline null"
    assert "['seats']: 0 is less than the minimum of 1" in server.fails("book")
    assert "a mapping of fields or None, got list" in server.fails("book")


@pytest.mark.parametrize(
    ("version", "refusal"),
    [
        pytest.param(VERSIONS[0], "error: Elicitation not supported", marks=pytest.mark.nightly),
        (VERSIONS[1], "book failed: MCP server default: Elicitation not supported."),
    ],
)
def test_without_a_user_a_question_is_refused(version: str, refusal: str, tmp_path: Path) -> None:
    """In the older protocol the server hears of it, and makes of it what it will."""
    assert Asking(version, tmp_path)("book").text == refusal


@pytest.mark.parametrize("tool", ["nag", pytest.param("many", marks=pytest.mark.nightly)])
@every_version_at_night
def test_questions_without_end_end_the_call_with_a_reason(version: str, tool: str, tmp_path: Path) -> None:
    """One after the other or all at once; the next call is carried out."""
    server = Asking(version, tmp_path, user={"name": "Ada"})
    assert "asked its user more than 10 questions during one request" in server.fails(tool)
    assert server("book").text == ACCEPTED


@every_version_at_night
def test_a_user_who_never_answers_costs_no_more_than_the_time_of_the_call(version: str, tmp_path: Path) -> None:
    """The server hears nothing, or that the user has gone."""
    released = threading.Event()
    server = Asking(version, tmp_path, user=lambda question: released.wait(), execution_timeout=0.3)
    assert "did not answer within 0.3 seconds" in server.fails("book")
    released.set()


class Talker(Policy[str, Any]):
    """Says what it was told to, and notes what it hears."""

    def __init__(self, said: Any) -> None:
        self.said = said
        self.heard: list[str] = []

    async def act(self, observation: str, info: Info) -> Any:
        self.heard.append(observation)
        return self.said


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ('{"name": "Ada", "seats": 1}', {"name": "Ada", "seats": 1}),
        ('I am Ada.\n```json\n{"name": "Ada", "seats": 1}\n```', {"name": "Ada", "seats": 1}),
        ('<think>{"name": "Bo", "seats": 9}? No.</think>{"name": "Ada", "seats": 1}', {"name": "Ada", "seats": 1}),
        ('<think>{"name": "Bo", "seats": 9}</think>decline', None),
        ({"role": "assistant", "content": '{"name": "Ada", "seats": 1}'}, {"name": "Ada", "seats": 1}),
        ('{"name": "Ada"}', None),
        ('{"name": ["{", "seats": 1}', None),
        ("{" * 5000, None),
        (None, None),
    ],
)
def test_a_policy_answers_with_json_or_declines(said: Any, answer: Mapping[str, Any] | None) -> None:
    """Its reasoning is no answer; what does not fit the form declines."""
    policy = Talker(said)
    assert ElicitedUser(policy).answer(Elicitation("shop", "Who comes?", FORM)) == answer
    assert policy.heard[0].startswith("shop asks you: Who comes?\nAnswer with a JSON object that fits this schema: {")


def test_a_question_for_a_policy_has_an_end() -> None:
    """However long the server's words and its form are."""
    policy = Talker("decline")
    huge = {"type": "object", "properties": {f"field {n}": {"type": "string"} for n in range(10_000)}}
    assert ElicitedUser(policy).answer(Elicitation("shop", "x" * 1_000_000, huge)) is None
    assert len(policy.heard[0]) < 50_000


def test_a_table_may_know_questions_by_their_text() -> None:
    """Two forms with the same fields are told apart."""
    user = ElicitedUser({"Who comes?": {"name": "Ada", "seats": 1}, "Who goes?": None, "name": "Bo"})
    assert user.answer(Elicitation("shop", "Who comes?", FORM)) == {"name": "Ada", "seats": 1}
    assert user.answer(Elicitation("shop", "Who goes?", FORM)) is None
    assert user.answer(Elicitation("shop", "Who else?", FORM)) == {"name": "Bo", "seats": 2}
    assert user.answer(Elicitation("shop", "Pay", None, "https://pay.example/")) is None


def test_what_cannot_answer_is_no_user(tmp_path: Path) -> None:
    """Neither a value nor a policy without act."""
    users: list[Any] = [5, "Ada", Policy()]
    for user in users:
        with pytest.raises(ArgumentTypeError, match="user must be a table of answers"):
            MCPTool({"command": "never"}, user=user, validate_on_init=False)


class Guest(gem.Env[Any, str]):
    """Has a user in each episode, who is called after its seed."""

    users = True

    @property
    def episode_values(self) -> Mapping[str, Any]:
        return {"user": {"name": f"guest {self.number}"}} if self.users else {}

    number = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.number = seed or 0
        return "task", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "next", 0.0, False, False, {}


def test_the_environment_offers_the_user_of_each_episode(tmp_path: Path) -> None:
    """Each environment has its own session, so that each question reaches the right one."""
    config = Asking(VERSIONS[0], tmp_path).config
    envs = [ToolEnvWrapper(Guest(), [MCPTool(config, user=FromEpisode())], max_tool_uses=None) for _ in range(2)]
    call = '<tool_call>{"name": "book", "arguments": {}}</tool_call>'
    for first in (1, 3):
        for number, env in enumerate(envs, start=first):
            env.reset(seed=number)
        for number, env in enumerate(envs, start=first):
            assert env.step(call)[0] == f'accept {{"seats": 2, "name": "guest {number}"}}'
    envs[0].unwrapped.users = False
    with pytest.raises(ToolError, match="the user of MCP servers is the value 'user' of the episode"):
        envs[0].reset(seed=0)
    for env in envs:
        env.close()
