"""Reading what a model server says when it refuses, in the many shapes that servers have for it.

Shapes of a body: ``{"error": {"message", "type", "param", "code"}}`` (OpenAI), ``{"object": "error", "message", …}``
(older vLLM and SGLang), ``{"error": "text"}``, ``{"detail": "text"}`` and ``{"detail": [{"loc", "msg"}]}`` (FastAPI),
``{"message": "text"}``, a page of HTML from a proxy, plain text, or nothing. All of them also come with status 200.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gem_eval.clients.errors import ContextOverflow, ModelError
from gem_eval.clients.json_text import decoded, readable
from gem_eval.clients.retry_hints import retry_delay

__all__ = ["error_in_answer", "refusal", "said"]

# Servers change the sentence between versions, so that several short phrases and the error's fields are looked for.
_OVERFLOW = re.compile(
    r"context[ _-]?(?:length|window|size|limit)|max(?:imum)?[ _-](?:context|model[ _-]len|seq(?:uence)?[ _-]len)"
    r"|exceed_context|max_model_len|max_seq_len"
    r"|(?:prompt|input|request|conversation|messages?)\W(?:\w{1,20}\W){0,4}too\W(?:long|many tokens|large for)"
    r"|(?:prompt|input)\W(?:\w{1,20}\W){0,6}(?:longer than|exceeds?|greater than)\W(?:\w{1,20}\W){0,6}"
    r"(?:model|max\w*|limit|tokens|context)"
    r"|token count\W(?:\w{1,20}\W){0,6}exceeds?|too many (?:input|prompt) tokens"
    r"|reduce the length of the (?:messages|prompt|input)",
    re.IGNORECASE,
)
_OVERFLOW_PARAMS = frozenset({"input_tokens", "prompt_tokens", "input_ids"})
_RATE = re.compile(r"rate[ _-]?limit|too many requests|queue (?:is )?full|overloaded|\bcapacity\b", re.IGNORECASE)
_BUSY = re.compile(r"\bbusy\b|temporar|try again|unavailable|time[ds]? ?out", re.IGNORECASE)
_FILTER = re.compile(r"content[ _-]?(?:filter|policy|management)|responsibleai|safety system|moderation", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient[ _-]?(?:quota|balance|credit)|exceeded your current quota|billing", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,200})", re.IGNORECASE)
_LONGEST = 8000
"""Characters of a body that are looked at."""


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> ModelError | ContextOverflow:
    """Return the error that an HTTP answer with a status other than 2xx stands for."""
    text, fields = said(body)
    words = " ".join((text, *fields.values()))
    message = (
        f"the server answered {status}: {readable(text)}" if text else f"the server answered {status} without a reason"
    )
    if 300 <= status < 400:
        target = readable(headers.get("location", ""), 200).partition("?")[0]
        return ModelError(
            "bad_request", f"the server redirects to {target or 'nowhere'}; use that address as base URL", status=status
        )
    if status in (400, 413, 422, 500) and _is_overflow(words, fields):
        return ContextOverflow(f"the model's context is full: {readable(text)}")
    kind = _kind(status, words)
    if status == 404:
        message = f"{message.rstrip('.')}; check the base URL and the model's name"
    delay = retry_delay(headers, words) if kind in ("rate_limited", "server_error", "timeout") else None
    return ModelError(kind, message, status=status, retry_after=delay, retryable=False if status == 501 else None)


def error_in_answer(answer: Any, headers: Mapping[str, str], *, streamed: bool = False) -> ModelError | ContextOverflow:
    """Return the error that the body of an answer with status 200 stands for, where an answer should be.

    An error counts as if it came with the status that it names, or that its words mean. Where it names none, or 500,
    it is the server's answer to this request, and ``bad_response``; but a stream has no other place for a status.
    """
    if not isinstance(answer, dict):
        shown = "null" if answer is None else type(answer).__name__
        return ModelError("bad_response", f"the server answered 200 with {shown} in place of an object")
    if not answer:
        hint = "; some servers do so when the last message is the assistant's"
        return ModelError("bad_response", f"the server answered 200 with an empty object{hint}")
    text, fields = _said_in(answer)
    if not text and not fields:
        keys = ", ".join(sorted(map(str, answer))[:8])
        return ModelError("bad_response", f"the server's answer holds no choice, but: {readable(keys)}")
    words = " ".join((text, *fields.values()))
    if _is_overflow(words, fields):
        return ContextOverflow(f"the model's context is full: {readable(text)}")
    code = fields.get("code", "")
    named = int(code) if code.isascii() and code.isdecimal() and 400 <= int(code[:9]) < 600 else None
    passing = _RATE.search(words) or _BUSY.search(words)
    status = named or (503 if passing else 500 if streamed else 400)
    message = f"the server answered 200 with an error: {readable(text) or code}"
    kind = _kind(status, words)
    if not streamed and kind in ("bad_request", "server_error") and named in (None, 500) and not passing:
        kind = "bad_response"
    return ModelError(kind, message, status=status, retry_after=retry_delay(headers, words))


def said(body: bytes) -> tuple[str, dict[str, str]]:
    """Return the message of an error's body, and its fields ``code``, ``type`` and ``param`` as far as it has them."""
    try:
        value = decoded(body)
    except ValueError:
        text = body[:_LONGEST].decode(errors="replace")
        title = _TITLE.search(text)
        if title is not None:
            return f"a page of HTML with the title {title[1].strip()!r}", {}
        return ("a page of HTML" if "<html" in text[:500].lower() else text), {}
    return _said_in(value)


def _said_in(value: Any) -> tuple[str, dict[str, str]]:
    if isinstance(value, str):
        return value[:_LONGEST], {}
    if isinstance(value, list):  # Google's endpoint wraps its errors in a list
        value = value[0] if value else None
    if not isinstance(value, dict):
        return "", {}
    inner = value.get("error") or value.get("errors")
    if isinstance(inner, list):
        inner = inner[0] if inner else None
    if isinstance(inner, str):
        value = {**value, "message": inner}
    elif isinstance(inner, dict):
        value = inner
    text = next((t for t in map(value.get, ("message", "detail", "msg", "error_message")) if t), "")
    if not isinstance(text, str):
        text = _details(text)
    names = [name for name in ("code", "type", "param") if isinstance(value.get(name), (str, int))]
    return text[:_LONGEST], {name: str(value[name])[:200] for name in names if not isinstance(value[name], bool)}


def _details(detail: Any) -> str:
    """Return the faults that FastAPI found in a request's fields as text."""
    entries = detail if isinstance(detail, list) else [detail]
    lines = []
    for entry in entries[:20]:
        if isinstance(entry, dict):
            where = entry.get("loc")
            path = ".".join(str(part)[:80] for part in where[:8]) if isinstance(where, list) else ""
            lines.append(f"{path}: {str(entry.get('msg', entry.get('message', '')))[:400]}")
        else:
            lines.append(str(entry)[:400])
    return "; ".join(lines)


def _is_overflow(words: str, fields: Mapping[str, str]) -> bool:
    return fields.get("param") in _OVERFLOW_PARAMS or _OVERFLOW.search(words) is not None


def _kind(status: int, words: str) -> str:
    if status in (401, 402, 403) or (status in (400, 429) and _QUOTA.search(words)):
        return "content_filter" if status == 403 and _FILTER.search(words) else "authentication"
    if status == 429 or (status == 503 and _RATE.search(words)):
        return "rate_limited"
    if status in (408, 504):
        return "timeout"
    if status >= 500 or status in (409, 425):
        return "server_error"
    return "content_filter" if _FILTER.search(words) else "bad_request"
