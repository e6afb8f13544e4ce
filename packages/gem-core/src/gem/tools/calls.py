"""Reading tool calls from a model's output: from its text, and from native calls.

A tag of the tool's own holds one string argument, ``<search>capital of Peru</search>``. ``<tool_call>`` holds the name
and all arguments, in one of these forms::

    <tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>
    <tool_call>[{"name": "add", "parameters": {"a": 1, "b": 2}}, …]</tool_call>
    <tool_call><tool_name>add</tool_name><arguments>{"a": 1, "b": 2}</arguments></tool_call>
    <tool_call><function=add><parameter=a>1</parameter><parameter=b>2</parameter></function></tool_call>
    <tool_call>add<arg_key>a</arg_key><arg_value>1</arg_value>…</tool_call>

Hermes and Qwen write the first, the original GEM the third, Qwen3-Coder the fourth, GLM the last. Outside of
``<tool_call>``, ``<function=NAME>`` begins a call by itself; it may then hold a JSON object, the form of Llama 3.1. The
forms of other models are found here and read by :mod:`gem_tools.call_formats`. No call is what a text only thinks or
quotes (:func:`gem.text.spoken`).

Every function accepts any input that a model or a careless caller can produce, in time linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gem.text import spoken
from gem.tools.json_values import copied, decoded
from gem.tools.xml_calls import closed, function_call, key_value_call

__all__ = [
    "CALL_MARK",
    "ToolCall",
    "all_tagged",
    "argument_object",
    "decode",
    "named_call",
    "native_calls",
    "tagged",
    "text_call",
    "text_calls",
]

_MOST_FAULTS = 16
"""Maximum number of unreadable calls in one text. Without it, a text could cost time in its square."""
_MOST_CALLS = 64
"""Maximum number of calls read in one text."""

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_CALL = r"[\w.-]{1,256}\s*\("
_LISTED = re.compile(rf"\[\s*{_CALL}(?:\s*\w{{1,256}}\s*=|\s*\)\s*[,\]])")
_MARKS = ("<tool", "TOOL", "Tool Call", "<function", "<start_function", "invoke name=", "<|", "<｜", "_call", "call:",
          "<call>", "tool_code", "functools", ">>>", '"name"')  # fmt: skip
"""One of them is in every text with calls that is no list of calls of Python."""
_FIELDS = (
    r'"(?:name|function)"\s*:\s*"[^"\n]{1,256}"\s*,\s*"(?:arguments|parameters)"\s*:|"function"\s*:\s*\{\s*"name"\s*:'
)
CALL_MARK = (
    r"<(?!\w{0,32}\|>|[^<>\s]{0,48}(?:[_▁:]end\b|end[_▁]|argument))(?:[|｜]?\w{1,16}[:|｜])?[|｜]?(?:\w{1,16}_)?"
    r"(?:tool|function|invoke)[_▁](?:call|request|tool)s?(?:[_▁:]\w{1,16}){0,2}[|｜]?>"
)
"""A mark that speaks of calls, as ``<function_calls>``, ``<|tool_call_begin|>`` and ``<｜DSML｜tool_calls>`` do."""
_MARK = (
    rf"(?P<own>{_OPEN})"
    r"|(?P<function><function(?:=|[\sĠ]?name=)(?=[^<>\n]{1,256}>\s*(?:[{<]|\Z)))"
    rf"|{CALL_MARK}(?:function<｜tool_sep｜>)?|<TOOLCALL>|<start_function_call>|<(?:[\w｜]{{1,16}}[:｜])?invoke name="
    r"|\]<\]minimax\[>\[<(?:tool_call>|invoke name=)|<\|open\|>(?:tools<\|sep\|>|call )|<tool: |\[TOOL_CALLS\]"
    r"|<\|(?:python_start|python_tag|START_ACTION|tools_prefix)\|>|<\|action_start\|>\s?<\|plugin\|>"
    r"|\bfunctools\s*[\[{]|```tool_code\n|\*\*Tool Call:\*\*\n```json\n|>>>(?=[\w.-]{1,256}\n\s{0,16}\{)"
    r"|(?:(?:(?m:^)|(?<=<channel\|>))call:|<call>)(?=[\w.-]{1,256}\{)|(?:<\|start\|>assistant)?(?:<\|channel\|>\w{1,32})?"
    r" ?\bto=(?!(?:self|user)<)[\w.-]{1,256}[^\n]{0,64}<\|message\|>(?!\s*<\w+:)"
)
_OPENING = rf'{_MARK}|(?:\[\s*)?\{{\s*(?:"type"\s*:\s*"function"\s*,\s*)?(?:{_FIELDS})|{_LISTED.pattern}'
"""Where calls begin; all but the first two are read by :mod:`gem.tools.call_formats`, which gem-tools brings."""
_ANY_MARK, _NEXT_MARK = re.compile(_MARK), re.compile(rf"\s*(?:{_MARK})")
_BEGINNING = re.compile(
    r"\s*(?:(?P<json>\{|\[(?!\s*[\w.-]+\s*\())|(?P<tags><tool_name>)|(?P<xml><function=(?![^<>\n]{1,256}>\s*\{))"
    r"|(?P<keys>[\w.-]{1,256}\s*<(?:tool_sep|arg_key|/tool_call)>))"
)
_OTHER_CONTENT = re.compile(
    rf"\s*(?:(?:\[\s*)?{_CALL}|(?:function\n)?[\w.-]{{1,256}}\s*\{{|<(?:function=|[\w:｜]{{0,16}}invoke name=))"
)
"""What only :mod:`gem.tools.call_formats` reads in ``<tool_call>``."""
_BLOCK_END, _TEXT_END = re.compile(r"\s*(?:</tool_call>|\Z)"), re.compile(r"\s*\Z")
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
    untyped: bool = False
    """Whether the arguments are texts, to which the tool's schema gives types."""
    start: int = field(default=0, compare=False)
    """Index of the call's beginning in the text."""


