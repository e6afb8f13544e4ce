"""The interface of tools, and the reading of calls."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentTypeError, NotSupportedError, ToolError
from gem.tools import Tool, ToolCall, ToolResult
from gem.tools.calls import native_calls, tagged, text_call

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
ARGUMENTS = st.dictionaries(st.text(), JSON, max_size=4)
TAGS = [
    "<tool_call>",
    "</tool_call>",
    "<tool_name>",
    "</tool_name>",
    "<arguments>",
    "</arguments>",
    "<echo>",
    "</echo>",
]
MARKS = ["{", "}", '"', '"name"', '"echo"', "\\", "[", "]", ",", ":", " ", "\n", "1e999", "NaN", "\ud800", "\x00", "ß"]
FRAGMENTS = st.sampled_from([*TAGS, *MARKS])
SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NASTY_TEXT = st.lists(FRAGMENTS | st.text(max_size=3), max_size=30).map("".join)


class Echo(Tool):
    name = "echo"
    description = "Say it again."
    parameters = SCHEMA
    tag: str | None = "echo"

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        return ToolResult(arguments["text"])


class Raising(Tool):
    name = "raising"

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        raise self.error


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "statement", ["import gem.tools", "from gem.tools import Tool, ToolEnvWrapper, ToolResult, tool"]
)
def test_pydantic_waits_for_the_first_function_tool(statement: str) -> None:
    """Neither the package nor the names in it load pydantic."""
    code = f"import sys; {statement}; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_importing_the_package_loads_none_of_its_modules() -> None:
    """``import gem.tools`` alone does not even load the wrapper."""
    code = "import sys, gem.tools; print([name for name in sys.modules if name.startswith('gem.tools.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    """``__all__`` and what can be imported do not drift apart."""
    import gem.tools

    assert all(getattr(gem.tools, name) is not None for name in gem.tools.__all__)
    assert sorted(gem.tools.__all__) == gem.tools.__all__
    assert set(gem.tools.__all__) <= set(dir(gem.tools))
    with pytest.raises(AttributeError, match="nothing"):
        _ = gem.tools.nothing


@given(ARGUMENTS, st.text(alphabet=st.characters(exclude_characters="<>`~[{\"'“”‘’«»"), max_size=20))
def test_a_written_call_is_read_back(arguments: dict[str, Any], around: str) -> None:
    """Any JSON object of arguments comes out of the block as it went in, whatever it contains."""
    block = f"<tool_call>\n{json.dumps({'name': 'echo', 'arguments': arguments})}\n</tool_call>"
    call = text_call(f"{around}{block}{around}")
    assert call == ToolCall("echo", arguments, end=len(around) + len(block))


@given(ARGUMENTS)
def test_a_native_call_is_read_back(arguments: dict[str, Any]) -> None:
    """Arguments come out of a native call, as JSON text or decoded."""
    for written in (json.dumps(arguments), arguments):
        message = {"role": "assistant", "tool_calls": [{"id": "7", "function": {"name": "f", "arguments": written}}]}
        assert native_calls(message) == [ToolCall("f", arguments, id="7")]


def test_native_arguments_are_copied() -> None:
    """A tool that changes its arguments does not change the caller's message."""
    arguments = {"list": [1]}
    call = native_calls({"tool_calls": [{"function": {"name": "f", "arguments": arguments}}]})[0]
    call.arguments["list"].append(2)
    assert arguments == {"list": [1]}


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ('<tool_call>{"name": "f"}</tool_call>', "f", {}),
        ('<tool_call>{"name": "f", "arguments": null}</tool_call>', "f", {}),
        ('<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>', "f", {"a": 1}),
        ('<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}</tool_call>', "f", {"a": "</tool_call>"}),
        ('I write <tool_call> now. <tool_call>{"name": "f"}</tool_call>', "f", {}),
        ('<tool_call>{json}</tool_call> <tool_call>{"name": "f"}</tool_call>', "f", {}),
        ('<tool_call>{"name": "f"}</tool_call><tool_call>{"name": "g"}</tool_call>', "f", {}),
        ('<tool_call>{"name": "f"}', "f", {}),
        ('<tool_call>{"name": "f"}\n\n', "f", {}),
        (
            f'<tool_call>{{"name": "f", "arguments": {{"a": {json.dumps([[]] * 99)}}}}}</tool_call>',
            "f",
            {"a": [[]] * 99},
        ),
        ("<tool_call><tool_name> f </tool_name></tool_call>", "f", {}),
        ("<tool_call>\n<tool_name>f</tool_name>\n<arguments>\n</arguments>\n</tool_call>", "f", {}),
        ('<tool_call><tool_name>f</tool_name><arguments> {"a": 1} </arguments></tool_call>', "f", {"a": 1}),
    ],
)
def test_variants_of_a_block_are_read(text: str, name: str, arguments: dict[str, Any]) -> None:
    """Both contents, prose that mentions the tag, and a stop word that was cut off are understood."""
    call = text_call(text)
    assert call is not None
    assert (call.name, call.arguments, call.error) == (name, arguments, None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("f(1)", "each argument needs its name"),
        ("f 1", "it holds no call"),
        ("", "it holds no call"),
        ("{", "invalid JSON"),
        ('{"name": "f"} and more', "something follows"),
        ('{"arguments": {}}', '"name" that is a string'),
        ('{"name": 3}', '"name" that is a string'),
        ('{"name": "f", "arguments": [1]}', "must be a JSON object"),
        ('{"name": "f", "arguments": "[1]"}', "a JSON object is needed"),
        ('{"name": "f", "arguments": "{} {}"}', "something follows"),
        ('{"name": "f", "arguments": {"a": NaN}}', "NaN is not JSON"),
        ('{"name": "f", "arguments": {"a": ' + "9" * 5000 + "}}", "limit"),
        ('{"name": "f", "arguments": ' + '{"a":' * 100_000 + "}" * 100_000 + "}", "levels deep"),
        ('{"name": "f", "arguments": ' + '{"a":' * 64 + "1" + "}" * 64 + "}", "levels deep"),
        ("<tool_name>f", "<tool_name> is not closed"),
        ("<tool_name>f</tool_name><arguments>{}", "<arguments> is not closed"),
        ("<tool_name>f</tool_name><arguments>3</arguments>", "a JSON object is needed"),
    ],
)
def test_a_malformed_block_says_what_is_wrong(content: str, reason: str) -> None:
    """What cannot be read is a call without a name, whose error says why, and which ends with its tag."""
    text = f"<tool_call>{content}</tool_call>"
    call = text_call(f"{text} tail")
    assert call is not None
    assert call.name is None
    assert reason in (call.error or "")
    assert call.end == len(text)


