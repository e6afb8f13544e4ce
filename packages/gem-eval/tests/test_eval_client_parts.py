"""The parts of a model client: delays that servers ask for, refusals, pacing, reasoning, tool calls, JSON."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, ArgumentTypeError
from gem_eval.clients import ContextOverflow, ModelError, Sampling
from gem_eval.clients.json_text import decoded, encoded, readable, strictly_decoded
from gem_eval.clients.pacing import RequestPacer
from gem_eval.clients.reasoning import split_reasoning
from gem_eval.clients.request_fields import droppable, generate_fields, llamacpp_fields, openai_fields
from gem_eval.clients.retry_hints import retry_delay
from gem_eval.clients.server_errors import refusal
from gem_eval.clients.tool_call_repair import read_calls, sendable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text() | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
NOW = 1_760_000_000.0


@pytest.mark.parametrize(
    ("headers", "text", "delay"),
    [
        ({"retry-after": "7"}, "", 7.0),
        ({"retry-after": "0.5"}, "", 0.5),
        ({"retry-after": "-3"}, "", 0.0),
        ({"retry-after": formatdate(NOW + 30, usegmt=True)}, "", 30.0),
        ({"retry-after": formatdate(NOW - 30, usegmt=True)}, "", 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, "", 0.25),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "inf"}, "", None),
        ({"retry-after": "soon"}, "try again in 2s", 2.0),
        ({"x-ratelimit-reset-requests": "6m0s"}, "", 360.0),
        ({"x-ratelimit-reset-requests": "1h", "x-ratelimit-reset-tokens": "20ms"}, "", 0.02),
        (
            {
                "x-ratelimit-reset-requests": "1.5s",
                "x-ratelimit-reset-tokens": "20ms",
                "x-ratelimit-remaining-requests": "0",
            },
            "",
            1.5,
        ),
        ({"x-ratelimit-reset": str(int(NOW) + 12)}, "", 12.0),
        ({"x-ratelimit-reset": str(1000 * (int(NOW) + 12))}, "", 12.0),
        ({"ratelimit-reset": "4"}, "", 4.0),
        ({}, "Rate limit reached for gpt on requests per min. Please try again in 1.21s. Visit /limits.", 1.21),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "Please try again in 6m2.5s.", 362.5),
        ({}, "please retry after 30 seconds", 30.0),
        ({}, 'Quota. {"retryDelay": "34s"}', 34.0),
        ({}, "Try again in 2 minutes", 120.0),
        ({}, "too many requests", None),
        ({}, "", None),
    ],
)
def test_the_delay_that_a_server_asks_for(headers: dict[str, str], text: str, delay: float | None) -> None:
    """From headers in the order of their authority, then from the words of the message."""
    found = retry_delay(headers, text, NOW)
    assert found == (None if delay is None else pytest.approx(delay))


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset"]), st.text()), st.text())
def test_any_header_gives_a_delay_or_none(headers: dict[str, str], text: str) -> None:
    """Never negative, never NaN, never an exception."""
    delay = retry_delay(headers, text, NOW)
    assert delay is None or 0 <= delay < float("inf")


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"message": "Bad temperature", "type": "invalid_request_error"}}, "bad_request"),
        (400, {"error": {"message": "flagged", "code": "content_filter"}}, "content_filter"),
        (401, {"error": "no"}, "authentication"),
        (403, {"detail": "Forbidden"}, "authentication"),
        (
            429,
            {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
            "authentication",
        ),
        (429, {"error": {"message": "slow down"}}, "rate_limited"),
        (503, {"message": "The request queue is full."}, "rate_limited"),
        (503, {"message": "loading"}, "server_error"),
        (529, {"error": {"type": "overloaded_error"}}, "server_error"),
        (408, {}, "timeout"),
        (504, "<html><title>Gateway\x1b[31m Timeout</title></html>", "timeout"),
        (500, [], "server_error"),
        (500, "\x00\x01", "server_error"),
        (404, {"detail": "Not Found"}, "bad_request"),
        (422, {"detail": [{"loc": ["body", "n"], "msg": "too large"}]}, "bad_request"),
        (400, {"error": {"message": "x", "code": "context_length_exceeded"}}, None),
        (400, {"object": "error", "message": "x", "param": "input_tokens", "code": 400}, None),
        (400, {"message": "The input (91 tokens) is longer than the model's context length (90 tokens)."}, None),
        (400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}, None),
        (400, {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096}}, None),
        (413, {"error": {"message": "Request too large for model: too many tokens"}}, None),
        (500, {"error": "Requested token count exceeds the model's maximum context length of 4096 tokens"}, None),
        (400, {"error": {"message": "Input length 5000 exceeds maximum allowed token length 4096"}}, None),
        (400, {"error": {"message": "max_tokens must be at least 1"}}, "bad_request"),
        (400, {"error": {"message": "the message has an unknown role"}}, "bad_request"),
    ],
)
def test_the_kind_of_a_refusal(status: int, body: Any, kind: str | None) -> None:
    """By the status, then by words and fields of the body; a full context is no failure."""
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    error = refusal(status, {}, data)
    assert str(error).isprintable()
    if kind is None:
        assert isinstance(error, ContextOverflow), error
    else:
        assert isinstance(error, ModelError), error
        assert error.failure_kind == kind
        assert error.failure_source == ("agent" if kind == "content_filter" else "endpoint")


@given(st.integers(300, 599), st.binary() | st.text().map(lambda text: json.dumps({"error": text}).encode()))
def test_any_refusal_has_a_kind(status: int, body: bytes) -> None:
    """Whatever a server writes, the result is one short printable line."""
    error = refusal(status, {}, body)
    assert isinstance(error, (ModelError, ContextOverflow))
    assert str(error).isprintable()
    assert len(str(error)) < 600


def test_a_pacer_admits_in_order_and_up_to_its_limit() -> None:
    """Whoever waits longest comes first."""

    async def run() -> list[int]:
        pacer = RequestPacer(2)
        order: list[int] = []

        async def work(number: int) -> None:
            await pacer.enter()
            order.append(number)
            assert pacer.in_flight <= 2
            await asyncio.sleep(0)
            pacer.leave()

        await asyncio.gather(*(work(number) for number in range(9)))
        assert pacer.in_flight == 0
        return order

    assert asyncio.run(run()) == list(range(9))


def test_a_refusal_for_the_rate_halts_all_and_lowers_the_limit_once() -> None:
    """Requests that were in flight together count as one refusal; answers raise the limit again."""

    async def run() -> tuple[float, float, float]:
        pacer = RequestPacer(100)
        for _ in range(10):
            await pacer.enter()
        for _ in range(10):
            pacer.leave()
            pacer.refused(0.05)
        lowered = pacer.limit.value
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await pacer.enter()
        waited = loop.time() - begun
        for _ in range(2000):
            pacer.answered()
        return lowered, waited, pacer.limit.value

    lowered, waited, raised = asyncio.run(run())
    assert lowered == pytest.approx(9 * 0.7)
    assert waited >= 0.045
    assert raised > 60


def test_cancelled_waiters_leave_the_pacer_whole() -> None:
    """Cancelling at any moment neither loses places nor admits too many."""

    async def run() -> None:
        pacer = RequestPacer(3)

        async def work(number: int) -> None:
            await pacer.enter()
            try:
                assert pacer.in_flight <= 3
                for _ in range(number % 4):
                    await asyncio.sleep(0)
            finally:
                pacer.leave()

        tasks = [asyncio.ensure_future(work(number)) for number in range(60)]
        for round_ in range(12):
            await asyncio.sleep(0)
            for task in tasks[round_::7]:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert pacer.in_flight == 0
        await asyncio.wait_for(pacer.enter(), 5)

    asyncio.run(run())


def test_rates_per_minute_hold_requests_back() -> None:
    """After a burst of five seconds, each request waits for its share of a minute; tokens are charged afterwards."""

    async def run() -> None:
        now = 100.0
        pacer = RequestPacer(99, requests_per_minute=60, clock=lambda: now)
        for _ in range(5):
            assert pacer.delay() == 0
            await pacer.enter()
        assert pacer.delay() == pytest.approx(1.0)
        now += 0.75
        assert pacer.delay() == pytest.approx(0.25)
        now += 100
        pacer = RequestPacer(99, tokens_per_minute=6000, clock=lambda: now)
        await pacer.enter()
        pacer.leave(700)
        assert pacer.delay() == pytest.approx((700 - 500 + 1) / 100)
        now += 100
        await pacer.enter()
        pacer.leave(10**15)  # as a server may claim
        assert 599 < pacer.delay() < 601

    asyncio.run(run())
    with pytest.raises(ArgumentError, match="requests_per_minute"):
        RequestPacer(1, requests_per_minute=0)


def test_a_pause_on_a_loop_that_has_ended_does_not_hold_up_the_next() -> None:
    """The timer of the old loop is replaced."""
    pacer = RequestPacer(1)

    async def give_up() -> None:
        pacer.refused(0.05)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(pacer.enter(), 0.001)

    asyncio.run(give_up())
    asyncio.run(asyncio.wait_for(pacer.enter(), 20))


@pytest.mark.parametrize(
    ("text", "mode", "expected"),
    [
        ("<think>a</think>b", "auto", ("a", "b")),
        ("\n<think>\na\n</think>\n\nb", "auto", ("a", "b")),
        ("<think></think>b", "auto", ("", "b")),
        ("<think>a</think>b", "never", (None, "<think>a</think>b")),
        ("a</think>b", "auto", (None, "a</think>b")),
        ("a</think>b", "always", ("a", "b")),
        ("<think>a", "auto", (None, "<think>a")),
        ("<think>a", "always", ("a", "")),
        ("say <think>a</think>", "auto", (None, "say <think>a</think>")),
        ("say <think>a</think>", "always", ("a", "say ")),
        ("<think>a</think>b<think>c</think>d", "auto", ("a\n\nc", "bd")),
        ("[THINK]a[/THINK]b", "auto", ("a", "b")),
        ("Use `</think>`.", "always", (None, "Use `</think>`.")),
        ("b", "always", (None, "b")),
    ],
)
def test_splitting_reasoning(text: str, mode: Any, expected: tuple[str | None, str]) -> None:
    """By default only a complete pair at the beginning counts."""
    assert split_reasoning(text, mode) == expected


@given(JSON)
def test_any_tool_calls_become_calls_or_problems(value: Any) -> None:
    """Each call has an id, a name and arguments that are text, and can be sent back."""
    function = {"name": value, "arguments": value}
    for received in (value, [value], [{"function": value}], [{"id": value, "function": function}]):
        calls, problems = read_calls(received, [])
        assert all(isinstance(problem, str) for problem in problems)
        for call in calls:
            assert call["id"]
            assert isinstance(call["function"]["arguments"], str)
            assert isinstance(call["function"]["name"], str)
        if calls:
            (sent,) = sendable([{"role": "assistant", "content": None, "tool_calls": calls}])
            for call in sent["tool_calls"]:
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
                assert call["function"]["name"]


def test_made_ids_are_the_same_in_each_run_and_new_in_each_turn() -> None:
    """Nine letters and digits, as the templates of Mistral's models demand."""
    calls = [{"id": None, "function": {"name": "f", "arguments": "{}"}}] * 2
    first, _ = read_calls(calls, [{"role": "user", "content": "x"}])
    again, _ = read_calls(calls, [{"role": "user", "content": "x"}])
    later, _ = read_calls(calls, [{"role": "assistant", "tool_calls": first}])
    ids = [call["id"] for call in first + later]
    assert [call["id"] for call in again] == ids[:2]
    assert len(set(ids)) == 4
    assert all(len(identifier) == 9 and identifier.isalnum() for identifier in ids)


