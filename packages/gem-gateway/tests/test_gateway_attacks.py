"""What a hostile program sends through the gateway, or has the model say: none of it gets through."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import zlib
from typing import Any

import aiohttp
import pytest

from gem_eval.clients import Completion, ScriptedClient
from gem_gateway import CallBudget, ClientAnswerer, Gateway
from gem_gateway.dialects.base import CallSettings
from gem_gateway.exchange import ExchangeLimits

QUESTION = {"messages": [{"role": "user", "content": "?"}]}
BODY = json.dumps(QUESTION).encode()


def said(text: str = "yes") -> Completion:
    return Completion({"role": "assistant", "content": text}, text, usage={"prompt_tokens": 3, "completion_tokens": 2})


async def post(playing: Any, path: str = "/v1/chat/completions", body: Any = QUESTION, **options: Any) -> Any:
    """Return status, headers and body of an answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {**playing.headers, **options.pop("headers", {})}
    async with (
        aiohttp.ClientSession() as client,
        client.post(playing.url(path), data=data, headers=headers, **options) as answer,
    ):
        return answer.status, dict(answer.headers), await answer.read()


async def raw(playing: Any, request: bytes, *, close: bool = False) -> bytes:
    """Return everything that the gateway says to some bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", playing.gateway.port)
    writer.write(request)
    if close:
        writer.write_eof()
    try:
        answer = b""
        while True:
            part = await asyncio.wait_for(reader.read(65536), 60)
            answer += part
            if not part:
                return answer
    except ConnectionError:
        return answer
    finally:
        writer.close()


def head(playing: Any, *lines: str, path: str | None = None, method: str = "POST", key: str | None = None) -> bytes:
    """Return the head of a request whose connection closes after it."""
    target = f"/s/{playing.session.id}/v1/chat/completions" if path is None else path
    secret = f"Authorization: Bearer {key or playing.session.api_key}"
    return "\r\n".join([f"{method} {target} HTTP/1.1", "Host: x", "Connection: close", secret, *lines, "", ""]).encode()


def statuses(answer: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", answer)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic {key}"},
        {"Authorization": "Bearer {key} x"},
        {"Authorization": "Bearer {key}", "x-api-key": "{other}"},
        {"Authorization": "Bearer {other}"},
        {"x-api-key": "{other}"},
        {"x-api-key": "ключ"},
    ],
    ids=str,
)
def test_nothing_but_its_own_key_opens_a_session(play, headers: dict[str, str]) -> None:
    """A missing, wrong or second key, and the key of another session, are refused alike, before the body is read."""

    async def run() -> None:
        async with play([]) as playing:
            other = playing.gateway.open(ClientAnswerer(ScriptedClient([])), name="other")
            keys = {"key": playing.session.api_key, "other": other.api_key}
            sent = {name: value.format(**keys) for name, value in headers.items()}
            async with aiohttp.ClientSession() as client:
                async with client.post(playing.url("/v1/chat/completions"), data=b"{", headers=sent) as answer:
                    assert answer.status == 401
                    assert (await answer.json())["error"]["type"] == "authentication_error"
                address = playing.url("/v1/chat/completions") + f"?key={playing.session.api_key}"
                async with client.post(address, data=b"{", headers=sent) as answer:
                    assert answer.status == 401
            assert playing.session.calls.calls == other.calls.calls == 0

    asyncio.run(run())


PATHS = [
    "/s/{own}/../{other}/v1/chat/completions",
    "/s/{own}/%2e%2e/{other}/v1/chat/completions",
    "/s/{own}/..%2f{other}/v1/chat/completions",
    "//s/{other}/v1/chat/completions",
    "/s//{other}/v1/chat/completions",
    "/s/{other}%2fv1/chat/completions",
    "/s/{other};{own}/v1/chat/completions",
    "/s/{other}%00/v1/chat/completions",
    "http://127.0.0.1/s/{other}/v1/chat/completions",
    "/s/{other}/v1/models/../chat/completions",
    "/s/{own}/v1/v1/chat/completions",
    "/s/{own}/v1/chat/completions/",
    "/s/{own}/v1/files",
    "/v1/../s/{other}/v1/chat/completions",
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_to_another_session(play, path: str) -> None:
    """Paths are compared as they come, and whatever is no endpoint of one's own session is refused."""

    async def run() -> None:
        async with play([said()]) as playing:
            client = ScriptedClient([said("secret")])
            other = playing.gateway.open(ClientAnswerer(client))
            target = path.format(own=playing.session.id, other=other.id)
            answer = await raw(playing, head(playing, f"Content-Length: {len(BODY)}", path=target) + BODY)
            assert statuses(answer)[0] in (400, 401, 404)
            assert b"secret" not in answer
            assert client.prompts == playing.client.prompts == []

    asyncio.run(run())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "BREW"])
