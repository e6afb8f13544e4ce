"""The forms in which models write calls in a text, beyond those that gem-core reads itself.

:mod:`gem.tools.calls` finds the places where calls may begin, and asks this module what stands there: a block between
two marks, or an item by itself. A block holds one or more items, whatever the model:

==========  ==========================================================================================
item        for example
==========  ==========================================================================================
``json``    ``{"name": "add", "arguments": {"a": 1}}`` or a list of them (Llama 3, Mistral, Phi, Hunyuan, GigaChat);
            ``[{"add": {"a": 1}}]`` (Apertus)
``python``  ``[add(a=1), …]``, or a call a line (Llama 4, LFM2, Olmo 3, Gemma 3)
``headed``  a name, marks, and ``{"a": 1}`` (DeepSeek V3 and V3.1, Kimi K2, gpt-oss, Mistral since v11,
            Functionary, PLaMo 3)
``invoke``  ``<invoke name="add"><parameter name="a">1</parameter></invoke>`` (Anthropic, MiniMax M2, DeepSeek since
            V3.2, Step 3, GigaChat 3.5, dots, Muse)
``xml``     ``<function=add><parameter=a>1</parameter></function>`` (Seed); ``<function name="add">`` (MiniCPM)
``keys``    ``add<arg_key>a</arg_key><arg_value>1</arg_value>`` (Hunyuan, K2 Horizon)
==========  ==========================================================================================

The marks are those of the models' chat templates, as the tool parsers of vLLM and SGLang know them. Any other mark that
speaks of calls (:data:`gem.tools.calls.CALL_MARK`) opens a block too. :mod:`gem_tools.token_calls` reads arguments
between special tokens.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gem.tools.calls import CALL_MARK, ToolCall, argument_object, decode, named_call
from gem.tools.xml_calls import function_call, key_value_call
from gem_tools.token_calls import angle_call, brace_call, channel_call, command_call, sentinel_call

__all__ = ["read_calls"]

_BLOCKS = {
    "<|tool_call|>": "<|/tool_call|>",
    "<|tool_call>": "<tool_call|>",
    "<TOOLCALL>": "</TOOLCALL>",
    "<|tools_prefix|>": "<|tools_suffix|>",
    "<|python_start|>": "<|python_end|>",
    "<|python_tag|>": "<|eom_id|>",
    "<|action_start|><|plugin|>": "<|action_end|>",
    "<|action_start|> <|plugin|>": "<|action_end|>",
    "<|START_ACTION|>": "<|END_ACTION|>",
    "<|content_invoke_tool_json|>": "<|end_message|>",
    "<start_function_call>": "<end_function_call>",
    "```tool_code\n": "```",
    "**Tool Call:**\n```json\n": "```",
    "[TOOL_CALLS]": "",
    "functools": "",
    "<|function_call|>": "",
    ">>>": "",
}
"""The mark that opens a block, and the one that closes it; without one, the block ends with its items.

Of other marks, the closing one has the same words (:func:`_closing`)."""
_PROGRAM_BLOCK = "<|python_tag|>"
"""Opens a call, or else a program for Llama's own interpreter."""

