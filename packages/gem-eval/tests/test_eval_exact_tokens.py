"""Exact tokens over several turns: the next prompt holds what was sampled, never a tokenization of its text."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gem
from gem.errors import ArgumentError, ArgumentTypeError, NotSupportedError
from gem.tools import ToolEnvWrapper, tool
from gem_eval.cli.results import results_command
from gem_eval.clients import (
    Completion,
    EndpointClient,
    ModelPolicy,
    Sampling,
    ScriptedClient,
)
from gem_eval.clients.transformers_client import TransformersClient
from gem_eval.fake_model import FakeModel, ModelRequest
from gem_eval.fake_model.byte_tokens import decode, encode_special
from gem_eval.fake_model.conversation import prompt_ids
from gem_eval.runs import EpisodeRow, EvaluationConfig, EvaluationConfigError, RunFolder, evaluate
from gem_eval.runs.call_figures import call_figures
from gem_eval.statistics import summarize_run
from gem_rollout import RolloutEngine, plan_episodes

GAME = "game:GuessTheNumber-v0-easy"


class FakeTokenizer:
    """The fake model's template and tokens, with the interface of a tokenizer of transformers."""

    chat_template = None
    strict = False
    """Refuse a tool message that answers no call, as the templates of Mistral do."""

    def apply_chat_template(
        self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool, **rest: Any
    ) -> str:
        for index, message in enumerate(conversation):
            if self.strict and message["role"] == "tool" and not conversation[index - 1].get("tool_calls"):
                raise RuntimeError("a tool message without a call")
        assert not tokenize
        assert add_generation_prompt
        return decode(prompt_ids(conversation, rest.get("tools") or ()))

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        assert not add_special_tokens
        return encode_special(text)


class ThinkingTokenizer(FakeTokenizer):
    """A template that shows an empty thought in the last answer alone, as Qwen 3's does."""

    def apply_chat_template(self, conversation: Any, **rest: Any) -> str:  # type: ignore[override]
        last = max((n for n, message in enumerate(conversation) if message["role"] == "user"), default=0)
        shown = [
            {**message, "content": f"<think>\n\n</think>\n\n{message['content']}"}
            if message["role"] == "assistant" and n > last
            else message
            for n, message in enumerate(conversation)
        ]
        return super().apply_chat_template(shown, **rest)


def proven(trajectory: gem.Trajectory) -> int:
    """Return the number of turns, each of whose prompts begins with the last prompt and what was sampled for it."""
    before: list[int] = []
    for transition in trajectory.transitions:
        prompt, sampled = transition.prompt_token_ids, transition.token_ids
        assert prompt is not None
        assert sampled is not None
        assert len(sampled) == len(transition.logprobs or ())
        assert prompt[: len(before)] == before
        assert len(prompt) > len(before)
        before = [*prompt, *sampled]
    return len(trajectory.transitions)


@pytest.mark.parametrize(
    ("dialect", "protocol", "tokenizer"),
    [
        ("vllm", "completions", None),
        ("vllm", "chat", ThinkingTokenizer()),
        ("sglang", "generate", FakeTokenizer()),
        ("sglang", "completions", None),
        ("llamacpp", "generate", None),
    ],
)
@pytest.mark.parametrize("faults", [[], ["error-nested:0.2", "reset-in-body:0.2"]], ids=["calm", "faults"])
def test_the_trajectory_proves_that_no_answer_was_tokenized_again(
    dialect: str, protocol: Any, tokenizer: Any, faults: list[str]
) -> None:
    """The server samples unusual ids, and counts no prompt that breaks off what it sampled."""

    async def run() -> tuple[list[gem.Trajectory], dict[str, int]]:
        async with (
            FakeModel(GAME, dialect=dialect, recode=True, faults=faults) as model,
            EndpointClient(model.url, protocol=protocol, first_delay=0.001) as client,
        ):

            def policy(env: Any) -> ModelPolicy:
                return ModelPolicy(client, Sampling(logprobs=True), exact_tokens=True, tokenizer=tokenizer)

            async with RolloutEngine(plan_episodes([GAME], 6, group=2), policy, wrappers="messages") as engine:
                return [trajectory async for trajectory in engine], model.continuations.to_dict()

    played, counts = asyncio.run(run())
    assert [trajectory.failure for trajectory in played] == [None] * 6
    turns = sum(proven(trajectory) for trajectory in played)
    assert turns > 12
    assert counts["broken"] == counts["retokenized"] == 0
    assert counts["exact"] >= turns - 6


