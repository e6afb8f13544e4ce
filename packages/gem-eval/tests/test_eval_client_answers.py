"""Completions from answers: token ids and log-probabilities in every dialect, odd shapes, hostile JSON."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import EpisodeLimitError
from gem_eval.clients import Completion, EndpointClient, ModelError, Sampling
from gem_eval.clients.answers import chat_answer, generate_answer, llamacpp_answer, text_answer
from gem_eval.clients.json_text import encoded
from gem_eval.clients.streaming import joined_stream
from gem_eval.clients.token_data import from_content
from gem_eval.fake_model import FakeModel
from gem_eval.fake_model.byte_tokens import decode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def written(value: Any) -> bytes:
    """Return a value as a server may write it: with NaN, lone surrogates and integers of any size."""
    return json.dumps(value).encode()


def call(identifier: str) -> dict[str, Any]:
    """Return a native tool call."""
    return {"id": identifier, "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


CHAT = {
    "id": "x",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "ab", "reasoning": "hm", "tool_calls": [call("1")]},
            "finish_reason": "tool_calls",
            "token_ids": [1, 2],
            "logprobs": {
                "content": [
                    {"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "a", "logprob": -0.5}]},
                    {"token": "b", "logprob": -0.25, "top_logprobs": [{"token": "c", "logprob": -9.0}]},
                ]
            },
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1}},
    "prompt_token_ids": [7, 8, 9],
}
TEXT = {
    "id": "x",
    "model": "m",
    "choices": [
        {
            "text": "ab",
            "finish_reason": "stop",
            "token_ids": [1, 2],
            "prompt_token_ids": [7, 8],
            "logprobs": {
                "tokens": ["a", "b"],
                "token_logprobs": [-0.5, -0.25],
                "top_logprobs": [{"a": -0.5, "c": -0.1}, None],
            },
        }
    ],
    "usage": {"prompt_tokens": 2, "completion_tokens": 2},
}
SGLANG = {
    "text": "ab",
    "output_ids": [1, 2],
    "meta_info": {
        "id": "x",
        "finish_reason": {"type": "stop", "matched": 2},
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "cached_tokens": 1,
        "output_token_logprobs": [[-0.5, 1, "a"], [-0.25, 2, None]],
        "output_top_logprobs": [[[-0.5, 1, "a"], [-1.0, 5, None]], None],
    },
}
LLAMACPP = {
    "content": "ab",
    "model": "m",
    "tokens": [1, 2],
    "stop_type": "limit",
    "tokens_evaluated": 3,
    "tokens_predicted": 2,
    "completion_probabilities": [
        {"id": 1, "token": "a", "prob": 0.5, "top_probs": [{"id": 1, "token": "a", "prob": 0.5}]},
        {"id": 2, "token": "b", "prob": 0.0, "top_probs": [{"id": 3, "token": "c", "prob": 1.0}]},
    ],
}
READERS = {
    "chat": (CHAT, lambda answer: chat_answer(answer, {}, [], has_tools=True)),
    "text": (TEXT, lambda answer: text_answer(answer, {})),
    "sglang": (SGLANG, lambda answer: generate_answer(answer, {})),
    "llamacpp": (LLAMACPP, lambda answer: llamacpp_answer(answer, {})),
}


@pytest.mark.parametrize("kind", READERS)
def test_everything_in_an_answer_is_read(kind: str) -> None:
    """Text, ids, log-probabilities, alternatives, usage and finish reason, in the form of each endpoint."""
    answer, read = READERS[kind]
    completion = read(answer)
    assert completion.text == "ab"
    assert completion.token_ids == [1, 2]
    assert completion.logprobs is not None
    assert completion.top_logprobs is not None
    assert (completion.usage or {})["completion_tokens"] == 2
    expected: dict[str, Any] = {
        "chat": ("tool_calls", [-0.5, -0.25], ["a", "b"], [("a", -0.5)], [7, 8, 9]),
        "text": ("stop", [-0.5, -0.25], ["a", "b"], [("c", -0.1), ("a", -0.5)], [7, 8]),
        "sglang": ("stop", [-0.5, -0.25], None, [("a", -0.5), ("token_id:5", -1.0)], None),
        "llamacpp": ("length", [math.log(0.5), -9999.0], ["a", "b"], [("a", math.log(0.5))], None),
    }
    finish, logprobs, tokens, top, prompt = expected[kind]
    assert completion.finish_reason == finish
    assert completion.logprobs == logprobs
    assert completion.tokens == tokens
    assert completion.top_logprobs[0] == top
    assert completion.prompt_token_ids == prompt
    assert completion.metadata == {}


def test_a_chat_message_keeps_what_must_be_sent_back() -> None:
    """Reasoning under the name it came with, the calls, and null for a text that is not there."""
    completion = chat_answer(CHAT, {}, [])
    assert completion.message == {
        "role": "assistant",
        "content": "ab",
        "reasoning": "hm",
        "tool_calls": CHAT["choices"][0]["message"]["tool_calls"],  # type: ignore[index]
    }
    answer = copy.deepcopy(CHAT)
    message: Any = {"content": None, "reasoning_content": "hm", "tool_calls": [call("1")]}
    answer["choices"][0]["message"] = message  # type: ignore[index]
    completion = chat_answer(answer, {}, [])
    assert completion.message["content"] is None
    assert completion.message["reasoning_content"] == "hm"
    assert "reasoning" not in completion.message
    assert completion.usage == {"prompt_tokens": 3, "completion_tokens": 2, "reasoning_tokens": 1}


def test_a_refusal_of_the_model_is_its_text() -> None:
    """Providers put it beside an empty content."""
    completion = chat_answer({"choices": [{"message": {"content": None, "refusal": "No."}}]}, {}, [])
    assert completion.text == "No."
    assert completion.message["content"] == "No."


def test_tokens_named_by_their_ids_give_the_ids() -> None:
    """With its return_tokens_as_token_ids, vLLM writes them so."""
    data = from_content([{"token": "token_id:17", "logprob": -0.5}, {"token": "token_id:4", "logprob": -1.0}])
    assert data.ids == [17, 4]
    assert data.tokens is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([-1.0, -9999.0], [-1.0, -9999.0]),
        ([-1.0, -3.4e38], [-1.0, -9999.0]),
        ([-1.0, -math.inf], [-1.0, -9999.0]),
        ([-1.0, math.nan], None),
        ([-1.0, None], None),
        ([-1.0, "x"], None),
        ([-1.0, 10**400], None),
        ([-1.0, -(10**400)], None),
        ([-1.0, math.inf], None),
        ([0, -1], [0, -1]),
        ([1e-7, -1.0], [1e-7, -1.0]),
        ([-9000.0, -9000.0], [-9000.0, -9000.0]),
    ],
)
def test_log_probabilities_are_finite_or_none(values: list[Any], expected: list[float] | None) -> None:
    """Zero probability is −9999 in all its spellings; a missing value makes the list None."""
    data = from_content([{"token": "a", "logprob": value} for value in values])
    assert data.logprobs == expected
    assert bool(data.problem) == (expected is None)
    assert data.tokens == ["a", "a"]


@pytest.mark.parametrize(
    ("message", "finish", "usage", "outcome"),
    [
        ({"content": ""}, "length", None, "answer"),
        ({"content": None, "reasoning": "hm"}, "stop", None, "answer"),
        ({"content": ""}, "stop", {"completion_tokens": 1}, "answer"),
        ({"content": ""}, "stop", {"completion_tokens": 0}, "empty"),
        ({"content": None}, None, None, "empty"),
        ({"content": ""}, "content_filter", None, "content_filter"),
        ({"content": "half"}, "content_filter", None, "answer"),
        ({"content": ""}, "abort", None, "server_error"),
        ({"content": "half"}, "abort", None, "answer"),
    ],
)
def test_empty_answers_are_told_apart(message: Any, finish: str | None, usage: Any, outcome: str) -> None:
    """What the model did is an answer; what the server did is a failure."""
    answer = {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}
    if outcome == "answer":
        assert chat_answer(answer, {}, []).finish_reason == finish
    else:
        with pytest.raises(ModelError) as caught:
            chat_answer(answer, {}, [])
        assert caught.value.failure_kind == outcome


@pytest.mark.parametrize("reason", [{"type": "length"}, [{"type": "length"}], [["length"]], "length", 5, [], {}])
def test_finish_reasons_of_any_shape(reason: Any) -> None:
    """An object's type counts; what is none of the known shapes is None."""
    completion = chat_answer({"choices": [{"message": {"content": "x"}, "finish_reason": reason}]}, {}, [])
    assert completion.finish_reason in ("length", None)


