"""Several calls of one text, and the forms in which published models write calls.

The forms and their odd cases are those of the tests of vLLM's and SGLang's tool parsers, in words of our own.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.tools.calls import ToolCall, native_calls, text_call, text_calls
from gem.tools.typed_arguments import typed_arguments

ARGUMENTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text() | st.none(), max_size=3)
VALUES = st.text(alphabet=st.characters(exclude_characters="<\r"), max_size=20)
NAMES = st.from_regex(r"[a-z][a-z_.-]{0,8}", fullmatch=True)
FRAGMENTS = [
    "<tool_call>",
    "</tool_call>",
    "<function=",
    "<function=f>",
    "</function>",
    "<parameter=",
    "<parameter=a>",
    "\n<parameter=b>\n",
    "</parameter>",
    "</parameter1>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<tool_name>",
    "</tool_name>",
    '{"name": "f", "arguments": {}}',
    "[",
    "]",
    "{",
    "}",
    "f",
    ">",
    " ",
    "\n",
    "\ud800",
]
NASTY_TEXT = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=30).map("".join)


def names(text: str) -> list[tuple[str | None, dict[str, Any]]]:
    """Return name and arguments of each call of a text."""
    return [(call.name, dict(call.arguments)) for call in text_calls(text)]


def block(name: str, arguments: dict[str, Any], key: str = "arguments") -> str:
    return f"<tool_call>{json.dumps({'name': name, key: arguments})}</tool_call>"


@given(st.lists(st.tuples(NAMES, ARGUMENTS, st.text(alphabet="ab \n", max_size=5)), max_size=5))
def test_all_blocks_of_a_text_are_read_in_order(written: list[tuple[str, dict[str, Any], str]]) -> None:
    """Whatever stands between them; each call ends with its block."""
    text, ends = "", []
    for name, arguments, after in written:
        text += block(name, arguments)
        ends.append(len(text))
        text += after
    calls = text_calls(text)
    assert [(call.name, call.arguments) for call in calls] == [(name, arguments) for name, arguments, _ in written]
    assert [call.end for call in calls] == ends
    assert [text.startswith("<tool_call>", call.start) for call in calls] == [True] * len(calls)


@pytest.mark.parametrize("key", ["arguments", "parameters"])
def test_parameters_are_another_word_for_arguments(key: str) -> None:
    """In a block, and natively."""
    assert names(block("f", {"a": 1}, key)) == [("f", {"a": 1})]
    assert native_calls({"tool_calls": [{"function": {"name": "f", key: '{"a": 1}'}}]}) == [ToolCall("f", {"a": 1})]


def test_a_malformed_block_between_others_is_reported_in_its_place() -> None:
    """And does not cost the others their turn."""
    calls = text_calls(f"{block('a', {})}<tool_call>{{'name': 'b'}}</tool_call> x {block('c', {})}")
    assert [call.name for call in calls] == ["a", None, "c"]
    assert "invalid JSON" in (calls[1].error or "")


def test_a_mention_of_the_tag_is_no_call() -> None:
    """Prose about ``<tool_call>``, which does not close it, hides nothing."""
    assert names(f"I use <tool_call> now: {block('f', {})}") == [("f", {})]
    assert names("<tool_call> " * 1000 + block("f", {})) == [("f", {})]


def test_a_list_of_calls_in_one_block() -> None:
    """Each entry is a call; one that is none makes the block malformed."""
    assert names('<tool_call>[{"name": "f"}, {"name": "g", "parameters": {"a": 1}}]</tool_call>') == [
        ("f", {}),
        ("g", {"a": 1}),
    ]
    for content in ("[1, 2]", '["x"]', "[null]", "[[]]", "[]", '[{"name": "f"}, "junk"]'):
        (call,) = text_calls(f"<tool_call>{content}</tool_call>")
        assert (call.name, call.error) == (None, "The content of <tool_call> cannot be read: a JSON object is needed.")


def test_a_function_around_the_fields_in_a_block() -> None:
    """As in a native call."""
    text = '<tool_call>{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}</tool_call>'
    assert names(text) == [("f", {"a": 1})]


def qwen(name: str, *parameters: tuple[str, str]) -> str:
    lines = [f"<parameter={key}>\n{value}\n</parameter>" for key, value in parameters]
    return "\n".join(["<tool_call>", f"<function={name}>", *lines, "</function>", "</tool_call>"])


@given(NAMES, st.lists(st.tuples(NAMES, VALUES), max_size=4, unique_by=lambda pair: pair[0]))
def test_the_form_of_qwen3_coder_is_read_back(name: str, parameters: list[tuple[str, str]]) -> None:
    """Values come out as they went in, and are marked as texts."""
    text = qwen(name, *parameters)
    (call,) = text_calls(text)
    assert (call.name, call.arguments, call.untyped, call.end) == (name, dict(parameters), True, len(text))


@given(NAMES, st.lists(st.tuples(NAMES, VALUES), max_size=4, unique_by=lambda pair: pair[0]))
def test_the_form_of_glm_is_read_back(name: str, parameters: list[tuple[str, str]]) -> None:
    """A name, and pairs of key and value."""
    pairs = "\n".join(f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>" for key, value in parameters)
    text = f"<tool_call>{name}\n{pairs}\n</tool_call>"
    (call,) = text_calls(text)
    assert (call.name, call.arguments, call.untyped, call.end) == (name, dict(parameters), True, len(text))


def test_several_calls_of_qwen3_coder_with_prose() -> None:
    """Prose before, between and after belongs to no call."""
    text = f"Sure.{qwen('look', ('town', 'Ulm'))}\nand {qwen('look', ('town', 'Bonn'), ('day', '2'))} done"
    assert names(text) == [("look", {"town": "Ulm"}), ("look", {"town": "Bonn", "day": "2"})]
    assert text_calls(text)[-1].end == len(text) - len(" done")


@pytest.mark.parametrize("end", ["</parameter1>", "</parameter_function>", "</parameter", ""])
def test_a_distorted_end_of_a_parameter_is_not_part_of_its_value(end: str) -> None:
    """The next parameter on a line of its own ends a value as well."""
    text = f"<tool_call><function=f>\n<parameter=a>\nUlm\n{end}\n<parameter=b>\n3\n</parameter></function></tool_call>"
    (call,) = text_calls(text)
    assert {key: value.strip() for key, value in call.arguments.items()} == {"a": "Ulm", "b": "3"}


@pytest.mark.parametrize(
    "value", ["a <b>tag</b>", "<p>1</p>\n</parameters>", "x </parameterList>", "  indented\n", "{1}"]
)
def test_markup_in_a_closed_value_is_kept(value: str) -> None:
    """Only the line break at each end belongs to the syntax."""
    assert names(qwen("f", ("a", value), ("b", "3"))) == [("f", {"a": value, "b": "3"})]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("<function=f>\n<parameter=a>\n1\n</parameter>\n</function>", [("f", {"a": "1"})]),
        ('<function=f>{"a": 1}</function>', [("f", {"a": 1})]),
        ('<function=f>{}</function> <function=g>{"b": [2]}</function>', [("f", {}), ("g", {"b": [2]})]),
        ("<function=f></function>", [("f", {})]),
        ("<function=f>", [(None, {})]),
        ("<function=f>{</function>", [(None, {})]),
        ("I call <function=f> soon", []),
        ("<tool_call>\n<function=f>\n</function>", [("f", {})]),
        ("<tool_call><function=f><parameter=a>1</parameter></function></tool_call>", [("f", {"a": "1"})]),
        ('<tool_call><function="f"><parameter="a">1</parameter></function></tool_call>', [("f", {"a": "1"})]),
        ("<tool_call><function=f><parameter=a>1", [(None, {})]),
        ("<tool_call><function=f><parameter=a>\n1\n</function></tool_call>", [("f", {"a": "1"})]),
    ],
)
def test_variants_of_function_tags(text: str, read: list[tuple[str, dict[str, Any]]]) -> None:
    """Without ``<tool_call>`` around, with JSON inside, cut off at a stop word, in one line, malformed, or no call."""
    assert names(text) == read


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<function=f>\n<parameter=a>\n1", "<parameter= is not closed"),
        ("<function=f>x", "not closed by </function>"),
        ("<function=f", "no name"),
        ("f<arg_key>a", "<arg_key> is not closed"),
        ("f<arg_key>a</arg_key>", "no <arg_value>"),
    ],
)
def test_a_malformed_block_of_tags_says_what_is_wrong(content: str, reason: str) -> None:
    """Like one of JSON."""
    call = text_call(f"<tool_call>{content}</tool_call>")
    assert call is not None
    assert reason in (call.error or "")


def test_a_form_of_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent's call is not played as a move, and the answer names the package."""
    monkeypatch.setitem(sys.modules, "gem.tools.call_formats", None)
    for text in ('[TOOL_CALLS][{"name": "f", "arguments": {}}]', "[f(a=1)]", "<tool_call>[f(a=1)]</tool_call>"):
        (call,) = text_calls(text)
        assert "pip install gem-tools" in (call.error or "")
    assert names(block("f", {})) == [("f", {})]