def test_a_chat_endpoint_tokenizes_answers_again() -> None:
    """So the check above can fail: with the chat protocol, the same game is counted as retokenized."""

    async def run() -> tuple[list[gem.Trajectory], dict[str, int]]:
        async with FakeModel(GAME, dialect="vllm", recode=True) as model, EndpointClient(model.url) as client:
            plan = plan_episodes([GAME], 3)
            engine = RolloutEngine(plan, lambda _: ModelPolicy(client, Sampling(logprobs=True)), wrappers="messages")
            async with engine:
                return [trajectory async for trajectory in engine], model.continuations.to_dict()

    played, counts = asyncio.run(run())
    assert counts["retokenized"] > 0 == counts["exact"]
    with pytest.raises(AssertionError):
        sum(proven(trajectory) for trajectory in played)


@pytest.mark.parametrize("strict", [False, True])
def test_tool_calls_in_exact_tokens(strict: bool) -> None:
    """Calls are read from the text, and their answers become tool messages, also where a template demands the call."""

    @tool
    def double(number: int) -> str:
        """Double a number.

        Args:
            number: any.
        """
        return str(2 * number)

    tokenizer = FakeTokenizer()
    tokenizer.strict = strict

    def answer(request: ModelRequest) -> str:
        text = decode(request.prompt_ids)
        if "<|tool|>" in text:
            return "\\boxed{" + text.rpartition("<|tool|>")[2].partition("<|end|>")[0] + "}"
        return 'I double.<tool_call>{"name": "double", "arguments": {"number": 4}}</tool_call>'

    async def run() -> tuple[list[Any], list[Any]]:
        env = gem.wrapper("messages")(ToolEnvWrapper(gem.make(GAME), [double], instructions=False))
        async with FakeModel(answer, dialect="vllm", recode=True) as model, EndpointClient(model.url) as client:
            policy = ModelPolicy(client, tools="native", env=env, exact_tokens=True, tokenizer=tokenizer)
            observation, info = env.reset(seed=1)
            await policy.reset(observation, info)
            acts = []
            for _ in range(2):
                acts.append(await policy.act(observation, info))
                observation, _, _, _, info = env.step(acts[-1].action)
            return acts, observation

    acts, messages = asyncio.run(run())
    assert acts[0].action["tool_calls"][0]["function"] == {"name": "double", "arguments": '{"number":4}'}
    assert acts[0].action["content"] == "I double."
    assert acts[1].action == "\\boxed{8}"
    assert messages[2] == {"role": "tool", "tool_call_id": acts[0].action["tool_calls"][0]["id"], "content": "8"}
    first = [*acts[0].prompt_token_ids, *acts[0].token_ids]
    assert acts[1].prompt_token_ids[: len(first)] == first
    assert decode(acts[1].prompt_token_ids[len(first) :]) == "<|tool|>8<|end|><|assistant|>"


def test_what_exact_tokens_cannot_do_is_said() -> None:
    """Pictures, which an environment may declare, servers without ids or tokenizers, clients without either."""
    picture = [{"type": "image_url", "image_url": {"url": "data:,"}}]

    async def act(dialect: str, observation: Any, tokenizer: Any = None) -> None:
        async with FakeModel(dialect=dialect) as model, EndpointClient(model.url) as client:
            await ModelPolicy(client, exact_tokens=True, tokenizer=tokenizer).act(observation, {})

    with pytest.raises(NotSupportedError, match="message 0 \\(user\\) holds a part of type 'image_url'"):
        asyncio.run(act("vllm", picture))
    with pytest.raises(NotSupportedError, match="math:Geometry-v0 shows image"):
        ModelPolicy(
            ScriptedClient(["x"]), exact_tokens=True, tokenizer=FakeTokenizer(), env=gem.make("math:Geometry-v0")
        )
    with pytest.raises(NotSupportedError, match="prompts without a chat template carry text alone"):
        ModelPolicy(ScriptedClient(["x"]), protocol="completions", env=gem.make("math:Geometry-v0"))
    local = ScriptedClient(["x"])
    local.text_alone = True  # type: ignore[attr-defined]  # as models in this process
    with pytest.raises(NotSupportedError, match="in this process carry text alone, and math:Geometry-v0 shows image"):
        ModelPolicy(local, env=gem.make("math:Geometry-v0"))
    ModelPolicy(ScriptedClient(["x"]), env=gem.make("math:Geometry-v0"))
    with pytest.raises(NotSupportedError, match="tokenizer=…"):
        asyncio.run(act("openai", "hello"))
    with pytest.raises(NotSupportedError, match="token_ids=True"):
        asyncio.run(act("openai", "hello", FakeTokenizer()))
    with pytest.raises(ArgumentError, match="tokenizer"):
        ModelPolicy(ScriptedClient(["x"]), exact_tokens=True)
    with pytest.raises(ArgumentError, match="exact_tokens"):
        ModelPolicy(ScriptedClient(["x"]), tokenizer=FakeTokenizer())
    with pytest.raises(ArgumentTypeError, match="apply_chat_template"):
        ModelPolicy(ScriptedClient(["x"]), exact_tokens=True, tokenizer=object())


