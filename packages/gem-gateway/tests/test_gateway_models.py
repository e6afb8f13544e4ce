"""What may stand behind a gateway instead of a model server: a policy, and a trainer's generate function."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from difficult_programs import OddModel, PairCodec

from gem.errors import ArgumentTypeError, NotSupportedError
from gem.policies import Act, Policy
from gem_eval.clients import Completion, ModelError, Sampling, ScriptedClient
from gem_eval.clients.local_generation import GeneratedTokens
from gem_gateway import ClientAnswerer, Gateway, GenerateClient, PolicyClient
from gem_gateway.calls import ModelCall
from gem_gateway.lineages.recorder import LineageRecorder

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
USER = {"role": "user", "content": "hello there"}


class Counting(Policy[Any, Any]):
    """Says which turn it is, and calls a tool in the second."""

    def __init__(self) -> None:
        self.resets = 0
        self.turns = 0

    def reset(self, observation: Any, info: Any) -> None:
        self.resets += 1

    def act(self, observation: Any, info: Any) -> Any:
        self.turns += 1
        if self.turns == 2:
            name = info["tools"][0]["function"]["name"]
            return Act({"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": {"a": 1}}}]})
        return f"turn {self.turns} after {len(observation)}"


def test_a_policy_answers_in_texts_messages_and_acts() -> None:
    """It is reset once, sees the conversation and the tools, and its calls get an id and arguments as text."""
    policy = Counting()
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]

    async def run() -> list[Completion]:
        client = PolicyClient(policy)
        return [await client.chat([USER] * count, tools=tools) for count in (1, 2, 3)]

    first, second, third = asyncio.run(run())
    assert first.message == {"role": "assistant", "content": "turn 1 after 1"}
    assert second.tool_calls[0]["function"] == {"name": "look", "arguments": '{"a":1}'}
    assert second.message["content"] is None
    assert (second.finish_reason, third.finish_reason) == ("tool_calls", "stop")
    assert third.text == "turn 3 after 3"
    assert policy.resets == 1


def test_a_policy_plays_one_turn_at_a_time() -> None:
    """Calls that a program makes side by side reach an async policy one after another."""

    class Alone(Policy[Any, Any]):
        inside = 0

        async def act(self, observation: Any, info: Any) -> str:
            self.inside += 1
            assert self.inside == 1
            await asyncio.sleep(0)
            self.inside -= 1
            return "x"

    async def run() -> None:
        client = PolicyClient(Alone())
        assert [one.text for one in await asyncio.gather(*(client.chat([USER]) for _ in range(5)))] == ["x"] * 5

    asyncio.run(run())


@pytest.mark.parametrize("action", [None, 5, {"role": "assistant", "content": 5}, ["x"]])
def test_a_policy_that_answers_with_no_message_is_refused(action: Any) -> None:
    """What is neither a text nor a message is named."""

    class Odd(Policy[Any, Any]):
        def act(self, observation: Any, info: Any) -> Any:
            return action

    with pytest.raises(ArgumentTypeError, match="text or an assistant message"):
        asyncio.run(PolicyClient(Odd()).chat([USER]))


def test_a_policy_continues_no_prompt() -> None:
    """Completions need a model."""
    with pytest.raises(NotSupportedError, match="conversations"):
        asyncio.run(PolicyClient(Counting()).complete("x"))


def continued(codec: PairCodec, seen: list[list[int]]) -> Any:
    """Return a generate function that answers in tokens that the text would not be given."""

    def generate(ids: list[int], sampling: Sampling) -> GeneratedTokens:
        seen.append(ids)
        sampled = [codec.id_of(piece) for piece in ("t", "h", "e", " ", "end")] + [codec.end]
        return GeneratedTokens(sampled, [-0.5] * len(sampled), finish_reason="stop")  # type: ignore[arg-type]

    return generate


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_generate_function_gets_and_gives_exact_ids(asynchronous: bool) -> None:
    """With a recorder, the second prompt holds the ids that the function sampled for the first, and no others."""
    codec = PairCodec(TEMPLATE)
    seen: list[list[int]] = []
    plain = continued(codec, seen)

    async def awaited(ids: list[int], sampling: Sampling) -> GeneratedTokens:
        return plain(ids, sampling)

    async def run() -> LineageRecorder:
        client = GenerateClient(awaited if asynchronous else plain, codec)  # type: ignore[arg-type]
        recorder = LineageRecorder(client, exact_tokens=True, tokenizer=codec)  # type: ignore[arg-type]
        async with Gateway() as gateway:
            session = gateway.open(recorder)
            call = ModelCall([USER])
            first = await session.start(call, 100)
            assert first.text == "the end"
            await session.start(ModelCall([USER, first.message, USER]), 100)
            await session.close()
        return recorder

    recorder = asyncio.run(run())
    sampled = [codec.id_of(piece) for piece in ("t", "h", "e", " ", "end")] + [codec.end]
    assert seen[1][: len(seen[0]) + len(sampled)] == seen[0] + sampled
    assert recorder.tree.calls[1].exact
    assert recorder.tree.calls[1].logprobs == [-0.5] * 6


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (None, "GeneratedTokens"),
        ([1, 2], "GeneratedTokens"),
        (GeneratedTokens([]), "at least one"),
        (GeneratedTokens([1, "2"]), "whole numbers"),  # type: ignore[list-item]
        (GeneratedTokens([1, 2], [-1.0]), "2 ids and 1 log-prob"),
    ],
)
def test_a_generate_function_that_returns_no_ids_is_an_error_of_the_model(returned: Any, words: str) -> None:
    """The error says what came instead."""
    client = GenerateClient(lambda ids, sampling: returned, PairCodec(TEMPLATE))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=words):
        asyncio.run(client.chat([USER]))


def test_fields_that_a_client_does_not_take_are_left_out_with_a_note(play) -> None:
    """A program's choice of a tool does not fail where a function samples; the note says that it was left out."""
    codec = PairCodec(TEMPLATE)
    asked: list[Sampling] = []

    def generate(ids: list[int], sampling: Sampling) -> GeneratedTokens:
        asked.append(sampling)
        return GeneratedTokens([codec.id_of("x")])

    async def run() -> None:
        async with Gateway() as gateway:
            answerer = ClientAnswerer(GenerateClient(generate, codec))  # type: ignore[arg-type]
            session = gateway.open(answerer, sampling=Sampling(temperature=0.5, max_tokens=20))
            call = ModelCall(
                [USER], sampling=Sampling(temperature=1.0, max_tokens=50, extra={"top_k": 3, "min_p": 0.1})
            )
            await session.start(call, 100)
            assert asked == [Sampling(temperature=0.5, max_tokens=20, session=session.id, extra={"top_k": 3})]
            assert list(session.calls.notes) == ["left out min_p: the model's client takes no such fields"]

    asyncio.run(run())


@pytest.mark.parametrize("exact", [False, True])
def test_the_choice_of_a_tool_reaches_no_prompt_of_ids(exact: bool) -> None:
    """With exact tokens a prompt is continued, so that what only a chat takes is left out, with a note."""
    codec = PairCodec(TEMPLATE)
    client = OddModel(codec, random.Random(0)) if exact else ScriptedClient(["x"])

    async def run() -> None:
        recorder = LineageRecorder(client, exact_tokens=exact, tokenizer=codec if exact else None)  # type: ignore[arg-type]
        async with Gateway() as gateway:
            session = gateway.open(recorder)
            call = ModelCall([USER], sampling=Sampling(extra={"tool_choice": "required", "top_k": 3}))
            await session.start(call, 100)
            assert dict(call.sampling.extra) == ({"top_k": 3} if exact else {"tool_choice": "required", "top_k": 3})
            assert len(session.calls.notes) == exact

    asyncio.run(run())
