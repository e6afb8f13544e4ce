"""The client of an endpoint: addresses, models, requests, credentials, loops, and a policy that plays through it."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

import gem
from gem.errors import ArgumentError, ArgumentTypeError, MissingPluginError, NotSupportedError
from gem_eval.clients import (
    Completion,
    ContextOverflow,
    EndpointClient,
    ModelError,
    ModelPolicy,
    Sampling,
    ScriptedClient,
    open_client,
)
from gem_eval.clients.addresses import ServerAddress
from gem_eval.fake_model import FakeModel, FakeModelThread, Latency

T = TypeVar("T")
HELLO = [{"role": "user", "content": "Hello"}]


class Replies:
    """A server that records requests and gives the same reply to each: status, headers, body."""

    def __init__(self, body: bytes = b"", status: int = 200, headers: str = "") -> None:
        self.head = f"HTTP/1.1 {status} Status\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode()
        self.body = body
        self.requests: list[tuple[str, dict[str, str], Any]] = []

    async def __aenter__(self) -> Replies:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                headers = {}
                while (text := (await reader.readline()).decode().strip()) != "":
                    name, _, value = text.partition(": ")
                    headers[name.lower()] = value
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.requests.append((line.decode().strip(), headers, json.loads(body) if body else None))
                writer.write(self.head + self.body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def answered(message: dict[str, Any], **fields: Any) -> bytes:
    """Return the body of a chat completion."""
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **fields}).encode()


def with_client(url: str, use: Callable[[EndpointClient], Awaitable[T]], **options: Any) -> Awaitable[T]:
    """Return what ``use`` makes of a client, which is closed afterwards."""

    async def run() -> T:
        async with EndpointClient(url, **options) as client:
            return await use(client)

    return run()


@pytest.mark.parametrize(
    ("typed", "api", "root"),
    [
        ("http://h:8000", "http://h:8000/v1", "http://h:8000"),
        ("http://h:8000/", "http://h:8000/v1", "http://h:8000"),
        ("http://h:8000/v1", "http://h:8000/v1", "http://h:8000"),
        ("http://h:8000/v1/", "http://h:8000/v1", "http://h:8000"),
        ("http://h:8000/v1/chat/completions", "http://h:8000/v1", "http://h:8000"),
        ("http://h:8000/generate", "http://h:8000/v1", "http://h:8000"),
        ("localhost:8000", "http://localhost:8000/v1", "http://localhost:8000"),
        ("[::1]:8000/v1", "http://[::1]:8000/v1", "http://[::1]:8000"),
        ("https://api.example.com/openai/v1", "https://api.example.com/openai/v1", "https://api.example.com/openai"),
        ("https://example.com/v1beta/openai/", "https://example.com/v1beta/openai", "https://example.com"),
        ("https://example.com/api/paas/v4", "https://example.com/api/paas/v4", "https://example.com/api/paas"),
    ],
)
def test_base_urls_as_people_type_them(typed: str, api: str, root: str) -> None:
    """With or without scheme, version, slash and endpoint."""
    address = ServerAddress.parse(typed)
    assert (address.api, address.root) == (api, root)


@pytest.mark.parametrize(
    "url",
    ["", "ftp://host", "http://", "http://host:port", "http://a b", "http://h\n/x", "http://\udcc3", "http://a\\b"],
    ids=ascii,
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """The message names base_url."""
    with pytest.raises(ArgumentError, match="base_url"):
        ServerAddress.parse(url)


@given(st.text() | st.text(min_size=1).map("http://{}".format))
def test_any_text_is_an_address_or_refused(url: str) -> None:
    """No other exception comes out, and an accepted one is one for the library that connects."""
    with suppress(ArgumentError):
        assert URL(ServerAddress.parse(url).api).host
        assert ServerAddress.parse(url).api.startswith("http")


def test_the_only_model_is_found_and_several_are_named() -> None:
    """Without a name, one model is taken; of several, the error lists the names."""

    async def run() -> tuple[str, str]:
        async with FakeModel(model="tiny") as model, EndpointClient(model.url) as client:
            await client.prepare()
            one = client.model
        two = json.dumps({"data": [{"id": "a"}, {"id": "b\x1b[31m"}, {"id": 3}, None]}).encode()
        async with Replies(two) as server, EndpointClient(server.url) as client:
            with pytest.raises(ArgumentError) as caught:
                await client.chat(HELLO)
        return one, str(caught.value)

    one, message = asyncio.run(run())
    assert one == "tiny"
    assert "several models: a, b" in message
    assert message.isprintable()


def test_a_server_that_lists_no_models_answers_a_named_one() -> None:
    """The list is only a help."""

    async def run() -> Completion:
        async with Replies(answered({"role": "assistant", "content": "yes"})) as server:
            return await with_client(server.url, lambda client: client.chat(HELLO), model="m")

    assert asyncio.run(run()).text == "yes"


def test_what_is_sent() -> None:
    """Messages with pictures, tools, sampling and further fields reach the server as they are."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}]
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    sampling = Sampling(0.5, 0.9, 64, ("END",), 7, logprobs=True, top_logprobs=3, extra={"top_k": 20})

    async def run() -> list[Any]:
        async with Replies(answered({"content": "a cat"})) as server, EndpointClient(server.url, "m") as client:
            await client.chat(messages, tools=tools, sampling=sampling, response_format={"type": "json_object"})
            return server.requests

    line, headers, body = asyncio.run(run())[-1]
    assert line == "POST /v1/chat/completions HTTP/1.1"
    assert headers["content-type"] == "application/json"
    assert body == {
        "model": "m",
        "messages": messages,
        "tools": tools,
        "response_format": {"type": "json_object"},
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 64,
        "stop": ["END"],
        "seed": 7,
        "logprobs": True,
        "top_logprobs": 3,
        "top_k": 20,
    }


