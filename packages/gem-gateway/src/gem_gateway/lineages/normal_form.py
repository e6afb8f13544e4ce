"""Conversations in a form that is the same however a program echoes them: :func:`prefix_digests`.

What a model wrote comes back with its arguments serialised anew, its keys in another order, its content null, empty or
in parts, its call ids changed, its reasoning dropped, blanks around its text cut. None of this is in the form. What
says something else, is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from gem_eval.clients.base import Message

__all__ = ["answer_digest", "prefix_digests"]

_DIGEST_BYTES = 16

_DEEPEST = 64
"""Levels of nested JSON that a form descends into; deeper arguments are compared as text."""


def prefix_digests(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None) -> list[bytes]:
    """Return a digest for each beginning of a conversation: of its first message, its first two, and so on.

    Two are equal if the tools that were offered and the messages are, in normal form.

    Args:
        messages: in the form of chat completions.
        tools: as chat APIs take them; another list makes all digests differ, since templates write it into the prompt.
    """
    digest = blake2b(_text(list(tools or [])), digest_size=_DIGEST_BYTES).digest()
    found: list[bytes] = []
    numbers: _Numbers = {}
    for message in messages:
        digest = _joined(digest, _form(message, numbers))
        found.append(digest)
    return found


def answer_digest(before: bytes, answer: Message) -> bytes:
    """Return the digest of a conversation with an answer after it.

    Args:
        before: the last of its :func:`prefix_digests`.
        answer: the model's message.
    """
    return _joined(before, _form(answer, {}))


def _joined(before: bytes, form: Any) -> bytes:
    return blake2b(before + _text(form), digest_size=_DIGEST_BYTES).digest()


def _text(form: Any) -> bytes:
    # Lone surrogates in a model's text are legal JSON, and no UTF-8.
    return json.dumps(form, sort_keys=True, separators=(",", ":"), default=repr).encode("utf-8", "surrogatepass")


_Numbers = dict[str | None, int]
"""The number of each call id in a conversation; under None, how many calls there were."""


def _form(message: Message, numbers: _Numbers) -> Any:
    role = message.get("role")
    if role == "assistant":
        return ["assistant", _authored_text(message.get("content")), _note_calls(message, numbers)]
    content = _content(message.get("content"))
    if role == "tool":
        # An id is that of the call it answers, by its number in the conversation.
        identifier = message.get("tool_call_id")
        return ["tool", numbers.get(str(identifier), str(identifier)), content, message.get("name")]
    return [role, content, message.get("name")]


def _note_calls(message: Message, numbers: _Numbers) -> list[Any]:
    """Return the calls of an assistant's message, and number their ids; an id that comes again is the later call's."""
    forms = []
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        call = call if isinstance(call, Mapping) else {}
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        numbers[str(call.get("id"))] = numbers[None] = numbers.get(None, 0) + 1
        forms.append([function.get("name"), _arguments(function.get("arguments"))])
    return forms


def _arguments(value: Any) -> Any:
    if not isinstance(value, str):
        return ["parsed", value if value is not None else {}]
    if not value.strip():
        return ["parsed", {}]
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return ["text", value.strip()]
    return ["parsed", parsed] if _depth(parsed) < _DEEPEST else ["text", value.strip()]


def _depth(value: Any, level: int = 0) -> int:
    if level >= _DEEPEST:
        return level
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max((_depth(one, level + 1) for one in inner), default=level)


def _authored_text(content: Any) -> Any:
    """Return the text of what a model wrote, without blanks around it; parts that are no text stay as they are."""
    if isinstance(content, list):
        if not all(_is_text_part(part) for part in content):
            return content
        content = "".join(part["text"] for part in content)
    return content.strip() if isinstance(content, str) else ""


def _content(content: Any) -> Any:
    """Return what a program wrote: a text, or its parts; one text part is that text."""
    if content is None:
        return ""
    if isinstance(content, list) and all(_is_text_part(part) for part in content):
        return content[0]["text"] if len(content) == 1 else [part["text"] for part in content]
    return content


def _is_text_part(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)