def outcome(read: Callable[[], Completion]) -> Completion | ModelError | EpisodeLimitError:
    """Return a completion or the failure in its place."""
    try:
        return read()
    except (ModelError, EpisodeLimitError) as error:
        return error


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values inside a JSON value."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, inner in items for deeper in places(inner, (*path, key)))]


def with_value(answer: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of an answer with another value at a path."""
    if not path:
        return value
    answer = copy.deepcopy(answer)
    holder = answer
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return answer


@pytest.mark.parametrize("kind", READERS)
@given(data=st.data())
def test_an_answer_with_anything_anywhere_is_a_completion_or_a_failure(kind: str, data: st.DataObject) -> None:
    """Any value in place of any other: no exception but the known ones, and a completion fits a record in JSON."""
    answer, read = READERS[kind]
    for _ in range(2):
        answer = with_value(answer, data.draw(st.sampled_from(places(answer))), data.draw(JSON))
    completion = outcome(lambda: read(answer))
    if not isinstance(completion, Completion):
        assert str(completion).isprintable()
        return
    assert isinstance(completion.text, str)
    assert completion.reasoning is None or isinstance(completion.reasoning, str)
    json.dumps(completion.metadata, allow_nan=False)
    encoded(completion.message)
    for values in (completion.logprobs, completion.tokens, completion.top_logprobs):
        if values is not None and completion.token_ids is not None:
            assert len(values) == len(completion.token_ids)
    if completion.logprobs is not None:
        json.dumps(completion.logprobs, allow_nan=False)
    for alternatives in completion.top_logprobs or ():
        assert all(isinstance(token, str) and value >= -9999.0 for token, value in alternatives)
    assert all(type(count) is int and count >= 0 for count in (completion.usage or {}).values())


def test_a_stream_that_stops_without_an_end_is_a_failure() -> None:
    """Half an answer is none; a finish reason or [DONE] is an end."""
    event = b'data: {"choices": [{"delta": {"content": "half"}, "finish_reason": %b}]}\n\n'
    with pytest.raises(ModelError, match="breaks off"):
        joined_stream(event % b"null", {})
    for whole in (event % b'"stop"', event % b"null" + b"data: [DONE]\n\n"):
        assert chat_answer(joined_stream(whole, {}), {}, []).text == "half"


@pytest.mark.parametrize(
    ("ends", "blank"),
    # A carriage return and a line feed are together the one end of a line.
    [pair for pair in itertools.product([b"\n", b"\r", b"\r\n"], repeat=2) if pair != (b"\r", b"\n")],
)
def test_lines_of_a_stream_end_in_any_way(ends: bytes, blank: bytes) -> None:
    """Also where the blank line behind an event ends in another way than its own."""
    chunks = [b'{"choices": [{"delta": {"content": "%b"}}]}' % piece for piece in (b"to", b"gether")]
    stream = b"".join(b": alive%b%bdata: %b%b%b" % (ends, blank, chunk, ends, blank) for chunk in (*chunks, b"[DONE]"))
    assert chat_answer(joined_stream(stream, {}), {}, []).text == "together"


@given(st.lists(st.binary(max_size=30) | JSON.map(written)))
def test_any_stream_is_an_answer_or_a_failure(events: list[bytes]) -> None:
    """Comments, broken JSON, odd deltas: what is put together is read like any answer."""
    stream = b"".join(b"data: %b\n\n" % event for event in events)
    assert str(outcome(lambda: chat_answer(joined_stream(stream, {}), {}, [])))


@given(data=st.data())
def test_a_stream_with_anything_anywhere_is_an_answer_or_a_failure(data: st.DataObject) -> None:
    """Any value in place of any other in the chunks of a stream."""
    function = {"name": "f", "arguments": "{"}
    delta = {"content": "a", "reasoning": "h", "tool_calls": [{"index": 0, "id": "1", "function": function}]}
    choice = {"delta": delta, "token_ids": [1], "logprobs": {"content": []}, "finish_reason": None}
    chunks: Any = [{"id": "x", "choices": [choice], "usage": {"completion_tokens": 1}}] * 2
    for _ in range(2):
        chunks = with_value(chunks, data.draw(st.sampled_from(places(chunks)[1:])), data.draw(JSON))
        if not isinstance(chunks, list) or not chunks:
            return
    stream = b"".join(b"data: %b\n\n" % written(chunk) for chunk in chunks) + b"data: [DONE]\n\n"
    assert str(outcome(lambda: chat_answer(joined_stream(stream, {}), {}, [])))


@pytest.mark.parametrize(
    ("dialect", "protocol", "prompt_ids"),
    [
        ("vllm", "chat", True),
        ("vllm", "completions", True),
        ("sglang", "chat", True),
        ("sglang", "completions", True),
        ("sglang", "generate", False),
        ("llamacpp", "chat", False),
        ("llamacpp", "generate", False),
    ],
)
def test_ids_and_log_probabilities_of_each_server(dialect: str, protocol: Any, prompt_ids: bool) -> None:
    """Without a word on the dialect, the client asks for what the server gives, and the ids spell the text."""

    async def run() -> tuple[Completion, EndpointClient]:
        async with (
            FakeModel(lambda _: "The answer is 42.", dialect=dialect, recode=True) as model,
            EndpointClient(model.url, protocol=protocol) as client,
        ):
            sampling = Sampling(logprobs=True, top_logprobs=2)
            if protocol == "chat":
                return await client.chat([{"role": "user", "content": "?"}], sampling=sampling), client
            return await client.complete("Once", sampling=sampling), client

    completion, client = asyncio.run(run())
    assert completion.token_ids is not None
    assert decode(completion.token_ids).removesuffix("<|end|>") == completion.text == "The answer is 42."
    assert completion.logprobs is not None
    assert len(completion.logprobs) == len(completion.token_ids)
    assert completion.metadata == {}
    assert (completion.prompt_token_ids is not None) == prompt_ids
    assert client.capabilities.token_ids
    assert client.capabilities.logprobs
    assert client.capabilities.server == dialect
    assert client.capabilities.notes == []


@pytest.mark.parametrize("dialect", ["openai", "transformers"])
def test_what_a_server_does_not_give_is_said_once(dialect: str) -> None:
    """The completion comes without, and the capabilities say what is missing."""

    async def run() -> tuple[list[Completion], EndpointClient]:
        async with FakeModel(dialect=dialect) as model, EndpointClient(model.url, token_ids=True) as client:
            sampling = Sampling(logprobs=True)
            return [await client.chat([{"role": "user", "content": "?"}], sampling=sampling) for _ in range(3)], client

    completions, client = asyncio.run(run())
    assert all(completion.token_ids is None for completion in completions)
    notes = " ".join(client.capabilities.notes)
    assert notes.count("token ids are asked for") == 1
    assert ("log-probabilities are asked for" in notes) == (dialect == "transformers")
    assert ("return_token_ids" in notes) == (dialect == "transformers")
    json.dumps(client.capabilities.to_dict())


def span(version: Any, start: Any, end: Any) -> dict[str, Any]:
    return {"version": version, "start": start, "end": end}


@pytest.mark.parametrize(
    ("said", "version", "spans"),
    [
        ({"weight_version": "default", "weight_versions": [span("default", 0, 3)]}, None, None),
        ({"weight_version": "7"}, 7, None),
        ({"weight_version": 7}, 7, None),
        ({"weight_version": "step-7"}, "step-7", None),
        ({"weight_version": "007"}, "007", None),
        ({"weight_version": "7", "weight_versions": [span("7", 0, 3)]}, 7, None),
        ({"weight_version": "8", "weight_versions": [span("7", 0, 1), span("8", 1, 3)]}, 7, [(7, 1), (8, 2)]),
        ({"weight_version": "8", "weight_versions": [span("7", 0, 1), span("8", 1, 4)]}, 8, None),
        ({"weight_version": "8", "weight_versions": [span("7", 0, 1), span("8", 2, 3)]}, 8, None),
        ({"weight_version": "8", "weight_versions": [span("8", 1, 3), span("7", 0, 1)]}, 8, None),
        ({"weight_version": "8", "weight_versions": [span("8", 0, "3")]}, 8, None),
        ({"weight_version": True, "weight_versions": "8"}, None, None),
        ({"weight_version": "9" * 40}, "9" * 40, None),
    ],
    ids=str,
)
def test_the_versions_of_the_weights_are_those_of_single_tokens(said: Any, version: Any, spans: Any) -> None:
    """In every place where SGLang says them. A span that does not fit the tokens is not believed."""
    logprobs = [[-0.5, number, "a"] for number in range(3)]
    meta = {"output_token_logprobs": logprobs, **said}
    choice = {"index": 0, "text": "aaa", "finish_reason": "stop"}
    chat = {"index": 0, "message": {"role": "assistant", "content": "aaa"}, "finish_reason": "stop"}
    answers = [
        generate_answer({"text": "aaa", "output_ids": [0, 1, 2], "meta_info": meta}, {}),
        text_answer({"choices": [{**choice, "meta_info": meta}]}, {}),
        text_answer({"choices": [{**choice, "token_ids": [0, 1, 2]}], "metadata": said}, {}),
        text_answer({"choices": [{**choice, "token_ids": [0, 1, 2]}], "sglext": said}, {}),
        chat_answer({"choices": [{**chat, "meta_info": meta}]}, {}, []),
        chat_answer({"choices": [{**chat, "token_ids": [0, 1, 2]}], "metadata": said}, {}, []),
    ]
    for answer in answers:
        assert (answer.version, answer.version_spans) == (version, spans)
        assert answer.token_ids == [0, 1, 2]
