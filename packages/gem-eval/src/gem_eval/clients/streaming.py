"""Streamed answers, put together into the body that the same request has without streaming.

A stream is read to its end before it is put together, because an evaluation has no use for half an answer. Streaming
keeps connections alive that a proxy would cut for being silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gem_eval.clients.errors import ModelError
from gem_eval.clients.json_text import decoded
from gem_eval.clients.server_errors import error_in_answer
from gem_eval.clients.transport import EVENT_STREAM

__all__ = ["first_token_seconds", "is_stream", "joined_stream"]

_EVENT_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
"""Two ends of lines, each of any kind, as in the HTML standard's section on server-sent events."""
_TEXTS = ("content", "reasoning", "reasoning_content", "refusal", "text")
_LINE_END = re.compile(rb"\r\n|\n|\r")


def is_stream(content: bytes, headers: Mapping[str, str]) -> bool:
    """Return whether a body is a stream of server-sent events."""
    return headers.get("Content-Type", "").startswith(EVENT_STREAM) or content[:5] == b"data:"


def joined_stream(content: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the chunks of a streamed answer of ``/chat/completions`` or ``/completions`` as one answer.

    Raises:
        ModelError, ContextOverflow: if the stream holds an error, or breaks off.
    """
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    ended = False
    for _, data in _events(content):
        if data == b"[DONE]":
            ended = True
            break
        try:
            chunk = decoded(data)
        except ValueError as error:
            raise ModelError("incomplete", "the stream breaks off in the middle of an event") from error
        if not isinstance(chunk, dict) or chunk.get("error") or ("choices" not in chunk and "message" in chunk):
            raise error_in_answer(chunk, headers, streamed=True)
        for name in ("id", "model", "prompt_token_ids", "usage", "metadata", "sglext"):
            if chunk.get(name) is not None:
                whole[name] = chunk[name]
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            _add(choice, choices[0])
    if not choice:
        raise ModelError("bad_response" if ended else "incomplete", "the stream ends without an answer")
    if not ended and choice.get("finish_reason") is None:
        raise ModelError("incomplete", "the stream breaks off before the end of the answer")
    for holder in (choice, choice.get("message", {})):
        holder.update({name: "".join(holder[name]) for name in _TEXTS if name in holder})
    return {**whole, "choices": [choice]}


def first_token_seconds(content: bytes, arrivals: Sequence[tuple[int, float]]) -> float | None:
    """Return when the first event of a stream was there that holds a part of the answer; None if none does.

    What precedes it, such as comments that keep a connection alive and the message's role, is no token.

    Args:
        content: the whole stream.
        arrivals: as in :class:`gem_eval.clients.transport.ServerReply`.
    """
    for end, data in _events(content):
        try:
            choices = decoded(data).get("choices")
        except (ValueError, AttributeError):
            continue  # the end of the stream
        if isinstance(choices, list) and any(_holds_token(choice) for choice in choices):
            return next((seconds for size, seconds in arrivals if size >= end), None)
    return None


def _holds_token(choice: Any) -> bool:
    if not isinstance(choice, dict):
        return False
    delta = choice.get("delta")
    pieces = [choice, delta] if isinstance(delta, dict) else [choice]
    return any(piece.get(name) for piece in pieces for name in (*_TEXTS, "tool_calls", "token_ids"))


def _events(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the data of each event, after the position at which its text ends."""
    start = 0
    while start < len(content):
        found = _EVENT_END.search(content, start)
        end, following = (len(content), len(content)) if found is None else found.span()
        lines = [line[5:].removeprefix(b" ") for line in _LINE_END.split(content[start:end]) if line[:5] == b"data:"]
        data = b"\n".join(lines).strip()
        if data:
            yield end, data
        start = following


def _add(choice: dict[str, Any], chunk: dict[str, Any]) -> None:
    """Add the choice of one chunk to the choice of the whole answer."""
    if chunk.get("finish_reason") is not None:
        choice["finish_reason"] = chunk["finish_reason"]
    if isinstance(text := chunk.get("text"), str):
        choice.setdefault("text", []).append(text)
    for name in ("token_ids", "prompt_token_ids"):
        if isinstance(ids := chunk.get(name), list):
            choice.setdefault(name, []).extend(ids)
    if isinstance(logprobs := chunk.get("logprobs"), dict):
        lists = choice.setdefault("logprobs", {})
        for name, values in logprobs.items():
            if isinstance(values, list):
                lists.setdefault(name, []).extend(values)
    delta = chunk.get("delta")
    if not isinstance(delta, dict):
        return
    message = choice.setdefault("message", {"role": "assistant"})
    for name in _TEXTS:
        if isinstance(text := delta.get(name), str):
            message.setdefault(name, []).append(text)
    if isinstance(calls := delta.get("tool_calls"), list):
        _add_calls(message.setdefault("tool_calls", []), calls)


def _add_calls(calls: list[dict[str, Any]], pieces: list[Any]) -> None:
    """Add pieces of tool calls.

    A piece belongs to the call of its index. Without one, it continues the last call, unless it names a function.
    """
    for piece in pieces:
        if not isinstance(piece, dict):
            continue
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        index = piece.get("index")
        call = next((call for call in calls if isinstance(index, int) and call["index"] == index), None)
        if call is None and not isinstance(index, int) and calls and not function.get("name"):
            call = calls[-1]
        if call is None:
            call = {"index": index if isinstance(index, int) else len(calls), "id": None, "function": {}}
            calls.append(call)
        if piece.get("id"):
            call["id"] = piece["id"]
        known = call["function"]
        if isinstance(name := function.get("name"), str) and name:
            known["name"] = known.get("name", "") + name if known.get("name") != name else name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            before = known.get("arguments")
            known["arguments"] = (before if isinstance(before, str) else "") + arguments
        elif arguments is not None:
            known["arguments"] = arguments