def test_an_id_that_an_earlier_turn_used_is_replaced() -> None:
    """Some servers number the calls of each answer from zero."""
    call = {"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    calls, problems = read_calls([call], [{"role": "assistant", "content": None, "tool_calls": [call]}])
    assert calls[0]["id"] != "call_0"
    assert problems == ["call 0 has a repeated id"]


@given(JSON)
def test_json_goes_out_and_comes_back(value: Any) -> None:
    """What UTF-8 cannot hold is replaced; everything else is the same."""
    back = decoded(encoded(value))
    assert back == value or "\ufffd" in str(back)


@given(st.text(), st.integers() | st.integers(-(10**30), 10**30))
def test_numbers_of_any_size_are_exact_wherever_they_stand(before: str, number: int) -> None:
    """Beyond 64 bits as well, from bytes and from text; no whole number becomes a float."""
    text = json.dumps([before, number], ensure_ascii=False, separators=(",", ":"))
    data = encoded([before, number])
    for found in (decoded(data), decoded(data.decode()), strictly_decoded(data), decoded(text)):
        assert type(found[1]) is int
        assert found[1] == number


def test_not_a_number_is_json_for_servers_alone() -> None:
    """What a model writes must be JSON; what a server sends may hold NaN."""
    assert str(decoded(b"[NaN, 12345678901234567890123]")) == "[nan, 12345678901234567890123]"
    with pytest.raises(ValueError, match="unexpected character"):
        strictly_decoded(b"[NaN, 12345678901234567890123]")


@pytest.mark.parametrize("text", [b"[" * 100_000, b"1" * 5000, b"", b"{", b"\xff", b'{"a":1}x', b"\xef\xbb\xbf{}"])
def test_what_is_no_json_is_a_value_error(text: bytes) -> None:
    """Deep nesting and endless numbers as well."""
    with suppress(ValueError):
        assert decoded(text) == {}


def test_a_text_for_a_message_is_one_short_printable_line() -> None:
    """No escape sequence of a terminal, no direction mark, no lone surrogate."""
    assert readable("a\x1b[31mb\r\nc\u202ed\ud800e") == "a [31mb c d e"
    assert len(readable("x" * 9999)) == 400


@pytest.mark.parametrize(
    "values",
    [
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"top_p": 1.5},
        {"max_tokens": 0},
        {"seed": 1.5},
        {"logprobs": 1},
        {"top_logprobs": -1},
        {"stop": "END"},
        {"extra": [1]},
    ],
)
def test_sampling_refuses_what_no_server_takes(values: dict[str, Any]) -> None:
    """The message names the field."""
    with pytest.raises((ArgumentError, ArgumentTypeError), match=next(iter(values))):
        Sampling(**values)