def tagged(text: str, tag: str) -> tuple[str, int] | None:
    """Return the content of the first complete ``<tag>…</tag>`` that a text says itself and the index after it."""
    return next(iter(all_tagged(text, tag)), None)


def all_tagged(text: str, tag: str) -> list[tuple[str, int]]:
    """Return the content of each complete ``<tag>…</tag>`` that a text says itself and the index after it."""
    if f"</{tag}>" not in text:
        return []

    def read(opening: re.Match[str]) -> tuple[list[tuple[str, int]], int]:
        end = text.find(f"</{tag}>", opening.end())
        return ([], len(text)) if end < 0 else ([(text[opening.end() : end], end + len(tag) + 3)], end + len(tag) + 3)

    return spoken(text, re.escape(f"<{tag}>"), read)


def text_call(text: str) -> ToolCall | None:
    """Return the first well-formed call of :func:`text_calls`, or else the first malformed one, or None."""
    calls = text_calls(text)
    return next((call for call in calls if call.error is None), calls[0] if calls else None)


def text_calls(text: str) -> list[ToolCall]:
    """Return the calls that a text makes, in order; see :func:`gem.text.spoken` for what it only thinks or quotes.

    What cannot be read is a call with an ``error`` and no name, also if the text ends in its middle. A mark that no
    content of a call follows is not a call. The closing tag may be missing after a complete call at the very end,
    because servers cut off stop words. Of a text with too many calls, the last one says that the rest was not read.
    """
    if not any(mark in text for mark in _MARKS) and _LISTED.search(text) is None:
        return []
    count = faults = 0

    def read(opening: re.Match[str]) -> tuple[list[ToolCall], int]:
        nonlocal count, faults
        if count >= _MOST_CALLS or faults >= _MOST_FAULTS:
            problem = f"After {count} calls, the rest of the text was not read."
            return [ToolCall(None, end=len(text), error=problem, start=opening.start())], len(text)
        try:
            calls = _read(text, opening)
        except ValueError as error:
            calls, end = _unread(text, opening, str(error))
            faults += bool(calls)
        else:
            end = calls[-1].end
        count += len(calls)
        return calls, end

    return spoken(text, _OPENING, read)


def native_calls(action: object) -> list[ToolCall]:
    """Return the native calls of an assistant message, malformed ones with an ``error``.

    These are the entries of ``tool_calls`` or the one ``function_call``, the forms of OpenAI's API, or else the
    content parts of the type ``tool_use``, the form of Anthropic's. Empty for any other action.
    """
    if not isinstance(action, Mapping):
        return []
    legacy = action.get("function_call")
    calls = action.get("tool_calls") or ([legacy] if legacy else None)
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
    return _call(function.get("name"), function.get("arguments", function.get("parameters")), identifier)


def _call(name: object, arguments: object, identifier: object) -> ToolCall:
    known = identifier if isinstance(identifier, str) else None
    if not isinstance(name, str):
        return ToolCall(None, error="The call names no function.", id=known)
    try:
        return ToolCall(name, argument_object(arguments), id=known)
    except ValueError as error:
        return ToolCall(name, error=f"The arguments cannot be read: {error}.", id=known)


