"""The endpoints of the fake model: the shapes of each dialect, exact tokens, limits, hostile requests."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import ExitStack
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_eval.fake_model import FakeModel, FakeModelThread, Latency, ModelAnswer, ModelRequest
from gem_eval.fake_model.byte_tokens import ASSISTANT, END, SPECIAL, decode, encode, encode_special, split
from gem_eval.fake_model.conversation import messages_of, observations, prompt_ids
from gem_eval.fake_model.dialects import DIALECTS
from gem_eval.fake_model.json_instances import instance

HELLO = [{"role": "user", "content": "Hello"}]
USER = SPECIAL["<|user|>"]
TOOL = {
    "type": "function",
    "function": {
        "name": "guess",
        "parameters": {"type": "object", "properties": {"number": {"type": "integer", "minimum": 3, "maximum": 3}}},
    },
}


def posting(model: FakeModel, *requests: tuple[str, Any]) -> list[tuple[int, Any]]:
    """Return the statuses and the bodies of replies to requests sent one after another."""

    async def run() -> list[tuple[int, Any]]:
        async with model, aiohttp.ClientSession() as session:
            replies = []
            for path, body in requests:
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                async with session.post(model.origin + path, data=data) as reply:
                    text = await reply.text()
                    streamed = reply.content_type == "text/event-stream"
                    replies.append((reply.status, events(text) if streamed else json.loads(text or "null")))
            return replies

    return asyncio.run(run())


def events(text: str) -> list[Any]:
    """Return the events of a stream, in JSON but for the last."""
    data = [event.removeprefix("data: ") for event in text.split("\n\n") if event]
    return [event if event == "[DONE]" else json.loads(event) for event in data]


def chat(**fields: Any) -> tuple[str, dict[str, Any]]:
    return "/v1/chat/completions", {"messages": HELLO, **fields}


def joined(chunks: list[Any], field: str) -> str:
    deltas = [choice["delta"] for chunk in chunks[:-1] for choice in chunk["choices"]]
    return "".join(delta.get(field) or "" for delta in deltas)


@given(st.text())
def test_tokens_are_exact_both_ways(text: str) -> None:
    """The ids of a text are its text again, whatever stands in it; names of special tokens are ordinary text."""
    assert decode(encode(text)) == text
    assert all(token < min(SPECIAL.values()) for token in encode(text))
    for index, token in enumerate(encode(text)):
        if token > 255:
            assert decode(split(encode(text), index)) == text


@given(st.lists(st.sampled_from(["user", "tool", "assistant"])), st.data())
def test_a_prompt_of_ids_holds_its_conversation(roles: list[str], data: st.DataObject) -> None:
    """Reading a templated prompt back gives the observations of the messages it was made of."""
    messages = [{"role": role, "content": data.draw(st.text(min_size=1))} for role in roles]
    ids = prompt_ids(messages)
    assert messages_of(ids) == messages
    assert observations(messages_of(ids)) == observations(messages)
    assert encode_special(decode(ids)) == ids or any("<|" in message["content"] for message in messages)


@pytest.mark.parametrize(
    ("dialect", "field"),
    [("openai", "reasoning_content"), ("vllm", "reasoning"), ("sglang", "reasoning_content")],
)
def test_reasoning_stands_under_the_name_of_the_dialect(dialect: str, field: str) -> None:
    """Streamed and whole answers keep reasoning and text apart, and agree."""
    model = FakeModel("constant:yes", dialect=dialect, reasoning="Let me see.")
    (_, whole), (_, chunks) = posting(model, chat(), chat(stream=True))
    message = whole["choices"][0]["message"]
    assert (message[field], message["content"]) == ("Let me see.", "yes")
    assert (joined(chunks, field), joined(chunks, "content")) == ("Let me see.", "yes")
    assert chunks[-1] == "[DONE]"
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"


def test_token_ids_come_where_each_dialect_has_them() -> None:
    """vLLM: top level and choice; SGLang: choice; llama.cpp: in the log-probabilities; OpenAI: nowhere."""
    wanted = {"return_token_ids": True, "logprobs": True, "top_logprobs": 0}
    prompt, sampled = prompt_ids(HELLO), [*encode("yes"), END]
    found = {}
    for dialect in ("openai", "vllm", "sglang", "llamacpp"):
        ((status, body),) = posting(FakeModel("constant:yes", dialect=dialect), chat(**wanted))
        assert status == 200
        choice = body["choices"][0]
        entries = choice["logprobs"]["content"]
        assert len(entries) == body["usage"]["completion_tokens"] == len(sampled)
        assert all(entry["logprob"] <= 0 and entry["top_logprobs"] == [] for entry in entries)
        found[dialect] = (
            body.get("prompt_token_ids"),
            choice.get("prompt_token_ids"),
            choice.get("token_ids"),
            [entry["id"] for entry in entries if "id" in entry],
        )
    assert found == {
        "openai": (None, None, None, []),
        "vllm": (prompt, None, sampled, []),
        "sglang": (None, prompt, sampled, []),
        "llamacpp": (None, None, None, sampled),
    }


def test_transformers_refuses_unknown_fields_and_ignores_those_it_lacks() -> None:
    """An unknown field is a 422 with a detail; log-probabilities and n are ignored without a word."""
    model = FakeModel("constant:yes", dialect="transformers")
    refused, ignored, completion = posting(
        model, chat(return_token_ids=True), chat(logprobs=True, n=2), ("/v1/completions", {"prompt": "x"})
    )
    assert refused == (422, {"detail": "Unexpected keys in the request: {'return_token_ids'}"})
    assert ignored[0] == 200
    assert [choice["logprobs"] for choice in ignored[1]["choices"]] == [None]
    assert completion[0] == 404


def test_a_completion_continues_token_ids() -> None:
    """A prompt of ids is played as the conversation it holds, and the server sees that it continues exactly."""
    model = FakeModel("constant:ok", dialect="vllm", recode=True)
    first = prompt_ids(HELLO)
    wanted = {"return_token_ids": True, "logprobs": 0}

    async def run() -> dict[str, int]:
        async with model, aiohttp.ClientSession() as session:

            async def complete(ids: list[int]) -> list[int]:
                body = {"prompt": ids, **wanted}
                async with session.post(f"{model.url}/completions", json=body) as reply:
                    choice = (await reply.json())["choices"][0]
                assert choice["prompt_token_ids"] == ids
                assert len(choice["logprobs"]["token_logprobs"]) == len(choice["token_ids"])
                return list(choice["token_ids"])

            sampled = await complete(first)
            assert decode(sampled[:-1]) == "ok"
            assert sampled[:-1] != encode("ok")
            later = [USER, *encode("Again"), END, ASSISTANT]
            await complete([*first, *sampled, *later])
            await complete([*first, *encode("ok"), END, *later])
            chat = [*HELLO, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "Again"}]
            async with session.post(f"{model.url}/chat/completions", json={"messages": chat}) as reply:
                await reply.read()
        return model.continuations.to_dict()

    assert asyncio.run(run()) == {"first": 1, "exact": 1, "broken": 1, "retokenized": 1}


def test_native_endpoints_have_the_shapes_of_their_servers() -> None:
    """SGLang's ``/generate``, vLLM's ``/inference/v1/generate`` and llama.cpp's ``/completion``."""
    prompt, sampled = prompt_ids(HELLO), [*encode("yes"), END]
    parameters = {"max_new_tokens": 10, "temperature": 1.0}
    ((_, body),) = posting(
        FakeModel("constant:yes", dialect="sglang"),
        ("/generate", {"input_ids": prompt, "sampling_params": parameters, "return_logprob": True}),
    )
    meta = body["meta_info"]
    assert (body["text"], body["output_ids"]) == ("yes", sampled)
    assert [(token, text) for _, token, text in meta["output_token_logprobs"]] == [(token, None) for token in sampled]
    assert meta["finish_reason"] == {"type": "stop", "matched": END}
    ((_, body),) = posting(
        FakeModel("constant:yes", dialect="vllm"),
        ("/inference/v1/generate", {"token_ids": prompt, "sampling_params": {"max_tokens": 2, "logprobs": 1}}),
    )
    assert body["choices"][0]["token_ids"] == sampled[:2]
    assert body["choices"][0]["finish_reason"] == "length"
    assert len(body["choices"][0]["logprobs"]["content"]) == 2
    (_, body), (_, chunks) = posting(
        FakeModel("constant:yes", dialect="llamacpp"),
        ("/completion", {"prompt": prompt, "n_predict": -1, "n_probs": 1, "return_tokens": True}),
        ("/completion", {"prompt": prompt, "stream": True}),
    )
    assert (body["content"], body["tokens"], body["stop_type"]) == ("yes", sampled, "eos")
    assert [entry["id"] for entry in body["completion_probabilities"]] == sampled
    assert [chunk["stop"] for chunk in chunks] == [False, True]


