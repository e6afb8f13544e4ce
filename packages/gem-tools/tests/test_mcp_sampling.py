"""Servers that ask for completions: who gives them, who refuses, and what it may cost."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_asking import VERSIONS, Asking, every_version, every_version_at_night

import gem
from gem.core import Info
from gem.errors import ArgumentError, ArgumentTypeError, ToolError
from gem.policies import Policy
from gem.tools import FromEpisode, ToolEnvWrapper
from gem_tools.mcp import MCPTool, ModelBudget, SamplingRequest
from gem_tools.mcp.sampled_model import BudgetSpentError, SampledModel

pytestmark = pytest.mark.usefixtures("no_connections_left")

ASKED = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "What is 6 times 7?"}]


@every_version
def test_a_function_completes_up_to_the_stop_with_no_more_tokens_than_its_budget(version: str, tmp_path: Path) -> None:
    """It gets the messages as chat APIs take them."""
    asked: list[SamplingRequest] = []

    def model(request: SamplingRequest) -> str:
        asked.append(request)
        return "It is 42. Or 43."

    server = Asking(version, tmp_path, model=model, model_budget=ModelBudget(max_tokens=100))
    assert server("think").text == "assistant: It is 42"
    assert list(asked[0].messages) == ASKED
    assert (asked[0].server, asked[0].max_tokens, asked[0].temperature) == ("default", 100, None)
    server("think", maxTokens=7, temperature=0.5)
    assert (asked[1].max_tokens, asked[1].temperature) == (7, 0.5)


@pytest.mark.parametrize(
    ("version", "refusal"),
    [
        pytest.param(VERSIONS[0], "error: Sampling not supported", marks=pytest.mark.nightly),
        (VERSIONS[1], "think failed: MCP server default: Sampling not supported."),
    ],
)
def test_without_a_model_a_completion_is_refused(version: str, refusal: str, tmp_path: Path) -> None:
    """A user who answers questions completes nothing."""
    assert Asking(version, tmp_path, user={"name": "Ada"})("think").text == refusal


@pytest.mark.parametrize("tool", ["think_again", pytest.param("think_all_at_once", marks=pytest.mark.nightly)])
@every_version_at_night
def test_completions_without_end_end_the_call_after_ten(version: str, tool: str, tmp_path: Path) -> None:
    """One after the other or all at once; the next call is carried out, and what was spent stays spent."""
    count = 0
    counting = threading.Lock()

    def model(request: SamplingRequest) -> str:
        nonlocal count
        with counting:
            count += 1
        return "Hm"

    server = Asking(version, tmp_path, model=model, model_budget=ModelBudget(completions=11))
    assert "asked for more than 10 completions during one request" in server.fails(tool)
    assert count <= 10
    assert server("think").ok
    for _ in range(10):
        server("think")
    assert count == 11


@pytest.mark.parametrize(
    ("wish", "refusal"),
    [
        ({"tools": [{"name": "rm", "inputSchema": {"type": "object"}}]}, "this client's model calls no tools"),
        ({"maxTokens": 0}, "maxTokens must be at least 1, got 0"),
        ({"systemPrompt": "x" * 5000}, "the budget of 2,000 characters for prompts and answers does not suffice"),
    ],
)
def test_what_a_server_may_not_ask_for_is_refused_by_name(
    wish: Mapping[str, Any], refusal: str, tmp_path: Path
) -> None:
    """The model hears nothing of it."""
    asked: list[SamplingRequest] = []

    def model(request: SamplingRequest) -> str:
        asked.append(request)
        return "No"

    server = Asking(VERSIONS[1], tmp_path, model=model, model_budget=ModelBudget(characters=2000))
    assert refusal in server.fails("think", **wish)
    assert not asked


@every_version_at_night
def test_a_model_may_refuse_fail_or_take_for_ever(version: str, tmp_path: Path) -> None:
    """Each costs no more than the call, whose result says so."""
    released = threading.Event()
    replies: list[Any] = [None, ["no", "text"], OSError("the model has gone")]

    def model(request: SamplingRequest) -> Any:
        if not replies:
            released.wait()
            return ""
        reply = replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    server = Asking(version, tmp_path, model=model, execution_timeout=5.0)
    assert "the client refuses this completion" in server("think").text
    assert "a model answers with a str or None, got list" in server.fails("think")
    assert "asked the model, which failed: OSError: the model has gone" in server.fails("think")
    slow = Asking(version, tmp_path, model=model, execution_timeout=0.3)
    assert "did not answer within 0.3 seconds" in slow.fails("think")
    released.set()


class Thinker(Policy[Any, Any]):
    """Answers with a thought and the number of requests so far."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, Info]] = []
        self.resets = 0

    async def reset(self, observation: Any, info: Info) -> None:
        self.resets += 1

    async def act(self, observation: Any, info: Info) -> Any:
        self.heard.append((observation, info))
        return f"<think>I am asked again</think>{len(self.heard)}"