_HEAD_MARK = r"<｜tool▁call▁begin｜>|<\|tool_call_begin\|>|<\|plamo:begin_tool_request:plamo\|>"
"""Opens a single call within a block."""
_BLOCK = re.compile(f"{'|'.join(map(re.escape, _BLOCKS))}|(?!{_HEAD_MARK}){CALL_MARK}")
_NAME = r"[\w.-]{1,256}"
_PREFIX = r"(?:[\w｜]{1,16}[:｜])?"
_HEAD = (
    r"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?|<\|tool_call_begin\|>\s*|function\n"
    r"|<\|plamo:begin_tool_request:plamo\|><\|plamo:begin_tool_name:plamo\|>"
    r"|(?:<\|start\|>assistant)?(?:<\|channel\|>\w{1,32})? ?to="
)
_BETWEEN = re.compile(
    r"\s*(?:[;,:]\s*|<｜tool_sep｜>\s*)?"
    rf"(?:<｜tool_call_begin｜>\s*(?:function<｜tool_sep｜>\s*(?:{_NAME}\s*(?=<))?)?)?"
)
_ITEM = re.compile(
    rf"(?P<xml><function(?:=|[\sĠ]?name=))|(?P<invoke><{_PREFIX}invoke name=)|(?P<gemma>(?:call:|<call>){_NAME}\{{)"
    r"|(?P<channel><\|open\|>call )|(?P<angle>\]<\]minimax\[>\[<invoke name=)|(?P<command><tool: )"
    rf"|(?P<sentinel>{_NAME}\s*<\|tool_(?:arg:start|call:end)\|>)"
    rf"|(?P<headed>{_HEAD}|{_NAME}(?:\[CALL_ID\]\w{{1,64}})?(?:\[ARGS\]|\s*(?=\{{)))"
    rf"|(?P<keys>{_NAME}\s*<(?:tool_sep>|(?:\w{{1,16}}\|)?arg_key[>:]|/(?:\w{{1,16}}\|)?tool_call[>:]))"
    rf"|(?P<python>(?:\[\s*)?{_NAME}\s*\()|(?P<json>[{{\[])"
)
_HEADING = re.compile(
    rf"(?:{_HEAD})?(?P<name>{_NAME})(?::\d{{1,9}})?"
    r"(?:\[CALL_ID\]\w{1,64}|\[ARGS\]|<｜tool▁sep｜>|<\|(?:tool_call_argument_begin|constrain|message)\|>"
    r"|<\|plamo:(?:end_tool_name:plamo|begin_tool_arguments:plamo|constrain|msg)\|>"
    r"|<\|channel\|>\w{1,32}|json|code|```|\s){0,16}"
)
_ITEM_END = re.compile(
    rf"\s*(?:```\s*)?(?:<｜tool[▁_]call[▁_]end｜>|<\|tool_call_end\|>|<\|(?:call|end)\|>|</{_PREFIX}invoke>"
    r"|<\|plamo:end_tool_arguments:plamo\|>(?:<\|plamo:end_tool_request:plamo\|>)?|<\|close\|>tools<\|sep\|>"
    r"|\]<\]minimax\[>\[</tool_call>)?"
)
_TEXT_END = re.compile(r"\s*(?:<(?:[|｜][^<>]{1,32}[|｜]|/s)>\s*)*\Z")
"""The end of a text, with the tokens with which models end a turn."""
_FUNCTION_END = re.compile(r"\s*</function>")
_OBJECT = re.compile(r"\s*\{")
_JSON = re.compile(r"\s*(?:\[\s*)?\{")
_QUOTE_OR_BRACKET = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|\\.|[()\[\]{}]", re.DOTALL)
_CHARACTER_DATA = re.compile(r"\A<!\[CDATA\[(.*)\]\]>\Z", re.DOTALL)
_NAME_AS_KEY = "<|tools_suffix|>"
"""Closes a list of objects that have the name as their only key (Apertus)."""
_BUILTIN = re.compile(rf"({_NAME})\.call\(")
_CONSTANTS = {"true": True, "false": False, "null": None}

_Items = tuple[list[ToolCall], int]


def read_calls(text: str, start: int) -> list[ToolCall]:
    """Return the calls of the block or of the item that begins at an index of a text, at least one.

    Raises:
        ValueError: with the reason if they cannot be read; without one if the text only mentions a mark.
    """
    block = _BLOCK.match(text, start)
    if block is None:
        calls, end = _read_item(text, _end_of(_BETWEEN, text, start), "")
    else:
        calls, end = _read_block(text, block)
    return [replace(call, name=(call.name or "").removeprefix("functions."), end=end, start=start) for call in calls]


def _read_block(text: str, block: re.Match[str]) -> _Items:
    mark, position = block[0], block.end()
    closing = _closing(mark)
    if mark == _PROGRAM_BLOCK and not _JSON.match(text, position) and not _TEXT_END.match(text, position):
        return _program(text, position, closing)
    calls: list[ToolCall] = []
    while _ITEM.match(text, begin := _end_of(_BETWEEN, text, position)) and not _BLOCK.match(text, begin):
        found, position = _read_item(text, begin, closing)
        calls += found
    after = _end_of(_BETWEEN, text, position)
    if closing and text.startswith(closing, after):
        position = after + len(closing)
    if not calls:
        closed = closing and text.find(closing, position) >= 0 and _BLOCK.search(text, position) is None
        raise ValueError("it holds no call" if closed else "")
    return calls, position


def _closing(mark: str) -> str:
    """Return the mark that closes a block: the same words with a slash, or with the other one of a pair."""
    if mark in _BLOCKS:
        return _BLOCKS[mark]
    if mark[-2] not in "|｜":
        return f"</{mark[1:]}"
    return mark.replace("begin", "end").replace("start", "end")


def _read_item(text: str, position: int, closing: str) -> _Items:
    item = _ITEM.match(text, position)
    if item is None:
        raise ValueError
    calls, position = _READERS[str(item.lastgroup)](text, position, closing)
    after = _end_of(_BETWEEN, text, position)
    return calls, after if closing and text.startswith(closing, after) else _end_of(_ITEM_END, text, position)


