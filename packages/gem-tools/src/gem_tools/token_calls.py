"""Calls with special tokens around arguments: the forms of Kimi K3, MiniMax M3, Solar Open 2, Gemma and CWM.

==========  ==========================================================================================
model       for example
==========  ==========================================================================================
Kimi K3     ``<|open|>call tool="add"<|sep|><|open|>argument key="a" type="number"<|sep|>1<|close|>argument<|sep|>…``
MiniMax M3  ``]<]minimax[>[<invoke name="add">]<]minimax[>[<a>1]<]minimax[>[</a>]<]minimax[>[</invoke>``
Solar Open  ``<|tool_call:start|>add⏎<|tool_arg:start|>a<|tool_arg:value|>1<|tool_arg:end|>…``
Gemma       ``call:add{a:1,b:<escape>text<escape>}`` (FunctionGemma), ``call:add{a:1,b:<|"|>text<|"|>}`` (Gemma 4)
CWM         ``<tool: function>⏎terminal ls -l⏎</tool>``
==========  ==========================================================================================

Every function raises a ValueError with the reason where there is no such call.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gem.tools.calls import ToolCall, argument_object, decode

__all__ = ["angle_call", "brace_call", "channel_call", "command_call", "sentinel_call"]

_NAME = r"[\w.-]{1,256}"
_CHANNEL = re.compile(r"<\|open\|>call(?P<attributes> [^<>]{0,512})<\|sep\|>\s*")
_CHANNEL_ARGUMENT = re.compile(r"<\|open\|>argument(?P<attributes> [^<>]{0,512})<\|sep\|>")
_CHANNEL_ARGUMENT_END = "<|close|>argument<|sep|>"
_CHANNEL_END = "<|close|>call<|sep|>"
_ATTRIBUTE = re.compile(r'(\w{1,64})="([^"]*)"')

_ANGLE = "]<]minimax[>["
_ANGLE_CALL = re.compile(rf'{re.escape(_ANGLE)}<invoke name="(?P<name>{_NAME})">\s*')
_ANGLE_TAG = re.compile(rf"{re.escape(_ANGLE)}<(?P<end>/?)(?P<name>[^<>/\n]{{1,256}})>")
_DEEPEST = 32
"""Levels of elements in an argument."""

_SENTINEL_NAME = re.compile(rf"\s*(?P<name>{_NAME})\s*(?=<)")
_SENTINEL_ARGUMENT = re.compile(rf"<\|tool_arg:start\|>(?P<key>{_NAME})<\|tool_arg:value\|>")
_SENTINEL_ARGUMENT_END = "<|tool_arg:end|>"
_SENTINEL_END = "<|tool_call:end|>"

_BRACE_NAME = re.compile(rf"(?:<call>)?(?:call:)?(?P<name>{_NAME})(?=\{{)")
_BRACE_PART = re.compile(
    r"(?P<mark><escape>|<\|\"\|>)(?P<text>.*?)(?P=mark)|\"(?:\\.|[^\"\\])*\""
    r"|(?P<before>[{,]\s*)(?P<key>[\w.-]+)\s*:|[{}]",
    re.DOTALL,
)

_COMMAND = re.compile(rf"<tool: (?P<label>{_NAME})>?\s*")
_COMMAND_END = "</tool>"
_COMMAND_NAME = re.compile(rf"(?P<name>{_NAME})\s*")


def channel_call(text: str, position: int) -> tuple[ToolCall, int]:
    """Read a call of Kimi K3's tools channel; values of other types than ``string`` are JSON."""
    opening = _CHANNEL.match(text, position)
    name = _attributes(opening["attributes"]).get("tool") if opening else None
    if opening is None or not name:
        raise ValueError("the call has no name")
    position = opening.end()
    arguments: dict[str, Any] = {}
    while (argument := _CHANNEL_ARGUMENT.match(text, position)) is not None:
        attributes = _attributes(argument["attributes"])
        value, position = _until(text, argument.end(), _CHANNEL_ARGUMENT_END)
        if attributes.get("type", "string") == "string":
            _add(arguments, attributes.get("key", ""), value)
        else:
            _add(arguments, attributes.get("key", ""), decode(value.strip(), 0)[0])
        position = _after_blanks(text, position)
    return ToolCall(name, arguments), _closed(text, position, _CHANNEL_END)


