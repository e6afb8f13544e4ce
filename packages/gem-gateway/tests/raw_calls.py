"""Calls as a hostile program sends them, down to the bytes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import aiohttp

from gem_eval.clients import Completion

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


async def until(happened: Callable[[], object]) -> None:
    """Let the loop go on until something has happened."""

    async def looking() -> None:
        while not happened():
            await asyncio.sleep(0)

    await asyncio.wait_for(looking(), 60)


def head(playing: Any, *lines: str, path: str | None = None, method: str = "POST", key: str | None = None) -> bytes:
    """Return the head of a request whose connection closes after it."""
    target = f"/s/{playing.session.id}/v1/chat/completions" if path is None else path
    secret = f"Authorization: Bearer {key or playing.session.api_key}"
    return "\r\n".join([f"{method} {target} HTTP/1.1", "Host: x", "Connection: close", secret, *lines, "", ""]).encode()


def statuses(answer: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", answer)]
