"""The Python clients of OpenAI and Anthropic, which nobody here made, play through a gateway."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from gem_eval.clients import Completion
from gem_gateway import CallBudget

if TYPE_CHECKING:
    import anthropic
    import openai

pytestmark = pytest.mark.xdist_group("foreign clients")  # so that one process imports them, which takes seconds

LONG = "A long answer — with “quotes”, a line\nbreak,\r\ndata: a line of its own\n\nevent: done\n\nand 🙂. " * 3

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
PICTURE = "data:image/png;base64,iVBORw0KGgo="


def calling(*cities: str, text: str = "", reasoning: str | None = None) -> Completion:
    """Return an answer that calls the tool for each city."""
    calls = [
        {
            "id": f"call{index}",
            "type": "function",
            "function": {"name": "weather", "arguments": json.dumps({"city": city})},
        }
        for index, city in enumerate(cities)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": text or None, "tool_calls": calls}
    return Completion(
        message,
        text,
        reasoning,
        calls,
        usage={"prompt_tokens": 30, "completion_tokens": 11, "reasoning_tokens": 4, "cached_tokens": 20},
        finish_reason="tool_calls",
    )


def saying(text: str, reasoning: str | None = None, finish: str = "stop") -> Completion:
    """Return an answer of text."""
    return Completion(
        {"role": "assistant", "content": text},
        text,
        reasoning,
        usage={"prompt_tokens": 7, "completion_tokens": 5},
        finish_reason=finish,
    )


def openai_client(playing: Any, dialect: str = "chat", **options: Any) -> openai.AsyncOpenAI:
    import openai

    return openai.AsyncOpenAI(base_url=playing.session.base_url(dialect), api_key=playing.session.api_key, **options)


def anthropic_client(playing: Any, **options: Any) -> anthropic.AsyncAnthropic:
    import anthropic

    return anthropic.AsyncAnthropic(
        base_url=playing.session.base_url("messages"), api_key=playing.session.api_key, **options
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
def test_a_chat_with_parallel_calls_and_reasoning_goes_round(play, stream: bool) -> None:
    """OpenAI's client reads calls, reasoning and usage of a chat, and its echo reaches the model as it was written."""

    async def run() -> None:
        async with (
            play([calling("Oslo", "Rome", reasoning="Two cities."), saying(LONG)]) as playing,
            openai_client(playing) as client,
        ):
            tools = [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}]
            messages: list[Any] = [
                {"role": "developer", "content": "Be brief."},
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": PICTURE}}],
                },
            ]
            asked: dict[str, Any] = {"model": "m", "tools": tools, "messages": messages, "tool_choice": "required"}
            if stream:
                async with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as events:
                    answer = await events.get_final_completion()
            else:
                answer = await client.chat.completions.create(**asked, temperature=0.5, max_completion_tokens=9)
            message = answer.choices[0].message
            assert answer.choices[0].finish_reason == "tool_calls"
            assert [json.loads(call.function.arguments)["city"] for call in message.tool_calls] == ["Oslo", "Rome"]
            assert message.model_extra["reasoning_content"] == "Two cities."
            assert answer.usage.prompt_tokens_details.cached_tokens == 20
            assert answer.usage.completion_tokens_details.reasoning_tokens == 4
            echo = message.model_dump(exclude_none=True, exclude={"parsed"})
            results = [{"role": "tool", "tool_call_id": call.id, "content": "Rain"} for call in message.tool_calls]
            second: dict[str, Any] = {"model": "m", "messages": [*messages, echo, *results]}
            if stream:
                said = ""
                async for chunk in await client.chat.completions.create(**second, stream=True):
                    said += (chunk.choices[0].delta.content or "") if chunk.choices else ""
            else:
                said = (await client.chat.completions.create(**second)).choices[0].message.content
            assert said == LONG
            first, last = playing.client.prompts
            assert first[0] == {"role": "system", "content": "Be brief."}
            assert first[1]["content"][1] == {"type": "image_url", "image_url": {"url": PICTURE}}
            assert last[2]["tool_calls"] == calling("Oslo", "Rome").tool_calls
            assert last[2]["reasoning_content"] == "Two cities."
            assert [message["content"] for message in last[3:]] == ["Rain", "Rain"]
            assert playing.client.asked[0]["sampling"].extra == {"tool_choice": "required"}
            assert playing.session.calls.answered == 2
            assert playing.session.calls.prompt_tokens == 37

    asyncio.run(run())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
