"""Streams while the model thinks, and errors that come after a stream has begun."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from gem_eval.clients import Completion, ModelError
from gem_gateway.limits import ExchangeLimits

BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "?"}]},
    "/v1/completions": {"prompt": "?"},
    "/v1/responses": {"input": "?"},
    "/v1/messages": {"messages": [{"role": "user", "content": "?"}], "max_tokens": 9},
    "/v1beta/models/m:streamGenerateContent?alt=sse": {"contents": [{"parts": [{"text": "?"}]}]},
}
PINGED = ExchangeLimits(ping_seconds=0.01)


class Slow:
    """A model that answers when it may."""

    def __init__(self, answer: Completion | Exception) -> None:
        self.answer = answer
        self.may = asyncio.Event()

    async def __call__(self, _: Any) -> Completion:
        await self.may.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@asynccontextmanager
async def asked(playing: Any, path: str, body: dict[str, Any]) -> AsyncIterator[aiohttp.ClientResponse]:
    """Send a call and give its answer."""
    async with (
        aiohttp.ClientSession() as client,
        client.post(playing.url(path), json=body, headers=playing.headers) as answer,
    ):
        yield answer


async def streamed(playing: Any, path: str, slow: Slow) -> list[str]:
    """Return the events of a stream whose answer comes after the first sign of life."""
    body = {**BODIES[path], "stream": True}
    async with asked(playing, path, body) as answer:
        assert answer.status == 200
        assert answer.content_type == "text/event-stream"
        begin = await asyncio.wait_for(answer.content.readuntil(b"\n\n"), 60)
        slow.may.set()
        rest = await answer.content.read()
    return (begin + rest).decode().removesuffix("\n\n").split("\n\n")


@pytest.mark.parametrize("path", BODIES)
def test_a_program_gets_signs_of_life_while_the_model_thinks(play, path: str) -> None:
    """They come first and hold no data of the answer, which follows whole."""
    completion = Completion({"role": "assistant", "content": "the answer"}, "the answer")

    async def run() -> None:
        slow = Slow(completion)
        async with play(slow, limits=PINGED) as playing:
            events = await streamed(playing, path, slow)
            first = events[0]
            assert first in (": keep-alive", "") or first.startswith("event: ping\n")
            kept = [event for event in events if event != first]
            assert "the answer" in "".join(kept)
            assert playing.session.calls.answered == 1

    asyncio.run(run())


@pytest.mark.parametrize("path", BODIES)
def test_an_error_after_the_first_sign_of_life_is_an_event(play, path: str) -> None:
    """The status has been sent by then, so that the error comes as the dialect tells one in a stream."""

    async def run() -> None:
        slow = Slow(ModelError("server_error", "out of memory at 10.0.0.1"))
        async with play(slow, limits=PINGED) as playing:
            *_, last = await streamed(playing, path, slow)
            assert "10.0.0.1" not in last
            told = json.loads(last.partition("data: ")[2] or last)
            if path == "/v1/responses":
                assert told["type"] == "response.failed"
                assert told["response"]["error"]["code"] == "server_error"
            else:
                assert "no answer" in told["error"]["message"]
            assert playing.session.calls.errors == {"model": 1}

    asyncio.run(run())


@pytest.mark.parametrize("path", BODIES)
def test_an_error_before_any_sign_of_life_is_a_status(play, path: str) -> None:
    """A stream that has not begun is refused as any other call."""

    async def run() -> None:
        async with play([ModelError("server_error", "no")]) as playing:
            body = {**BODIES[path], "stream": True}
            async with asked(playing, path, body) as answer:
                assert answer.status == 502
                assert "no answer" in (await answer.json())["error"]["message"]

    asyncio.run(run())


def test_nothing_of_an_answer_leaves_before_it_is_recorded(play) -> None:
    """While the answerer has not returned, a program has read nothing but signs of life."""

    async def run() -> None:
        slow = Slow(Completion({"role": "assistant", "content": "x"}, "x"))
        async with play(slow, limits=PINGED) as playing, aiohttp.ClientSession() as client:
            body = {**BODIES["/v1/chat/completions"], "stream": True}
            address = playing.url("/v1/chat/completions")
            async with client.post(address, json=body, headers=playing.headers) as answer:
                seen = b""
                while seen.count(b"\n\n") < 3:
                    seen += await asyncio.wait_for(answer.content.readany(), 60)
                assert b"data" not in seen
                assert playing.session.calls.answered == 0
                slow.may.set()
                assert b"data: [DONE]" in await answer.content.read()

    asyncio.run(run())