def _read(text: str, opening: re.Match[str]) -> list[ToolCall]:
    """Read the calls at an opening, or raise a ValueError: with the reason, or without one for a mere mention."""
    start = opening.start()
    content = opening.end() if opening["own"] else start
    beginning = _BEGINNING.match(text, content) if opening["own"] or opening["function"] else None
    if beginning is None:
        if opening["own"] and _OTHER_CONTENT.match(text, content) is None:
            raise ValueError
        try:
            from gem.tools.call_formats import read_calls
        except ImportError as error:
            raise ValueError("this form needs gem-tools; run: pip install gem-tools") from error
        calls: list[ToolCall] = read_calls(text, start)
        return calls
    form = str(beginning.lastgroup)
    position = beginning.start(form)
    if form == "json":
        contents, position = decode(text, position)
        read = [named_call(content) for content in (contents if isinstance(contents, list) else [contents])]
        if not read:
            raise ValueError("a JSON object is needed")
    elif form == "tags":
        name, position = closed(text, beginning.end(), "tool_name")
        arguments = _ARGUMENTS.match(text, position)
        written, position = closed(text, arguments.end(), "arguments") if arguments else ("", position)
        read = [ToolCall(name.strip(), argument_object(written))]
    else:
        found = (function_call if form == "xml" else key_value_call)(text, position)
        position = found.end
        read = [ToolCall(found.name, found.arguments, untyped=True)]
    if opening["own"]:
        end = _BLOCK_END.match(text, position)
        if end is None:
            raise ValueError("something follows the call before </tool_call>")
        position = end.end()
    return [replace(call, end=position, start=start) for call in read]


def _unread(text: str, opening: re.Match[str], problem: str) -> tuple[list[ToolCall], int]:
    """Return the answer to what is no call, none if a mark is only mentioned, and where the search goes on."""
    start, position = opening.span()
    begins_line = text[max(start - 1, 0) : start] in ("", "\n", ">")
    nested = _NEXT_MARK.match(text, position)
    if not problem and (_TEXT_END.match(text, position) or (begins_line and nested is None)):
        problem = "it holds no call"
    while problem and nested is not None:  # marks within the call itself
        position = nested.end()
        nested = _NEXT_MARK.match(text, position)
    following = _ANY_MARK.search(text, position)
    end = len(text) if following is None else following.start()
    close = text.find(_CLOSE, opening.end(), end) if opening["own"] else -1
    if not problem and close < 0:
        return [], position
    end = end if close < 0 else close + len(_CLOSE)
    what = f"The content of {_OPEN}" if opening["own"] else "A call"
    told = f"{what} cannot be read: {problem or 'it holds no call'}."
    return [ToolCall(None, end=end, error=told, start=start)], end


def named_call(content: object) -> ToolCall:
    """Return the call that a JSON object describes, or raise a ValueError with the reason that it does not."""
    if not isinstance(content, Mapping):
        raise ValueError("a JSON object is needed")
    function = content.get("function")
    if "name" not in content and isinstance(function, Mapping):
        content = function
    name = next((content[key] for key in ("name", "tool_name", "function") if key in content), None)
    if not isinstance(name, str):
        raise ValueError('it needs a "name" that is a string')
    given = next((content[key] for key in ("arguments", "parameters", "args") if key in content), None)
    return ToolCall(name, argument_object(given))


def argument_object(value: object) -> Mapping[str, Any]:
    """Return arguments as an object: from JSON text, as chat APIs send them, or from a decoded value.

    Raises a ValueError with the reason if they are none.
    """
    if isinstance(value, str):
        stripped = value.strip()
        if not stripped:
            return {}
        arguments, end = decode(stripped, 0)
        if end < len(stripped):
            raise ValueError("something follows the JSON object of the arguments")
        if not isinstance(arguments, Mapping):
            raise ValueError("a JSON object is needed")
        return arguments
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError("the arguments must be a JSON object")
    try:
        # A copy, so that no tool can change the caller's message.
        copy: Mapping[str, Any] = copied(value)
    except (TypeError, ValueError) as error:
        raise ValueError("the arguments are not JSON") from error
    return copy


def decode(text: str, position: int) -> tuple[Any, int]:
    """Return the JSON value at a position, and the index after it; a ValueError with the reason if there is none."""
    try:
        return decoded(text, position)
    except ValueError as error:
        raise ValueError(f"invalid JSON, {error}") from error
