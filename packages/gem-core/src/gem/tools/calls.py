"""Reading tool calls from a model's output: from its text, and from native ``tool_calls``.

There are two text syntaxes. A tag of the tool's own holds one string argument, ``<search>capital of
Peru</search>``. ``<tool_call>`` holds the name and all arguments, as JSON (the form that Hermes and Qwen models
are trained on) or with inner tags (the form of the original GEM)::

    <tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>
    <tool_call><tool_name>add</tool_name><arguments>{"a": 1, "b": 2}</arguments></tool_call>

Every function takes any input that a model or a careless caller can produce, in time linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from gem.tools.json_values import copied, decoded

__all__ = ["ToolCall", "native_calls", "tagged", "text_call"]

_MOST_BLOCKS = 16
"""Maximum number of ``<tool_call>`` blocks read in one text; without it, a text could cost time in its square."""

_BLOCK = re.compile(r"<tool_call>\s*(?=\{|<tool_name>)")
_BLOCK_END = re.compile(r"\s*(?:</tool_call>|\Z)")
_ARGUMENTS = re.compile(r"\s*<arguments>")


@dataclass(frozen=True)
class ToolCall:
    """A call that an agent made, or tried to make."""

    name: str | None
    """Name of the called tool; None if it cannot be read."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    end: int = 0
    """Index of the call's end in the text; the model wrote the rest without knowing the result."""
    error: str | None = None
    """The reason, as a sentence for the agent, that the call cannot be carried out."""
    id: str | None = None
    """The identifier that a native call carries and that its answer must repeat."""


class _NotACallError(ValueError):
    """The text is not a call; the message gives the reason."""


def tagged(text: str, tag: str) -> tuple[str, int] | None:
    """Return the content of the first complete ``<tag>…</tag>`` and the index after it, or None."""
    start = text.find(f"<{tag}>")
    if start < 0:
        return None
    start += len(tag) + 2
    end = text.find(f"</{tag}>", start)
    return None if end < 0 else (text[start:end], end + len(tag) + 3)


def text_call(text: str) -> ToolCall | None:
    """Return the first well-formed ``<tool_call>`` of a text, or else the first malformed one, or None.

    A malformed call has an ``error`` and no name. A block that never closes is not a call. The closing
    tag may be missing only after complete JSON at the very end, because servers cut off stop words.
    """
    if "<tool_call>" not in text:
        return None
    reason = "it holds no JSON object"
    for count, block in enumerate(islice(_BLOCK.finditer(text), _MOST_BLOCKS)):
        try:
            return _read_block(text, block.end())
        except _NotACallError as error:
            if count == 0:
                reason = str(error)
    closed = tagged(text, "tool_call")
    if closed is None:
        return None
    return ToolCall(None, end=closed[1], error=f"The content of <tool_call> cannot be read: {reason}.")


def native_calls(action: object) -> list[ToolCall]:
    """Return the native calls of an assistant message, malformed ones with an ``error``.

    Empty for any other action, and for a message whose ``tool_calls`` is not a list.
    """
    calls = action.get("tool_calls") if isinstance(action, Mapping) else None
    return [_native_call(call) for call in calls] if isinstance(calls, (list, tuple)) else []


def _native_call(call: object) -> ToolCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    identifier = call.get("id") if isinstance(call, Mapping) else None
    if not isinstance(identifier, str):
        identifier = None
    if not isinstance(name, str):
        return ToolCall(None, error="The call names no function.", id=identifier)
    assert isinstance(function, Mapping)
    try:
        arguments = _arguments(function.get("arguments"))
    except _NotACallError as error:
        return ToolCall(name, error=f"The arguments cannot be read: {error}.", id=identifier)
    return ToolCall(name, arguments, id=identifier)


def _read_block(text: str, position: int) -> ToolCall:
    if text[position] == "{":
        content, position = _decode(text, position)
        name = content.get("name")
        arguments = _arguments(content.get("arguments"))
    else:
        name, arguments, position = _read_tags(text, position)
    end = _BLOCK_END.match(text, position)
    if end is None:
        raise _NotACallError("something follows the call before </tool_call>")
    if not isinstance(name, str):
        raise _NotACallError('it needs a "name" that is a string')
    return ToolCall(name, arguments, end.end())


def _read_tags(text: str, position: int) -> tuple[str, Mapping[str, Any], int]:
    position += len("<tool_name>")
    end = text.find("</tool_name>", position)
    if end < 0:
        raise _NotACallError("<tool_name> is not closed")
    name = text[position:end].strip()
    position = end + len("</tool_name>")
    opening = _ARGUMENTS.match(text, position)
    if opening is None:
        return name, {}, position
    end = text.find("</arguments>", opening.end())
    if end < 0:
        raise _NotACallError("<arguments> is not closed")
    return name, _arguments(text[opening.end() : end]), end + len("</arguments>")


def _arguments(value: object) -> Mapping[str, Any]:
    """Return arguments as an object: from JSON text, as chat APIs send them, or from a decoded value."""
    if isinstance(value, str):
        stripped = value.strip()
        if not stripped:
            return {}
        arguments, end = _decode(stripped, 0)
        if end < len(stripped):
            raise _NotACallError("something follows the JSON object of the arguments")
        return arguments
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _NotACallError("the arguments must be a JSON object")
    try:
        # A copy, so that no tool can change the caller's message.
        copy: Mapping[str, Any] = copied(value)
    except (TypeError, ValueError) as error:
        raise _NotACallError("the arguments are not JSON") from error
    return copy


def _decode(text: str, position: int) -> tuple[Mapping[str, Any], int]:
    try:
        value, end = decoded(text, position)
    except ValueError as error:
        raise _NotACallError(f"invalid JSON, {error}") from error
    if not isinstance(value, Mapping):
        raise _NotACallError("a JSON object is needed")
    return value, end
