"""The policy that plays with a model: what it shows, offers and returns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, ArgumentTypeError
from gem.policies import Act
from gem.tools import ToolEnvWrapper, tool
from gem_eval.clients import (
    Completion,
    ContextOverflow,
    EndpointClient,
    ModelError,
    ModelPolicy,
    Sampling,
    ScriptedClient,
)
from gem_eval.clients.policy import tool_schemas
from gem_eval.fake_model import FakeModel, ModelRequest
from gem_rollout import RolloutEngine, plan_episodes

GAME = "game:GuessTheNumber-v0-easy"
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
CALL = {"id": "call_7", "type": "function", "function": {"name": "double", "arguments": '{"number": 4}'}}


@tool
def double(number: int) -> str:
    """Double a number.

    Args:
        number: any.
    """
    return str(2 * number)


@tool
def halve(number: int) -> str:
    """Halve a number.

    Args:
        number: any.
    """
    return str(number // 2)


def acted(policy: ModelPolicy, observation: Any) -> Act:
    """Return what a policy does."""
    return asyncio.run(policy.act(observation, {}))


@pytest.mark.parametrize(
    ("observation", "shown"),
    [
        ("hello", [{"role": "user", "content": "hello"}]),
        (
            [{"type": "text", "text": "see"}, PICTURE],
            [{"role": "user", "content": [{"type": "text", "text": "see"}, PICTURE]}],
        ),
        ([{"role": "user", "content": "a"}], [{"role": "user", "content": "a"}]),
    ],
)
def test_what_the_model_is_shown(observation: Any, shown: list[Any]) -> None:
    """A text and content parts are one message of the user; messages are themselves; the system prompt is first."""
    client = ScriptedClient(["x", "y"])
    acted(ModelPolicy(client), observation)
    acted(ModelPolicy(client, system="Play well."), observation)
    assert client.prompts == [shown, [{"role": "system", "content": "Play well."}, *shown]]


def test_two_system_prompts_become_one() -> None:
    """Many templates accept no second one; the environment's object stays as it was."""
    observation = [{"role": "system", "content": "Rules."}, {"role": "user", "content": "a"}]
    client = ScriptedClient(["x"])
    acted(ModelPolicy(client, system="Play well."), observation)
    assert client.prompts[0][0] == {"role": "system", "content": "Play well.\n\nRules."}
    assert observation[0]["content"] == "Rules."


@pytest.mark.parametrize("observation", [None, 3, {"board": 1}, [1, 2], b"x", []])
def test_what_no_model_can_be_shown_is_refused(observation: Any) -> None:
    """The message says which kinds of observations there are."""
    with pytest.raises((ArgumentTypeError, ArgumentError), match="observation"):
        acted(ModelPolicy(ScriptedClient(["x"])), observation)


def test_the_action_is_a_text_or_a_message_with_calls() -> None:
    """A call makes the whole message the action, so that a history wrapper can show it again."""
    message = {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [CALL]}
    client = ScriptedClient(["yes", message])
    policy = ModelPolicy(client)
    assert acted(policy, "a").action == "yes"
    assert acted(policy, "a").action == message


@pytest.mark.parametrize(
    ("keep", "with_call", "kept"),
    [
        ("tools", True, True),
        ("tools", False, False),
        ("always", True, True),
        ("always", False, True),
        ("never", True, False),
        ("never", False, False),
    ],
)
def test_reasoning_is_apart_and_sent_back_where_asked(keep: Any, with_call: bool, kept: bool) -> None:
    """It is in the act in any case, and in the message by the option."""
    message: dict[str, Any] = {"role": "assistant", "content": "x", "reasoning": "hm"}
    calls = [CALL] if with_call else []
    if with_call:
        message["tool_calls"] = calls
    client = ScriptedClient([Completion(message, "x", "hm", calls)])
    act = acted(ModelPolicy(client, keep_reasoning=keep), "a")
    assert act.reasoning == "hm"
    assert ("reasoning" in act.action if isinstance(act.action, dict) else False) == kept
    assert isinstance(act.action, dict) == (with_call or kept)


def test_the_tools_of_all_wrappers_are_offered() -> None:
    """Each name once, the outermost wrapper first; none without 'native'."""
    env = ToolEnvWrapper(ToolEnvWrapper(gem.make(GAME), [double]), [halve, double])
    env = gem.wrapper("messages")(env)
    assert [schema["function"]["name"] for schema in tool_schemas(env)] == ["halve", "double"]
    assert tool_schemas(gem.make(GAME)) == []


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_a_conversation_with_calls_survives_the_round_trip(name: str) -> None:
    """Ids of calls and the reasoning under its name come back to the server in the next prompt."""
    first = {"role": "assistant", "content": None, name: "I double.", "tool_calls": [CALL]}
    client = ScriptedClient([first, "\\boxed{8}"])
    env = gem.wrapper("messages")(ToolEnvWrapper(gem.make(GAME), [double], instructions=False))
    policy = ModelPolicy(client, tools="native", env=env)
    observation, _ = env.reset(seed=1)
    for _ in range(2):
        observation = env.step(acted(policy, observation).action)[0]
    assert client.prompts[1][1] == first
    assert client.prompts[1][2] == {"role": "tool", "tool_call_id": "call_7", "content": "8"}
    assert client.prompts[1][0]["role"] == "user"


