"""Replies in place of an answer: rate limits, bodies of errors, context overflow."""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import orjson

from gem_eval.fake_model.connection import JSON_HEADERS, HttpReply
from gem_eval.fake_model.errors import flat_error, nested_error
from gem_eval.fake_model.faults.kinds import FaultSettings, kinds
from gem_eval.fake_model.model_request import ModelRequest

__all__ = ["KINDS"]

Refusal = Callable[[ModelRequest, FaultSettings], HttpReply]

_LIMITED = "Rate limit reached for requests."


def _reply(status: int, body: Any, *headers: tuple[str, str]) -> HttpReply:
    return HttpReply(status, orjson.dumps(body), (*JSON_HEADERS, *headers))


def _always(status: int, body: Any) -> Refusal:
    return lambda request, settings: _reply(status, body)


def _limited(header: Callable[[float], tuple[tuple[str, str], ...]]) -> Refusal:
    """Return a 429 whose headers depend on the seconds to wait."""
    return lambda request, settings: _reply(429, nested_error(_LIMITED, 429), *header(settings.retry_after))


def _limited_in_words(request: ModelRequest, settings: FaultSettings) -> HttpReply:
    milliseconds = round(settings.retry_after * 1000)
    return _reply(429, nested_error(f"{_LIMITED} Please try again in {milliseconds}ms. Visit /limits for more.", 429))


def _page(request: ModelRequest, settings: FaultSettings) -> HttpReply:
    page = b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1></body>\r\n</html>"
    return HttpReply(502, page, (("Content-Type", "text/html"),))


def _overflow(message: str, **extra: Any) -> Refusal:
    """Return a 400 whose message holds the number of tokens and a context that is one token too small."""

    def refuse(request: ModelRequest, settings: FaultSettings) -> HttpReply:
        used = len(request.prompt_ids)
        wanted = request.max_tokens or 16
        text = message.format(used=used, wanted=wanted, total=used + wanted, context=used + wanted - 1)
        body = nested_error(text, 400)
        body["error"].update(extra)
        return _reply(400, body)

    return refuse


def _flat_overflow(request: ModelRequest, settings: FaultSettings) -> HttpReply:
    used = len(request.prompt_ids)
    text = f"The input ({used} tokens) is longer than the model's context length ({used - 1} tokens)."
    return _reply(400, flat_error(text, 400))


_OVERLOADED = {
    "rate-limit-seconds": (
        "answers 429 with Retry-After in seconds",
        _limited(lambda seconds: (("Retry-After", str(round(seconds))),)),
    ),
    "rate-limit-date": (
        "answers 429 with Retry-After as a date",
        _limited(lambda seconds: (("Retry-After", formatdate(time.time() + seconds, usegmt=True)),)),
    ),
    "rate-limit-ms": (
        "answers 429 with retry-after-ms",
        _limited(lambda seconds: (("retry-after-ms", str(round(seconds * 1000))),)),
    ),
    "rate-limit-reset": (
        "answers 429 with x-ratelimit-reset-* alone",
        _limited(
            lambda seconds: (
                ("x-ratelimit-limit-requests", "60"),
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", f"{round(seconds * 1000)}ms"),
                ("x-ratelimit-reset-tokens", f"{seconds:.3f}s"),
            )
        ),
    ),
    "rate-limit-message": ("answers 429 with the time in its message", _limited_in_words),
    "rate-limit-bare": ("answers 429 without a body or a time", lambda request, settings: HttpReply(429, b"", ())),
    "payment-required": ("answers 402", _always(402, nested_error("Insufficient credits.", 402))),
    "request-timeout": ("answers 408", _always(408, nested_error("Request timed out.", 408))),
    "queue-full": ("answers 503 with a flat error", _always(503, flat_error("The request queue is full.", 503))),
}
_BODIES = {
    "error-nested": ("answers 500 with {error: {…}}", _always(500, nested_error("Internal error.", 500))),
    "error-flat": ('answers 500 with {object: "error"}', _always(500, flat_error("Internal error.", 500))),
    "error-text": ('answers 500 with {error: "text"}', _always(500, {"error": "Internal error."})),
    "error-detail": ("answers 500 with {detail: …}", _always(500, {"detail": "Internal error."})),
    "error-message": ("answers 500 with {message: …}", _always(500, {"message": "Internal error."})),
    "error-page": ("answers 502 with HTML", _page),
    "error-null": ("answers 200 with null", _always(200, None)),
    "error-empty": ("answers 500 with no body", lambda request, settings: HttpReply(500, b"", ())),
    "bad-request": ("answers 400", _always(400, nested_error("temperature must be at most 2.", 400))),
    "unauthorized": ("answers 401", _always(401, nested_error("Invalid API key.", 401))),
    "model-missing": ("answers 404", _always(404, nested_error("The model does not exist.", 404, "model"))),
}
_OVERFLOWS = {
    "overflow-openai": (
        "answers 400 with code context_length_exceeded",
        _overflow(
            "This model's maximum context length is {context} tokens. However, your messages resulted in {used} "
            "tokens. Please reduce the length of the messages.",
            code="context_length_exceeded",
            param="messages",
        ),
    ),
    "overflow-vllm-old": (
        "answers 400 in the words of older vLLM",
        _overflow(
            "This model's maximum context length is {context} tokens. However, you requested {total} tokens "
            "({used} in the messages, {wanted} in the completion)."
        ),
    ),
    "overflow-vllm-new": (
        "answers 400 with param input_tokens, in the words of newer vLLM",
        _overflow(
            "You passed {used} input tokens and requested {wanted} output tokens. However, the model's context "
            "length is only {context} tokens.",
            param="input_tokens",
        ),
    ),
    "overflow-sglang": ("answers 400 in the words of SGLang", _flat_overflow),
    "overflow-llamacpp": (
        "answers 400 of type exceed_context_size_error",
        _overflow(
            "the request exceeds the available context size, try increasing it", type="exceed_context_size_error"
        ),
    ),
}

KINDS = (*kinds(1, "refuse", _OVERLOADED), *kinds(2, "refuse", _BODIES), *kinds(9, "refuse", _OVERFLOWS))