def test_calls_that_no_server_would_accept_back_are_mended_on_the_way() -> None:
    """Earlier calls with malformed arguments or without a name are sent in a form that servers can decode."""
    calls = [
        {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"a": '}},
        {"id": "2", "type": "function", "function": {"name": "", "arguments": "{}"}},
    ]
    messages = [*HELLO, {"role": "assistant", "content": None, "tool_calls": calls}]

    async def run() -> Any:
        async with Replies(answered({"content": "fine"})) as server, EndpointClient(server.url, "m") as client:
            await client.chat(messages)
            return server.requests[-1][2]["messages"][1]["tool_calls"]

    sent = asyncio.run(run())
    assert json.loads(sent[0]["function"]["arguments"]) == {"malformed": '{"a": '}
    assert sent[1]["function"]["name"] == "unnamed"
    assert calls[0]["function"]["arguments"] == '{"a": '  # type: ignore[index]


def test_text_that_is_no_unicode_passes_both_ways() -> None:
    """Lone surrogates become U+FFFD in the request and in the answer."""
    logprobs = b'{"content": [{"token": "x", "logprob": NaN}]}'
    body = b'{"choices": [{"message": {"content": "a\\ud800b"}, "logprobs": %b}]}' % logprobs

    async def run() -> tuple[Completion, Any]:
        async with Replies(body) as server, EndpointClient(server.url, "m") as client:
            return await client.chat([{"role": "user", "content": "\udfff?"}]), server.requests[-1][2]

    completion, sent = asyncio.run(run())
    assert completion.text == "a\ufffdb"
    assert completion.logprobs is None
    assert sent["messages"][0]["content"] == "\ufffd?"


@pytest.mark.parametrize(
    ("status", "reply", "names"),
    [
        (422, {"detail": [{"loc": ["body", "return_token_ids"], "msg": "Extra inputs are not permitted"}]}, "return"),
        (400, {"error": {"message": "Unrecognized request argument supplied: return_token_ids"}}, "return"),
        (422, {"detail": "Unexpected fields in the request: {'return_token_ids', 'seed'}"}, "return"),
    ],
)
def test_a_field_that_the_server_refuses_is_dropped_for_good(status: int, reply: Any, names: str) -> None:
    """The request is repeated without it, later ones are sent without it, and the capabilities say so once."""

    async def run() -> tuple[int, EndpointClient]:
        async with (
            Replies(json.dumps(reply).encode(), status) as server,
            EndpointClient(server.url, "m", token_ids=True, retries=0) as client,
        ):
            for _ in range(2):
                with pytest.raises(ModelError, match=str(status)):
                    await client.chat(HELLO, sampling=Sampling(seed=1))
            posts = [body for line, _, body in server.requests if line.startswith("POST")]
            assert "return_token_ids" in posts[0]
            assert not any("return_token_ids" in body for body in posts[1:])
            return len(posts), client

    posts, client = asyncio.run(run())
    assert posts == 3
    assert "return_token_ids" in client.capabilities.dropped
    assert sum(names in note for note in client.capabilities.notes) == 1


def test_a_server_that_refuses_the_session_as_a_field_still_gets_its_headers() -> None:
    """Chats and prompts carry the headers, chats alone the field; with ``affinity=False`` there is neither."""
    refusal = json.dumps({"error": {"message": "property 'prompt_cache_key' is unsupported"}}).encode()

    async def sent(**options: Any) -> list[tuple[str | None, str | None, str | None]]:
        async with (
            Replies(refusal, 400) as server,
            EndpointClient(server.url, "m", token_ids=False, retries=0, **options) as client,
        ):
            for ask in (client.chat(HELLO, sampling=SESSION), client.complete("Once", sampling=SESSION)):
                with pytest.raises(ModelError, match="unsupported"):
                    await ask
            return [
                (headers.get("x-session-id"), headers.get("x-smg-routing-key"), body.get("prompt_cache_key"))
                for _, headers, body in server.requests
            ]

    assert asyncio.run(sent()) == [("s-1", "s-1", "s-1"), ("s-1", "s-1", None), ("s-1", "s-1", None)]
    assert asyncio.run(sent(affinity=False)) == [(None, None, None)] * 2


SESSION = Sampling(session="s-1")


def test_a_server_with_another_word_for_the_token_limit_gets_that_word() -> None:
    """OpenAI's reasoning models refuse max_tokens and name max_completion_tokens."""
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."

    async def run() -> list[Any]:
        async with (
            Replies(json.dumps({"error": {"message": said}}).encode(), 400) as server,
            EndpointClient(server.url, "m") as client,
        ):
            with pytest.raises(ModelError):
                await client.chat(HELLO, sampling=Sampling(max_tokens=9))
            return [body for line, _, body in server.requests if line.startswith("POST")]

    first, second = asyncio.run(run())
    assert first["max_tokens"] == second["max_completion_tokens"] == 9
    assert "max_tokens" not in second


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": "sk-very-secret"},
        {"headers": {"X-Api-Key": "sk-very-secret"}},
        {"url": "http://user:sk-very-secret@{}"},
        {"url": "http://{}/v1?key=sk-very-secret"},
    ],
)
@pytest.mark.parametrize("status", [200, 401, 500])
def test_credentials_stand_in_no_message(options: dict[str, Any], status: int) -> None:
    """Not even where the server repeats them, nor in the client's repr, nor in the printed traceback."""
    options = dict(options)

    async def run() -> tuple[str, str]:
        body = json.dumps({"error": {"message": "wrong key: sk-very-secret!"}}).encode()
        async with Replies(body, status) as server:
            url = options.pop("url", "http://{}").format(server.url.removeprefix("http://"))
            async with EndpointClient(url, "m", retries=0, **options) as client:
                try:
                    await client.chat(HELLO)
                except ModelError as error:
                    request = " ".join((server.requests[-1][0], *server.requests[-1][1].values()))
                    shown = "".join(traceback.format_exception(error)) + repr(client) + client.base_url
                    return request, shown
        raise AssertionError("the request was answered")

    request, shown = asyncio.run(run())
    assert "sk-very-secret" in request or "Basic dXNlcjpzay12ZXJ5LXNlY3JldA==" in request
    assert "sk-very-secret" not in shown
    assert "dXNlcjpzay12ZXJ5LXNlY3JldA" not in shown


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """OPENAI_API_KEY is sent; without it, no header."""

    async def sent() -> str | None:
        async with Replies(answered({"content": "x"})) as server, EndpointClient(server.url, "m") as client:
            await client.chat(HELLO)
            return server.requests[-1][1].get("authorization")

    monkeypatch.setenv("OPENAI_API_KEY", "from-outside")
    assert asyncio.run(sent()) == "Bearer from-outside"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert asyncio.run(sent()) is None
    with pytest.raises(ArgumentError, match="api_key"):
        EndpointClient("localhost", api_key="no\nkey")


