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
            Functionary)
``invoke``  ``<invoke name="add"><parameter name="a">1</parameter></invoke>`` (Anthropic, MiniMax M2, DeepSeek V3.2,
            Step 3)
``xml``     ``<function=add><parameter=a>1</parameter></function>`` (Seed); ``<function name="add">`` (MiniCPM)
``keys``    ``add<arg_key>a</arg_key><arg_value>1</arg_value>`` (Hunyuan)
``gemma``   ``call:add{a:1,b:<escape>text<escape>}`` (FunctionGemma, Gemma 4)
==========  ==========================================================================================

The marks are those of the models' chat templates, as the tool parsers of vLLM and SGLang know them.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gem.tools.calls import ToolCall, argument_object, decode, named_call
from gem.tools.xml_calls import function_call, key_value_call

__all__ = ["read_calls"]

_TAGS = (
    *("tool_call", "tool_calls", "TOOLCALL", "function_calls", "antml:function_calls", "｜DSML｜function_calls"),
    *("｜DSML｜tool_calls", "function_call", "minimax:tool_call", "seed:tool_call", "longcat_tool_call"),
)
_BLOCKS = {f"<{tag}>": f"</{tag}>" for tag in _TAGS} | {
    "<|tool_call|>": "<|/tool_call|>",
    "<|tool_call>": "<tool_call|>",
    "<|tool_call_start|>": "<|tool_call_end|>",
    "<|tool_calls_section_begin|>": "<|tool_calls_section_end|>",
    "<｜tool▁calls▁begin｜>": "<｜tool▁calls▁end｜>",
    "<｜tool_calls_begin｜>": "<｜tool_calls_end｜>",
    "<|tools_prefix|>": "<|tools_suffix|>",
    "<|python_start|>": "<|python_end|>",
    "<|python_tag|>": "<|eom_id|>",
    "<|action_start|><|plugin|>": "<|action_end|>",
    "<|START_ACTION|>": "<|END_ACTION|>",
    "<start_function_call>": "<end_function_call>",
    "```tool_code\n": "```",
    "[TOOL_CALLS]": "",
    "functools": "",
    "<|function_call|>": "",
    ">>>": "",
}
"""The mark that opens a block, and the one that closes it; without one, the block ends with its items."""

_PROGRAM_BLOCK = "<|python_tag|>"
"""Opens a call, or else a program for Llama's own interpreter."""

_BLOCK = re.compile("|".join(map(re.escape, _BLOCKS)))
_NAME = r"[\w.-]{1,256}"
_PREFIX = r"(?:antml:|steptml:|｜DSML｜)?"
_HEAD = (
    r"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?|<\|tool_call_begin\|>\s*"
    r"|(?:<\|start\|>assistant)?(?:<\|channel\|>\w{1,32})? ?to="
)
_BETWEEN = re.compile(
    r"\s*(?:[;,]\s*|<｜tool_sep｜>\s*)?"
    rf"(?:<｜tool_call_begin｜>\s*(?:function<｜tool_sep｜>\s*(?:{_NAME}\s*(?=<))?)?)?"
)
_ITEM = re.compile(
    rf"(?P<xml><function(?:=|\s?name=))|(?P<invoke><{_PREFIX}invoke name=)|(?P<gemma>call:{_NAME}\{{)"
    rf"|(?P<headed>{_HEAD}|{_NAME}(?:\[CALL_ID\]\w{{1,64}})?(?:\[ARGS\]|\s*(?=\{{)))"
    rf"|(?P<keys>{_NAME}\s*<(?:tool_sep|arg_key|/tool_call)>)|(?P<python>\[?\s*{_NAME}\s*\()|(?P<json>[{{\[])"
)
_HEADING = re.compile(
    rf"(?:{_HEAD})?(?P<name>{_NAME})(?::\d{{1,9}})?"
    r"(?:\[CALL_ID\]\w{1,64}|\[ARGS\]|<｜tool▁sep｜>|<\|(?:tool_call_argument_begin|constrain|message)\|>"
    r"|<\|channel\|>\w{1,32}|json|code|```|\s){0,16}"
)
_ITEM_END = re.compile(
    rf"\s*(?:```\s*)?(?:<｜tool[▁_]call[▁_]end｜>|<\|tool_call_end\|>|<\|(?:call|end)\|>|</{_PREFIX}invoke>)?"
)
_TEXT_END = re.compile(r"\s*(?:<(?:[|｜][^<>]{1,32}[|｜]|/s)>\s*)*\Z")
"""The end of a text, with the tokens with which models end a turn."""
_FUNCTION_END = re.compile(r"\s*</function>")
_OBJECT = re.compile(r"\s*\{")
_JSON = re.compile(r"\s*(?:\[\s*)?\{")
_QUOTE_OR_BRACKET = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|\\.|[()\[\]{}]", re.DOTALL)
_GEMMA = re.compile(
    r"(?P<mark><escape>|<\|\"\|>)(?P<text>.*?)(?P=mark)|\"(?:\\.|[^\"\\])*\"|(?P<before>[{,]\s*)(?P<key>[\w.-]+)\s*:",
    re.DOTALL,
)
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
    closing = _BLOCKS[mark]
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
    return [ToolCall(name, written, untyped=True)], position


def _gemma(text: str, position: int, closing: str) -> _Items:
    begin = text.index("{", position)
    end = text.find(closing, begin) if closing else -1
    end = len(text) if end < 0 else end

    def quoted(part: re.Match[str]) -> str:
        if part["mark"]:
            return json.dumps(part["text"])
        return f'{part["before"]}"{part["key"]}":' if part["key"] else part[0]

    name = text[position + len("call:") : begin]
    return [ToolCall(name, argument_object(_GEMMA.sub(quoted, text[begin:end])))], end


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


_READERS: dict[str, Callable[[str, int, str], _Items]] = {
    "json": _json,
    "headed": _headed,
    "xml": _xml,
    "invoke": _xml,
    "keys": _keys,
    "gemma": _gemma,
    "python": _python,
}
