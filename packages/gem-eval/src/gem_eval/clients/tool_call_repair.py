"""Native tool calls as servers send them, brought into the one form that chat APIs accept again.

Known faults: arguments as an object, empty, encoded twice, with raw newlines in strings, or cut off; ids that are null,
empty or repeated; the function's fields without ``function`` around them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gem.tools.calls import text_call
from gem_eval.clients.base import Completion, Message
from gem_eval.clients.json_text import encoded

__all__ = ["MARKUP", "call_natively", "read_calls", "sendable"]

MARKUP = ("<tool_call>", "<|tool_call", "[TOOL_CALLS]", "<function=", "<|python_tag|>", "<｜tool▁call")
"""What models write around calls; in the text of an answer it means that the server did not recognise a call."""

_MOST_CALLS = 64
"""Calls that are read from one text."""

_LENIENT = json.JSONDecoder(strict=False)


def read_calls(value: Any, messages: list[Message]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the calls in an answer's ``tool_calls``, and what was wrong with them, a sentence each.

    A call whose arguments are no JSON object keeps them as they are, so that the environment tells the model.

    Args:
        value: as the server sent it.
        messages: the conversation so far, whose ids are taken.
    """
    if not value:
        return [], []
    if not isinstance(value, list):
        return [], [f"tool_calls is no list, but {type(value).__name__}"]
    problems: list[str] = []
    taken = _ids(messages)
    calls = []
    for index, call in enumerate(value):
        if not isinstance(call, dict):
            problems.append(f"call {index} is no object")
            continue
        function = call.get("function")
        if not isinstance(function, dict):
            function = call
        name = function.get("name")
        if not isinstance(name, str):
            problems.append(f"call {index} names no function")
            name = ""
        arguments, problem = _arguments(function.get("arguments"))
        if problem:
            problems.append(f"call {index}: {problem}")
        identifier = call.get("id")
        if not isinstance(identifier, str) or not identifier or identifier in taken:
            problems.append(
                f"call {index} has {'a repeated' if isinstance(identifier, str) and identifier else 'no'} id"
            )
            identifier = _new_id(len(messages), index, taken)
        taken.add(identifier)
        calls.append({"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}})
    return calls, problems


def call_natively(completion: Completion, messages: list[Message]) -> None:
    """Turn the calls at the end of a text into native ones, as the parser of a chat endpoint does."""
    text = completion.text
    calls: list[dict[str, Any]] = []
    while len(calls) < _MOST_CALLS and (call := text_call(text)) is not None and call.name is not None:
        calls.append({"function": {"name": call.name, "arguments": dict(call.arguments)}})
        text = text[call.end :]
    if calls:
        completion.tool_calls, _ = read_calls(calls, messages)
        completion.text = completion.text.partition("<tool_call>")[0].rstrip()
        completion.message = {
            "role": "assistant",
            "content": completion.text or None,
            "tool_calls": completion.tool_calls,
        }


def sendable(messages: list[Message]) -> list[Message]:
    """Return messages of which no tool call makes a server refuse the request.

    Servers decode the arguments of earlier calls and refuse what is no JSON object, although the model wrote it.
    """
    for message in messages:
        if "tool_calls" in message:
            return [_sendable(message) if message.get("tool_calls") else message for message in messages]
    return messages


def _sendable(message: Message) -> Message:
    calls = []
    for call in message["tool_calls"]:
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            arguments = function.get("arguments")
            if not _is_object(arguments):
                function = {**function, "arguments": encoded({"malformed": str(arguments)}).decode()}
            if not function.get("name"):
                function = {**function, "name": "unnamed"}
            call = {**call, "function": function}
        calls.append(call)
    return {**message, "tool_calls": calls}


def _arguments(value: Any) -> tuple[str, str]:
    """Return arguments as JSON text, and what was wrong with them or an empty str."""
    if isinstance(value, str):
        if _is_object(value):
            return value, ""
        if not value.strip():
            return "{}", "" if value == "" else "its arguments are blank"
        try:
            inner = _LENIENT.decode(value)
            if isinstance(inner, str):
                return (inner, "its arguments are encoded twice") if _is_object(inner) else (value, _MALFORMED)
            if isinstance(inner, dict):
                return encoded(inner).decode(), "its arguments hold raw control characters"
        except (ValueError, TypeError, RecursionError):
            pass
        return value, _MALFORMED
    if value is None:
        return "{}", ""
    try:
        text = encoded(value).decode()
    except (ValueError, TypeError, RecursionError):
        return "", _MALFORMED
    return text, "its arguments are an object" if isinstance(value, dict) else _MALFORMED


_MALFORMED = "its arguments are no JSON object"


def _is_object(text: Any) -> bool:
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _ids(messages: Iterable[Message]) -> set[str]:
    calls = (call for message in messages for call in message.get("tool_calls") or ())
    return {call["id"] for call in calls if isinstance(call, Mapping) and isinstance(call.get("id"), str)}


def _new_id(turn: int, index: int, taken: set[str]) -> str:
    """Return an id of nine letters and digits, as the templates of Mistral's models demand, the same in each run."""
    number = turn * 100 + index
    while (identifier := f"c{number % 10**8:08d}") in taken:
        number += 1
    return identifier