BOTH_LOGPROBS = {"logprobs", "top_logprobs"}


@pytest.mark.parametrize(
    ("body", "words", "fields"),
    [
        ({*BOTH_LOGPROBS, "seed"}, "top_logprobs is not supported", BOTH_LOGPROBS),
        ({*BOTH_LOGPROBS, "seed"}, "logprobs is not supported", BOTH_LOGPROBS),
        ({"top_logprobs"}, "unknown field: `top_logprobs`", {"top_logprobs"}),
        ({"logprobs"}, "no 'top_logprobs' here", set()),
        ({"seed"}, "seed: extra fields not permitted", {"seed"}),
        ({"seed"}, "seeds, reseed and seed_2 are unknown", set()),
        ({"temperature", "max_tokens"}, "temperature and max_tokens are unknown", set()),
        ({"return_tokens"}, "return_token_ids is unknown", set()),
    ],
)
def test_a_refusal_names_the_fields_to_leave_out(body: set[str], words: str, fields: set[str]) -> None:
    """Log-probabilities go together; part of a longer name is another field; what changes the answer stays."""
    assert droppable(body, words) == fields


def test_log_probabilities_are_asked_for_in_the_words_of_each_server() -> None:
    """Chat wants a flag and a number, a plain completion the number; llama.cpp gives none for 0."""
    sampling = Sampling(logprobs=True, top_logprobs=0)
    assert openai_fields(sampling, chat=True) == {"logprobs": True, "top_logprobs": 0}
    assert openai_fields(sampling, chat=False) == {"logprobs": 0}
    assert llamacpp_fields(sampling) == {"n_probs": 1, "return_tokens": True}
    assert generate_fields(sampling)["top_logprobs_num"] == 0
    assert "return_logprob" not in generate_fields(Sampling())
    assert "n_probs" not in llamacpp_fields(Sampling())
    assert openai_fields(Sampling(top_logprobs=3), chat=True) == openai_fields(Sampling(top_logprobs=3), chat=False)
