"""The catalogue of faults: each kind does what its summary says, seen by a client that reads bytes."""

from __future__ import annotations

import asyncio
import gzip
import json
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import pytest

from gem.errors import ArgumentError
from gem_eval.fake_model import FakeModel
from gem_eval.fake_model.faults.catalogue import FAULTS, GROUPS, planned
from gem_eval.fake_model.faults.kinds import FaultNeed, FaultSettings

TEXT = "The answer is 42."
TOOL = {
    "type": "function",
    "function": {
        "name": "guess",
        "parameters": {"type": "object", "properties": {"number": {"type": "integer", "minimum": 1, "maximum": 9}}},
    },
}


@dataclass
class Received:
    """What a client saw of a reply."""

    data: bytes
    end: str
    """``whole``: as announced; ``closed``; ``reset``; ``silent``: nothing more came."""
    prompt_tokens: int = 0
    again: str = ""
    """What a second request on the same connection met: ``answered``, ``closed`` or ``reset``."""
    headers: dict[str, str] = field(init=False)
    status: int = field(init=False)
    body: bytes = field(init=False)

    def __post_init__(self) -> None:
        head, _, self.body = self.data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        self.status = int(first[9:12] or 0)
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        if "transfer-encoding" in self.headers:
            self.body = unchunked(self.body)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Any:
        return self.json["error"]

    @property
    def choice(self) -> dict[str, Any]:
        return dict(self.json["choices"][0])

    @property
    def message(self) -> dict[str, Any]:
        return dict(self.choice["message"])

    @property
    def calls(self) -> list[dict[str, Any]]:
        return list(self.message["tool_calls"])

    @property
    def arguments(self) -> Any:
        return self.calls[0]["function"]["arguments"]

    @property
    def values(self) -> list[float | None]:
        return [entry["logprob"] for entry in self.choice["logprobs"]["content"]]

    @property
    def events(self) -> list[str]:
        return self.body.decode(errors="replace").split("\n\n")[:-1]

    @property
    def chunks(self) -> list[dict[str, Any]]:
        return [json.loads(event[6:]) for event in self.events if event.startswith("data: {")]

    @property
    def text(self) -> str:
        deltas = [choice["delta"] for chunk in self.chunks for choice in chunk.get("choices", ())]
        return "".join(delta.get("content") or "" for delta in deltas)


def unchunked(data: bytes) -> bytes:
    body = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16) if size else 0
        body, data = body + data[:length], data[length + 2 :]
    return body


def is_whole(data: bytes) -> bool:
    """Return whether a reply is as long as it announces."""
    head, separator, body = data.partition(b"\r\n\r\n")
    if not separator:
        return False
    if b"chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    return len(body) >= int(lengths[0].split(b":")[1])


def never(_: Received) -> bool:
    """Whether a server falls silent that answers."""
    return False


async def exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    body: dict[str, Any],
    falls_silent: Callable[[Received], bool] = never,
) -> Received:
    """Send one request and read until the reply is whole or breaks off.

    A reply after which a server may fall silent is read until nothing more comes for a moment.
    """
    data = json.dumps(body).encode()
    received, end = b"", "whole"
    try:
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(data), data))
        while not is_whole(received):
            moment = 0.05 if falls_silent(Received(received, "silent")) else None
            part = await asyncio.wait_for(reader.read(65536), moment)
            if not part:
                end = "closed"
                break
            received += part
    except TimeoutError:
        end = "silent"
    except ConnectionError:
        end = "reset"
    return Received(received, end)