def test_responses_with_parallel_calls_and_reasoning_go_round(play, stream: bool) -> None:
    """OpenAI's client reads items of Responses, and its echo reaches the model as it was written."""

    async def run() -> None:
        answers = [calling("Oslo", "Rome", text="Looking.", reasoning="Two cities."), saying(LONG)]
        async with play(answers) as playing, openai_client(playing, "responses") as client:
            asked: dict[str, Any] = {
                "model": "m",
                "instructions": "Be brief.",
                "tools": [{"type": "function", "name": "weather", "parameters": WEATHER, "strict": False}],
                "include": ["reasoning.encrypted_content"],
            }
            given: list[Any] = [
                {"role": "developer", "content": "And kind."},
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "?"},
                        {"type": "input_image", "image_url": PICTURE, "detail": "low"},
                    ],
                },
            ]

            async def answered(**fields: Any) -> Any:
                if not stream:
                    return await client.responses.create(**fields)
                async with client.responses.stream(**fields) as events:
                    kinds = [event.type async for event in events]
                    assert kinds[0] == "response.created"
                    assert kinds[-1] == "response.completed"
                    return await events.get_final_response()

            answer = await answered(**asked, input=given)
            assert [item.type for item in answer.output] == ["reasoning", "message", "function_call", "function_call"]
            assert answer.output_text == "Looking."
            assert answer.usage.input_tokens_details.cached_tokens == 20
            assert answer.usage.output_tokens_details.reasoning_tokens == 4
            calls = [item for item in answer.output if item.type == "function_call"]
            echo = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in answer.output]
            del echo[0]["content"]  # as Codex does, which keeps the encrypted content alone
            results = [{"type": "function_call_output", "call_id": call.call_id, "output": "Rain"} for call in calls]
            answer = await answered(**asked, input=[*given, *echo, *results])
            assert answer.output_text == LONG
            first, last = playing.client.prompts
            assert first[0] == {"role": "system", "content": "Be brief.\n\nAnd kind."}
            assert first[1]["content"][1] == {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}}
            assert last[2] == {
                "role": "assistant",
                "content": "Looking.",
                "reasoning_content": "Two cities.",
                "tool_calls": calling("Oslo", "Rome").tool_calls,
            }
            assert [message["content"] for message in last[3:]] == ["Rain", "Rain"]

    asyncio.run(run())


@pytest.mark.nightly
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_messages_with_parallel_calls_and_thinking_go_round(play, stream: bool) -> None:
    """Anthropic's client reads blocks and usage, and its echo reaches the model as it was written."""

    async def run() -> None:
        answers = [calling("Oslo", "Rome", text="Looking.", reasoning="Two cities."), saying(LONG)]
        async with play(answers) as playing, anthropic_client(playing) as client:
            source = {"type": "base64", "media_type": "image/png", "data": PICTURE.partition(",")[2]}
            messages: list[Any] = [
                {"role": "user", "content": [{"type": "text", "text": "?"}, {"type": "image", "source": source}]}
            ]
            asked: dict[str, Any] = {
                "model": "m",
                "max_tokens": 2000,
                "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "And kind."}],
                "tools": [{"name": "weather", "input_schema": WEATHER}],
                "thinking": {"type": "enabled", "budget_tokens": 1024},
            }

            async def answered(given: list[Any]) -> Any:
                if not stream:
                    return await client.messages.create(**asked, messages=given)
                async with client.messages.stream(**asked, messages=given) as events:
                    async for event in events:
                        if event.type == "message_start":
                            assert event.message.usage.output_tokens > 0
                    return await events.get_final_message()

            answer = await answered(messages)
            assert [block.type for block in answer.content] == ["thinking", "text", "tool_use", "tool_use"]
            assert [block.input for block in answer.content[2:]] == [{"city": "Oslo"}, {"city": "Rome"}]
            assert answer.stop_reason == "tool_use"
            assert (answer.usage.input_tokens, answer.usage.cache_read_input_tokens) == (10, 20)
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": [{"type": "text", "text": "Rain"}]}
                for block in answer.content[2:]
            ]
            echo = [block.model_dump(exclude_none=True) for block in answer.content]
            given = [*messages, {"role": "assistant", "content": echo}, {"role": "user", "content": results}]
            answer = await answered(given)
            assert answer.content[0].text == LONG
            assert answer.stop_reason == "end_turn"
            first, last = playing.client.prompts
            assert first[0] == {"role": "system", "content": "Be brief.\n\nAnd kind."}
            assert first[1]["content"][1] == {"type": "image_url", "image_url": {"url": PICTURE}}
            assert last[2]["content"] == "Looking."
            assert last[2]["reasoning_content"] == "Two cities."
            assert [json.loads(call["function"]["arguments"]) for call in last[2]["tool_calls"]] == [
                {"city": "Oslo"},
                {"city": "Rome"},
            ]
            assert [message["content"] for message in last[3:]] == ["Rain", "Rain"]

    asyncio.run(run())


