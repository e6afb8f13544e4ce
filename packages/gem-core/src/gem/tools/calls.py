"""Reading tool calls from a model's output: from its text, and from native calls.

There are two kinds of text syntax. A tag of the tool's own holds one string argument, ``<search>capital of
Peru</search>``. ``<tool_call>`` holds the name and all arguments, in one of these forms::

    <tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>
    <tool_call>[{"name": "add", "parameters": {"a": 1, "b": 2}}, …]</tool_call>
    <tool_call><tool_name>add</tool_name><arguments>{"a": 1, "b": 2}</arguments></tool_call>
    <tool_call><function=add><parameter=a>1</parameter><parameter=b>2</parameter></function></tool_call>
    <tool_call>add<arg_key>a</arg_key><arg_value>1</arg_value>…</tool_call>

Hermes and Qwen write the first, the original GEM the third, Qwen3-Coder the fourth, GLM the last. In a text without
``<tool_call>``, ``<function=NAME>`` begins a call by itself; it may then hold a JSON object, the form of Llama 3.1.

Every function accepts any input that a model or a careless caller can produce, in time linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gem.tools.json_values import copied, decoded
from gem.tools.xml_calls import XmlCall, function_call, key_value_call

__all__ = ["ToolCall", "native_calls", "tagged", "text_call", "text_calls"]

_MOST_FAULTS = 16
"""Maximum number of unreadable calls in one text. Without it, a text could cost time in its square."""
_MOST_CALLS = 64
"""Maximum number of calls read in one text."""

_OPEN, _CLOSE, _FUNCTION = "<tool_call>", "</tool_call>", "<function="
_BEGINNING = re.compile(
    r"\s*(?:(?P<json>[{\[])|(?P<tags><tool_name>)|(?P<xml><function=)|(?P<keys>[\w.-]{1,256}\s*<(?:arg_key>|/tool_call>)))"
)
_BLOCK_END = re.compile(r"\s*(?:</tool_call>|\Z)")
_ARGUMENTS = re.compile(r"\s*<arguments>")
_JSON_FUNCTION = re.compile(r"<function=([\w.-]{1,256})>\s*(?=\{)")
_FUNCTION_END = re.compile(r"\s*</function>")


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
    untyped: bool = False
    """Whether the arguments are texts, to which the tool's schema gives types."""
    start: int = field(default=0, compare=False)
    """Index of the call's beginning in the text."""


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
    """Return the first well-formed call of :func:`text_calls`, or else the first malformed one, or None."""
    calls = text_calls(text)
    return next((call for call in calls if call.error is None), calls[0] if calls else None)


def text_calls(text: str) -> list[ToolCall]:
    """Return the calls in the ``<tool_call>`` blocks of a text, in order.

    A block that cannot be read is a call with an ``error`` and no name. A block that never closes is not a call; the
    closing tag may be missing only after a complete call at the very end, because servers cut off stop words. Of a text
    with too many calls, the last one says that the rest was not read.
    """
    if _OPEN in text:
        return _calls(text, _OPEN, _CLOSE, _read_block)
    return _calls(text, _FUNCTION, "", _read_function) if _FUNCTION in text else []


def native_calls(action: object) -> list[ToolCall]:
    """Return the native calls of an assistant message, malformed ones with an ``error``.

    These are the entries of ``tool_calls``, the form of OpenAI's API, or else the content parts of the type
    ``tool_use``, the form of Anthropic's. Empty for any other action.
    """
    if not isinstance(action, Mapping):
        return []
    calls = action.get("tool_calls")
    if isinstance(calls, (list, tuple)) and calls:
        return [_native_call(call) for call in calls]
    content = action.get("content")
    if not isinstance(content, (list, tuple)):
        return []
    uses = [part for part in content if isinstance(part, Mapping) and part.get("type") == "tool_use"]
    return [_call(use.get("name"), use.get("input"), use.get("id")) for use in uses]


def _native_call(call: object) -> ToolCall:
    if not isinstance(call, Mapping):
        return ToolCall(None, error="The call names no function.")
    # Some servers leave out the object around the function's fields.
    function = call.get("function", call)
    identifier = call.get("id")
    if not isinstance(function, Mapping):
        return _call(None, None, identifier)
    return _call(function.get("name"), _written_arguments(function), identifier)