def test_tokenizing_agrees_with_the_prompts_of_chats() -> None:
    """``/tokenize`` and ``/apply-template`` give the prompt that a chat has, and ``/detokenize`` undoes it."""
    ids = prompt_ids(HELLO)
    vllm = posting(
        FakeModel(dialect="vllm"),
        ("/tokenize", {"messages": HELLO}),
        ("/detokenize", {"tokens": ids}),
        ("/tokenize", {}),
    )
    assert vllm[0][1]["tokens"] == ids
    assert vllm[0][1]["count"] == len(ids)
    assert vllm[1][1] == {"prompt": decode(ids)}
    assert vllm[2][0] == 400
    llama = posting(
        FakeModel(dialect="llamacpp"), ("/tokenize", {"content": "Hello"}), ("/apply-template", {"messages": HELLO})
    )
    assert llama == [(200, {"tokens": encode("Hello")}), (200, {"prompt": decode(ids)})]


def test_answers_end_at_limits_and_stop_strings() -> None:
    """A limit cuts tokens with finish length; a stop string is left out."""
    model = FakeModel("constant:one two three", dialect="vllm")
    (_, cut), (_, stopped), (_, both) = posting(model, chat(max_tokens=2), chat(stop=[" two"]), chat(n=2))
    assert (cut["choices"][0]["message"]["content"], cut["choices"][0]["finish_reason"]) == ("one ", "length")
    assert cut["usage"]["completion_tokens"] == 2
    assert stopped["choices"][0]["message"]["content"] == "one"
    assert (stopped["choices"][0]["finish_reason"], stopped["choices"][0]["stop_reason"]) == ("stop", " two")
    assert [choice["index"] for choice in both["choices"]] == [0, 1]