@pytest.mark.parametrize("text", ["", "no call", "I use <tool_call> no more.", "</tool_call>", "{}"])
def test_a_text_that_only_mentions_a_call_has_none(text: str) -> None:
    """It goes to the environment."""
    assert text_call(text) is None


@pytest.mark.parametrize("text", ["<tool_call>", '<tool_call>{"name": "f", "argu', '{"name": "f", "parameters": {"a'])
def test_a_call_that_was_cut_off_is_malformed(text: str) -> None:
    """The agent is told, since a cut-off call is never a move."""
    call = text_call(text)
    assert call is not None
    assert call.error is not None


@pytest.mark.parametrize("name", [None, 3, ["f"]])
def test_a_native_call_without_a_name_is_malformed(name: object) -> None:
    """It has an error, and keeps its id, which its answer needs."""
    (call,) = native_calls({"tool_calls": [{"id": "1", "function": {"name": name}}]})
    assert (call.name, call.id) == (None, "1")
    assert call.error is not None


@pytest.mark.parametrize("arguments", [3, [1], "[1]", "{", "{} x", '"x"', {"a": float("nan")}, {"a": object()}])
def test_native_arguments_that_are_no_object_are_malformed(arguments: object) -> None:
    """The call keeps its name and gets an error."""
    (call,) = native_calls({"tool_calls": [{"function": {"name": "f", "arguments": arguments}}]})
    assert call.name == "f"
    assert "arguments cannot be read" in (call.error or "")


