"""Exact tokens over several turns: the next prompt holds what was sampled, never a tokenization of its text."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError, ArgumentTypeError, NotSupportedError
from gem.tools import ToolEnvWrapper, tool
from gem_eval.clients import (
    Completion,
    EndpointClient,
    ModelPolicy,
    Sampling,
    ScriptedClient,
    TemplateTokenizer,
    TokenConversation,
)
from gem_eval.fake_model import FakeModel, ModelRequest
from gem_eval.fake_model.byte_tokens import END, decode, encode, encode_special
from gem_eval.fake_model.conversation import prompt_ids
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


class ToollessTokenizer(FakeTokenizer):
    """A template without a place for tools."""

    def apply_chat_template(self, conversation: Any, **rest: Any) -> str:  # type: ignore[override]
        return super().apply_chat_template(conversation, **{**rest, "tools": None})


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


@given(
    st.lists(st.text("ab<|>end \n", min_size=1), min_size=1, max_size=5),
    st.lists(st.booleans(), min_size=5, max_size=5),
    st.sampled_from([FakeTokenizer, ThinkingTokenizer]),
)
def test_any_conversation_continues_exactly(answers: list[str], ended: list[bool], make: Any) -> None:
    """Each prompt is the last one, the sampled ids, and the template's text; a sampled end of turn is not repeated."""

    async def run() -> None:
        conversation = TokenConversation(TemplateTokenizer(make()))
        messages: list[Any] = [{"role": "system", "content": "Play."}, {"role": "user", "content": "Begin."}]
        before: list[int] = []
        for turn, (answer, stopped) in enumerate(zip(answers, ended, strict=False)):
            ids = await conversation.prompt(messages)
            if before:
                end = [] if before[-1] == END else [END]
                expected = [*end, *prompt_ids(messages[-1:])]
                assert ids == before + expected
            else:
                assert ids == prompt_ids(messages)
            sampled = [*list(answer.encode()), *([END] if stopped else [])]
            conversation.sampled(sampled)
            before = ids + sampled
            messages = [
                *messages,
                {"role": "assistant", "content": answer},
                {"role": "user", "content": f"turn {turn}"},
            ]

    asyncio.run(run())


def test_what_rewrites_the_past_is_refused() -> None:
    """A window that drops messages cannot be continued; the error names the wrapper that can."""

    async def run() -> None:
        conversation = TokenConversation(TemplateTokenizer(FakeTokenizer()))
        first = [{"role": "user", "content": "a"}, {"role": "user", "content": "b!"}]
        await conversation.prompt(first)
        conversation.sampled([1])
        answer = {"role": "assistant", "content": "x"}
        with pytest.raises(NotSupportedError, match="'messages'"):
            await conversation.prompt([{"role": "user", "content": "changed"}, *first[1:], answer, *first])
        with pytest.raises(NotSupportedError, match="'messages'"):
            await conversation.prompt([first[0], {"role": "user", "content": "c"}, answer, *first[:1]])
        # A notice at the end of the last message was for that turn only.
        await conversation.prompt([first[0], {"role": "user", "content": "b"}, answer, *first[:1]])

    asyncio.run(run())


def test_a_text_alone_begins_anew() -> None:
    """Observations without history are conversations of one turn."""

    async def run() -> list[list[int]]:
        conversation = TokenConversation(TemplateTokenizer(FakeTokenizer()))
        prompts = []
        for text in ("one", "two"):
            prompts.append(await conversation.prompt([{"role": "user", "content": text}]))
            conversation.sampled(encode("x"))
        return prompts

    assert asyncio.run(run()) == [prompt_ids([{"role": "user", "content": text}]) for text in ("one", "two")]


def test_what_exact_tokens_cannot_do_is_said() -> None:
    """Pictures, servers without ids or tokenizers, clients without either."""
    picture = [{"type": "image_url", "image_url": {"url": "data:,"}}]

    async def act(dialect: str, observation: Any, tokenizer: Any = None) -> None:
        async with FakeModel(dialect=dialect) as model, EndpointClient(model.url) as client:
            await ModelPolicy(client, exact_tokens=True, tokenizer=tokenizer).act(observation, {})

    with pytest.raises(NotSupportedError, match="text alone"):
        asyncio.run(act("vllm", picture))
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


def test_a_template_that_hides_answers_is_refused() -> None:
    """Without the answer in the text, the end of a turn cannot be found."""

    class Hiding(FakeTokenizer):
        def apply_chat_template(self, conversation: Any, **rest: Any) -> str:  # type: ignore[override]
            return super().apply_chat_template([m for m in conversation if m["role"] != "assistant"], **rest)

    async def run() -> None:
        conversation = TokenConversation(TemplateTokenizer(Hiding()))
        user = {"role": "user", "content": "a"}
        await conversation.prompt([user])
        conversation.sampled([1])
        await conversation.prompt([user, {"role": "assistant", "content": "x"}, user])

    with pytest.raises(NotSupportedError, match="where an answer ends"):
        asyncio.run(run())


def test_a_template_without_a_place_for_tools_is_warned_of_once() -> None:
    """The model is told of no tool then; a template that shows them gives no warning, which would be an error here."""
    schema = {"type": "function", "function": {"name": "double", "parameters": {"type": "object"}}}
    messages = [{"role": "user", "content": "x"}]

    async def prompts(tokenizer: TemplateTokenizer, tools: list[dict[str, Any]] | None) -> list[list[int]]:
        return [await tokenizer.prompt_ids(messages, tools) for _ in range(2)]

    asyncio.run(prompts(TemplateTokenizer(FakeTokenizer()), [schema]))
    toolless = TemplateTokenizer(ToollessTokenizer())
    asyncio.run(prompts(toolless, None))
    with pytest.warns(UserWarning, match="no place for tools") as warned:
        asyncio.run(prompts(toolless, [schema]))
    assert len(warned) == 1