def _json(text: str, position: int, closing: str) -> _Items:
    contents, position = decode(text, position)
    if closing == _NAME_AS_KEY and isinstance(contents, list):
        contents = [_with_name(content) for content in contents]
    calls = [named_call(content) for content in (contents if isinstance(contents, list) else [contents])]
    if not calls:
        raise ValueError("a JSON object is needed")
    return calls, position


def _with_name(content: object) -> object:
    """Return ``{"name": …, "arguments": …}`` for an object with the name as its only key."""
    if isinstance(content, dict) and len(content) == 1:
        ((name, arguments),) = content.items()
        return {"name": name, "arguments": arguments}
    return content


def _headed(text: str, position: int, closing: str) -> _Items:
    heading = _HEADING.match(text, position)
    if heading is None:
        raise ValueError("the call has no name")
    name, position = heading["name"], heading.end()
    if name == "python" and not text.startswith("{", position):  # gpt-oss writes its programs as they are
        return _program(text, position, "<|call|>")
    arguments, position = decode(text, position)
    return [ToolCall(name, argument_object(arguments))], position


def _program(text: str, position: int, closing: str) -> _Items:
    end = text.find(closing, position)
    end, after = (len(text), len(text)) if end < 0 else (end, end + len(closing))
    code = text[position:end].strip()
    builtin = _BUILTIN.match(code)
    if builtin is not None:
        calls, _ = _python(f"{builtin[1]}({code[builtin.end() :]}", 0, "")
        return calls, after
    return [ToolCall("python", {"code": code})], after


def _xml(text: str, position: int, closing: str) -> _Items:
    opening = text.find(">", position) + 1
    if opening and _OBJECT.match(text, opening):  # some models write JSON in it
        arguments, end = decode(text, text.index("{", opening))
        name = text[position:opening].rpartition("=")[2].strip("\"'> ")
        return [ToolCall(name, argument_object(arguments))], _end_of(_FUNCTION_END, text, end)
    name, written, end = function_call(text, position)
    plain = {key: _CHARACTER_DATA.sub(r"\1", value) for key, value in written.items()}
    return [ToolCall(name, plain, untyped=True)], end


def _keys(text: str, position: int, closing: str) -> _Items:
    name, written, position = key_value_call(text, position)
    end = text.find(closing, position) if closing else -1
    if end >= 0 and _end_of(_BETWEEN, text, position) < end:
        raise ValueError(f"something follows the call before {closing}")
    return [ToolCall(name, written, untyped=True)], position


def _python(text: str, position: int, closing: str) -> _Items:
    end = _bracket_end(text, position)
    try:
        statement = ast.parse(text[position:end].strip(), mode="eval").body
        return [
            _python_call(node) for node in (statement.elts if isinstance(statement, ast.List) else [statement])
        ], end
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("it is no call of Python") from error


def _python_call(node: ast.expr) -> ToolCall:
    if not isinstance(node, ast.Call):
        raise ValueError("it is no call of Python")
    if node.args or any(keyword.arg is None for keyword in node.keywords):
        raise ValueError("each argument needs its name, as in f(a=1)")
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        try:
            arguments[str(keyword.arg)] = ast.literal_eval(_Constants().visit(keyword.value))
        except ValueError as error:
            raise ValueError(f"the argument {keyword.arg} is no constant") from error
    return ToolCall(ast.unparse(node.func), argument_object(arguments))


class _Constants(ast.NodeTransformer):
    """Reads JSON's words for Python's constants."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_CONSTANTS[node.id]) if node.id in _CONSTANTS else node


def _bracket_end(text: str, position: int) -> int:
    """Return the index after the brackets that open first, or the end of the text."""
    depth = 0
    for found in _QUOTE_OR_BRACKET.finditer(text, position):
        if found[0] in ("(", "[", "{"):
            depth += 1
        elif found[0] in (")", "]", "}"):
            depth -= 1
            if depth <= 0:
                return found.end()
    return len(text)


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Return the index after what a pattern matches at a position, which may be nothing."""
    found = pattern.match(text, position)
    return position if found is None else found.end()


def _token(read: Callable[[str, int], tuple[ToolCall, int]]) -> Callable[[str, int, str], _Items]:
    def reader(text: str, position: int, closing: str) -> _Items:
        call, end = read(text, position)
        return [call], end

    return reader


_READERS: dict[str, Callable[[str, int, str], _Items]] = {
    "json": _json,
    "headed": _headed,
    "xml": _xml,
    "invoke": _xml,
    "keys": _keys,
    "gemma": _token(brace_call),
    "python": _python,
    "channel": _token(channel_call),
    "angle": _token(angle_call),
    "sentinel": _token(sentinel_call),
    "command": _token(command_call),
}
