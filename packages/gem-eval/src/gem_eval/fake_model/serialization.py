"""From bytes to the JSON of a request, and from the JSON of an answer to the bytes of a reply, defects included."""

from __future__ import annotations

import json
from typing import Any

import orjson

from gem_eval.fake_model.connection import STREAM_HEADERS, HttpReply, Step
from gem_eval.fake_model.endpoints import ModelEndpoint
from gem_eval.fake_model.faults.kinds import FaultKind, FaultSettings
from gem_eval.fake_model.model_request import ModelRequest, UnusableRequest

__all__ = ["parsed", "written"]


def parsed(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a request.

    Raises:
        UnusableRequest: if it is none.
    """
    try:
        value = orjson.loads(body)
    except ValueError:
        try:
            value = json.loads(body)  # which also reads lone surrogates and NaN
        except ValueError as error:
            raise UnusableRequest(f"the body is not JSON: {error}") from None
        except RecursionError:
            raise UnusableRequest("the body is nested too deeply") from None
    if not isinstance(value, dict):
        raise UnusableRequest("the body must be a JSON object")
    return value


def written(
    body: dict[str, Any],
    request: ModelRequest,
    endpoint: ModelEndpoint,
    fault: FaultKind | None,
    settings: FaultSettings,
) -> list[Step]:
    """Return the steps of the reply that carries an answer."""
    if fault is None:
        reply = _streamed(body, request, endpoint, None, settings) if request.stream else HttpReply(body=_dumped(body))
        reply.request_id = request.identity
        return reply.steps()
    altered: Any = fault.alter_body(body, request) if fault.alter_body is not None else body
    if request.stream:
        reply = _streamed(altered, request, endpoint, fault, settings)
    else:
        reply = HttpReply(body=_loosely_dumped(altered))
    reply.request_id = request.identity
    if fault.alter_reply is not None:
        reply = fault.alter_reply(reply)
    steps = reply.steps()
    return steps if fault.alter_steps is None else fault.alter_steps(steps, settings)


def _streamed(
    body: dict[str, Any],
    request: ModelRequest,
    endpoint: ModelEndpoint,
    fault: FaultKind | None,
    settings: FaultSettings,
) -> HttpReply:
    chunks = list(endpoint.chunks(body, request))
    if fault is not None and fault.alter_chunks is not None:
        chunks = fault.alter_chunks(chunks)
    dump = _dumped if fault is None else _loosely_dumped
    events: list[Step] = [b"data: %b\n\n" % dump(chunk) for chunk in chunks]
    if endpoint.done:
        events.append(b"data: [DONE]\n\n")
    if fault is not None and fault.alter_events is not None:
        events = fault.alter_events(events, settings)
    return HttpReply(headers=STREAM_HEADERS, events=events)


def _dumped(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # a lone surrogate, an integer beyond 64 bits
        return json.dumps(value).encode()


def _loosely_dumped(value: Any) -> bytes:
    """Return JSON with NaN and infinities as lax servers write them."""
    return json.dumps(value).encode()
