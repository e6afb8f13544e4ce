"""One request and its answer: :func:`exchange`.

A stream begins when its answer is recorded, that is, when the answerer has returned it: nothing that a program reads
can be missing from the record. Until then a program that waits gets signs of life.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress

from aiohttp import web

from gem_eval.clients import Completion
from gem_eval.clients.json_text import encoded
from gem_gateway.call_errors import STATUSES, ModelCallError
from gem_gateway.dialects.base import AnswerHead, CallDialect
from gem_gateway.limits import CallPlace, ExchangeLimits
from gem_gateway.requests import body_of
from gem_gateway.sessions import SESSION_ENDED, CallCounts, GatewaySession

__all__ = ["error_response", "exchange"]

_STREAM_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
_WRITE = 8192
"""Bytes of events that are written together."""


async def exchange(
    request: web.BaseRequest, session: GatewaySession, dialect: CallDialect, limits: ExchangeLimits
) -> web.StreamResponse:
    """Read a call, have it answered, and return the answer; a streamed one has been written by then.

    Raises:
        ModelCallError: if there is no answer, and no stream has begun.
    """
    counts = session.calls
    counts.calls += 1
    place = CallPlace(counts, limits)
    stream: web.StreamResponse | None = None
    completion: Completion | None = None
    try:
        session.check_budget()
        body, size = await body_of(request, limits, place)
        call = dialect.read(body, session.settings)
        if not call.stream:
            completion = await session.answered(call, size)
            head = AnswerHead(session.next_identity(), session.model, int(time.time()))
            return web.Response(body=encoded(dialect.answer(call, completion, head)), content_type="application/json")
        task = session.start(call, size)
        try:
            while not (await asyncio.wait({task}, timeout=limits.ping_seconds))[0]:
                stream = stream or await _begun(request)
                await _write(stream, dialect.ping, limits)
            completion = _result(task)
        finally:
            task.cancel()
        head = AnswerHead(session.next_identity(), session.model, int(time.time()))
        stream = stream or await _begun(request)
        for batch in _batches(dialect.stream(call, completion, head)):
            await _write(stream, batch, limits)
        await stream.write_eof()
        return stream
    except ModelCallError as error:
        counts.errors[error.kind] += 1
        if stream is None:
            raise
        with suppress(ConnectionError, asyncio.TimeoutError):  # a program that has gone needs no error
            await _write(stream, dialect.error_event(error), limits)
            await stream.write_eof()
        return stream
    except asyncio.CancelledError:  # the program has gone
        _count_gone(counts, completion)
        raise
    except (ConnectionError, asyncio.TimeoutError):  # while a stream was written
        _count_gone(counts, completion)
        if request.transport is not None:
            request.transport.abort()
        return stream or web.Response(status=STATUSES["internal"])
    except Exception as error:  # a fault of ours must reach the program as an error of its dialect
        asyncio.get_running_loop().call_exception_handler({"message": "a call failed", "exception": error})
        counts.errors["internal"] += 1
        raise ModelCallError("internal", "the gateway failed to answer this call") from error
    finally:
        place.leave()


def _count_gone(counts: CallCounts, completion: Completion | None) -> None:
    """Count a call whose program has gone: before its answer was there, or before all of it was written."""
    if completion is None:
        counts.abandoned += 1
    else:
        counts.cut += 1


def error_response(error: ModelCallError, dialect: CallDialect) -> web.Response:
    """Return the answer that tells an error."""
    # What repetition could cure has been repeated by the model's client.
    headers = {"x-should-retry": "true" if error.kind == "busy" else "false"}
    if error.kind in ("slow", "too_large", "encoding"):
        headers["Connection"] = "close"  # the rest of the body is not read
    response = web.Response(
        status=error.status(dialect.name),
        body=encoded(dialect.error(error)),
        content_type="application/json",
        headers=headers,
    )
    if "Connection" in headers:
        response.force_close()
    return response


def _result(task: asyncio.Task[Completion]) -> Completion:
    """Return an answer that is there.

    Raises:
        ModelCallError: if it has an error, or the session has ended before it was there.
    """
    if task.cancelled():
        raise ModelCallError("ended", SESSION_ENDED)
    return task.result()


async def _begun(request: web.BaseRequest) -> web.StreamResponse:
    stream = web.StreamResponse(headers=_STREAM_HEADERS)
    await stream.prepare(request)
    return stream


async def _write(stream: web.StreamResponse, data: bytes, limits: ExchangeLimits) -> None:
    await asyncio.wait_for(stream.write(data), limits.write_seconds)


def _batches(events: Iterator[bytes]) -> Iterator[bytes]:
    batch: list[bytes] = []
    size = 0
    for data in events:
        batch.append(data)
        size += len(data)
        if size >= _WRITE:
            yield b"".join(batch)
            batch, size = [], 0
    if batch:
        yield b"".join(batch)