def test_no_other_method_makes_a_call(play, method: str) -> None:
    """An endpoint of calls takes POST alone."""

    async def run() -> None:
        async with play([said()]) as playing:
            answer = await raw(playing, head(playing, f"Content-Length: {len(BODY)}", method=method) + BODY)
            assert statuses(answer)[0] in (400, 405)
            assert playing.client.prompts == []

    asyncio.run(run())


SMUGGLED = b"POST /s/{other}/v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
FRAMINGS = {
    "length and chunks": [b"Content-Length: %d" % len(BODY), b"Transfer-Encoding: chunked"],
    "two lengths": [b"Content-Length: %d" % len(BODY), b"Content-Length: 3"],
    "a list of lengths": [b"Content-Length: %d, 3" % len(BODY)],
    "a signed length": [b"Content-Length: +%d" % len(BODY)],
    "a length of another base": [b"Content-Length: 0x%x" % len(BODY)],
    "a negative length": [b"Content-Length: -1"],
    "an unknown coding": [b"Transfer-Encoding: xchunked"],
    "chunks not last": [b"Transfer-Encoding: chunked, identity"],
    "a blank before the colon": [b"Transfer-Encoding : chunked"],
    "a folded header": [b"X-A: 1", b" Transfer-Encoding: chunked", b"Content-Length: %d" % len(BODY), b"\x00: 1"],
    "a bare line feed": [b"X-A: 1\nTransfer-Encoding: chunked", b"Content-Length: 3", b"Content-Length: 4"],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("lines", FRAMINGS.values(), ids=FRAMINGS.keys())
def test_a_request_of_doubtful_length_is_refused_and_its_connection_closed(play, lines: list[bytes]) -> None:
    """What two readers could cut differently is read by none, and nothing after it is taken for a request."""

    async def run() -> None:
        async with play(lambda _: said()) as playing:
            begin = head(playing)[:-2]
            request = begin + b"\r\n".join(lines) + b"\r\n\r\n" + BODY + head(playing, "Content-Length: 2") + b"{}"
            answer = await raw(playing, request.replace(b"Connection: close\r\n", b"", 1))
            assert statuses(answer) in ([400], [413])
            assert playing.client.prompts == []

    asyncio.run(run())


def test_a_request_behind_a_short_length_needs_a_key_of_its_own(play) -> None:
    """What follows a body is a request like any other: without a key it is refused."""

    async def run() -> None:
        async with play(lambda _: said()) as playing:
            first = head(playing, f"Content-Length: {len(BODY)}").replace(b"Connection: close\r\n", b"") + BODY
            second = SMUGGLED.replace(b"{other}", playing.session.id.encode()).replace(
                b"Host: x", b"Host: x\r\nConnection: close"
            )
            assert statuses(await raw(playing, first + second)) == [200, 401]
            assert len(playing.client.prompts) == 1

    asyncio.run(run())


def test_bodies_that_are_too_large_are_refused_before_they_are_held(play) -> None:
    """A limit holds for the announced length, for chunks without one, and for what a compressed body unpacks to."""

    async def run() -> None:
        async with play([said()], limits=ExchangeLimits(max_body=100_000)) as playing:
            answer = await raw(playing, head(playing, "Content-Length: 100001"))
            assert statuses(answer) == [413]
            chunk = b"186a0\r\n" + b" " * 100_000 + b"\r\n"
            answer = await raw(playing, head(playing, "Transfer-Encoding: chunked") + chunk * 2)
            assert statuses(answer) == [413]
            bomb = gzip.compress(b" " * 50_000_000)
            status, _, _ = await post(playing, body=bomb, headers={"Content-Encoding": "gzip"})
            assert status == 413
            assert playing.client.prompts == []
            status, _, _ = await post(playing, body=gzip.compress(BODY), headers={"Content-Encoding": "gzip"})
            assert status == 200

    asyncio.run(run())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "compress", "x-gzip\t", "zstd;q=1"])
