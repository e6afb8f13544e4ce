"""Hostile calls of a program, and hostile answers of its model: neither says more than it may."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from raw_calls import QUESTION, post, said

from gem_eval.clients import Completion
from gem_gateway.dialects.base import CallSettings

NESTED = "[" * 300 + "]" * 300

MALFORMED: list[Any] = [
    b"",
    b"{",
    b"[" * 100_000,
    b'{"messages":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"a":' * 5000 + b"1" + b"}" * 5000,
    b"[]",
    b'"text"',
    b"null",
    b"\xff\xfe{}",
    b'{"messages": NaN}',
    {},
    {"messages": {}},
    {"messages": []},
    {"messages": [1]},
    {"messages": [{"role": "user"}]},
    {"messages": [{"role": "root", "content": "x"}]},
    {"messages": [{"role": ["user"], "content": "x"}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]},
    {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f-1"}}]}]},
    {"messages": [{"role": "assistant", "tool_calls": [{"id": 1}]}]},
    {"messages": [{"role": "tool", "content": "x"}]},
    {**QUESTION, "n": 2},
    {**QUESTION, "n": True},
    {**QUESTION, "temperature": "hot"},
    {**QUESTION, "temperature": -1},
    {**QUESTION, "max_tokens": 0},
    {**QUESTION, "max_tokens": 10**30},
    {**QUESTION, "stop": [1]},
    {**QUESTION, "stop": {"a": 1}},
    {**QUESTION, "tools": "all"},
    {**QUESTION, "tools": [{"type": "function", "function": {"name": ""}}]},
    {**QUESTION, "tools": [{"type": "function", "function": {"name": "a", "parameters": []}}]},
    {**QUESTION, "response_format": "json"},
    f'{{"messages": [{{"role": "user", "content": "?"}}], "metadata": {NESTED}}}'.encode(),
    f'{{"messages": [{{"role": "user", "content": "?"}}], "top_k": [{2**70}, {NESTED}]}}'.encode(),
]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: repr(body)[:50])
def test_a_malformed_call_is_refused_with_a_reason(play, body: Any) -> None:
    """Whatever a body holds, the answer is 400 in the dialect, and the model is not asked."""

    async def run() -> None:
        async with play([]) as playing:
            status, headers, answer = await post(playing, body=body)
            assert status == 400
            assert len(json.loads(answer)["error"]["message"]) > 10
            assert headers["x-should-retry"] == "false"
            assert playing.client.prompts == []
            assert playing.session.calls.errors == {"unusable": 1}

    asyncio.run(run())


HOSTILE = 'x\n\nevent: error\ndata: {"type":"error"}\n\n\r\n\r\nHTTP/1.1 200 OK\r\nSet-Cookie: a=b\u2028\x00'


GEMINI = "/v1beta/models/m:generateContent"


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "endpoint", ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/completions", GEMINI]
)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_what_the_model_says_stays_inside_its_json(play, endpoint: str, stream: bool) -> None:
    """Line breaks in texts, names and ids of an answer open no event and no header of their own."""
    call = {"id": HOSTILE, "type": "function", "function": {"name": HOSTILE, "arguments": HOSTILE}}
    message = {"role": "assistant", "content": HOSTILE, "tool_calls": [call]}

    async def run() -> None:
        async with play([Completion(message, HOSTILE, HOSTILE, [call], model=HOSTILE)]) as playing:
            body = {**QUESTION, "input": "?", "max_tokens": 9, "stream": stream, "thinking": {"type": "enabled"}}
            if endpoint == "/v1/completions":
                body["prompt"] = "?"
            body["contents"] = [{"parts": [{"text": "?"}]}]
            path = GEMINI.replace(":g", ":streamG") + "?alt=sse" if endpoint == GEMINI and stream else endpoint
            status, headers, answer = await post(playing, path, body)
            assert status == 200
            assert "Set-Cookie" not in headers
            if not stream:
                json.loads(answer)
                return
            texts = []
            for event in answer.decode().removesuffix("\n\n").split("\n\n"):
                lines = event.split("\n")
                assert len(lines) <= 2
                assert lines[-1].startswith("data: ")
                texts.append(lines[-1][6:])
                assert len(lines) == 1 or lines[0].startswith("event: ")
            for text in texts:
                assert text == "[DONE]" or "error" not in str(json.loads(text).get("type"))

    asyncio.run(run())


SERVER_TOOLS = {
    "/v1/chat/completions": [{"type": "web_search"}, {"type": "custom", "custom": {"name": "a"}}],
    "/v1/responses": [
        *({"type": kind} for kind in ("web_search", "code_interpreter", "image_generation", "file_search")),
        {"type": "mcp", "server_url": "https://evil.example"},
        {"type": "computer_use_preview"},
    ],
    "/v1/messages": [
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "code_execution_20250825", "name": "code_execution"},
        {"type": "web_fetch_20250910", "name": "web_fetch"},
        {"type": "computer_20250124", "name": "computer", "display_width_px": 9, "display_height_px": 9},
    ],
    GEMINI: [
        *({kind: {}} for kind in ("googleSearch", "google_search", "codeExecution", "urlContext", "fileSearch")),
        {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
        {"mcpServers": [{"streamableHttpTransport": {"url": "https://evil.example"}}]},
    ],
}


@pytest.mark.parametrize("endpoint", SERVER_TOOLS)
def test_tools_of_the_server_never_reach_the_model(play, endpoint: str) -> None:
    """They are left out with a note each, or the call is refused, as the session says."""
    body = {**QUESTION, "input": "?", "max_tokens": 9, "tools": SERVER_TOOLS[endpoint]}
    body["contents"] = [{"parts": [{"text": "?"}]}]

    async def run() -> None:
        async with play([said()]) as playing:
            assert (await post(playing, endpoint, body))[0] == 200
            assert playing.client.asked[0]["tools"] is None
            assert sum(playing.session.calls.notes.values()) == len(SERVER_TOOLS[endpoint])
        async with play([], settings=CallSettings(server_tools="refuse")) as playing:
            status, _, answer = await post(playing, endpoint, body)
            assert status == 400
            assert "would have to run" in json.loads(answer)["error"]["message"]

    asyncio.run(run())


def test_remote_tools_and_fields_of_the_server_are_left_out(play) -> None:
    """What would let a request change more than the sampling does not reach the model's client."""
    fields = {
        "mcp_servers": [{"url": "https://evil.example"}],
        "web_search_options": {},
        "chat_template": "{{ 1 }}",
        "chat_template_kwargs": {"enable_thinking": True},
        "return_token_ids": True,
        "prompt_logprobs": 5,
        "kv_transfer_params": {"do_remote_prefill": True},
        "mm_processor_kwargs": {"a": 1},
        "documents": ["x"],
        "extra_body": {"a": 1},
        "messages_override": [],
        "top_k": 5,
    }

    async def run() -> None:
        async with play(lambda _: said()) as playing:
            for endpoint in ("/v1/chat/completions", "/v1/messages"):
                assert (await post(playing, endpoint, {**QUESTION, **fields, "max_tokens": 9}))[0] == 200
                assert playing.client.asked[-1]["sampling"].extra == {"top_k": 5}
            assert any("web_search_options" in note for note in playing.session.calls.notes)

    asyncio.run(run())