def test_calls_of_anthropics_api_are_read() -> None:
    """``tool_use`` parts of the content, with ``input`` and ``id``."""
    message = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
            {"type": "tool_use", "id": 3, "name": None},
        ],
    }
    first, second, third = native_calls(message)
    assert (first, second) == (ToolCall("f", {"a": 1}, id="toolu_1"), ToolCall("g", id="toolu_2"))
    assert (third.name, third.id) == (None, None)
    assert third.error is not None


def test_a_flat_native_call_is_read() -> None:
    """Some servers leave out the object ``function``."""
    assert native_calls({"tool_calls": [{"id": "1", "name": "f", "arguments": "{}"}]}) == [ToolCall("f", id="1")]


def test_too_many_calls_are_read_in_part_and_the_agent_is_told() -> None:
    """After the last one that counts, an error says that the rest was not read."""
    calls = text_calls(block("f", {}) * 100)
    assert len(calls) == 65
    assert calls[-1].error == "After 64 calls, the rest of the text was not read."
    faults = text_calls("<tool_call>{</tool_call>" * 100)
    assert len(faults) == 17
    assert "not read" in (faults[-1].error or "")


@given(NASTY_TEXT)
def test_no_text_raises_and_calls_follow_each_other(text: str) -> None:
    """Calls lie within the text, in order, and each has a name or an error."""
    last = ToolCall(None)
    for call in text_calls(text):
        assert last.end <= call.start < call.end <= len(text) or (call.start, call.end) == (last.start, last.end)
        assert (call.name is None) == (call.error is not None)
        last = call