def meeting(name: str, **settings: Any) -> tuple[Received, FakeModel]:
    """Return what a client meets whose request fits a kind of fault, and the server."""
    kind = FAULTS[name]
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "What is it?"}]}
    if kind.need in (FaultNeed.STREAM, FaultNeed.TOOLS_IN_STREAM):
        body.update(stream=True, stream_options={"include_usage": name != "stream-usage-last"})
    if kind.need in (FaultNeed.TOOLS, FaultNeed.TOOLS_IN_STREAM):
        body.update(tools=[TOOL], parallel_tool_calls=False)
    if kind.need is FaultNeed.LOGPROBS:
        body.update(logprobs=True, top_logprobs=1)

    async def run() -> tuple[Received, FakeModel]:
        async with FakeModel(f"constant:{TEXT}", faults=[name], **settings) as model:
            reader, writer = await asyncio.open_connection(model.host, model.port)
            received = await exchange(reader, writer, body, partial(meets_what_it_promises, name))
            if received.end == "whole":
                again = await exchange(reader, writer, body)
                received.again = "answered" if again.end == "whole" else again.end
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)
            return received, model

    return asyncio.run(run())


def meets_what_it_promises(name: str, received: Received) -> bool:
    """Whether what has come so far is what a kind of fault promises."""
    with suppress(ValueError, LookupError):  # half an answer
        return HOLDS[name](received)
    return False


def streamed_calls(received: Received) -> list[dict[str, Any]]:
    choices = [choice for chunk in received.chunks for choice in chunk["choices"]]
    return [call for choice in choices for call in choice["delta"].get("tool_calls", ())]


def limited(received: Received) -> bool:
    return received.status == 429 and "Rate limit" in received.error["message"]


def overflowed(*words: str) -> Callable[[Received], bool]:
    return lambda received: received.status == 400 and all(word in received.body.decode() for word in words)


def refused(status: int, *words: str) -> Callable[[Received], bool]:
    return lambda received: received.status == status and all(word in received.error["message"] for word in words)


def answered(received: Received) -> bool:
    """Return whether the reply is the answer as it should be."""
    return (
        received.status == 200 and received.message["content"] == TEXT and received.json["usage"]["prompt_tokens"] > 0
    )


def unusable(received: Received) -> bool:
    """Return whether the body is no JSON, read as strictly as the standard wants."""
    try:
        json.loads(received.body, parse_constant=lambda name: 1 / 0)
    except (ValueError, ZeroDivisionError):
        return True
    return False