def test_an_unknown_compression_is_refused_in_the_dialect(play, encoding: str) -> None:
    """A body that the gateway cannot unpack gets 415 and the names of what it can."""

    async def run() -> None:
        async with play([]) as playing:
            status, _, body = await post(playing, "/v1/messages", b"abc", headers={"Content-Encoding": encoding})
            assert status == 415
            assert "gzip" in json.loads(body)["error"]["message"]

    asyncio.run(run())


def test_a_broken_compression_is_an_error_of_the_request(play) -> None:
    """A body that is not compressed as it says is refused with a reason."""

    async def run() -> None:
        async with play([]) as playing:
            for broken in (b"no gzip", gzip.compress(BODY)[:-12], zlib.compress(BODY)[:-3]):
                encoding = "deflate" if broken[:1] == b"\x78" else "gzip"
                status, _, body = await post(playing, body=broken, headers={"Content-Encoding": encoding})
                assert status == 400
                assert json.loads(body)["error"]["message"]
            assert playing.client.prompts == []

    asyncio.run(run())


def test_zstd_is_read_where_its_library_is_there(play) -> None:
    """A body that is compressed with zstd, as Codex may send it, is unpacked, and within the same limit."""
    zstd = pytest.importorskip("backports.zstd")

    async def run() -> None:
        async with play([said()], limits=ExchangeLimits(max_body=100_000)) as playing:
            headers = {"Content-Encoding": "zstd"}
            assert (await post(playing, body=zstd.compress(BODY), headers=headers))[0] == 200
            assert (await post(playing, body=zstd.compress(b" " * 50_000_000), headers=headers))[0] == 413

    asyncio.run(run())


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


