"""Models behind servers of Anthropic's, OpenAI's and Google's interfaces: as a client asks, and through a gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_calls import post
from test_gateway_foreign_clients import PICTURE, WEATHER, calling, saying

from gem.errors import ArgumentError, ArgumentTypeError
from gem_eval.clients import EndpointClient, ModelError, Sampling
from gem_eval.clients.gemini_dialect import gemini_answer, gemini_request
from gem_eval.clients.messages_dialect import messages_answer, messages_request
from gem_eval.clients.responses_dialect import responses_answer, responses_request
from gem_gateway import Gateway
from gem_gateway.lineages.recorder import LineageRecorder

pytestmark = pytest.mark.xdist_group("foreign clients")

TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Tells.", "parameters": WEATHER}}]
SEEN = {"type": "image_url", "image_url": {"url": PICTURE}}
QUESTION = {"role": "user", "content": [{"type": "text", "text": "?"}, SEEN]}
RESULT = {"role": "tool", "tool_call_id": "call0", "content": "Rain"}

THINKING = {"type": "thinking", "thinking": "Two cities, one tool.", "signature": "c2lnbmVkIGJ5IHRoZSBzZXJ2ZXI="}
HIDDEN = {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Two cities."}],
    "encrypted_content": "gAAAAABencrypted",
}

texts = st.text(max_size=6)
parts = st.lists(
    st.builds(lambda said: {"type": "text", "text": said}, texts) | st.just(SEEN),
    max_size=3,
)
conversations = st.lists(
    st.builds(lambda role, said: {"role": role, "content": said}, st.sampled_from(["system", "user"]), texts | parts)
    | st.builds(lambda said: {"role": "assistant", "content": said}, texts)
    | st.builds(
        lambda said, name: {
            "role": "assistant",
            "content": said,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": name}}],
        },
        st.none() | texts,
        st.sampled_from(["{}", '{"a": [1]}', "no object", ""]),
    )
    | st.builds(lambda said: {"role": "tool", "tool_call_id": "c1", "content": said}, texts | parts),
    min_size=1,
    max_size=6,
)
samplings = st.builds(
    Sampling,
    temperature=st.none() | st.floats(0, 1),
    max_tokens=st.none() | st.integers(1, 99),
    stop=st.sampled_from([(), ("###",)]),
    extra=st.sampled_from(
        [
            {},
            {"tool_choice": "required", "parallel_tool_calls": False},
            {"tool_choice": {"type": "function", "function": {"name": "weather"}}},
        ]
    ),
)


@pytest.mark.slow(reason="the official packages' types cost seconds to import")
def test_requests_have_the_official_packages_types() -> None:
    """Whatever a conversation holds, the bodies fit the types that Anthropic and OpenAI publish."""
    from anthropic.types import message_create_params
    from openai.types.responses import response_create_params
    from pydantic import TypeAdapter

    kinds: list[tuple[Callable[..., dict[str, Any]], TypeAdapter[Any]]] = [
        (messages_request, TypeAdapter(message_create_params.MessageCreateParamsNonStreaming)),
        (responses_request, TypeAdapter(response_create_params.ResponseCreateParamsNonStreaming)),
    ]

    @settings(max_examples=60)
    @given(conversations, st.booleans(), samplings)
    def check(messages: list[dict[str, Any]], tools: bool, sampling: Sampling) -> None:
        for request, kind in kinds:
            body = request("m", messages, TOOLS if tools else None, sampling, None)
            kind.validate_python(json.loads(json.dumps(body)))

    check()


@pytest.mark.parametrize("protocol", ["gemini", "messages", "responses"])
def test_a_client_of_each_interface_has_the_answer_as_it_was(play: Any, protocol: Any) -> None:
    """Text, reasoning, calls, usage and the conversation go to a server of the interface and back."""

    async def run() -> None:
        answers = [calling("Oslo", "Rome", text="Looking.", reasoning="Two cities."), saying("Rain in both.")]
        async with play(answers) as playing:
            url = playing.session.base_url(protocol)
            client = EndpointClient(url, "m", api_key=playing.session.api_key, protocol=protocol)
            async with client:
                sampling = Sampling(temperature=0.5, max_tokens=77, extra={"tool_choice": "required"})
                if protocol == "messages":
                    sampling.extra["thinking"] = {"type": "enabled", "budget_tokens": 1024}
                if protocol == "gemini":
                    sampling.extra["generationConfig"] = {"thinkingConfig": {"includeThoughts": True}}
                asked = [{"role": "system", "content": "Be brief."}, QUESTION]
                answer = await client.chat(asked, tools=TOOLS, sampling=sampling)
                assert (answer.text, answer.reasoning, answer.finish_reason) == (
                    "Looking.",
                    "Two cities.",
                    "tool_calls",
                )
                made = [json.loads(call["function"]["arguments"])["city"] for call in answer.tool_calls]
                assert made == ["Oslo", "Rome"]
                counts = answer.usage or {}
                assert (counts["prompt_tokens"], counts["completion_tokens"], counts["cached_tokens"]) == (30, 11, 20)
                last = await client.chat([*asked, answer.message, RESULT, {**RESULT, "tool_call_id": "call1"}])
                assert (last.text, last.finish_reason) == ("Rain in both.", "stop")
            first, second = playing.client.prompts
            assert first[0] == {"role": "system", "content": "Be brief."}
            assert first[1]["content"][1]["image_url"]["url"] == PICTURE
            assert second[2]["tool_calls"] == answer.tool_calls
            assert [message["content"] for message in second[3:]] == ["Rain", "Rain"]
            told = playing.client.asked[0]
            assert told["tools"][0]["function"]["parameters"] == WEATHER
            assert (told["sampling"].temperature, told["sampling"].max_tokens) == (0.5, 77)
            assert told["sampling"].extra["tool_choice"] == "required"

    asyncio.run(run())


@asynccontextmanager
async def server(path: str, answers: list[dict[str, Any]]) -> AsyncIterator[tuple[str, list[tuple[Any, Any]]]]:
    """Serve answers one after another; yield the address, and the requests: headers and body of each."""
    asked: list[tuple[Any, Any]] = []

    async def handle(request: web.Request) -> web.Response:
        asked.append((request.headers.copy(), await request.json()))
        return web.json_response(answers[len(asked) - 1])

    app = web.Application()
    app.router.add_post(path, handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", asked
    finally:
        await runner.cleanup()


def message(content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 20, "output_tokens": 9}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_sequence": None}
    return {**head, "content": content, "stop_reason": stop, "usage": usage}


@pytest.mark.slow
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
def test_signed_thinking_passes_a_gateway_untouched(stream: bool) -> None:
    """A program with Anthropic's client plays two turns before a server of its interface, with the gateway between.

    The server gets its own signed blocks back, and the program's ``thinking``; both calls are of one lineage.
    """
    import anthropic

    used = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}}
    answers = [message([THINKING, HIDDEN, used], "tool_use"), message([{"type": "text", "text": "Rain."}], "end_turn")]

    async def run() -> None:
        async with server("/v1/messages", answers) as (url, asked), Gateway() as gateway:
            upstream = EndpointClient(url, "claude", api_key="the server's", protocol="messages")
            recorder = LineageRecorder(upstream)
            session = gateway.open(recorder)
            base = session.base_url("messages")
            async with upstream, anthropic.AsyncAnthropic(base_url=base, api_key=session.api_key) as client:
                turns: list[Any] = [{"role": "user", "content": "?"}]
                tools: Any = [{"name": "weather", "input_schema": WEATHER}]
                for result in ({"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"}, None):
                    options: Any = {"model": "m", "max_tokens": 2048, "tools": tools, "messages": turns}
                    options["thinking"] = {"type": "enabled", "budget_tokens": 1024}
                    if stream:
                        async with client.messages.stream(**options) as events:
                            answer = await events.get_final_message()
                    else:
                        answer = await client.messages.create(**options)
                    turns.append({"role": "assistant", "content": answer.content})
                    turns.append({"role": "user", "content": [result]})
                assert answer.usage.cache_read_input_tokens == 20
            for headers, body in asked:
                assert headers["x-api-key"] == "the server's"
                assert headers["anthropic-version"]
                assert body["thinking"] == {"type": "enabled", "budget_tokens": 1024}
            assert asked[1][1]["messages"][1]["content"] == [THINKING, HIDDEN, used]
            assert [call.parent for call in recorder.tree.calls] == [None, 0]

    asyncio.run(run())


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
def test_thought_signatures_pass_a_gateway_untouched(stream: bool) -> None:
    """The same in Gemini's interface: each part comes back with its signature, and the program's own fields arrive."""
    parts = [
        {"text": "Two cities.", "thought": True},
        {"text": "Looking.", "thoughtSignature": "dGV4dA=="},
        {"functionCall": {"id": "f1", "name": "weather", "args": {"city": "Oslo"}}, "thoughtSignature": "Y2FsbA=="},
        {"functionCall": {"id": "f2", "name": "weather", "args": {"city": "Rome"}}},
    ]
    usage = {"promptTokenCount": 28, "cachedContentTokenCount": 20, "candidatesTokenCount": 9, "thoughtsTokenCount": 4}

    def candidate(parts: list[dict[str, Any]]) -> dict[str, Any]:
        content = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
        return {"candidates": [content], "usageMetadata": usage, "modelVersion": "gemini", "responseId": "r1"}

    async def run() -> None:
        path = "/v1beta/models/gemini-x:generateContent"
        async with (
            server(path, [candidate(parts), candidate([{"text": "Rain."}])]) as (url, asked),
            Gateway() as gateway,
        ):
            upstream = EndpointClient(f"{url}/v1beta", "gemini-x", api_key="the server's", protocol="gemini")
            recorder = LineageRecorder(upstream)
            session = gateway.open(recorder)
            playing = SimpleNamespace(
                headers={"x-goog-api-key": session.api_key}, url=lambda path: session.base_url("gemini") + path
            )
            given: list[Any] = [{"role": "user", "parts": [{"text": "?"}]}]
            body: dict[str, Any] = {
                "contents": given,
                "tools": [{"functionDeclarations": [{"name": "weather", "parametersJsonSchema": WEATHER}]}],
                "generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"}, "topK": 3},
                "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
            }
            method = "streamGenerateContent?alt=sse" if stream else "generateContent"
            async with upstream:
                for _ in range(2):
                    status, _, answer = await post(playing, f"/v1beta/models/m:{method}", body)
                    assert status == 200
                    texts = answer.decode().replace("data: ", "").split("\n\n") if stream else [answer]
                    given += [json.loads(text)["candidates"][0]["content"] for text in filter(None, texts)]
                    results = [
                        {"functionResponse": {"id": name, "name": "weather", "response": {"output": "Rain"}}}
                        for name in ("f1", "f2")
                    ]
                    given.append({"role": "user", "parts": results})
            for headers, sent in asked:
                assert headers["x-goog-api-key"] == "the server's"
                assert "Authorization" not in headers
                assert sent["generationConfig"] == {**body["generationConfig"]}
                assert sent["safetySettings"] == body["safetySettings"]
                assert sent["tools"] == body["tools"]
            assert asked[1][1]["contents"] == [
                {"role": "user", "parts": [{"text": "?"}]},
                {"role": "model", "parts": parts[1:]},
                {"role": "user", "parts": results},
            ]
            assert [call.parent for call in recorder.tree.calls] == [None, 0]
            counts = recorder.tree.calls[0].usage
            assert counts == {"prompt_tokens": 28, "completion_tokens": 13, "reasoning_tokens": 4, "cached_tokens": 20}

    asyncio.run(run())


def test_encrypted_reasoning_passes_a_gateway_untouched() -> None:
    """The same with OpenAI's client and Responses: reasoning items come back with what they hold encrypted."""
    import openai

    called = {
        "id": "fc_1",
        "type": "function_call",
        "call_id": "c1",
        "name": "weather",
        "arguments": '{"city": "Oslo"}',
    }
    text = {"type": "output_text", "text": "Rain.", "annotations": []}
    said = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    usage = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    shell = {"object": "response", "status": "completed", "model": "gpt", "usage": usage}
    answers = [{**shell, "id": "resp_1", "output": [REASONING, called]}, {**shell, "id": "resp_2", "output": [said]}]

    async def run() -> None:
        async with server("/v1/responses", answers) as (url, asked), Gateway() as gateway:
            upstream = EndpointClient(url, "gpt", api_key="the server's", protocol="responses")
            recorder = LineageRecorder(upstream)
            session = gateway.open(recorder)
            base = session.base_url("responses")
            async with upstream, openai.AsyncOpenAI(base_url=base, api_key=session.api_key) as client:
                items: list[Any] = [{"role": "user", "content": "?"}]
                tools: Any = [{"type": "function", "name": "weather", "parameters": WEATHER, "strict": False}]
                for result in ({"type": "function_call_output", "call_id": "c1", "output": "Rain"}, None):
                    answer = await client.responses.create(
                        model="m",
                        input=items,
                        tools=tools,
                        include=["reasoning.encrypted_content"],
                        reasoning={"effort": "high", "summary": "auto"},
                        store=False,
                    )
                    items += [item.model_dump(exclude_none=True) for item in answer.output]
                    items.append(result)
                assert answer.output_text == "Rain."
            for headers, body in asked:
                assert headers["Authorization"] == "Bearer the server's"
                assert body["reasoning"] == {"effort": "high", "summary": "auto"}
                assert body["store"] is False
            assert asked[1][1]["input"][1] == REASONING
            assert [call.parent for call in recorder.tree.calls] == [None, 0]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("read", "answer", "kind"),
    [
        (
            messages_answer,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            "rate_limited",
        ),
        (messages_answer, message([], "end_turn") | {"usage": {"output_tokens": 0}}, "empty"),
        (messages_answer, message([], "refusal"), "content_filter"),
        (messages_answer, [], "bad_response"),
        (responses_answer, {"output": [], "status": "failed", "error": {"message": "broken"}}, "bad_response"),
        (responses_answer, {"output": [], "status": "completed"}, "empty"),
        (responses_answer, {"choices": []}, "bad_response"),
        (gemini_answer, {"promptFeedback": {"blockReason": "SAFETY"}}, "content_filter"),
        (gemini_answer, {"candidates": [{"finishReason": "RECITATION"}]}, "content_filter"),
        (gemini_answer, {"candidates": [{"content": {}, "finishReason": "STOP"}]}, "empty"),
        (gemini_answer, {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}, "rate_limited"),
        (gemini_answer, {"candidates": []}, "bad_response"),
        (gemini_answer, None, "bad_response"),
    ],
)
def test_answers_that_hold_nothing_are_told_apart(read: Any, answer: Any, kind: str) -> None:
    """As for chat completions, each is a failure of its kind and no empty answer."""
    with pytest.raises(ModelError) as caught:
        read(answer, {}, [])
    assert caught.value.failure_kind == kind