@pytest.mark.nightly
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_completions_continue_texts_and_token_ids(play, stream: bool) -> None:
    """OpenAI's client has a text and a list of token ids continued, without a chat template."""

    async def run() -> None:
        async with play([saying(LONG), saying("2")]) as playing, openai_client(playing, "completions") as client:
            if stream:
                chunks = [chunk async for chunk in await client.completions.create(model="m", prompt="1", stream=True)]
                assert "".join(chunk.choices[0].text for chunk in chunks) == LONG
            else:
                assert (await client.completions.create(model="m", prompt="1")).choices[0].text == LONG
            answer = await client.completions.create(model="m", prompt=[5, 6, 7], max_tokens=3, stop=["x"])
            assert answer.choices[0].text == "2"
            assert playing.client.prompts == ["1", [5, 6, 7]]
            assert playing.client.asked[1]["sampling"].stop == ("x",)

    asyncio.run(run())


@pytest.mark.nightly
def test_structured_output_reaches_the_model_in_every_dialect(play) -> None:
    """A schema for the answer is passed on from chat completions, Responses and Messages in one form."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    async def run() -> None:
        async with play(lambda _: saying('{"n": 3}')) as playing:
            async with openai_client(playing) as client:
                form: Any = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
                await client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "?"}], response_format=form
                )
                await client.responses.create(
                    model="m",
                    input="?",
                    text={"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}},
                )
            async with anthropic_client(playing) as client:
                await client.messages.create(
                    model="m",
                    max_tokens=10,
                    messages=[{"role": "user", "content": "?"}],
                    output_config={"format": {"type": "json_schema", "schema": schema}},
                )
            assert [asked["response_format"] for asked in playing.client.asked] == [form] * 3

    asyncio.run(run())


@pytest.mark.nightly
def test_an_answer_that_was_cut_off_says_so_in_every_dialect(play) -> None:
    """The limit of tokens is the reason of the end, in the dialect's word."""

    async def run() -> None:
        async with play(lambda _: saying("cut", finish="length")) as playing:
            async with openai_client(playing) as client:
                chat = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}])
                assert chat.choices[0].finish_reason == "length"
                response = await client.responses.create(model="m", input="?")
                assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")
            async with anthropic_client(playing) as client:
                message = await client.messages.create(
                    model="m", max_tokens=10, messages=[{"role": "user", "content": "?"}]
                )
                assert message.stop_reason == "max_tokens"

    asyncio.run(run())


@pytest.mark.nightly
def test_thinking_that_nobody_asked_for_is_left_out_of_messages(play) -> None:
    """A program that asks for no thinking finds the text first, as with the hosted API."""

    async def run() -> None:
        async with play([saying("yes", reasoning="Hm.")]) as playing, anthropic_client(playing) as client:
            answer = await client.messages.create(model="m", max_tokens=10, messages=[{"role": "user", "content": "?"}])
            assert [block.type for block in answer.content] == ["text"]

    asyncio.run(run())


@pytest.mark.nightly
def test_models_and_tokens_can_be_asked_for(play) -> None:
    """Both clients list the model, and Anthropic's counts the tokens of a prompt."""

    async def run() -> None:
        async with play([]) as playing:
            async with openai_client(playing) as client:
                assert [model.id async for model in client.models.list()] == ["scripted"]
                assert (await client.models.retrieve("scripted")).id == "scripted"
            async with anthropic_client(playing) as client:
                assert [model.id async for model in client.models.list()] == ["scripted"]
                short, long = [
                    await client.messages.count_tokens(
                        model="m", messages=[{"role": "user", "content": "word " * count}]
                    )
                    for count in (10, 1000)
                ]
                assert 10 < short.input_tokens < 100 < long.input_tokens

    asyncio.run(run())


@pytest.mark.nightly
def test_a_used_up_budget_ends_both_clients_without_a_repetition(play) -> None:
    """Each client raises the error of its dialect at once, and the session names the limit."""
    import anthropic
    import openai

    async def run() -> None:
        async with play(lambda _: saying("yes"), CallBudget(calls=1)) as playing:
            question: list[Any] = [{"role": "user", "content": "?"}]
            async with openai_client(playing) as client:
                await client.chat.completions.create(model="m", messages=question)
                with pytest.raises(openai.PermissionDeniedError, match="budget of this episode") as chat:
                    await client.chat.completions.create(model="m", messages=question)
                assert chat.value.code == "insufficient_quota"
                with pytest.raises(openai.BadRequestError, match="budget of this episode"):
                    await client.responses.create(model="m", input="?")
                with pytest.raises(openai.PermissionDeniedError, match="budget of this episode"):
                    await client.chat.completions.create(model="m", messages=question, stream=True)
            async with anthropic_client(playing) as client:
                with pytest.raises(anthropic.BadRequestError, match="budget of this episode"):
                    await client.messages.create(model="m", max_tokens=10, messages=question)
            assert playing.session.exceeded == "calls"
            assert playing.session.calls.errors == {"budget": 4}
            assert len(playing.client.prompts) == 1

    asyncio.run(run())