HOLDS: dict[str, Callable[[Received], bool]] = {
    "rate-limit-seconds": lambda r: limited(r) and r.headers["retry-after"] == "3",
    "rate-limit-date": lambda r: limited(r) and parsedate_to_datetime(r.headers["retry-after"]).year > 2000,
    "rate-limit-ms": lambda r: limited(r) and r.headers["retry-after-ms"] == "3000",
    "rate-limit-reset": lambda r: (
        limited(r) and r.headers["x-ratelimit-reset-requests"] == "3000ms" and "retry-after" not in r.headers
    ),
    "rate-limit-message": lambda r: limited(r) and "try again in 3000ms" in r.error["message"],
    "rate-limit-bare": lambda r: r.status == 429 and r.body == b"" and "retry-after" not in r.headers,
    "payment-required": refused(402, "credits"),
    "request-timeout": refused(408, "timed out"),
    "queue-full": lambda r: r.status == 503 and r.json["object"] == "error" and "queue is full" in r.json["message"],
    "error-nested": lambda r: r.status == 500 and set(r.error) == {"message", "type", "param", "code"},
    "error-flat": lambda r: r.status == 500 and r.json["object"] == "error",
    "error-text": lambda r: r.status == 500 and isinstance(r.error, str),
    "error-detail": lambda r: r.status == 500 and isinstance(r.json["detail"], str),
    "error-message": lambda r: r.status == 500 and set(r.json) == {"message"},
    "error-page": lambda r: r.status == 502 and r.headers["content-type"] == "text/html" and b"<html>" in r.body,
    "error-null": lambda r: r.status == 200 and r.body == b"null",
    "error-empty": lambda r: r.status == 500 and r.body == b"",
    "bad-request": refused(400),
    "unauthorized": refused(401),
    "model-missing": lambda r: r.status == 404 and r.error["param"] == "model",
    "ok-error": lambda r: r.status == 200 and set(r.error) == {"code", "message"},
    "ok-code": lambda r: r.status == 200 and set(r.json) == {"code", "message"},
    "ok-choices-null": lambda r: r.status == 200 and r.json["choices"] is None,
    "ok-choices-missing": lambda r: r.status == 200 and "choices" not in r.json and "usage" in r.json,
    "ok-choices-empty": lambda r: r.status == 200 and r.json["choices"] == [],
    "ok-empty-object": lambda r: r.status == 200 and r.json == {},
    "ok-message-null": lambda r: r.status == 200 and r.choice["message"] is None,
    "stream-error-first": lambda r: r.status == 200 and "error" in r.chunks[0] and len(r.events) == 2,
    "stream-error-later": lambda r: "error" not in r.chunks[0] and "error" in r.chunks[-1],
    "stream-comments": lambda r: r.text == TEXT and sum(event.startswith(":") for event in r.events) > 5,
    "stream-comments-alone": lambda r: r.end == "silent" and set(r.events) == {": PROCESSING"},
    "stream-usage-last": lambda r: r.text == TEXT and r.chunks[-1]["choices"] == [] and "usage" in r.chunks[-1],
    "stream-no-usage": lambda r: r.text == TEXT and not any("usage" in chunk for chunk in r.chunks),
    "stream-no-finish": lambda r: (
        r.text == TEXT and not any(c.get("finish_reason") for chunk in r.chunks for c in chunk["choices"])
    ),
    "stream-no-done": lambda r: r.text == TEXT and b"[DONE]" not in r.body,
    "stream-cut-json": lambda r: (r.end == "whole" and r.body.endswith(b'"delta": {"co')) or r.body[-1:] not in b"}\n",
    "stream-cut-utf8": lambda r: r.end == "whole" and r.body.endswith("é".encode()[:1]),
    "stream-split": lambda r: r.end == "whole" and r.text == TEXT,
    "empty-reasoning-null": lambda r: (
        r.message["content"] is None and bool(r.message["reasoning_content"]) and r.choice["finish_reason"] == "length"
    ),
    "empty-reasoning-text": lambda r: (
        r.message["content"] == "" and bool(r.message["reasoning_content"]) and r.choice["finish_reason"] == "length"
    ),
    "empty-silent": lambda r: (
        r.message["content"] == "" and r.choice["finish_reason"] == "stop" and r.json["usage"]["completion_tokens"] == 0
    ),
    "tool-arguments-object": lambda r: isinstance(r.arguments, dict),
    "tool-arguments-empty": lambda r: r.arguments == "",
    "tool-arguments-double": lambda r: isinstance(json.loads(json.loads(r.arguments)), dict),
    "tool-arguments-cut": lambda r: r.choice["finish_reason"] == "length" and r.arguments[-1] != "}",
    "tool-arguments-cut-unmarked": lambda r: r.choice["finish_reason"] == "tool_calls" and r.arguments[-1] != "}",
    "tool-arguments-newlines": lambda r: (
        "\n" in r.arguments and json.loads(r.arguments, strict=False)["note"] == "one\ntwo"
    ),
    "tool-arguments-list": lambda r: isinstance(json.loads(r.arguments), list),
    "tool-id-null": lambda r: r.calls[0]["id"] is None,
    "tool-id-empty": lambda r: r.calls[0]["id"] == "",
    "tool-id-repeated": lambda r: len(r.calls) == 2 and len({call["id"] for call in r.calls}) == 1,
    "tool-index-missing": lambda r: len(streamed_calls(r)) > 1 and not any("index" in c for c in streamed_calls(r)),
    "tool-second-bare": lambda r: "arguments" in r.calls[0]["function"] and "arguments" not in r.calls[1]["function"],
    "tool-name-unknown": lambda r: r.calls[0]["function"]["name"] == "no_such_tool",
    "tool-markup-content": lambda r: (
        "<tool_call>" in r.message["content"] and "tool_calls" not in r.message and r.choice["finish_reason"] == "stop"
    ),
    "tool-markup-reasoning": lambda r: "<tool_call>" in r.message["reasoning_content"] and not r.message["content"],
    "tool-calls-null": lambda r: answered(r) and r.message["tool_calls"] is None,
    "tool-calls-empty": lambda r: answered(r) and r.message["tool_calls"] == [],
    "tool-calls-parallel": lambda r: len({call["id"] for call in r.calls}) == 2,
    "think-in-content": lambda r: (
        r.message["content"].startswith("<think>") and f"</think>{TEXT}" in r.message["content"]
    ),
    "think-unopened": lambda r: "<think>" not in r.message["content"] and f"</think>{TEXT}" in r.message["content"],
    "think-unclosed": lambda r: r.message["content"].startswith("<think>") and "</think>" not in r.message["content"],
    "reasoning-both": lambda r: (
        r.message["content"] == TEXT and r.message["reasoning"] == r.message["reasoning_content"]
    ),
    "logprobs-nan": lambda r: unusable(r) and math.isnan(r.values[0] or 0.0),
    "logprobs-nan-500": refused(500, "nan"),
    "logprobs-infinite": lambda r: unusable(r) and r.values[0] == -math.inf,
    "logprobs-null-values": lambda r: r.values[0] is None and r.values[1] is not None,
    "logprobs-null": lambda r: r.choice["logprobs"] is None,
    "logprobs-9999": lambda r: r.values[0] == -9999.0,
    "logprobs-fewer": lambda r: len(r.values) == r.json["usage"]["completion_tokens"] - 1,
    "overflow-openai": overflowed("context_length_exceeded", "maximum context length"),
    "overflow-vllm-old": overflowed("maximum context length", "in the messages"),
    "overflow-vllm-new": overflowed("input_tokens", "context length is only"),
    "overflow-sglang": overflowed('"object":"error"', "longer than the model's context length"),
    "overflow-llamacpp": overflowed("exceed_context_size_error"),
    "reset-before-headers": lambda r: r.data == b"" and r.end == "reset",
    "close-before-headers": lambda r: r.data == b"" and r.end == "closed",
    "reset-after-headers": lambda r: r.end == "reset",
    "reset-in-body": lambda r: r.end == "reset",
    "truncated-body": lambda r: r.end == "closed" and 0 < len(r.body) < int(r.headers["content-length"]),
    "dead-reused-socket": lambda r: answered(r) and r.again == "reset",
    "unannounced-close": lambda r: answered(r) and r.again in ("closed", "reset"),
    "slow-headers": lambda r: r.end == "silent" and r.data == b"H",
    "slow-body": lambda r: r.end == "silent" and r.status == 200 and r.body == b"{",
    "silence": lambda r: r.end == "silent" and r.data == b"",
    "silence-after-headers": lambda r: r.end == "silent" and r.status == 200 and r.body == b"",
    "length-short": lambda r: r.status == 200 and len(r.body) >= 2 * int(r.headers["content-length"]) > 100,
    "length-long": lambda r: r.end == "silent" and answered(r),
    "gzip": lambda r: r.headers["content-encoding"] == "gzip" and TEXT in gzip.decompress(r.body).decode(),
    "gzip-broken": lambda r: r.headers["content-encoding"] == "gzip" and answered(r),
    "engine-dead": refused(500, "engine died"),
    "usage-missing": lambda r: r.message["content"] == TEXT and "usage" not in r.json,
    "usage-null": lambda r: r.message["content"] == TEXT and r.json["usage"] is None,
    "usage-zero": lambda r: r.message["content"] == TEXT and set(r.json["usage"].values()) == {0},
    "usage-without-completion": lambda r: r.message["content"] == TEXT and set(r.json["usage"]) == {"prompt_tokens"},
}
"""Kind → whether a client meets what the kind promises."""


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_does_what_it_says(name: str) -> None:
    """Each kind is one defect on the wire; one without a check here fails."""
    received, model = meeting(name, fault_settings=FaultSettings(retry_after=3.0, slow_seconds=60.0))
    assert HOLDS[name](received), (received.end, received.again, received.data)
    assert model.counts.faults[name] >= 1
    assert model.counts.in_flight == 0