def _seconds(read: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    read(text)
    return time.process_time() - start


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "unit",
    [
        "<function=f>",
        "<function=f>{",
        "<parameter=a>",
        "\n<parameter=a>\n",
        "\n<parameter=a>\n</parameter1>",
        "<parameter=a></parameter>",
        "<arg_key>a</arg_key><arg_value>",
        "<arg_key>a</arg_key><arg_value>b</arg_value>",
        "<tool_call>f",
        "<tool_call>[",
        "<tool_call>{}</tool_call>",
        '<tool_call>{"name": "f"}</tool_call>',
        "a ",
    ],
)
def test_reading_takes_linear_time(unit: str) -> None:
    """Sixteen times the text takes nowhere near 256 times as long, after an opening of each kind."""
    for opening in ("", "<tool_call>", "<tool_call><function=f>", "<function=f>", "<tool_call>f"):
        short, long = (opening + unit * (size // len(unit)) for size in (12_500, 200_000))
        limit = 64 * max(min(_seconds(text_calls, short) for _ in range(3)), 1e-5)
        assert any(_seconds(text_calls, long) < limit for _ in range(3))


SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "flag": {"type": "boolean"},
        "point": {"$ref": "#/$defs/Point"},
        "list": {"type": "array"},
        "python_list": {"type": "list"},
        "java_number": {"type": "double"},
        "any": {},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["string", "integer"]},
        "unit": {"enum": ["C", "F"]},
        "level": {"enum": [1, 2]},
        "loop": {"$ref": "#/$defs/Loop"},
    },
    "$defs": {"Point": {"type": "object"}, "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}]}},
}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("text", "42", "42"),
        ("text", "null", "null"),
        ("count", "42", 42),
        ("count", " 42\n", 42),
        ("count", "many", "many"),
        ("count", "4.5", "4.5"),
        ("count", "4.0", 4.0),
        ("count", "true", "true"),
        ("share", "3.14", 3.14),
        ("share", "3", 3),
        ("flag", "true", True),
        ("flag", "True", True),
        ("flag", "1", "1"),
        ("point", '{"x": 1}', {"x": 1}),
        ("point", "[1]", "[1]"),
        ("list", '["a"]', ["a"]),
        ("list", "[1] 2", "[1] 2"),
        ("python_list", '["a"]', ["a"]),
        ("java_number", "3.5", 3.5),
        ("any", "7", 7),
        ("any", '"7"', '"7"'),
        ("any", "word", "word"),
        ("maybe", "None", None),
        ("maybe", "null", None),
        ("maybe", "7", 7),
        ("either", "7", 7),
        ("either", "seven", "seven"),
        ("unit", "C", "C"),
        ("level", "2", 2),
        ("loop", "2", 2),
        ("unknown", "2", "2"),
        ("count", "[" * 100_000, "[" * 100_000),
    ],
)
def test_texts_get_the_types_of_the_schema(name: str, text: str, value: Any) -> None:
    """What does not fit stays a text, which the tool then refuses in its own words."""
    assert typed_arguments({name: text}, SCHEMA) == {name: value}


@pytest.mark.parametrize("schema", [None, {}, {"properties": 3}, {"properties": {"a": 3}}, {"properties": {"a": None}}])
def test_any_schema_is_accepted(schema: Any) -> None:
    """Servers publish what they like; without a schema that can be read, a text stays a text."""
    assert typed_arguments({"a": "1"}, schema) == {"a": "1"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["string", "#/a", "#/"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "anyOf", "enum", "const", "$ref", "properties", "a"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    ),
    st.text(max_size=5) | st.sampled_from(["1", "null", "[1]", "{}", "1e999"]),
)
def test_no_schema_raises(schema: Any, text: str) -> None:
    """Whatever a schema looks like."""
    typed_arguments({"a": text}, {"properties": {"a": schema}, "a": schema})