@pytest.mark.sampled(4)
@pytest.mark.parametrize("endpoint", ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/completions"])
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
            status, headers, answer = await post(playing, endpoint, body)
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


@pytest.mark.parametrize("count", [1, 7])
def test_parallel_calls_have_no_more_than_the_budget(play, count: int) -> None:
    """Of forty calls at the same time, as many reach the model as the budget has."""

    async def run() -> None:
        async def slow(_: Any) -> Completion:
            await asyncio.sleep(0.01)
            return said()

        async with play(slow, CallBudget(calls=count)) as playing:
            found = await asyncio.gather(*(post(playing) for _ in range(40)))
            assert sorted(status for status, _, _ in found) == [200] * count + [403] * (40 - count)
            assert len(playing.client.prompts) == count
            assert playing.session.exceeded == "calls"

    asyncio.run(run())


def test_parallel_calls_share_the_tokens_that_are_left(play) -> None:
    """Answers are limited to what is left, and those at the same time wait for one another rather than exceed it."""

    async def run() -> None:
        granted = []

        async def greedy(_: Any) -> Completion:
            most = playing.client.asked[-1]["sampling"].max_tokens
            granted.append(most)
            await asyncio.sleep(0.01)
            used = min(most, 30)
            return Completion({"role": "assistant"}, "x", usage={"prompt_tokens": 1, "completion_tokens": used})

        async with play(greedy, CallBudget(completion_tokens=100)) as playing:
            found = await asyncio.gather(*(post(playing) for _ in range(10)))
            assert sorted(status for status, _, _ in found) == [200] * 4 + [403] * 6
            assert granted == [100, 70, 40, 10]
            assert playing.session.calls.completion_tokens == 100
            assert playing.session.exceeded == "completion_tokens"

    asyncio.run(run())


def test_hanging_up_before_the_answer_saves_no_call(play) -> None:
    """A call whose program goes away is cancelled at the model, and is counted in the budget."""

    async def run() -> None:
        began, ended = asyncio.Event(), asyncio.Event()

        async def thinking(_: Any) -> Completion:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            raise AssertionError

        async with play(thinking, CallBudget(calls=1)) as playing:
            reader, writer = await asyncio.open_connection("127.0.0.1", playing.gateway.port)
            writer.write(head(playing, f"Content-Length: {len(BODY)}") + BODY)
            await asyncio.wait_for(began.wait(), 60)
            writer.transport.abort()
            await asyncio.wait_for(ended.wait(), 60)
            assert (await post(playing))[0] == 403
            assert playing.session.calls.abandoned == 1
            del reader

    asyncio.run(run())


def test_a_program_that_leaves_in_the_middle_of_a_stream_is_a_recorded_call(play) -> None:
    """The answer was there before the stream began, so that the call is answered, and its stream cut."""

    async def run() -> None:
        async with play([said("word " * 2_000_000)]) as playing:
            reader, writer = await asyncio.open_connection("127.0.0.1", playing.gateway.port)
            body = json.dumps({**QUESTION, "stream": True}).encode()
            writer.write(head(playing, f"Content-Length: {len(body)}") + body)
            assert await asyncio.wait_for(reader.readuntil(b"data: "), 60)
            writer.transport.abort()
            counts = playing.session.calls
            async with asyncio.timeout(60):
                while counts.under_way:
                    await asyncio.sleep(0)
            assert (counts.answered, counts.cut, counts.abandoned) == (1, 1, 0)

    asyncio.run(run())


def test_a_program_that_reads_nothing_is_left(play) -> None:
    """A stream that nobody reads ends after a time, and holds nothing."""

    async def run() -> None:
        async with play([said("word " * 2_000_000)], limits=ExchangeLimits(write_seconds=0.05)) as playing:
            reader, writer = await asyncio.open_connection("127.0.0.1", playing.gateway.port, limit=1024)
            body = json.dumps({**QUESTION, "stream": True}).encode()
            writer.write(head(playing, f"Content-Length: {len(body)}") + body)
            async with asyncio.timeout(60):
                while not playing.session.calls.cut:
                    await asyncio.sleep(0.01)
            assert playing.session.calls.under_way == 0
            writer.close()
            del reader

    asyncio.run(run())


def test_a_slow_body_and_a_silent_connection_are_not_waited_for(play) -> None:
    """A request that does not arrive is answered with 408, and a connection without one is closed."""

    async def run() -> None:
        async with play([], limits=ExchangeLimits(body_seconds=0.05, head_seconds=0.05)) as playing:
            answer = await raw(playing, head(playing, "Content-Length: 100") + b"{")
            assert statuses(answer) == [408]
            assert await raw(playing, b"") == b""
            assert await raw(playing, b"POST /s/") == b""

    asyncio.run(run())


def test_connections_and_parallel_calls_have_a_limit(play) -> None:
    """A program that opens more is turned away, with an error that says why where there is a request."""

    async def run() -> None:
        release = asyncio.Event()

        async def waiting(_: Any) -> Completion:
            await release.wait()
            return said()

        async with play(waiting, limits=ExchangeLimits(parallel_calls=3, connections=5)) as playing:
            calls = [asyncio.create_task(post(playing)) for _ in range(3)]
            async with asyncio.timeout(60):
                while len(playing.client.prompts) < 3:
                    await asyncio.sleep(0)
            status, headers, _ = await post(playing)
            assert (status, headers["x-should-retry"]) == (429, "true")
            open_ones = [await asyncio.open_connection("127.0.0.1", playing.gateway.port) for _ in range(2)]
            assert await raw(playing, b"") == b""
            release.set()
            assert [status for status, _, _ in await asyncio.gather(*calls)] == [200] * 3
            for _, writer in open_ones:
                writer.close()

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
    ],
}