def test_every_group_of_the_catalogue_has_kinds() -> None:
    """The catalogue covers each group, and every kind belongs to one."""
    assert {kind.group for kind in FAULTS.values()} == set(GROUPS)
    assert set(HOLDS) == set(FAULTS)


def test_a_fault_of_streams_leaves_other_answers_alone() -> None:
    """A request that lacks what a kind needs is answered well, and no fault is counted."""

    async def run() -> tuple[Received, FakeModel]:
        async with FakeModel(f"constant:{TEXT}", faults=["stream-no-done", "tool-id-null"]) as model:
            reader, writer = await asyncio.open_connection(model.host, model.port)
            received = await exchange(reader, writer, {"messages": [{"role": "user", "content": "?"}]})
            writer.close()
            await writer.wait_closed()
            return received, model

    received, model = asyncio.run(run())
    assert answered(received)
    assert not model.counts.faults


def statuses(faults: list[str], seed: int, count: int = 200, same: bool = False) -> list[int]:
    """Return the statuses of requests sent one after another."""

    async def run() -> list[int]:
        async with FakeModel("null", faults=faults, seed=seed) as model:
            reader, writer = await asyncio.open_connection(model.host, model.port)
            found = []
            for number in range(count):
                body = {"messages": [{"role": "user", "content": "" if same else str(number)}]}
                found.append((await exchange(reader, writer, body)).status)
            writer.close()
            await writer.wait_closed()
            return found

    return asyncio.run(run())