@pytest.mark.parametrize("dialect", ["responses", "messages"])
def test_a_program_does_not_choose_the_price_of_its_answers(play, dialect: str) -> None:
    """A server of its own dialect gets the other fields that chat completions have no name for, and no tier."""
    fields = {"responses": {"input": "?", "reasoning": {"effort": "low"}}, "messages": {**QUESTION, "max_tokens": 9}}

    async def run() -> None:
        async with play([said()]) as playing:
            playing.client.protocol = dialect
            body = {**fields[dialect], "metadata": {"user_id": "u"}, "service_tier": "priority"}
            assert (await post(playing, f"/v1/{dialect}", body))[0] == 200
            extra = playing.client.asked[0]["sampling"].extra
            assert extra["metadata"] == {"user_id": "u"}
            assert "service_tier" not in extra

    asyncio.run(run())


def test_a_server_shows_its_model_what_it_was_sent(play) -> None:
    """No field has it cut or summarised there: the record would say otherwise, and no budget counts a summary."""
    edits = {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}]}

    async def run() -> None:
        async with play([said()] * 2) as playing:
            playing.client.protocol = "messages"
            body = {**QUESTION, "max_tokens": 9, "context_management": edits, "thinking": {"type": "disabled"}}
            assert (await post(playing, "/v1/messages", body))[0] == 200
            assert playing.client.asked[0]["sampling"].extra == {"thinking": {"type": "disabled"}}
            assert "context_management" in next(iter(playing.session.calls.notes))
            assert (await post(playing, "/v1/messages", {**QUESTION, "compaction": {"instructions": "x"}}))[0] == 200
            assert "compaction" not in playing.client.asked[1]["sampling"].extra

    asyncio.run(run())