def test_a_policy_completes_without_its_reasoning() -> None:
    """Each request is a conversation of its own."""
    policy = Thinker()
    model = SampledModel(policy, ModelBudget())
    request = SamplingRequest("shop", ASKED, 50, 0.0, ("\n",), 30)
    assert [model.complete(request) for _ in range(2)] == ["1", "2"]
    assert policy.resets == 2
    assert policy.heard[1] == (ASKED, {"server": "shop", "max_tokens": 50, "temperature": 0.0, "stop": ["\n"]})


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=30), st.integers(1, 10))
def test_no_sequence_of_requests_spends_more_than_the_budget(sizes: list[tuple[int, int]], most: int) -> None:
    """But for the length of the last answer; a new episode has a new budget."""
    spent, answers = [0, 0], iter([*(answer for _, answer in sizes), 0])
    model = SampledModel(lambda request: "x" * next(answers), ModelBudget(completions=most, characters=500))
    for size, _ in sizes:
        try:
            answer = model.complete(SamplingRequest("shop", (), 1, size=size))
        except BudgetSpentError:
            assert spent[0] == most or spent[1] + size > 500
            continue
        assert spent[1] + size <= 500
        assert answer is not None
        spent = [spent[0] + 1, spent[1] + size + len(answer)]
        assert spent[0] <= most
    model.begin({})
    assert model.complete(SamplingRequest("shop", (), 1, size=500)) is not None


def test_what_cannot_complete_is_no_model() -> None:
    """Neither a table nor a policy without act; and a budget is one."""
    models: list[Any] = [5, {"a": "b"}, Policy()]
    for model in models:
        with pytest.raises(ArgumentTypeError, match="model must be a function of a request for a completion"):
            MCPTool({"command": "never"}, model=model, validate_on_init=False)
    with pytest.raises(ArgumentTypeError, match="model_budget must be a ModelBudget"):
        MCPTool({"command": "never"}, model=str, model_budget=5, validate_on_init=False)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="completions"):
        ModelBudget(completions=0)


def test_copies_have_the_same_model_and_a_budget_of_their_own() -> None:
    """Of a tool that is copied or sent to another process."""
    tool = MCPTool({"command": "never"}, model=str, model_budget=ModelBudget(completions=3), validate_on_init=False)
    for again in (copy.deepcopy(tool), pickle.loads(pickle.dumps(tool))):
        assert (again.model, again.model_budget, again.shared) == (str, ModelBudget(completions=3), False)


class Host(gem.Env[Any, str]):
    """Has a model in each episode, who knows its seed."""

    number = 0
    models = True

    @property
    def episode_values(self) -> Mapping[str, Any]:
        return {"model": lambda request: f"model {self.number}"} if self.models else {}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.number = seed or 0
        return "task", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "next", 0.0, False, False, {}


def test_the_environment_offers_the_model_and_each_episode_has_its_budget(tmp_path: Path) -> None:
    """Each environment has its own session, so that each request reaches the right model."""
    config = Asking(VERSIONS[1], tmp_path).config
    source = MCPTool(config, model=FromEpisode(), model_budget=ModelBudget(completions=1))
    env = ToolEnvWrapper(Host(), [source], max_tool_uses=None)
    call = '<tool_call>{"name": "think", "arguments": {}}</tool_call>'
    for seed in (1, 2):
        env.reset(seed=seed)
        assert env.step(call)[0] == f"assistant: model {seed}"
        assert "the budget of 1 completions is spent" in env.step(call)[0]
    env.unwrapped.models = False
    with pytest.raises(ToolError, match="the model of MCP servers is the value 'model' of the episode"):
        env.reset(seed=0)
    env.close()