def test_the_seed_and_the_requests_decide_who_meets_a_fault() -> None:
    """Equal seeds, equal faults; rates are shares of all requests and do not overlap."""
    faults = ["error-nested:0.2", "queue-full:0.3"]
    first = statuses(faults, seed=1)
    assert first == statuses(faults, seed=1)
    assert first != statuses(faults, seed=2)
    assert 20 <= first.count(500) <= 60
    assert 35 <= first.count(503) <= 85
    assert set(first) == {200, 500, 503}


def test_a_retry_draws_anew() -> None:
    """The same body meets the fault in some attempts only."""
    assert set(statuses(["error-nested:0.5"], seed=0, count=40, same=True)) == {200, 500}


def test_faults_can_be_limited_to_a_request_and_to_first_attempts() -> None:
    """``@NUMBER`` is one request, ``*TIMES`` the first ones with the same body."""
    assert statuses(["error-nested@3"], seed=0, count=5) == [200, 200, 500, 200, 200]
    assert statuses(["error-nested*2"], seed=0, count=4, same=True) == [500, 500, 200, 200]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no-such", "there is no fault 'no-such'"),
        ("silense", "did you mean 'silence'"),
        ("silence:2", "between 0 and 1"),
        ("silence:.", "between 0 and 1"),
        ("silence:0.5:1", "KIND[:RATE]"),
        ("", "KIND[:RATE]"),
    ],
)
def test_a_wrong_plan_says_what_is_wrong(text: str, words: str) -> None:
    """The message names the value and the remedy."""
    with pytest.raises(ArgumentError, match=words.replace("[", "\\[")):
        planned(text)


def test_a_dead_engine_refuses_connections() -> None:
    """After its last answer nothing listens, and all connections are broken off."""

    async def run() -> None:
        async with FakeModel("null", faults=["engine-dead@2"]) as model:
            body = {"messages": [{"role": "user", "content": "?"}]}
            reader, writer = await asyncio.open_connection(model.host, model.port)
            other_reader, other = await asyncio.open_connection(model.host, model.port)
            assert (await exchange(reader, writer, body)).status == 200
            assert (await exchange(reader, writer, body)).status == 500
            assert await other_reader.read() == b""
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(model.host, model.port)
            for stream in (writer, other):
                stream.close()
            await asyncio.gather(writer.wait_closed(), other.wait_closed(), return_exceptions=True)

    asyncio.run(run())
