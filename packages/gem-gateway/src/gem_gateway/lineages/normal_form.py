"""Conversations in a form that is the same however a program echoes them: :func:`prefix_digests`.

What a model wrote comes back with its arguments serialised anew, its keys in another order, its content null, empty or
in parts, its call ids changed, its reasoning dropped, blanks around its text cut. None of this is in the form. What
says something else, is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson

from gem_eval.clients.base import Message

__all__ = ["ConversationDigests", "answer_digest", "prefix_digests"]

_Numbers = dict[str | None, int]
"""The number of each call id in a conversation; under None, how many calls there were."""

_DIGEST_BYTES = 16

_REMEMBERED = 4
"""Conversations of a program that are remembered: its main agent's, those of subagents beside it."""

_REMEMBERED_BYTES = 16 * 2**20
"""What these may have together, as JSON."""

_STRICT = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
"""Whatever is not JSON by itself is not compared as if it were."""

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=repr)

_DEEPEST = 64
"""Levels of nested JSON that a form descends into; deeper arguments are compared as text."""


def prefix_digests(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None) -> list[bytes]:
    """Return a digest for each beginning of a conversation: of its first message, its first two, and so on.

    Two are equal if the tools that were offered and the messages are, in normal form.

    Args:
        messages: in the form of chat completions.
        tools: as chat APIs take them; another list makes all digests differ, since templates write it into the prompt.
    """
    return _continued(_tools_digest(tools), messages, {})


class ConversationDigests:
    """:func:`prefix_digests` of the conversations of one program, each of which mostly repeats an earlier one.

    What a conversation repeats to the letter, from its beginning on and as far as the earlier one goes, is compared as
    JSON and not brought into normal form again. Anything else is, so that the digests are always the same as without.
    """

    def __init__(self) -> None:
        self._known: list[_Digested] = []

    def of(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None) -> list[bytes]:
        """Return the digests of a conversation, and remember it."""
        try:
            text = orjson.dumps([tools or [], *messages], option=_STRICT)
        except TypeError:  # lone surrogates, for example, which a model may have written
            return prefix_digests(messages, tools)
        beginnings = (known for known in self._known if known.begins(text))
        found = max(beginnings, key=lambda known: len(known.text), default=None)
        if found is None:
            numbers: _Numbers = {}
            digests = _continued(_tools_digest(tools), messages, numbers)
        else:
            self._known.remove(found)
            numbers, digests = found.numbers, found.digests
            if len(digests) < len(messages):
                before = digests[-1] if digests else _tools_digest(tools)
                digests = digests + _continued(before, messages[len(digests) :], numbers)
        self._known.append(_Digested(text[:-1], digests, numbers))
        while len(self._known) > _REMEMBERED or sum(len(known.text) for known in self._known) > _REMEMBERED_BYTES:
            del self._known[0]
        return digests


@dataclass(slots=True, eq=False)
class _Digested:
    text: bytes
    """The tools and messages as JSON, without the bracket that ends their list."""
    digests: list[bytes]
    numbers: _Numbers

    def begins(self, text: bytes) -> bool:
        """Return whether another list has the same items at its beginning: an object's JSON begins no other value's."""
        return text.startswith(self.text)


def answer_digest(before: bytes, answer: Message) -> bytes:
    """Return the digest of a conversation with an answer after it.

    Args:
        before: the last of its :func:`prefix_digests`.
        answer: the model's message.
    """
    return _joined(before, _form(answer, {}))


def _tools_digest(tools: Sequence[Mapping[str, Any]] | None) -> bytes:
    return blake2b(_text(list(tools or [])), digest_size=_DIGEST_BYTES).digest()


def _continued(digest: bytes, messages: Sequence[Message], numbers: _Numbers) -> list[bytes]:
    """Return the digests of what follows a beginning with this digest, whose calls have these numbers."""
    found: list[bytes] = []
    for message in messages:
        digest = _joined(digest, _form(message, numbers))
        found.append(digest)
    return found


def _joined(before: bytes, form: list[Any]) -> bytes:
    role, said, rest = form[0], form[1], form[-1]
    if type(said) is type(role) is str and len(form) == 3 and (rest is None or (role == "assistant" and not rest)):
        # Most messages are a text by somebody, which need not become JSON: a digit begins none of a list.
        text = f"{len(role)}:{role}{said}".encode("utf-8", "surrogatepass")
    else:
        text = _text(form)
    return blake2b(before + text, digest_size=_DIGEST_BYTES).digest()


def _text(form: Any) -> bytes:
    # Lone surrogates in a model's text are legal JSON, and no UTF-8.
    return _ENCODER.encode(form).encode("utf-8", "surrogatepass")


def _form(message: Message, numbers: _Numbers) -> list[Any]:
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