@pytest.mark.parametrize(
    "action", [None, b"x", 3, [], {}, {"tool_calls": None}, {"tool_calls": "f"}, {"tool_calls": []}]
)
def test_what_has_no_list_of_calls_has_no_native_calls(action: object) -> None:
    """Anything can be asked for native calls."""
    assert native_calls(action) == []


@pytest.mark.parametrize(
    "entry", [None, 3, "f", [], {}, {"function": None}, {"function": "f"}, {"id": 3, "function": {}}]
)
def test_an_entry_that_is_no_call_is_malformed(entry: object) -> None:
    """Each entry of ``tool_calls`` yields one call, malformed or not, so that each can be answered."""
    (call,) = native_calls({"tool_calls": [entry]})
    assert (call.name, call.id) == (None, None)


@given(NASTY_TEXT)
def test_reading_never_raises(text: str) -> None:
    """No text makes the reading raise, and a call ends within the text."""
    tool = Echo()
    for call in (text_call(text), tool.parse(text)):
        assert call is None or 0 < call.end <= len(text)
    answered = tool.respond(text)
    assert answered is None or text.startswith(answered[0])


def _seconds(read: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    read(text)
    return time.process_time() - start


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "unit",
    [
        "<tool_call>",
        "<tool_call>{",
        '<tool_call>{"',
        '<tool_call>{"name":"',
        "<tool_call> ",
        "<tool_call><tool_name>",
        "<tool_call>{}</tool_call>",
        "<echo>",
        " ",
    ],
)
def test_reading_takes_linear_time(unit: str) -> None:
    """Sixteen times the text takes nowhere near 256 times as long, after an opening of each kind."""
    tool = Echo()
    for opening in ("", "<tool_call>", '<tool_call>{"name": "echo", "arguments": {}}'):
        short, long = (opening + unit * (size // len(unit)) for size in (62_500, 1_000_000))
        limit = 64 * max(min(_seconds(tool.respond, short) for _ in range(5)), 1e-5)
        assert any(_seconds(tool.respond, long) < limit for _ in range(5))


def test_tagged_finds_the_first_complete_pair() -> None:
    """The first opening tag counts, up to the first closing tag after it."""
    assert tagged("</a> x <a>1</a><a>2</a>", "a") == ("1", 15)
    assert tagged("<a> open", "a") is None
    assert tagged("<A>1</A>", "a") is None


def test_a_tool_is_called_by_its_tag_or_by_its_name() -> None:
    """The content of the tag, without surrounding space, is the required argument."""
    tool = Echo()
    assert tool.respond("I say <echo> hi </echo> and more") == ("I say <echo> hi </echo>", ToolResult("hi"))
    block = '<tool_call>{"name": "echo", "arguments": {"text": "hi"}}</tool_call>'
    assert tool.respond(f"{block} and more") == (block, ToolResult("hi"))
    assert tool.respond('<tool_call>{"name": "other", "arguments": {"text": "echo"}}</tool_call>') is None
    assert tool.respond("nothing") is None


def test_the_schema_is_a_copy() -> None:
    """Whoever changes a schema for an API does not change the tool."""
    tool = Echo()
    schema = tool.to_openai()
    assert schema == {
        "type": "function",
        "function": {"name": "echo", "description": "Say it again.", "parameters": Echo.parameters},
    }
    schema["function"]["parameters"]["properties"].clear()
    assert tool.to_openai()["function"]["parameters"] == Echo.parameters


def test_instructions_show_the_syntax() -> None:
    """Somebody who follows the instructions makes a call that the tool understands."""
    assert "<echo>text</echo>" in Echo().instruction_string()

    by_name = Echo()
    by_name.tag = None
    text = by_name.instruction_string()
    assert '<tool_call>{"name": "echo", "arguments": {...}}</tool_call>' in text
    assert json.dumps(Echo.parameters) in text


def test_a_tool_without_a_schema_is_called_by_text_only() -> None:
    """It says so when asked for its function schema."""
    with pytest.raises(NotSupportedError, match="by text only"):
        Raising(ValueError()).to_openai()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("too big"), "raising failed: ValueError: too big"),
        (KeyError("x"), "raising failed: KeyError: 'x'"),
        (TimeoutError(), "raising failed: TimeoutError"),
        (SystemExit(3), "raising failed: SystemExit: 3"),
        (Unprintable(), "raising failed: Unprintable: no message"),
        (RuntimeError("x" * 10_000), "raising failed: RuntimeError: " + "x" * 2000),
        (RuntimeError("\ud800"), "raising failed: RuntimeError: ?"),
    ],
)
def test_an_exception_is_a_failed_call(error: BaseException, text: str) -> None:
    """Whatever a tool raises becomes a message of bounded length."""
    assert Raising(error).call(ToolCall("raising")) == ToolResult(text, ok=False)