def test_native_tools_through_a_server() -> None:
    """The schemas reach the server, its call reaches the tool, and the tool's answer the server."""

    def script(request: ModelRequest) -> Any:
        if any(message["role"] == "tool" for message in request.messages):
            return "\\boxed{4}"
        return {"role": "assistant", "content": "", "tool_calls": [CALL]}

    async def run() -> list[gem.Trajectory]:
        async with (
            FakeModel(script, dialect="vllm") as model,
            EndpointClient(model.url, retries=0) as client,
        ):
            wrappers = [lambda env: ToolEnvWrapper(env, [double], instructions=False), "messages"]
            engine = RolloutEngine(
                plan_episodes([GAME], 1),
                lambda env: ModelPolicy(client, tools="native", env=env),
                wrappers=wrappers,
            )
            async with engine:
                return [trajectory async for trajectory in engine]

    (played,) = asyncio.run(run())
    assert played.failure is None
    assert played.transitions[0].action["tool_calls"][0]["function"]["name"] == "double"
    assert played.transitions[0].finish_reason == "tool_calls"
    assert played.transitions[1].observation[2]["content"] == "8"


def test_everything_about_a_call_is_in_the_act() -> None:
    """Ids, log-probabilities, usage, model, request id and retries."""
    completion = Completion(
        {"role": "assistant", "content": "x"},
        "x",
        token_ids=[1],
        prompt_token_ids=[0],
        logprobs=[-0.5],
        tokens=["x"],
        top_logprobs=[[("x", -0.5)]],
        usage={"completion_tokens": 1},
        finish_reason="stop",
        model="m-2",
        request_id="r",
        retries=2,
        metadata={"reasoning": "from the text"},
    )
    act = acted(ModelPolicy(ScriptedClient([completion])), "a")
    assert act == Act(
        "x",
        [0],
        [1],
        [-0.5],
        ["x"],
        [[("x", -0.5)]],
        {"completion_tokens": 1},
        "stop",
        None,
        "m-2",
        None,
        {"reasoning": "from the text", "request_id": "r", "retries": 2},
    )
    assert completion.metadata == {"reasoning": "from the text"}


def test_plain_completions_take_text_alone() -> None:
    """The protocol is the client's; other observations need a chat template."""
    client = ScriptedClient(["x"], protocol="completions")
    assert acted(ModelPolicy(client, system="S."), "Once").action == "x"
    assert client.prompts == ["S.\n\nOnce"]
    with pytest.raises(ArgumentTypeError, match="concat_chat"):
        acted(ModelPolicy(client), [{"role": "user", "content": "x"}])


def test_seeds_of_sampling_differ_by_episode_and_repeat_by_run() -> None:
    """The episodes of a group are no copies of each other; without a seed, there is none."""

    def seeds() -> list[int | None]:
        policy = ModelPolicy(ScriptedClient([]), Sampling(seed=3))
        found = []
        for seed, repetition in ((0, 0), (0, 1), (1, 0)):
            policy.seed_episode(seed, repetition)
            assert policy.sampling is not None
            found.append(policy.sampling.seed)
        return found

    assert len(set(seeds())) == 3
    assert seeds() == seeds()
    unseeded = ModelPolicy(ScriptedClient([]), Sampling())
    unseeded.seed_episode(0, 1)
    assert unseeded.sampling is not None
    assert unseeded.sampling.seed is None


@pytest.mark.parametrize(
    ("error", "source", "kind", "stop"),
    [
        (ModelError("rate_limited", "slow"), "endpoint", "rate_limited", None),
        (ModelError("content_filter", "no"), "agent", "content_filter", None),
        (ContextOverflow("full"), None, None, "context"),
    ],
)
def test_failures_are_recorded_by_source_and_kind(
    error: Exception, source: str | None, kind: str | None, stop: str | None
) -> None:
    """A full context ends the episode as truncated and scored; the rest fails it."""

    async def run() -> list[gem.Trajectory]:
        engine = RolloutEngine(plan_episodes([GAME], 1), lambda env: ModelPolicy(ScriptedClient(lambda _: error)))
        async with engine:
            return [trajectory async for trajectory in engine]

    (played,) = asyncio.run(run())
    assert played.stop_reason == stop
    found = played.failure
    assert (found and found.source, found and found.kind) == (source, kind)


def test_scripts() -> None:
    """A list, a function, an async function, and a name of one; a list that ends says so."""

    async def later(prompt: Any) -> str:
        return prompt[-1]["content"][::-1]  # type: ignore[no-any-return]

    assert acted(ModelPolicy(ScriptedClient(later)), "abc").action == "cba"
    assert acted(ModelPolicy(ScriptedClient("json:dumps")), "a").action == '[{"role": "user", "content": "a"}]'
    policy = ModelPolicy(ScriptedClient(["x"]))
    acted(policy, "a")
    with pytest.raises(ArgumentError, match="after 1 answers"):
        acted(policy, "a")
    with pytest.raises(ArgumentTypeError):
        ScriptedClient(5)  # type: ignore[arg-type]