def test_summaries_that_a_server_makes_before_an_answer_are_counted() -> None:
    """Anthropic's usage leaves them out of its sums and names them beside; the example is of its documentation."""
    summary = {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3500}
    answer = {"type": "message", "input_tokens": 23_000, "output_tokens": 1000}
    usage = {"input_tokens": 23_000, "cache_read_input_tokens": 5, "output_tokens": 1000}
    body = {"content": [{"type": "text", "text": "yes"}], "usage": {**usage, "iterations": [summary, answer]}}
    counted = messages_answer(body, {}, []).usage
    assert counted == {"prompt_tokens": 203_005, "completion_tokens": 4500, "cached_tokens": 5}
    body["usage"] = {**usage, "iterations": None}
    counted = messages_answer(body, {}, []).usage
    assert counted == {"prompt_tokens": 23_005, "completion_tokens": 1000, "cached_tokens": 5}


def test_what_the_interfaces_cannot_do_is_said() -> None:
    """Streams of them are not read, and a part that would be dropped is refused by name."""
    with pytest.raises(ArgumentError, match="stream=True is for chat"):
        EndpointClient("http://localhost", "m", protocol="messages", stream=True)
    for request in (gemini_request, messages_request, responses_request):
        with pytest.raises(ArgumentTypeError, match="input_audio"):
            request("m", [{"role": "user", "content": [{"type": "input_audio"}]}], None, Sampling(), None)