def test_a_cut_in_the_reasoning_leaves_no_content() -> None:
    """The whole budget may go into reasoning, as with real models."""
    ((_, body),) = posting(FakeModel("constant:yes", reasoning="Let me see " * 9), chat(max_tokens=10))
    message = body["choices"][0]["message"]
    assert message["content"] is None
    assert message["reasoning_content"].startswith("Let me")
    assert body["choices"][0]["finish_reason"] == "length"


def test_tools_are_called_natively_streamed_and_whole() -> None:
    """Arguments fit the schema; a stream's pieces add up to the whole call."""
    (_, whole), (_, chunks), (_, forced) = posting(
        FakeModel("tool"),
        chat(tools=[TOOL]),
        chat(tools=[TOOL], stream=True),
        chat(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "guess"}}),
    )
    call = whole["choices"][0]["message"]["tool_calls"][0]
    assert call["function"] == {"name": "guess", "arguments": '{"number": 3}'}
    assert whole["choices"][0]["finish_reason"] == forced["choices"][0]["finish_reason"] == "tool_calls"
    deltas = [choice["delta"] for chunk in chunks[:-1] for choice in chunk["choices"]]
    pieces = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert pieces[0]["id"] == call["id"]
    assert "".join(piece["function"]["arguments"] for piece in pieces) == '{"number": 3}'


SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 2},
        "verdict": {"enum": ["A", "B"]},
        "maybe": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    },
    "$defs": {"item": {"type": "object", "properties": {"ok": {"type": "boolean"}}}},
}


def test_a_judge_answers_by_the_schema() -> None:
    """Every policy of text obeys a JSON schema; ``judge:NUMBER`` fills numbers in, as far as bounds admit."""
    form = {"type": "json_schema", "json_schema": {"name": "score", "schema": SCHEMA}}
    for policy, scores in (("judge:4", {4}), ("judge:9", {5}), ("echo", {1, 2, 3, 4, 5})):
        ((_, body),) = posting(FakeModel(policy), chat(response_format=form))
        value = json.loads(body["choices"][0]["message"]["content"])
        assert value["score"] in scores
        assert value["verdict"] in ("A", "B")
        assert [set(item) for item in value["items"]] == [{"ok"}, {"ok"}]
        assert isinstance(value["maybe"], bool)


KEYWORDS = ["type", "properties", "items", "enum", "$ref", "anyOf", "allOf", "minimum", "minItems", "const"]
SCHEMAS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["object", "array", "integer", "#"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYWORDS), inner),
)


@given(SCHEMAS)
def test_any_schema_has_an_instance(schema: Any) -> None:
    """No schema that a client sends makes the server fail: what is no schema gives null or text."""
    json.dumps(instance(schema, random.Random(0)))


def test_what_does_not_fit_the_context_is_refused() -> None:
    """The refusal names the parameter and both counts; an answer without a limit ends at the context."""
    model = FakeModel("constant:" + "x" * 100, max_context=20)
    refused, fitting = posting(model, chat(max_tokens=100), chat())
    assert refused[0] == 400
    assert refused[1]["error"]["param"] == "input_tokens"
    assert fitting[1]["choices"][0]["finish_reason"] == "length"
    assert fitting[1]["usage"]["total_tokens"] == 20


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b"[" * 100_000,
        b"{}",
        b'{"messages": []}',
        b'{"messages": [1]}',
        b'{"messages": [{"content": "x"}]}',
        b'{"messages": [{"role": "user"}]}',
        b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": -1}',
        b'{"messages": [{"role": "user", "content": "x"}], "n": "many"}',
        b'{"messages": [{"role": "user", "content": "x"}], "tools": 7}',
        b'{"messages": "\xff"}',
    ],
)
def test_malformed_requests_are_refused(body: bytes) -> None:
    """Each is a 400 with a reason, and the server goes on."""
    (status, answer), (after, _) = posting(FakeModel(), ("/v1/chat/completions", body), chat())
    assert (status, after) == (400, 200)
    assert answer["error"]["message"]


