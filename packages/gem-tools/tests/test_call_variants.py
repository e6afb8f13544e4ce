"""Calls in more of the ways that published parsers are tested with: rarer models, and odd places and spacing.

The kinds are those of the tests of vLLM (``tests/tool_parsers``), retyped with tools and values of our own; those of
llama.cpp's formats follow their documentation. ``newer_calls.toml`` has those of models since 2025.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from gem import Env
from gem.text import extract_last_boxed_answer
from gem.tools import ToolEnvWrapper
from gem.tools.calls import text_calls
from gem.tools.typed_arguments import typed_arguments

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Calls = list[tuple[str, dict[str, Any]]]
TRAM = {"line": "7", "stop": "Markt"}
RIDE: Calls = [("tram", TRAM)]
TWO: Calls = [*RIDE, ("clock", {})]
PROSE = "One moment, I check."
NEWER = tomllib.loads(Path(__file__).with_name("newer_calls.toml").read_text(encoding="utf-8"))
"""The texts of both kinds, and the calls as JSON, or by a name for those that many have."""
CODE = 'if x < 3:\n    print("<b>", [x])\n'


def json_call(name: str, arguments: dict[str, Any]) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def step3(*calls: tuple[str, dict[str, Any]]) -> str:
    inner = "<｜tool_sep｜>".join(
        f'<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="{name}">'
        + "".join(f'<steptml:parameter name="{key}">{value}</steptml:parameter>' for key, value in arguments.items())
        + "</steptml:invoke><｜tool_call_end｜>"
        for name, arguments in calls
    )
    return f"<｜tool_calls_begin｜>{inner}<｜tool_calls_end｜>"


def minicpm(name: str, arguments: dict[str, Any]) -> str:
    inner = "".join(f'<param name="{key}">{value}</param>' for key, value in arguments.items())
    return f'<function name="{name}">{inner}</function>'


def apertus(*calls: tuple[str, dict[str, Any]]) -> str:
    return f"<|tools_prefix|>{json.dumps([{name: arguments} for name, arguments in calls])}<|tools_suffix|>"


VALID: dict[str, tuple[str, Calls]] = {
    "step 3": (step3(*RIDE), RIDE),
    "step 3 twice with prose": (f"{PROSE}\n\n{step3(*TWO)}", TWO),
    "step 3 keeps blanks": (step3(("edit", {"text": CODE})), [("edit", {"text": CODE})]),
    "step 3.5": (
        "<tool_call>\n<function=tram>\n<parameter=line>\n7\n</parameter>\n<parameter=stop>\nMarkt\n</parameter>\n"
        "</function>\n</tool_call>\n<tool_call>\n<function=clock>\n</function>\n</tool_call><|im_end|>",
        TWO,
    ),
    "gigachat 3": (f"<|message_sep|>\n\nfunction call<|role_sep|>\n{json_call('tram', TRAM)}</s>", RIDE),
    "gigachat 3 with prose": (f"{PROSE}<|message_sep|>\n\nfunction call<|role_sep|>\n{json_call('tram', TRAM)}", RIDE),
    "gigachat 3.1": (f"<|function_call|>{json_call('tram', TRAM)}", RIDE),
    "gigachat 3.1 with prose": (f"{PROSE}<|function_call|>{json_call('clock', {})}</s>", [("clock", {})]),
    "apertus": (apertus(*RIDE), RIDE),
    "apertus twice with prose": (f"{PROSE} {apertus(*TWO)}", TWO),
    "apertus without its end": (apertus(*RIDE).removesuffix("<|tools_suffix|>"), RIDE),
    "granite 20b": (f"<function_call> {json_call('tram', TRAM)}", RIDE),
    "granite 20b twice": (f"<function_call> {json_call('tram', TRAM)}\n<function_call> {json_call('clock', {})}", TWO),
    "granite 20b with prose": (f"{PROSE}\n<function_call> {json_call('tram', TRAM)}", RIDE),
    "minicpm": (minicpm("tram", TRAM), RIDE),
    "minicpm twice in prose": (f"First\n{minicpm('tram', TRAM)}\nthen\n{minicpm('clock', {})}\nThat is all.", TWO),
    "minicpm character data": (
        f'<function name="edit"><param name="text"><![CDATA[{CODE}]]></param></function>',
        [("edit", {"text": CODE})],
    ),
    "a function with a name and JSON": (f'<function name="tram">{json.dumps(TRAM)}</function>', RIDE),
    "jamba": (f" <tool_calls>[\n    {json_call('tram', TRAM)},\n    {json_call('clock', {})}\n]</tool_calls>", TWO),
    "ernie": (
        f"Two tools.\n</think>\n\n<tool_call>\n{json_call('tram', TRAM)}\n</tool_call>\n"
        f"<tool_call>\n{json_call('clock', {})}\n</tool_call>\n",
        TWO,
    ),
    "pangu": (f"{PROSE}\n<|tool_call_start|>\n[{json_call('tram', TRAM)}]\n<|tool_call_end|>", RIDE),
    "functionary 3.2": (f">>>tram\n{json.dumps(TRAM)}", RIDE),
    "functionary 3.2 with prose": (f">>>all\n{PROSE}>>>tram\n{json.dumps(TRAM)}>>>clock\n{{}}", TWO),
    "command r7b": (
        "<|START_THINKING|>I look at the line.<|END_THINKING|><|START_ACTION|>[\n"
        f'    {{"tool_call_id": "0", "tool_name": "tram", "parameters": {json.dumps(TRAM)}}}\n]<|END_ACTION|>',
        RIDE,
    ),
    "qwen3-coder code": (
        f"<tool_call>\n<function=edit>\n<parameter=text>\n{CODE}\n</parameter>\n</function>\n</tool_call>",
        [("edit", {"text": CODE})],
    ),
    "qwen3-coder without its tag": (
        "<function=tram>\n<parameter=line>\n7\n</parameter>\n<parameter=stop>\nMarkt\n</parameter>\n</function>",
        RIDE,
    ),
    "glm on one line": (
        "<tool_call>tram<arg_key>line</arg_key><arg_value>7</arg_value><arg_key>stop</arg_key>"
        "<arg_value>Markt</arg_value></tool_call><tool_call>clock</tool_call>",
        TWO,
    ),
    "kimi marks within": (
        "<|tool_calls_section_begin|> <|tool_call_begin|> functions.edit:12 <|tool_call_argument_begin|> "
        '{"text": "{\\"a\\": \\"}\\"}"} <|tool_call_end|> <|tool_calls_section_end|>',
        [("edit", {"text": '{"a": "}"}'})],
    ),
    "mistral nested": (
        '[TOOL_CALLS] [{"name": "tram", "arguments": {"line": "7", "stop": "[Markt]"}}]',
        [("tram", {"line": "7", "stop": "[Markt]"})],
    ),
    "seed after its thinking": (
        "<seed:think>Maybe <function=clock></function></seed:think><seed:tool_call><function=tram>"
        "<parameter=line>7</parameter><parameter=stop>Markt</parameter></function></seed:tool_call>",
        RIDE,
    ),
    "nemotron after thinking": (f"<think>\nhm\n</think>\n\n<TOOLCALL>[{json_call('tram', TRAM)}]</TOOLCALL>", RIDE),
    "xlam after thinking": (f"<think>hm</think>[{json_call('tram', TRAM)}]", RIDE),
    "longcat twice": (
        f"<longcat_tool_call>\n{json_call('tram', TRAM)}\n</longcat_tool_call>\n"
        f"<longcat_tool_call>{json_call('clock', {})}</longcat_tool_call>",
        TWO,
    ),
    "llama 4 nested": (
        "[plan(stops=['Markt', 'Dom'], by={'tram': [7, 8], 'foot': False})]",
        [("plan", {"stops": ["Markt", "Dom"], "by": {"tram": [7, 8], "foot": False}})],
    ),
}

MALFORMED = {
    "step 3 cut": '<｜tool_calls_begin｜><｜tool_call_begin｜><steptml:invoke name="tram">',
    "step 3 cut in a value": f"{step3(*RIDE).partition('Mar')[0]}Mar",
    "step 3 no name": "<｜tool_calls_begin｜><｜tool_call_begin｜><steptml:invoke></steptml:invoke><｜tool_call_end｜>",
    "gigachat 3 cut": '<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "tram", "arguments": {"line"',
    "gigachat 3.1 cut": '<|function_call|>{"name": "tram", "arguments": {"line": ',
    "gigachat 3.1 no json": "<|function_call|>tram 7",
    "apertus cut": '<|tools_prefix|>[{"tram": {"line": "7"}',
    "apertus no object": '<|tools_prefix|>[{"tram": "7"}]<|tools_suffix|>',
    "apertus text": "<|tools_prefix|>tram 7<|tools_suffix|>",
    "granite 20b cut": '<function_call> {"name": "tram", "arguments": {',
    "granite 20b number for a name": '<function_call> {"name": 123}',
    "minicpm cut": '<function name="tram"><param name="line">7</param>',
    "minicpm no name of a parameter": '<function name="tram"><param>7</param></function>',
    "minicpm of two tags": '<function name="tram"><param name="line">7\n<parameter name="stop">Dom</param></function>',
    "minicpm name twice": '<function name="tram"><param name="line">7</param><param name="line">8</param></function>',
    "jamba cut": '<tool_calls>[\n    {"name": "tram", "arguments": {"line": "7"',
    "functionary cut": '>>>tram\n{"line": "7", ',
    "functionary cut after prose": f'>>>all\n{PROSE}>>>tram\n{{"line": ',
    "command r7b cut": '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "tram", "parameters": {"line": ',
    "a function with a name and cut JSON": '<function name="tram">{"line": "7"',
    "glm wrong end": "<tool_call>tram<arg_key>line</arg_value><arg_value>7</arg_key></tool_call>",
    "kimi section alone": "<|tool_calls_section_begin|><|tool_calls_section_end|>",
    "nemotron cut": '<TOOLCALL>[{"name": "tram", "arguments": {"line": "7"}',
    "longcat cut": '<longcat_tool_call>\n{"name": "tram", "arg',
    "llama 4 wrong brackets": "[plan(stops=['Markt', 'Dom')]",
}


VALID |= {
    form: (each["text"], {"ride": RIDE, "two": TWO}.get(each["calls"]) or [*map(tuple, json.loads(each["calls"]))])
    for form, each in NEWER["valid"].items()
}
MALFORMED |= NEWER["malformed"]
THOUGHTS = {
    "<think>": "</think>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<unused94>thought\n": "<unused95>",
    "<mm:think>": "</mm:think>",
    "<think:opensource>": "</think:opensource>",
    "<ifm|think>": "</ifm|think>",
    "<ifm|think_fast>": "</ifm|think_fast>",
    "<|think:start|>": "<|think:end|>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|plamo:begin_think:plamo|>": "<|plamo:end_think:plamo|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|message_model|><|content_thinking|>": "<|end_message|>",
    "<|start|>assistant to=self<|message|>": "<|eom|>",
    "````text\n": "\n````\n",
}
"""What begins reasoning, or a fence, and what ends it."""


def calls_of(text: str) -> Calls:
    return [(str(call.name), dict(call.arguments)) for call in text_calls(text)]


@pytest.mark.parametrize("form", VALID)
def test_calls_of_rarer_forms_are_read(form: str) -> None:
    """Names, arguments and their order come out as the model wrote them."""
    text, expected = VALID[form]
    assert calls_of(text) == expected


@pytest.mark.parametrize("form", MALFORMED)
def test_a_malformed_call_of_a_rarer_form_is_told(form: str) -> None:
    """It is one call with an error: it neither runs nor passes for a move."""
    assert [call.name for call in text_calls(MALFORMED[form]) if call.error is None] == []
    assert len(text_calls(MALFORMED[form])) == 1


@pytest.mark.parametrize("opening", THOUGHTS)
def test_no_call_of_a_rarer_form_runs_that_is_only_thought_or_quoted(opening: str) -> None:
    """Unless the text itself ends the reasoning."""
    closing = THOUGHTS[opening]
    ends = ("think>", "think<", "think:", "_think", closing)
    texts = [text for text, _ in VALID.values() if "`" in closing or not any(end in text for end in ends)]
    assert len(texts) > 60
    assert {text: found for text in texts if (found := calls_of(f"{opening}{text}{closing}So: \\boxed{{5}}"))} == {}


@pytest.mark.parametrize("closing", [end for end in THOUGHTS.values() if re.search("hink|hought|reasoning|inner", end)])
def test_no_call_runs_from_reasoning_that_began_in_the_prompt(closing: str) -> None:
    """Its end alone is in the text."""
    call = json_call("clock", {})
    assert calls_of(f"<tool_call>{call}</tool_call>{closing}<tool_call>{json_call('tram', TRAM)}</tool_call>") == RIDE


def test_a_box_in_reasoning_of_any_mark_is_no_answer() -> None:
    """The one behind it is."""
    for opening, closing in THOUGHTS.items():
        if "`" not in opening:
            assert extract_last_boxed_answer(f"\\boxed{{2}} {opening}\\boxed{{1}}{closing}") == "2", opening


def test_no_call_runs_that_stands_in_backticks_over_several_lines() -> None:
    """As in the middle of a sentence about it, which no empty line divides."""
    texts = [text for text, _ in VALID.values() if text.startswith("<") and "\n" in text.strip()]
    texts = [text for text in texts if "`" not in text and "\n\n" not in text]
    assert len(texts) > 10
    for ticks in ("`", "``"):
        assert {
            text: found for text in texts if (found := calls_of(f"I write {ticks}{text.strip()}{ticks} here."))
        } == {}


def test_a_mark_of_calls_that_is_in_no_list_is_told() -> None:
    """What a model of tomorrow writes is no move, whatever stands in it."""
    for mark in (
        "<new:tool_call>",
        "<|tool_call_open|>",
        "<｜NEW｜function_calls>",
        "<|tool_request|>",
        "<x_tool_calls:y>",
    ):
        (call,) = text_calls(f"Let me see.\n{mark}tram 7</stop>")
        assert call.name is None, mark


def test_elements_in_arguments_have_the_types_of_the_schema() -> None:
    """At any level; the texts of MiniMax M3 have none."""
    (call,) = text_calls(VALID["minimax m3 nested"][0])
    element = {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}}}
    schema = {"properties": {"ship": {"$ref": "#/$defs/ship"}, "items": {"items": {}}}, "$defs": {"ship": element}}
    assert typed_arguments(call.arguments, schema)["ship"] == {"city": "Ulm", "zip": 1}


class Ending(Env[str, str]):
    """An environment that any action ends."""

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        return "Play.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "", 0.0, True, False, {}


def clock() -> str:
    """Tell the time."""
    return "noon"


def test_neither_a_rarer_call_nor_a_broken_one_is_played_as_a_move() -> None:
    """The environment sees none of them."""
    for text in [*(text for text, _ in VALID.values()), *MALFORMED.values()]:
        env = ToolEnvWrapper(Ending(), [clock], max_tool_uses=None)
        env.reset()
        assert env.step(text)[2] is False, text


@pytest.mark.parametrize(
    "text",
    [
        ">>> tram(7)\n{'stop': 'Markt'}",
        ">>>tram\nMarkt",
        "The mark <|function_call|> begins a call.",
        "A <function name> or a <function_call> is a mark; I write none. \\boxed{5}",
    ],
)
def test_what_only_resembles_a_rarer_call_is_none(text: str) -> None:
    """A session of Python, a quotation, and prose about marks."""
    assert text_calls(text) == []