def angle_call(text: str, position: int) -> tuple[ToolCall, int]:
    """Read a call of MiniMax M3: each argument is an element, and may hold others.

    Elements of one name, or named ``item``, are a list.
    """
    opening = _ANGLE_CALL.match(text, position)
    if opening is None:
        raise ValueError("the call has no name")
    # Of each open element: its name, the elements in it, and where it begins.
    open_elements: list[tuple[str, list[tuple[str, Any]], int]] = [("invoke", [], opening.end())]
    position = opening.end()
    while (tag := _ANGLE_TAG.search(text, position)) is not None:
        name, inner, begin = open_elements[-1]
        if not tag["end"]:
            if len(open_elements) > _DEEPEST:
                raise ValueError(f"nested more than {_DEEPEST} levels deep")
            open_elements.append((tag["name"], [], tag.end()))
        elif tag["name"] != name:
            break
        elif len(open_elements) == 1:
            content = _grouped(inner) if inner else {}
            return ToolCall(
                opening["name"], content if isinstance(content, dict) else {"item": content}, untyped=True
            ), tag.end()
        else:
            open_elements.pop()
            open_elements[-1][1].append((name, _grouped(inner) if inner else text[begin : tag.start()]))
        position = tag.end()
    raise ValueError(f"<{open_elements[-1][0]}> is not closed")


def sentinel_call(text: str, position: int) -> tuple[ToolCall, int]:
    """Read what follows Solar Open 2's ``<|tool_call:start|>``: a name, and arguments that are texts."""
    heading = _SENTINEL_NAME.match(text, position)
    if heading is None:
        raise ValueError("the call has no name")
    position = heading.end()
    arguments: dict[str, Any] = {}
    while (argument := _SENTINEL_ARGUMENT.match(text, position)) is not None:
        value, position = _until(text, argument.end(), _SENTINEL_ARGUMENT_END)
        _add(arguments, argument["key"], value)
        position = _after_blanks(text, position)
    return ToolCall(heading["name"], arguments, untyped=True), _closed(text, position, _SENTINEL_END)


def brace_call(text: str, position: int) -> tuple[ToolCall, int]:
    """Read Gemma's object without quotation marks around its keys, and with tokens around its texts."""
    heading = _BRACE_NAME.match(text, position)
    if heading is None:
        raise ValueError("the call has no name")
    written, end, depth = list[str](), heading.end(), 0
    for part in _BRACE_PART.finditer(text, end):
        depth += {"{": 1, "}": -1}.get(part[0][0], 0)
        written += [text[end : part.start()], _as_json(part)]
        end = part.end()
        if depth == 0:
            break
    if depth:
        raise ValueError("a brace is not closed")
    return ToolCall(heading["name"], argument_object("".join(written))), end


def command_call(text: str, position: int) -> tuple[ToolCall, int]:
    """Read a command of CWM: the tool is its first word, or else the label, and the rest is a text."""
    opening = _COMMAND.match(text, position)
    if opening is None:
        raise ValueError("the call has no name")
    command, end = _until(text, opening.end(), _COMMAND_END)
    if opening["label"] != "function":
        name = opening["label"]
    else:
        heading = _COMMAND_NAME.match(command)
        if heading is None:
            raise ValueError("the call has no name")
        name, command = heading["name"], command[heading.end() :]
    return ToolCall(name, {"code" if name == "python" else "command": command.strip()}), end


def _as_json(part: re.Match[str]) -> str:
    if part["mark"]:
        return json.dumps(part["text"])
    return f'{part["before"]}"{part["key"]}":' if part["key"] else part[0]


def _attributes(written: str) -> dict[str, str]:
    return {key: value.replace("&quot;", '"').replace("&amp;", "&") for key, value in _ATTRIBUTE.findall(written)}


def _add(arguments: dict[str, Any], key: str, value: Any) -> None:
    if not key:
        raise ValueError("an argument has no name")
    if key in arguments:
        raise ValueError(f"the argument {key} is given twice")
    arguments[key] = value


def _grouped(elements: list[tuple[str, Any]]) -> Any:
    """Return the elements within another one as an object, or as a list."""
    values: dict[str, list[Any]] = {}
    for name, value in elements:
        values.setdefault(name, []).append(value)
    if values.keys() == {"item"}:
        return values["item"]
    return {name: some if len(some) > 1 else some[0] for name, some in values.items()}


def _until(text: str, begin: int, closing: str) -> tuple[str, int]:
    """Return what stands before a mark, and the index after the mark."""
    end = text.find(closing, begin)
    if end < 0:
        raise ValueError(f"{closing} is missing")
    return text[begin:end], end + len(closing)


def _closed(text: str, position: int, closing: str) -> int:
    if not text.startswith(closing, position):
        raise ValueError(f"{closing} is missing")
    return position + len(closing)


def _after_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position