def test_an_interrupt_passes() -> None:
    """Ctrl-C stops the program, not just the tool."""
    with pytest.raises(KeyboardInterrupt):
        Raising(KeyboardInterrupt()).call(ToolCall("raising"))


def test_a_result_of_another_type_is_a_failed_call() -> None:
    """A tool that returns something else is reported, not passed on."""

    class Wrong(Echo):
        def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
            return "text"  # type: ignore[return-value]

    result = Wrong().call(ToolCall("echo", {"text": "x"}))
    assert not result.ok
    assert "returned str" in result.text


def test_a_failing_parse_is_a_failed_call() -> None:
    """A tool that cannot even read a text is reported, and the text is all of the call."""

    class Broken(Echo):
        def parse(self, text: str) -> ToolCall | None:
            raise IndexError("oops")

    assert Broken().respond("text") == ("text", ToolResult("echo failed: IndexError: oops", ok=False))


def test_a_call_with_an_error_is_not_carried_out() -> None:
    """Its error is the answer."""
    assert Raising(ValueError()).call(ToolCall("raising", error="unreadable")) == ToolResult("unreadable", ok=False)


def test_a_result_can_be_written_as_utf8() -> None:
    """Lone surrogates become question marks; all other text stays what it is."""
    assert ToolResult("a\ud800b ß 😀").text == "a?b ß 😀"
    with pytest.raises(ArgumentTypeError, match="must be a str"):
        ToolResult(None)  # type: ignore[arg-type]


def nested(depth: int) -> Any:
    """A list in a list in a list …"""
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize("data", [object(), {1, 2}, float("nan"), b"x", nested(65), nested(5000)])
def test_a_result_holds_json_only(data: Any) -> None:
    """What nobody could write down is refused where it is made, which in a tool is a failed call."""
    with pytest.raises(ArgumentTypeError, match="JSON"):
        ToolResult("x", data=data)
    with pytest.raises(ArgumentTypeError, match="JSON"):
        ToolResult("x", content=({"type": "x", "x": data},))


def test_a_result_keeps_nothing_of_its_maker() -> None:
    """Later changes to what it was made of do not change it."""
    data = {"list": [1]}
    result = ToolResult("x", content=(data,), data=data)
    data["list"].append(2)
    assert (result.data, result.content) == ({"list": [1]}, ({"list": [1]},))
    assert ToolResult("x", data=nested(64)).data == nested(64)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"name": "two words"}, "1 to 64"),
        ({"name": "é"}, "1 to 64"),
        ({"name": "x" * 65}, "1 to 64"),
        ({"name": "x\n"}, "1 to 64"),
        ({"name": ""}, "non-empty"),
        ({"name": None}, "non-empty"),
        ({"tag": "<x>"}, "a tag is"),
        ({"tag": "tool_call"}, "a tag is"),
        ({"parameters": {"type": "object", "properties": {}}}, "one required argument"),
        ({"parameters": {"properties": {"n": {"type": "integer"}}, "required": ["n"]}}, "one required argument"),
        ({"parameters": {"x": object()}}, "not JSON"),
    ],
)
def test_a_wrong_declaration_is_refused(attributes: dict[str, Any], message: str) -> None:
    """The message says what is wrong."""
    tool = type("Declared", (Echo,), attributes)()
    with pytest.raises(ToolError, match=message):
        tool.check()
