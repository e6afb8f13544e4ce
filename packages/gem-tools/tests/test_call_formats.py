"""Calls as real models write them, all of their forms.

The texts are retyped from what the tests of vLLM (``tests/tool_use``, ``tests/entrypoints/openai/tool_parsers``) and of
SGLang (``test_function_call_parser.py``) check their parsers with, in tools and values of our own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem import Env
from gem.tools import ToolEnvWrapper
from gem.tools.calls import native_calls, text_calls
from gem_tools import PythonTool, SearchTool

TOWN = {"city": "Ulm", "unit": "C"}
Calls = list[tuple[str, dict[str, Any]]]
WEATHER: Calls = [("weather", TOWN)]
BOTH: Calls = [*WEATHER, ("now", {})]
TYPES = {
    "s": 'say "hi"\n{x} [y] </z>',
    "i": -42,
    "f": 3.14,
    "b": True,
    "n": None,
    "l": ["a", {"b": []}],
    "o": {"p": {}},
}


def calls_of(text: str) -> list[tuple[str | None, dict[str, Any]]]:
    return [(call.name, dict(call.arguments)) for call in text_calls(text)]


def listed(*calls: tuple[str, dict[str, Any]], key: str = "arguments") -> str:
    return json.dumps([{"name": name, key: arguments} for name, arguments in calls])


def one(name: str, arguments: dict[str, Any], key: str = "arguments") -> str:
    return json.dumps({"name": name, key: arguments})


def deepseek(*calls: tuple[str, dict[str, Any]]) -> str:
    inner = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{json.dumps(arguments)}\n```<｜tool▁call▁end｜>"
        for name, arguments in calls
    )
    return f"<｜tool▁calls▁begin｜>{inner}<｜tool▁calls▁end｜>"


def deepseek_31(*calls: tuple[str, dict[str, Any]]) -> str:
    inner = "".join(
        f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{json.dumps(arguments)}<｜tool▁call▁end｜>"
        for name, arguments in calls
    )
    return f"<｜tool▁calls▁begin｜>{inner}<｜tool▁calls▁end｜>"


def kimi(*calls: tuple[str, dict[str, Any]]) -> str:
    inner = "".join(
        f"<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{json.dumps(arguments)}<|tool_call_end|>"
        for index, (name, arguments) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>"


def invoked(
    *calls: tuple[str, dict[str, Any]], prefix: str = "", outer: str = "function_calls", extra: str = ""
) -> str:
    inner = "".join(
        f'<{prefix}invoke name="{name}">\n'
        + "".join(
            f'<{prefix}parameter name="{key}"{extra}>{value}</{prefix}parameter>\n' for key, value in arguments.items()
        )
        + f"</{prefix}invoke>\n"
        for name, arguments in calls
    )
    return f"<{outer}>\n{inner}</{outer}>"


def harmony(name: str, arguments: dict[str, Any], kind: str = "<|constrain|>json") -> str:
    return f"<|channel|>commentary to=functions.{name} {kind}<|message|>{json.dumps(arguments)}<|call|>"


def pythonic(*calls: tuple[str, dict[str, Any]]) -> str:
    written = [
        f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})" for name, arguments in calls
    ]
    return f"[{', '.join(written)}]"


STRINGS: dict[str, Any] = {"city": "Ulm", "note": "a <b>c</b>\n  d"}
LATER = "Let me look that up."

VALID: dict[str, tuple[str, Calls]] = {
    "anthropic with a prefix": (invoked(*BOTH, prefix="antml:", outer="antml:function_calls"), BOTH),
    "hermes": (f"<tool_call>\n{one('weather', TOWN)}\n</tool_call>", WEATHER),
    "hermes with prose": (f"{LATER}\n<tool_call>{one('weather', TOWN)}</tool_call>\nOne moment.", WEATHER),
    "hermes twice": (f"<tool_call>{one('weather', TOWN)}</tool_call>\n<tool_call>{one('now', {})}</tool_call>", BOTH),
    "hermes without its end": (f"<tool_call>\n{one('weather', TOWN)}", WEATHER),
    "hermes types": (f"<tool_call>{one('types', TYPES)}</tool_call>", [("types", TYPES)]),
    "granite": (f"<|tool_call|>{listed(*BOTH)}", BOTH),
    "granite with a tag": (f"<tool_call>{listed(*BOTH)}</tool_call>", BOTH),
    "qwen3-coder": (
        "<tool_call>\n<function=weather>\n<parameter=city>\nUlm\n</parameter>\n<parameter=unit>\nC\n</parameter>\n"
        "</function>\n</tool_call>",
        WEATHER,
    ),
    "seed": (
        "<seed:tool_call>\n<function=weather>\n<parameter=city>Ulm</parameter>\n<parameter=unit>C</parameter>\n"
        "</function>\n</seed:tool_call>",
        WEATHER,
    ),
    "glm": (
        "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Ulm</arg_value>\n<arg_key>unit</arg_key>\n"
        "<arg_value>C</arg_value>\n</tool_call>",
        WEATHER,
    ),
    "hunyuan 1": (f"<tool_calls>{listed(*BOTH)}</tool_calls>", BOTH),
    "hunyuan 1 with prose": (f"{LATER} <tool_calls>{listed(*WEATHER)}</tool_calls>\nThanks.", WEATHER),
    "hunyuan 1 in an answer": (f"<answer><tool_calls>{listed(*WEATHER)}</tool_calls>\n</answer>", WEATHER),
    "hunyuan 2": (
        "<tool_calls>\n<tool_call>weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>Ulm</arg_value>\n"
        "<arg_key>unit</arg_key>\n<arg_value>C</arg_value>\n</tool_call>\n</tool_calls>",
        WEATHER,
    ),
    "llama 3 json": (one("weather", TOWN, "parameters"), WEATHER),
    "llama 3 json with arguments": (one("weather", TOWN), WEATHER),
    "llama 3 json in prose": (f"Here it is: {one('now', {}, 'parameters')} Would you like more?", [("now", {})]),
    "llama 3 json twice": (f"{one('weather', TOWN, 'parameters')}; {one('now', {}, 'parameters')}", BOTH),
    "llama 3 json twice in prose": (
        f"Here: {one('weather', TOWN, 'parameters')} ; {one('now', {}, 'parameters')} done.",
        BOTH,
    ),
    "llama 3 json types": (one("types", TYPES, "parameters"), [("types", TYPES)]),
    "llama 3 json with a type": (f'{{"type": "function", {one("weather", TOWN, "parameters")[1:]}', WEATHER),
    "llama 3 json around a function": (
        f'{{"type": "function", "function": {one("weather", TOWN)}}}',
        WEATHER,
    ),
    "llama 3.1 tag": (f"<|python_tag|>{one('weather', TOWN, 'parameters')}<|eom_id|>", WEATHER),
    "llama 3.1 tag twice": (f"<|python_tag|>{one('weather', TOWN)}; {one('now', {})}", BOTH),
    "llama 3.1 built-in": (
        '<|python_tag|>brave_search.call(query="a b")<|eom_id|>',
        [("brave_search", {"query": "a b"})],
    ),
    "llama 3.1 program": ("<|python_tag|>x = 1\nprint(x)<|eom_id|>", [("python", {"code": "x = 1\nprint(x)"})]),
    "llama 3.1 function tag": (f"<function=weather>{json.dumps(TOWN)}</function>", WEATHER),
    "llama 3.2 pythonic": (pythonic(*WEATHER), WEATHER),
    "llama 3.2 pythonic twice": (pythonic(*BOTH), BOTH),
    "llama 3.2 pythonic types": (pythonic(("types", TYPES)), [("types", TYPES)]),
    "llama 3.2 pythonic empty values": ("[do(data={}, steps=[])]", [("do", {"data": {}, "steps": []})]),
    "llama 3.2 pythonic escapes": (
        r"""[weather(city='Martha\'s Vineyard', unit='"cool"')]""",
        [("weather", {"city": "Martha's Vineyard", "unit": '"cool"'})],
    ),
    "llama 3.2 pythonic with words of JSON": ("[f(a=true, b=null)]", [("f", {"a": True, "b": None})]),
    "llama 4 pythonic": (f"<|python_start|>{pythonic(*BOTH)}<|python_end|>", BOTH),
    "llama 4 in prose": (f"{LATER} {pythonic(*WEATHER)} Done.", WEATHER),
    "mistral": (f"[TOOL_CALLS]{listed(*WEATHER)}", WEATHER),
    "mistral with a blank": (f"[TOOL_CALLS] {listed(*BOTH)}</s>", BOTH),
    "mistral name last": ('[TOOL_CALLS] [{"arguments": {"name": "Jo"}, "name": "age"}]', [("age", {"name": "Jo"})]),
    "mistral 11": (f"[TOOL_CALLS]weather{json.dumps(TOWN)}", WEATHER),
    "mistral 11 twice": (f"[TOOL_CALLS]weather{json.dumps(TOWN)}[TOOL_CALLS]now{{}}", BOTH),
    "mistral 13": (f"[TOOL_CALLS]weather[ARGS]{json.dumps(TOWN)}[TOOL_CALLS]now[ARGS]{{}}", BOTH),
    "mistral 12": (f"[TOOL_CALLS]weather[CALL_ID]abc123def[ARGS]{json.dumps(TOWN)}", WEATHER),
    "deepseek 3": (deepseek(*WEATHER), WEATHER),
    "deepseek 3 twice with prose": (f"{LATER}{deepseek(*BOTH)}<｜end▁of▁sentence｜>", BOTH),
    "deepseek 3.1": (deepseek_31(*WEATHER), WEATHER),
    "deepseek 3.1 twice": (f"{LATER}\n\n{deepseek_31(*BOTH)}", BOTH),
    "deepseek 3.2": (
        invoked(*BOTH, prefix="｜DSML｜", outer="｜DSML｜function_calls", extra=' string="true"'),
        BOTH,
    ),
    "kimi": (kimi(*WEATHER), WEATHER),
    "kimi twice with prose": (f"{LATER} {kimi(*BOTH)}<|im_end|>", BOTH),
    "kimi with a name of dashes": (kimi(("get-weather_v2", TOWN)), [("get-weather_v2", TOWN)]),
    "harmony": (f"<|channel|>analysis<|message|>I look.<|end|><|start|>assistant{harmony('weather', TOWN)}", WEATHER),
    "harmony without a type": (harmony("weather", TOWN, ""), WEATHER),
    "harmony with the recipient first": (
        f"<|start|>assistant to=functions.weather<|channel|>commentary json<|message|>{json.dumps(TOWN)}<|call|>",
        WEATHER,
    ),
    "harmony program": (
        "<|channel|>analysis to=python code<|message|>print(1)\nprint('{')<|call|>",
        [("python", {"code": "print(1)\nprint('{')"})],
    ),
    "harmony built-in": (
        '<|channel|>analysis to=browser.search code<|message|>{"query": "a"}<|call|>',
        [("browser.search", {"query": "a"})],
    ),
    "minimax 2": (invoked(*BOTH, outer="minimax:tool_call"), BOTH),
    "minimax 2 text": (invoked(("f", STRINGS), outer="minimax:tool_call"), [("f", STRINGS)]),
    "minimax 1": (f"<tool_calls>\n{one('weather', TOWN)}\n{one('now', {})}\n</tool_calls>", BOTH),
    "anthropic": (invoked(*BOTH), BOTH),
    "anthropic text": (f"{LATER}\n\n{invoked(('f', STRINGS))}", [("f", STRINGS)]),
    "gemma 3": ('```tool_code\nweather(city="Ulm", unit="C")\n```', WEATHER),
    "function gemma": (
        "<start_function_call>call:weather{city:<escape>Ulm<escape>,unit:<escape>C<escape>}<end_function_call>",
        WEATHER,
    ),
    "gemma 4": ('<|tool_call>call:weather{city:<|"|>Ulm<|"|>,unit:<|"|>C<|"|>}<tool_call|>', WEATHER),
    "gemma 4 types": (
        '<|tool_call>call:f{a:<|"|>x,y:{z<|"|>,n:-1.5,l:[1,{k:true}],e:null}<tool_call|>',
        [("f", {"a": "x,y:{z", "n": -1.5, "l": [1, {"k": True}], "e": None})],
    ),
    "phi 4 mini": (f"functools{listed(*BOTH)}", BOTH),
    "phi 4 mini in prose": (f"{LATER}\nfunctools{listed(*WEATHER)}\nMore?", WEATHER),
    "phi 4": (f"<|tool_call|>{listed(*BOTH)}<|/tool_call|>", BOTH),
    "lfm2": (f"<|tool_call_start|>{pythonic(*BOTH)}<|tool_call_end|>Checking.", BOTH),
    "lfm2 json": (f"<|tool_call_start|>{listed(*WEATHER)}<|tool_call_end|>", WEATHER),
    "olmo 3": ('<function_calls>\nweather(city="Ulm", unit="C")\nnow()\n</function_calls>', BOTH),
    "internlm": (f"<|action_start|><|plugin|>\n{one('weather', TOWN, 'parameters')}<|action_end|>", WEATHER),
    "command r": (
        f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "weather", "parameters": {json.dumps(TOWN)}}}]'
        "<|END_ACTION|>",
        WEATHER,
    ),
    "nemotron": (f"<TOOLCALL>{listed(*BOTH)}</TOOLCALL>", BOTH),
    "longcat": (f"<longcat_tool_call>{one('weather', TOWN)}</longcat_tool_call>", WEATHER),
    "xlam": (listed(*BOTH), BOTH),
    "after thinking": (
        f"<think>Maybe {one('now', {})}</think>\n<tool_call>{one('weather', TOWN)}</tool_call>",
        WEATHER,
    ),
}

MALFORMED = {
    "hermes cut": '<tool_call>{"name": "weather", "arguments": {"city": ',
    "hermes no json": "<tool_call>weather Ulm</tool_call>",
    "hermes single quotes": "<tool_call>{'name': 'weather'}</tool_call>",
    "hermes no name": '<tool_call>{"arguments": {}}</tool_call>',
    "hermes unclosed words": "<tool_call>\nweather in Ulm",
    "hermes arguments of a list": '<tool_call>{"name": "weather", "arguments": [1]}</tool_call>',
    "hermes empty": "<tool_call></tool_call>",
    "hermes only its mark": "Let me look.\n<tool_call>",
    "qwen3-coder cut": "<tool_call>\n<function=weather>\n<parameter=city>\nUlm",
    "qwen3-coder no name": "<tool_call><function=></function></tool_call>",
    "glm cut": "<tool_call>weather<arg_key>city</arg_key><arg_value>Ulm",
    "glm no value": "<tool_call>weather<arg_key>city</arg_key></tool_call>",
    "hunyuan cut": '<tool_calls>[{"name": "weather", "arguments": {"city"',
    "hunyuan text": "<tool_calls>weather in Ulm</tool_calls>",
    "llama 3 cut": '{"name": "weather", "parameters": {"city": "Ul',
    "llama 3 invalid": '{"name": "weather", "parameters": {invalid json}',
    "llama 3 tag cut": '<|python_tag|>{"name": "weather", "parameters": ',
    "llama 3 tag empty": "<|python_tag|>",
    "llama 3 built-in positional": '<|python_tag|>brave_search.call("a")',
    "llama function tag cut": '<function=weather>{"city": "Ulm"',
    "pythonic cut": "[weather(city='Ulm'",
    "pythonic not a constant": "[weather(city=town)]",
    "pythonic positional among": "[weather(city='Ulm', unit)]",
    "llama 4 words": "<|python_start|>weather in Ulm<|python_end|>",
    "mistral cut": '[TOOL_CALLS][{"name": "weather", "arguments": {',
    "mistral empty": "[TOOL_CALLS]",
    "mistral 11 cut": '[TOOL_CALLS]weather{"city": ',
    "mistral 11 no json": "[TOOL_CALLS]weather[ARGS]Ulm",
    "deepseek cut": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{"city": ',
    "deepseek 3.1 no json": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>Ulm<｜tool▁call▁end｜>",
    "deepseek empty": "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>",
    "deepseek 3.2 cut": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n<｜DSML｜parameter name="city">Ul',
    "kimi cut": '<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"city',
    "kimi no arguments": "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_calls_section_end|>",
    "harmony cut": '<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "Ul',
    "harmony no json": "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>Ulm<|call|>",
    "minimax cut": '<minimax:tool_call>\n<invoke name="weather">\n<parameter name="city">Ul',
    "minimax empty": "<minimax:tool_call>\n</minimax:tool_call>",
    "anthropic cut": '<function_calls>\n<invoke name="weather">\n<parameter name="city">Ulm</parameter>',
    "gemma 3 positional": '```tool_code\nweather("Ulm")\n```',
    "function gemma cut": "<start_function_call>call:weather{city:<escape>Ul",
    "gemma 4 bare words": "<|tool_call>call:weather{city:Ulm}<tool_call|>",
    "phi cut": 'functools[{"name": "weather", "arguments": {',
    "phi arguments of text": 'functools[{"name": "weather", "arguments": "no object"}]',
    "phi text": "functools[ This is just text ]",
    "phi empty": "functools[] This is just text",
    "lfm2 cut": "<|tool_call_start|>[weather(city='Ul",
    "lfm2 words": "<|tool_call_start|>weather in Ulm<|tool_call_end|>",
    "olmo cut": "<function_calls>\nweather(city='Ulm'",
    "nemotron no list": "<TOOLCALL>weather</TOOLCALL>",
}


@pytest.mark.parametrize("form", VALID)
def test_calls_of_every_form_are_read(form: str) -> None:
    """Names, arguments and their order come out as the model wrote them."""
    text, expected = VALID[form]
    assert calls_of(text) == expected


@pytest.mark.parametrize("form", MALFORMED)
def test_a_malformed_call_of_every_form_is_told(form: str) -> None:
    """It is one call with an error: it neither runs nor passes for a move."""
    assert [call.name for call in text_calls(MALFORMED[form]) if call.error is None] == []
    assert len(text_calls(MALFORMED[form])) == 1


@pytest.mark.parametrize(
    "around",
    [
        "<think>{}</think>So: \\boxed{{5}}",
        "{}\nBut no.</think>\\boxed{{5}}",
        "<think>{}",
        "[THINK]{}[/THINK]\\boxed{{5}}",
        "<thinking>\n{}\n</thinking>\\boxed{{5}}",
        "<|channel|>analysis<|message|>{}<|end|>\\boxed{{5}}",
        "An example:\n````text\n{}\n````\nSo: \\boxed{{5}}",
        "~~~\n{}\n~~~\n\\boxed{{5}}",
    ],
)
def test_no_call_runs_that_is_only_thought_or_quoted(around: str) -> None:
    """Whatever its form, unless the text itself ends the reasoning, or makes a call that cannot be read."""
    texts = {form: text for form, (text, _) in VALID.items() if form != "after thinking" or "<think>" not in around}
    if "<|end|>" in around:
        del texts["harmony"]
    if "But no." in around:
        del texts["hermes without its end"]
    assert {form: found for form, text in texts.items() if (found := calls_of(around.format(text)))} == {}


def test_no_call_runs_that_stands_in_inline_code_or_a_quoted_line() -> None:
    """Of all forms that have one line."""
    texts = [text for text, _ in VALID.values() if "\n" not in text and "`" not in text]
    assert len(texts) > 30
    for text in texts:
        assert calls_of(f"Write `{text}` to call.") == []
        assert calls_of(f"> {text}\n\nSo: \\boxed{{5}}") == []


def test_no_call_runs_that_stands_alone_in_quotation_marks() -> None:
    """Of any kind."""
    for form in ("hermes", "granite with a tag", "llama 3 json", "llama 3.2 pythonic", "kimi", "anthropic", "mistral"):
        for marks in ('""', "''", "“”", "«»"):
            assert calls_of(f"He wrote {marks[0]}{VALID[form][0]}{marks[1]} then.") == []


def test_a_draft_in_the_reasoning_does_not_run_beside_the_real_call() -> None:
    """Of tags of tools and of fenced programs as well."""
    tool = PythonTool()
    call = tool.parse("<think>First\n```python\nprint('draft')\n```\nhm</think>\n```python\nprint('real')\n```")
    assert call is not None
    assert call.arguments == {"code": "print('real')"}
    search = SearchTool(corpus=[{"id": "1", "contents": "a b"}])
    found = search.parse("<think><search>draft</search></think> `<search>x</search>` <search>real</search>")
    assert found is not None
    assert found.arguments == {"query": "real"}
    assert tool.parse("<python>print(1)</python> no, wait.</think> It is 5.") is None


def test_a_mark_within_arguments_is_part_of_them() -> None:
    """Neither reasoning nor a fence nor another call."""
    arguments = {"text": "<think>x</think>\n```\n`a` <tool_call>{}</tool_call> > y </think>"}
    text = f"<tool_call>{one('write', arguments)}</tool_call>"
    assert calls_of(text) == [("write", arguments)]
    assert calls_of(f"{text}\n{text}") == [("write", arguments)] * 2


def test_the_old_function_call_of_openai_is_native() -> None:
    """One call, without an id."""
    (call,) = native_calls({"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}})
    assert (call.name, call.arguments, call.error) == ("f", {}, None)


def python(code: str) -> str:
    """Run nothing."""
    return code


class Ending(Env[str, str]):
    """An environment that any action ends."""

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        return "Play.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "", 0.0, True, False, {}


def test_neither_a_call_nor_a_broken_one_is_played_as_a_move() -> None:
    """The environment sees none of them."""
    for text in [*(text for text, _ in VALID.values()), *MALFORMED.values()]:
        env = ToolEnvWrapper(Ending(), [python], max_tool_uses=None)
        env.reset()
        assert env.step(text)[2] is False, text


def seconds(text: str) -> float:
    start = time.process_time()
    text_calls(text)
    return time.process_time() - start


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "unit",
    [
        "`",
        "``a",
        "```\n",
        "~~~a\n",
        "> ",
        "<think>",
        "</think>",
        "<think></think>",
        '"',
        "[TOOL_CALLS]",
        "[TOOL_CALLS][",
        "functools[",
        "<tool_calls>",
        "<tool_calls></tool_calls>",
        "[f(a=",
        "[f()]",
        "[f(a='",
        "<|python_tag|>f(a='\\'",
        "call:f{a:<escape>",
        "<|tool_call>call:f{a:{",
        '<invoke name="f">',
        '<invoke name="f"><parameter name="a">',
        '{"name": "f", "arguments":',
        "<｜tool▁call▁begin｜>f",
        " to=f",
        " ",
        "<|tool_calls_section_begin|>f{}",
        "<|open|>call tool=",
        "]<]minimax[>[<a>",
        "<|tool_call:start|>a<|tool_arg:start|>b<|tool_arg:value|>",
    ],
)
def test_reading_takes_linear_time(unit: str) -> None:
    """Sixteen times the text takes nowhere near 256 times as long."""
    assert_linear(unit * (size // len(unit)) for size in (6_000, 96_000))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "mark", ["<tool_call>", "<tool_call>[", "<|tool_call|>[f", "[f(", "<|tool_call:start|>f", ">>>f\n"]
)
def test_blanks_behind_a_mark_take_linear_time(mark: str) -> None:
    """Also if no call follows them."""
    assert_linear(f"{mark}{' ' * size}<x</tool_call>" for size in (1_000, 16_000))


def assert_linear(texts: Iterable[str]) -> None:
    """A text, and one sixteen times as long."""
    short, long = texts
    limit = 64 * max(min(seconds(short) for _ in range(3)), 1e-5)
    assert any(seconds(long) < limit for _ in range(3))


MARKS = ["<|python_tag|>", "[TOOL_CALLS]", "functools[", "<tool_calls>", "<think>", "</think>", "`", "```", "\n> ", '"']
PIECES = [
    *MARKS,
    "[f(a=",
    ")]",
    "call:f{a:<escape>",
    "<start_function_call>",
    "<function_calls>",
    '<invoke name="f">',
    "{",
]


@given(st.lists(st.sampled_from([*PIECES, *(text for text, _ in VALID.values()), "\n", " "]), max_size=12).map("".join))
def test_no_mixture_of_forms_raises(text: str) -> None:
    """Calls lie within the text, in order, and each has a name or an error."""
    last = 0
    for call in text_calls(text):
        assert last <= call.start or call.end == last
        assert (call.name is None) == (call.error is not None)
        last = call.end
    assert last <= len(text)