@pytest.mark.parametrize("ids", [[], [[]], ["1"], [-1], [1.0], {}, "1", 3, True])
def test_what_is_no_list_of_token_ids_is_refused(ids: object) -> None:
    """As messages of SGLang's chat and as its prompt alike; the server goes on."""
    told = json.dumps({"messages": [{"role": "user", "content": "hello"}], "input_ids": ids}).encode()
    paths = ("/v1/chat/completions", *(["/generate"] if not isinstance(ids, str) else []))
    (*refused, (after, _)) = posting(FakeModel(dialect="sglang"), *((path, told) for path in paths), chat())
    assert {status for status, _ in refused} == {400}
    assert after == 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "messages",
    "prompt",
    "text",
    "input_ids",
    "token_ids",
    "tokens",
    "tools",
    "tool_choice",
    "response_format",
    "n",
    "stop",
    "max_tokens",
    "logprobs",
    "stream",
    "top_logprobs",
    "stream_options",
    "sampling_params",
    "n_probs",
    "n_predict",
    "return_token_ids",
]


def test_no_request_breaks_the_server() -> None:
    """Whatever is in the fields, every dialect and every endpoint answers with a status below 500 and stays alive."""

    async def ask(urls: list[str], body: bytes) -> list[int]:
        async with aiohttp.ClientSession() as session:
            statuses = []
            for url in urls:
                async with session.post(url, data=body) as reply:
                    await reply.read()
                    statuses.append(reply.status)
            return statuses

    models = [FakeModelThread(FakeModel("echo", dialect=name)) for name in DIALECTS]
    message = st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "x"])},
        optional={"content": JSON, "tool_calls": JSON, "reasoning": JSON},
    )
    fields = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4)
    conversations = st.fixed_dictionaries({}, optional={"messages": st.lists(message)})
    bodies = st.builds(lambda fields, messages: {**fields, **messages}, fields, conversations)

    @given(bodies, st.sampled_from(models))
    def check(body: dict[str, Any], thread: FakeModelThread) -> None:
        paths = ["/v1/chat/completions", "/v1/completions", "/generate", "/completion", "/tokenize", "/detokenize"]
        urls = [thread.origin + path for path in [*paths, "/inference/v1/generate", "/apply-template"]]
        assert max(asyncio.run(ask(urls, json.dumps(body).encode()))) < 500

    with ExitStack() as stack:
        for model in models:
            stack.enter_context(model)
        check()


def test_requests_beyond_the_limits_wait_or_are_refused() -> None:
    """``concurrency`` lets others wait, ``queue`` refuses with 503, ``requests_per_second`` with 429."""

    async def run(model: FakeModel, count: int) -> list[int]:
        async with model, aiohttp.ClientSession() as session:

            async def one() -> int:
                async with session.post(f"{model.url}/chat/completions", json={"messages": HELLO}) as reply:
                    await reply.read()
                    assert reply.status != 429 or int(reply.headers["Retry-After"]) >= 1
                    return reply.status

            return sorted(await asyncio.gather(*(one() for _ in range(count))))

    waiting = FakeModel(concurrency=2, latency=Latency(0.01))
    assert asyncio.run(run(waiting, 8)) == [200] * 8
    assert (waiting.counts.most_in_flight, waiting.counts.queued) == (2, 6)
    assert asyncio.run(run(FakeModel(concurrency=2, queue=3, latency=Latency(0.05)), 8)) == [200] * 5 + [503] * 3
    assert asyncio.run(run(FakeModel(requests_per_second=0.001), 3)) == [429, 429, 429]
    assert asyncio.run(run(FakeModel(api_key="secret"), 1)) == [401]


def test_a_policy_of_ones_own_gets_the_request() -> None:
    """A function answers with text, an answer, or a message; what it raises is a 500 for that request alone."""

    def policy(request: ModelRequest) -> Any:
        text = request.messages[-1]["content"]
        if text == "message":
            return {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}
        return {"answer": ModelAnswer("a", reasoning="b"), "text": "t"}[text]

    bodies = [{"messages": [{"role": "user", "content": text}]} for text in ("message", "answer", "text", "error")]
    replies = posting(FakeModel(policy), *(("/v1/chat/completions", body) for body in bodies))
    messages = [body["choices"][0]["message"] for status, body in replies[:3]]
    assert messages[0]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert messages[1] == {"role": "assistant", "content": "a", "reasoning_content": "b"}
    assert messages[2]["content"] == "t"
    assert replies[3][0] == 500
    assert "KeyError" in replies[3][1]["error"]["message"]