def test_a_redirect_is_refused_with_the_address() -> None:
    """Credentials follow no redirect."""

    async def run() -> None:
        async with Replies(b"", 308, "Location: https://elsewhere/v1/chat/completions?token=1\r\n") as server:
            await with_client(server.url, lambda client: client.chat(HELLO), model="m")

    with pytest.raises(ModelError, match="use that address") as caught:
        asyncio.run(run())
    assert caught.value.failure_kind == "bad_request"
    assert "token" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["", "Content-Encoding: gzip\r\n"])
def test_an_answer_has_a_largest_size(encoding: str) -> None:
    """Also one that is small until it is decompressed."""
    import gzip

    body = gzip.compress(b"[" + b" " * 10**6 + b"]") if encoding else b"[" + b" " * 10**4 + b"]"

    async def run() -> None:
        async with Replies(body, 200, encoding) as server:
            options: dict[str, Any] = {"model": "m", "max_bytes": 5000, "retries": 0}
            await with_client(server.url, lambda client: client.chat(HELLO), **options)

    with pytest.raises(ModelError, match="5000") as caught:
        asyncio.run(run())
    assert caught.value.failure_kind == "bad_response"


@pytest.mark.parametrize(
    ("body", "kind", "sent"),
    [
        # The whole answer is no completion.
        ({"choices": []}, "bad_response", 1), ({"choices": None}, "bad_response", 1), ({}, "bad_response", 1),
        ([], "bad_response", 1), (None, "bad_response", 1), ("ok", "bad_response", 1),
        ({"choices": [{}]}, "bad_response", 1), ({"choices": [None]}, "bad_response", 1),
        (b"Hello.", "bad_response", 1), (b"<html><title>Welcome</title></html>", "bad_response", 1),
        # An error about this request.
        ({"error": {"message": "1 validation error for Request: messages.0.role"}}, "bad_response", 1),
        ({"error": "no such template"}, "bad_response", 1),
        ({"detail": [{"loc": ["body", "n"], "msg": "Input should be an integer"}]}, "bad_response", 1),
        ({"object": "error", "message": "Internal error", "code": 500}, "bad_response", 1),
        ({"choices": [{"error": {"message": "Provider failed"}}]}, "bad_response", 1),
        ({"error": {"message": "no such model", "code": 404}}, "bad_request", 1),
        ({"error": {"message": "1 validation error", "code": 422}}, "bad_request", 1),
        ({"error": {"message": "bad key", "code": "401"}}, "authentication", 1),
        ({"error": {"message": "stopped by our content policy"}}, "content_filter", 1),
        # An error that may pass.
        ({"error": {"message": "slow down", "code": 429}}, "rate_limited", 6),
        ({"error": {"message": "The model is overloaded."}}, "rate_limited", 6),
        ({"error": {"message": "upstream timed out", "code": 504}}, "timeout", 6),
        ({"error": {"message": "Provider returned error", "code": 502}}, "server_error", 4),
        ({"code": 1302, "message": "The service is busy."}, "server_error", 4),
        ({"choices": [{"message": {"content": ""}, "finish_reason": "abort"}]}, "server_error", 4),
        ({"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}, "empty", 4),
        # A part of an answer.
        (b'{"choices": [{"mess', "incomplete", 4), (b"", "incomplete", 4),
        # Streams: the status was sent before the error.
        (b'data: {"error": {"message": "the engine failed"}}\n\ndata: [DONE]\n\n', "server_error", 4),
        (b'data: {"error": {"message": "bad request", "code": 400}}\n\n', "bad_request", 1),
        (b'data: {"choices": []}\n\ndata: [DONE]\n\n', "bad_response", 1),
        (b'data: {"choices": []}\n\n', "incomplete", 4),
        (b'data: {"choices": [{"delta": {"content": "He', "incomplete", 4),
    ],
)  # fmt: skip
def test_an_answer_of_status_200_is_asked_for_again_only_if_it_may_pass(body: Any, kind: str, sent: int) -> None:
    """What the server says with a whole answer it would say again; the request is sent once, and the kind says why."""

    async def run() -> int:
        async with Replies(body if isinstance(body, bytes) else json.dumps(body).encode()) as server:
            options: dict[str, Any] = {"model": "m", "token_ids": False, "retries": 5, "first_delay": 0.0}
            with pytest.raises(ModelError) as caught:
                await with_client(server.url, lambda client: client.chat(HELLO), **options)
            assert caught.value.failure_kind == kind, caught.value
            return len(server.requests)

    assert asyncio.run(run()) == sent


def test_a_client_serves_one_event_loop_at_a_time() -> None:
    """After a loop has ended, the client works on the next; on two at once, it refuses."""

    async def twice(client: EndpointClient) -> None:
        assert (await client.chat(HELLO)).text == "Hello"
        with pytest.raises(NotSupportedError, match="one event loop"):
            await asyncio.get_running_loop().run_in_executor(None, lambda: asyncio.run(client.chat(HELLO)))
        await client.close()

    with FakeModelThread(FakeModel()) as model:
        client = EndpointClient(model.url)
        asyncio.run(twice(client))
        asyncio.run(twice(client))


def test_concurrent_requests_are_limited_by_the_client_alone() -> None:
    """300 at once are 300 connections, where a pool's own limit is often 100; with concurrency 7, they are 7."""

    async def most(concurrency: int, requests: int, expected: int) -> int:
        async with (
            FakeModel(latency=Latency(600.0)) as model,
            EndpointClient(model.url, concurrency=concurrency, timeout=3600.0, connect_timeout=3600.0) as client,
        ):
            asked = [asyncio.ensure_future(client.chat(HELLO)) for _ in range(requests)]
            while model.counts.in_flight < expected:
                await asyncio.sleep(0)
            for _ in range(1000):  # time for one more
                await asyncio.sleep(0)
            for request in asked:
                request.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
            return model.counts.most_in_flight

    assert asyncio.run(most(512, 300, 300)) == 300
    assert asyncio.run(most(7, 20, 7)) == 7


def test_a_cancelled_request_gives_its_place_back() -> None:
    """Others go on after it."""

    async def run() -> tuple[int, str]:
        async with FakeModel(latency=Latency(0.05)) as model, EndpointClient(model.url, concurrency=1) as client:
            await client.prepare()
            first, second, third = (asyncio.ensure_future(client.chat(HELLO)) for _ in range(3))
            await asyncio.sleep(0)
            first.cancel()
            second.cancel()
            text = (await third).text
            return client.pacer.in_flight, text

    assert asyncio.run(run()) == (0, "Hello")


def test_streamed_and_whole_answers_are_the_same() -> None:
    """The chunks put together give the completion that one piece gives, in each dialect that streams."""

    async def both(dialect: str, prompt: str | None) -> list[Completion]:
        answers = []
        for stream in (False, True):
            async with (
                FakeModel(dialect=dialect, reasoning="Let me see.", seed=3) as model,
                EndpointClient(model.url, stream=stream, token_ids=True) as client,
            ):
                sampling = Sampling(logprobs=True, top_logprobs=2)
                if prompt is None:
                    answers.append(await client.chat(HELLO, sampling=sampling))
                else:
                    answers.append(await client.complete(prompt, sampling=sampling))
        return answers

    for dialect in ("openai", "vllm", "sglang", "llamacpp"):
        for prompt in (None, "Once"):
            whole, streamed = asyncio.run(both(dialect, prompt))
            # They depend on the body of the request.
            streamed.request_id = whole.request_id
            for one, other in zip(streamed.logprobs or (), whole.logprobs or (), strict=True):
                assert one < 0 > other
            streamed.logprobs, streamed.top_logprobs = whole.logprobs, whole.top_logprobs
            assert whole.first_token_seconds is None
            assert streamed.first_token_seconds is not None
            streamed.first_token_seconds = None
            assert streamed == whole, (dialect, prompt)


def test_open_client_by_scheme() -> None:
    """Http by default, other schemes by the hook; unknown ones and unknown options are refused."""
    assert isinstance(open_client("localhost:8000"), EndpointClient)
    assert isinstance(open_client("https://example.com/v1", "m"), EndpointClient)
    assert isinstance(open_client("scripted:json:dumps"), ScriptedClient)
    with pytest.raises(MissingPluginError, match="gopher"):
        open_client("gopher://x")
    with pytest.raises(ArgumentTypeError, match="flavour"):
        open_client("localhost:8000", flavour=1)
    with pytest.raises(ArgumentError, match="protocol"):
        open_client("localhost:8000", protocol="smoke")
    with pytest.raises(ArgumentError, match="concurrency"):
        open_client("localhost:8000", concurrency=0)


def test_a_policy_plays_through_a_server() -> None:
    """The conversation reaches the server, and each turn says how many attempts failed."""

    async def play() -> tuple[list[gem.Trajectory], dict[str, Any]]:
        from gem_rollout import RolloutEngine, plan_episodes

        async with (
            FakeModel("game:GuessTheNumber-v0-easy", dialect="vllm", faults=["error-nested*1"]) as model,
            EndpointClient(model.url, first_delay=0.001) as client,
        ):
            plan = plan_episodes(["game:GuessTheNumber-v0-easy"], 4)
            sampling = Sampling(logprobs=True)
            engine = RolloutEngine(plan, lambda env: ModelPolicy(client, sampling, env=env), wrappers="messages")
            async with engine:
                played = [trajectory async for trajectory in engine]
            return played, model.stats()

    played, stats = asyncio.run(play())
    assert [trajectory.failure for trajectory in played] == [None] * 4
    assert all(trajectory.transitions[-1].reward == 1.0 for trajectory in played)
    for transition in (transition for trajectory in played for transition in trajectory.transitions):
        assert transition.token_ids is not None
        assert len(transition.token_ids) == len(transition.logprobs or ())
        assert transition.model == "fake-model"
    retries = [t.metadata.get("retries", 0) for trajectory in played for t in trajectory.transitions]
    assert stats["faults"] == {"error-nested": sum(retries)}
    assert sum(retries) > 0


def test_an_address_without_a_server_is_given_up_soon() -> None:
    """Three attempts, where a server that has answered before gets as many as the settings allow."""

    async def run() -> list[ModelError]:
        failures = []
        async with FakeModel(faults=["engine-dead@2"]) as model:
            for _ in range(2):
                async with EndpointClient(model.url, "m", retries=5, first_delay=0.001) as client:
                    try:
                        for _ in range(2):
                            await client.chat(HELLO)
                    except ModelError as error:
                        failures.append(error)
        return failures

    known, unknown = asyncio.run(run())
    assert (known.failure_kind, known.attempts) == ("unreachable", 6)
    assert (unknown.failure_kind, unknown.attempts) == ("unreachable", 3)
    assert "no connection to 127.0.0.1" in str(unknown)


def test_context_overflow_is_no_model_error() -> None:
    """So that `except ModelError` does not swallow the end of an episode."""
    assert not issubclass(ContextOverflow, ModelError)