PICTURES = ["https://evil.example/a.png", "http://169.254.169.254/", "file:///etc/passwd", "data:text/html,x", "x"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("url", PICTURES)
def test_no_picture_is_fetched_for_a_program(play, url: str) -> None:
    """A picture must be in the request: a URL would have the model's server reach what the box does not."""
    chat = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]}
    responses = {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": url}]}]}
    source = {"type": "url", "url": url}
    gemini = {"contents": [{"parts": [{"fileData": {"mimeType": "image/png", "fileUri": url}}]}]}
    messages = {"messages": [{"role": "user", "content": [{"type": "image", "source": source}]}], "max_tokens": 9}

    async def run() -> None:
        async with play([]) as playing:
            calls = {"/v1/chat/completions": chat, "/v1/responses": responses, "/v1/messages": messages, GEMINI: gemini}
            for endpoint, body in calls.items():
                assert (await post(playing, endpoint, body))[0] == 400
            assert playing.client.prompts == []

    asyncio.run(run())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("field", ["previous_response_id", "conversation", "background", "prompt"])
def test_responses_of_others_cannot_be_continued(play, field: str) -> None:
    """The gateway keeps no responses, so that no id leads to one."""

    async def run() -> None:
        async with play([]) as playing:
            status, _, body = await post(playing, "/v1/responses", {"input": "?", field: "resp_1"})
            assert status == 400
            assert field in json.loads(body)["error"]["message"]

    asyncio.run(run())


def test_messages_of_the_assistant_in_a_row_stay_apart(play) -> None:
    """What a model wrote in one turn is one message, and a second text of its own begins another turn."""
    items = [
        {"role": "user", "content": "?"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"role": "assistant", "content": "one"},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "two"}]},
    ]

    async def run() -> None:
        async with play([said()]) as playing:
            assert (await post(playing, "/v1/responses", {"input": items}))[0] == 200
            _, first, second = playing.client.prompts[0]
            assert (first["content"], first["reasoning_content"], len(first["tool_calls"])) == ("one", "Hm.", 1)
            assert second == {"role": "assistant", "content": "two"}

    asyncio.run(run())


def test_numbers_in_arguments_are_exact_in_every_dialect(play: Any) -> None:
    """Those that the model writes go out as they are, and those that a program echoes come in so."""
    arguments = '{"account": 1234567890123456789012345, "balance": -9223372036854775809}'
    called = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": arguments}}
    answer = Completion({"role": "assistant", "content": None, "tool_calls": [called]}, tool_calls=[called])
    echoed: dict[str, Any] = {
        "/v1/messages": {
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": "?"},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "c1", "name": "pay", "input": json.loads(arguments)}],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]},
            ],
        },
        "/v1beta/models/m:generateContent": {
            "contents": [
                {"role": "user", "parts": [{"text": "?"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "pay", "args": json.loads(arguments)}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "pay", "response": {"output": "done"}}}]},
            ],
        },
        "/v1/responses": {
            "input": [
                {"role": "user", "content": "?"},
                {"type": "function_call", "call_id": "c1", "name": "pay", "arguments": arguments},
                {"type": "function_call_output", "call_id": "c1", "output": "done"},
            ]
        },
    }

    async def run() -> None:
        for path, body in echoed.items():
            async with play([answer]) as playing:
                status, _, said = await post(playing, path, body)
                assert status == 200, said
                for digits in (b"1234567890123456789012345", b"-9223372036854775809"):
                    assert digits in said
                (made,) = playing.client.prompts[0][1]["tool_calls"]
                assert json.loads(made["function"]["arguments"]) == json.loads(arguments)

    asyncio.run(run())