def test_a_server_that_changes_the_prompt_is_refused() -> None:
    """Some put a token at its beginning."""
    changed = Completion({"role": "assistant", "content": "x"}, "x", token_ids=[1], prompt_token_ids=[0, 1])
    policy = ModelPolicy(ScriptedClient([changed]), exact_tokens=True, tokenizer=FakeTokenizer())
    with pytest.raises(NotSupportedError, match="changed its ids"):
        asyncio.run(policy.act("hello", {}))


class ToollessTokenizer(FakeTokenizer):
    """A template without a place for tools."""

    def apply_chat_template(self, conversation: Any, **rest: Any) -> str:  # type: ignore[override]
        return super().apply_chat_template(conversation, **{**rest, "tools": None})


@pytest.mark.parametrize("kind", [FakeTokenizer, ToollessTokenizer])
def test_a_template_without_a_place_for_tools_is_warned_of_once(
    kind: type[FakeTokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is told of no tool then, of which nothing else would tell."""
    monkeypatch.setattr("gem_eval.clients.transformers_client.find_spec", lambda name: object())
    client = TransformersClient("some-model")
    monkeypatch.setattr(client, "_load", lambda: None)
    monkeypatch.setattr(kind, "chat_template", "of the class")
    client._tokenizer = kind()
    schema = {"type": "function", "function": {"name": "double", "parameters": {"type": "object"}}}

    async def ask() -> None:
        for tools in (None, [schema], [schema]):
            await client.prompt_ids([{"role": "user", "content": "x"}], tools)
        await client.close()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(ask())
    assert ["no place for tools" in str(one.message) for one in caught] == [True] * (kind is ToollessTokenizer)


def evaluated(folder: Path, **settings: Any) -> EpisodeRow:
    """Return the row of an episode of several turns, played by a model of a server that gives ids."""

    async def run() -> RunFolder:
        async with FakeModel(GAME, dialect="vllm", recode=True) as model:
            config = {"environment": [GAME], "base_url": model.url, "episodes": 6, **settings}
            return await evaluate({**config, "sampling": {"logprobs": True}}, out=folder)

    return max(asyncio.run(run()).rows(), key=lambda row: row.turns)


def test_an_evaluation_says_how_many_calls_continue_exact_ids(tmp_path: Path) -> None:
    """All but the first of an episode with ``exact_tokens``; none where the server tokenizes each answer again."""
    exact, again = evaluated(tmp_path / "a", exact_tokens=True), evaluated(tmp_path / "b", wrappers=["messages"])
    assert (exact.token_calls, exact.exact_calls) == (exact.turns, exact.turns - 1)
    assert exact.turns > 1
    assert (again.token_calls, again.exact_calls) == (again.turns, 0)
    run = RunFolder(tmp_path / "a")
    assert run.config.exact_tokens
    (item,) = summarize_run(run.rows()).environments
    assert (item.token_calls, item.exact_calls) == (item.calls, item.calls - 6)
    output = CliRunner().invoke(results_command, [str(run.path)], catch_exceptions=False).output
    assert f"% of {item.calls} calls with ids continue the ids before them" in output
    for row in run.rows():
        assert row.exact_calls == sum(bool(one) for one in run.episode(row).prompt_continuations())


def test_exact_tokens_are_for_models(tmp_path: Path) -> None:
    """A policy by name has no tokens, and a server without them is found before a run folder exists."""
    with pytest.raises(EvaluationConfigError, match="not for agent 'random'"):
        EvaluationConfig.from_dict({"environment": [GAME], "agent": "random", "exact_tokens": True})


@pytest.mark.parametrize(
    "edit",
    [
        *(None, 3, {}, {"value": None}, {"value": [None]}, {"list": 3}, {"list": [3, [0]]}, {"list": [[0, "1"]]}),
        *({"list": [{"items": "ab"}]}, {"list": [["action", 0, 1, None]]}, {"text": ["a"]}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("ids", [None, 3, ["1"], [True], [[1]]], ids=repr)
def test_malformed_records_of_ids_are_no_ids(edit: Any, ids: Any) -> None:
    """A record may come from anywhere; nothing in it makes the figures fail, or counts as ids."""
    turns = [{"prompt_token_ids_edit": edit, "token_ids": [1]}, {"prompt_token_ids": ids, "token_ids": [1]}]
    turns += [{"prompt_token_ids": [1], "token_ids": ids}]
    calls = [{"added_ids": ids, "token_ids": [1], "exact": True}, {"added_ids": [1], "token_ids": ids, "exact": 1}]
    for figures in (call_figures(turns, {}), call_figures([], {"lineages": {"calls": calls}})):
        assert (figures["token_calls"], figures["exact_calls"]) == (0, 0)