@pytest.mark.parametrize("endpoint", SERVER_TOOLS)
def test_tools_of_the_server_never_reach_the_model(play, endpoint: str) -> None:
    """They are left out with a note each, or the call is refused, as the session says."""
    body = {**QUESTION, "input": "?", "max_tokens": 9, "tools": SERVER_TOOLS[endpoint]}

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

    asyncio.run(run())


PICTURES = ["https://evil.example/a.png", "http://169.254.169.254/", "file:///etc/passwd", "data:text/html,x", "x"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("url", PICTURES)
def test_no_picture_is_fetched_for_a_program(play, url: str) -> None:
    """A picture must be in the request: a URL would have the model's server reach what the box does not."""
    chat = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]}
    responses = {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": url}]}]}
    source = {"type": "url", "url": url}
    messages = {"messages": [{"role": "user", "content": [{"type": "image", "source": source}]}], "max_tokens": 9}

    async def run() -> None:
        async with play([]) as playing:
            for endpoint, body in (("chat/completions", chat), ("responses", responses), ("messages", messages)):
                assert (await post(playing, f"/v1/{endpoint}", body))[0] == 400
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


def test_a_fault_of_the_gateway_tells_the_program_nothing_of_it(play) -> None:
    """An exception of what answers becomes an error without its words, is reported to the loop, and noted."""

    async def run() -> None:
        reported = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
        async with play([RuntimeError("password 123 at /srv/trainer")]) as playing:
            status, _, body = await post(playing)
            assert status == 500
            assert b"123" not in body
            assert b"srv" not in body
            assert str(playing.session.failure) == str(reported[0]) == "password 123 at /srv/trainer"

    asyncio.run(run())


def test_a_closed_session_cancels_its_calls_and_refuses_later_ones(play) -> None:
    """Calls under way get the dialect's error, later ones find no session, and the other session goes on."""

    async def run() -> None:
        async def waiting(_: Any) -> Completion:
            await asyncio.Event().wait()
            raise AssertionError

        async with play(waiting) as playing:
            other = playing.gateway.open(ClientAnswerer(ScriptedClient([said("other")])))
            calls = [asyncio.create_task(post(playing)) for _ in range(5)]
            async with asyncio.timeout(60):
                while len(playing.client.prompts) < 5:
                    await asyncio.sleep(0)
            await playing.session.close()
            for status, _, body in await asyncio.gather(*calls):
                assert status == 401
                assert json.loads(body)["error"]["code"] == "session_ended"
            assert (await post(playing))[0] == 401
            playing.session = other
            assert (await post(playing))[0] == 200
            assert list(playing.gateway.sessions) == [other.id]

    asyncio.run(run())


def test_long_heads_are_refused(play) -> None:
    """A head of many or long headers costs an error, and no session."""

    async def run() -> None:
        async with play([]) as playing:
            for lines in ([f"X-A: {'a' * 100_000}"], [f"X-{number}: 1" for number in range(10_000)]):
                assert statuses(await raw(playing, head(playing, *lines))) in ([400], [431])
            answer = await raw(playing, head(playing, path="/s/" + "a" * 100_000))
            assert statuses(answer) in ([400], [414], [431])

    asyncio.run(run())


def test_a_unix_socket_serves_a_box(tmp_path) -> None:
    """A gateway on a Unix socket answers there, and removes the socket at its end."""

    async def run() -> None:
        path = tmp_path / "gateway"
        async with Gateway(socket_path=path) as gateway:
            session = gateway.open(ClientAnswerer(ScriptedClient([said("yes")])))
            async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as client:
                address = f"http://gateway/s/{session.id}/v1/chat/completions"
                headers = {"x-api-key": session.api_key}
                async with client.post(address, data=BODY, headers=headers) as answer:
                    assert (await answer.json())["choices"][0]["message"]["content"] == "yes"
        assert not path.exists()

    asyncio.run(run())