def _call(name: object, arguments: object, identifier: object) -> ToolCall:
    known = identifier if isinstance(identifier, str) else None
    if not isinstance(name, str):
        return ToolCall(None, error="The call names no function.", id=known)
    try:
        return ToolCall(name, _arguments(arguments), id=known)
    except _NotACallError as error:
        return ToolCall(name, error=f"The arguments cannot be read: {error}.", id=known)


def _calls(text: str, opening: str, closing: str, read: Callable[[str, int], list[ToolCall]]) -> list[ToolCall]:
    """Read all calls that begin with an opening tag."""
    calls: list[ToolCall] = []
    position = faults = close = 0
    while (start := text.find(opening, position)) >= 0:
        if len(calls) >= _MOST_CALLS or faults >= _MOST_FAULTS:
            if closing:
                problem = f"After {len(calls)} calls, the rest of the text was not read."
                calls.append(ToolCall(None, end=len(text), error=problem, start=start))
            break
        try:
            found = read(text, start)
        except _NotACallError as error:
            position = start + len(opening)
            if not error.args:  # a mention of the tag, which costs nothing to recognise
                problem = "it holds no JSON object"
            else:
                faults += 1
                problem = str(error)
            if not closing:
                continue
            close = text.find(closing, position) if 0 <= close < position else close
            following = text.find(opening, position)
            if close >= 0 and not 0 <= following < close:
                position = close + len(closing)
                problem = f"The content of <tool_call> cannot be read: {problem}."
                calls.append(ToolCall(None, end=position, error=problem, start=start))
        else:
            calls += found
            position = found[-1].end
    return calls


def _read_block(text: str, start: int) -> list[ToolCall]:
    beginning = _BEGINNING.match(text, start + len(_OPEN))
    if beginning is None:
        raise _NotACallError
    form = beginning.lastgroup
    assert form is not None
    position = beginning.start(form)
    if form == "json":
        contents, position = _decode(text, position)
        read = [_content(content) for content in (contents if isinstance(contents, list) else [contents])]
        if not read:
            raise _NotACallError("a JSON object is needed")
    elif form == "tags":
        name, arguments, position = _read_tags(text, position)
        read = [ToolCall(name, arguments)]
    else:
        found = _xml(function_call if form == "xml" else key_value_call, text, position)
        position = found.end
        read = [ToolCall(found.name, found.arguments, untyped=True)]
    end = _BLOCK_END.match(text, position)
    if end is None:
        raise _NotACallError("something follows the call before </tool_call>")
    return [
        ToolCall(call.name, call.arguments, end.end(), call.error, untyped=call.untyped, start=start) for call in read
    ]


def _read_function(text: str, start: int) -> list[ToolCall]:
    """Read a call that begins with ``<function=`` and has no ``<tool_call>`` around it."""
    opening = _JSON_FUNCTION.match(text, start)
    if opening is None:
        found = _xml(function_call, text, start)
        return [ToolCall(found.name, found.arguments, found.end, untyped=True, start=start)]
    arguments, position = _decode(text, opening.end())
    end = _FUNCTION_END.match(text, position)
    if end is None:
        raise _NotACallError("something follows the call before </function>")
    return [ToolCall(opening[1], arguments, end.end(), start=start)]


def _content(content: object) -> ToolCall:
    if not isinstance(content, Mapping):
        raise _NotACallError("a JSON object is needed")
    function = content.get("function")
    if "name" not in content and isinstance(function, Mapping):
        content = function
    name = content.get("name")
    if not isinstance(name, str):
        raise _NotACallError('it needs a "name" that is a string')
    return ToolCall(name, _arguments(_written_arguments(content)))


def _written_arguments(content: Mapping[Any, Any]) -> object:
    return content.get("arguments") if "arguments" in content else content.get("parameters")


def _xml(read: Callable[[str, int], XmlCall], text: str, position: int) -> XmlCall:
    try:
        return read(text, position)
    except ValueError as error:
        raise _NotACallError(str(error)) from error


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
        if not isinstance(arguments, Mapping):
            raise _NotACallError("a JSON object is needed")
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


def _decode(text: str, position: int) -> tuple[Any, int]:
    try:
        return decoded(text, position)
    except ValueError as error:
        raise _NotACallError(f"invalid JSON, {error}") from error
