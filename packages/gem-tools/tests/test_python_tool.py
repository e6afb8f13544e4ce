"""The Python tool: its two syntaxes, what the agent is told, sessions, and the wrappers by name."""

from __future__ import annotations

import base64
import copy
import io
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from session_states import wait_for_a_rest

import gem
from gem.errors import ArgumentError, ArgumentTypeError
from gem.text import TERMINAL_STATE
from gem.tools import ToolEnvWrapper
from gem.wrappers import apply_wrappers, wrapper
from gem_tools import PythonTool
from gem_tools.python_tool import _PNG, _figures
from gem_tools.sandbox.inside import notebook


class Question(gem.Env[str, str]):
    """Asks one question; whatever reaches it ends the episode."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return "What is 6 times 7?", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return TERMINAL_STATE, float("42" in str(action)), True, False, {}


def told(tool: PythonTool, text: str) -> str:
    """Return what the tool answers to a text."""
    answered = tool.respond(text)
    assert answered is not None, text
    return answered[1].text


@pytest.mark.parametrize(
    ("text", "acted_on"),
    [
        ("<python>print(1+1)</python> and so on", "<python>print(1+1)</python>"),
        ("First ```python\nprint(1+1)\n``` then", "First ```python\nprint(1+1)\n```"),
        ("```\npython\nprint(1+1)\n```", "```\npython\nprint(1+1)\n```"),
        ("```python print(1+1)```", "```python print(1+1)```"),
        ("<python>print(1+1)</python> ```python\nprint(3)\n```", "<python>print(1+1)</python>"),
        ("```python\nprint(1+1)\n``` <python>print(3)</python>", "```python\nprint(1+1)\n```"),
        ("<python> ```python\nprint(1+1)\n``` </python>", "<python> ```python\nprint(1+1)\n```"),
    ],
)
def test_the_first_complete_program_of_a_text_is_run(text: str, acted_on: str) -> None:
    """Tags and fenced blocks are read as published: of several programs, the one that ends first."""
    answered = PythonTool().respond(text)
    assert answered is not None
    parsed_action, result = answered
    assert (parsed_action, result.text, result.ok) == (acted_on, "Code execution result: 2\n\n", True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "print(1)",
        "<python>print(1)",
        "```python\nprint(1)",
        "```pycon\n1\n```",
        "```python-repl\n1\n```",
        "```python2\n1\n```",
        "```pyx\n1\n```",
        "<PYTHON>1</PYTHON>",
    ],
)
def test_what_is_no_complete_program_is_left_to_the_task(text: str) -> None:
    """Unclosed tags and fences, other languages and a tag in upper case are no calls."""
    assert PythonTool().respond(text) is None


def test_a_failing_program_is_told_with_its_traceback_or_its_last_line() -> None:
    """What was printed comes first, then the error, whole or its last line alone; the call has failed."""
    text = "<python>print(1)\n1/0</python>"
    whole = told(PythonTool(), text)
    assert whole.startswith("Code execution result: 1\n\nTraceback (most recent call last):\n")
    assert "line 2" in whole
    assert whole.endswith("ZeroDivisionError: division by zero\n")
    assert told(PythonTool(keep_error_last_line=True), text) == (
        "Code execution result: 1\n\nZeroDivisionError: division by zero\n"
    )
    answered = PythonTool().respond(text)
    assert answered is not None
    assert not answered[1].ok


@pytest.mark.slow
def test_a_program_out_of_time_is_told_so() -> None:
    """What it had printed is kept, and the limit named."""
    program = "print('so far', flush=True)\nimport time\ntime.sleep(600)"
    answered = PythonTool(timeout=2).respond(f"<python>{program}</python>")
    assert answered is not None
    result = answered[1]
    assert not result.ok
    assert result.text == "Code execution result: so far\n\n\nExecution timed out after 2 seconds.\n"
    assert result.data["timed_out"] is True


@pytest.mark.parametrize("language", ["py", "Python", "PYTHON", "python3", "py3", "Python3.11"])
def test_a_fence_may_name_the_language_as_models_do(language: str) -> None:
    """In any case, short, and with a version."""
    assert told(PythonTool(), f"```{language}\nprint(1+1)\n```") == "Code execution result: 2\n\n"


@pytest.mark.slow(reason="pandas is imported")
def test_usual_modules_need_not_be_imported() -> None:
    """All that a program uses are there, in one run; any other name stays undefined."""
    program = "print(math.gcd(12, 18), np.arange(3).sum(), pd.Series([4]).max(), Counter('aab')['a'])"
    assert told(PythonTool(timeout=60), f"<python>{program}</python>") == "Code execution result: 6 3 4 2\n\n"
    assert "NameError" in told(PythonTool(), "<python>print(nonsense)</python>")


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        ("time = 3\nprint(time)", "3"),
        ("def f(math): return math\nprint(f(4), math.gcd(4, 6))", "4 2"),
        ("def f():\n    return json.dumps([1])\nprint(f())", "[1]"),
        ("for os in 'ab': pass\nprint(os)", "b"),
        ("import math as m\nprint(m.pi > 3, 'math' in globals())", "True False"),
        ("print('math' in globals())", "False"),
        ("from itertools import *\nprint(next(product([5])))", "(5,)"),
    ],
)
def test_a_name_that_a_program_defines_is_its_own(program: str, printed: str) -> None:
    """Only global names that it reads and does not assign are imported."""
    assert told(PythonTool(), f"<python>{program}</python>") == f"Code execution result: {printed}\n\n"


def test_an_import_replaces_no_name_of_a_session() -> None:
    """What an earlier call has defined, or a function reads that the program defines, stays."""
    tool = PythonTool(session=True)
    told(tool, "<python>math = 'mine'</python>")
    assert told(tool, "<python>math</python>") == "Code execution result: 'mine'\n\n"
    program = "def f():\n    return sys.maxsize\nif False:\n    sys = None\nprint('sys' in globals())"
    assert told(tool, f"<python>{program}</python>") == "Code execution result: False\n\n"
    tool.close()


def test_figures_have_room_beside_a_long_output() -> None:
    """Output that is cut does not cut the figures that follow it."""
    limits = [PythonTool(figures=figures).limits.output for figures in (False, True)]
    assert limits[1] - limits[0] >= 2 * notebook.LARGEST_FIGURES


def test_a_missing_import_is_mended_without_a_second_run() -> None:
    """What a call did before it used the name, it does once."""
    tool = PythonTool(session=True)
    told(tool, "<python>count = 0</python>")
    told(tool, "<python>count += 1\nmath.gcd(1, 2)</python>")
    assert told(tool, "<python>print(count)</python>") == "Code execution result: 1\n\n"
    tool.close()


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("6 * 7", "42\n"),
        ("x = 6\nx * 7", "42\n"),
        ("print('a')\n'b'", "a\n'b'\n"),
        ("x = 6", ""),
        ("None", ""),
        ("6 * 7;", ""),
        ("6 * 7  # why", "42\n"),
        ("for i in range(3): i", ""),
        ("if True:\n    5", ""),
        ("", ""),
        ("# nothing", ""),
        ("math.gcd(4, 6)", "2\n"),
        ("'\\x00\\ud800'", "'\\x00\\ud800'\n"),
        ("def f(): return 1\nf()", "1\n"),
    ],
)
def test_the_value_of_the_last_expression_is_shown_as_in_a_notebook(program: str, shown: str) -> None:
    """Not that of others, nor None, nor one that a semicolon follows."""
    assert told(PythonTool(display=True), f"<python>{program}</python>") == f"Code execution result: {shown}\n"


def test_values_are_shown_in_sessions_unless_they_are_turned_off() -> None:
    """And in single programs only where asked for."""
    assert (PythonTool(session=True).display, PythonTool().display) == (True, False)
    assert PythonTool(session=True, display=False).display is False
    assert told(PythonTool(), "<python>42</python>") == "Code execution result: \n"
    assert "the value of its last expression" in PythonTool(session=True).instruction_string()


def test_an_error_in_the_last_expression_has_the_programs_own_lines() -> None:
    """And a value that cannot be shown is an error of the program."""
    text = told(PythonTool(display=True), "<python>x = 1\nx / 0</python>")
    assert "line 2" in text
    assert "notebook" not in text
    text = told(PythonTool(display=True), "<python>class A:\n    def __repr__(self): return 3\nA()</python>")
    assert "TypeError: __repr__ returned non-string" in text
    assert "script.py" not in text
    assert "SyntaxError" in told(PythonTool(display=True), "<python>x = = 1</python>")
    answered = PythonTool(display=True).respond(f"<python>{'-' * 100_000}1</python>")
    assert answered is not None
    assert not answered[1].ok


@pytest.mark.slow(reason="matplotlib draws")
def test_open_figures_come_back_as_pictures() -> None:
    """In order, each once, after an error too; plt.show does nothing and says nothing."""
    tool = PythonTool(session=True, figures=True, timeout=60)
    program = "plt.plot([1, 2]); plt.show()\nplt.figure(figsize=(2, 1)); plt.plot([3])\nprint('drawn')"
    answered = tool.respond(f"<python>{program}</python>")
    assert answered is not None
    result = answered[1]
    assert (result.text, result.ok) == ("Code execution result: drawn\n\n", True)
    sizes = []
    for part in result.content:
        url = part["image_url"]["url"]
        assert url.startswith("data:image/png;base64,")
        picture = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
        picture.verify()
        sizes.append(picture.size)
    assert sizes == [(640, 480), (200, 100)]
    answered = tool.respond("<python>plt.plot([1])\n1/0</python>")
    assert answered is not None
    assert (len(answered[1].content), answered[1].ok) == (1, False)
    answered = tool.respond("<python>plt.figure(figsize=(1000, 1000))\n[plt.figure() for _ in range(20)][0];</python>")
    assert answered is not None
    assert len(answered[1].content) == 8
    assert "13 more figures were left out" in answered[1].text
    env = ToolEnvWrapper(Question(), [tool])
    env.reset()
    observation, *_ = env.step("<python>plt.plot([1]);</python>")
    assert [part["type"] for part in observation] == ["text", "image_url"]
    env.close()


@pytest.mark.parametrize(
    ("mark", "problem"),
    [
        ("!!!!", None),
        ("AAA", "not base64"),
        ("AAAA", "not a PNG file"),
        (base64.b64encode(_PNG + b"\x00\x00\xff\xff" * 2).decode(), "65535 × 65535 pixels"),
        (base64.b64encode(_PNG + b"\x00\x00\x00\x00" * 2).decode(), "0 × 0 pixels"),
        (base64.b64encode(_PNG + b"\x00\x00\x00\x01" * 200_000).decode(), "too large"),
    ],
)
def test_a_picture_that_a_program_forges_is_left_out(mark: str, problem: str | None) -> None:
    """What is no small PNG file never becomes a part of the observation; other text stays text."""
    text = f"a{notebook.FIGURE_MARK}{mark}\x1e\nb"
    left, pictures = _figures(text)
    assert pictures == ()
    assert left == (text if problem is None else f"a[a figure was left out: {problem_of(left)}]\nb")
    assert problem is None or problem in left


def problem_of(text: str) -> str:
    return text.partition(": ")[2].partition("]")[0]


def test_long_output_is_cut_in_the_middle() -> None:
    """The note says how much, also of what the sandbox itself dropped."""
    text = told(PythonTool(max_chars=100), "<python>print('a' * 1000 + 'z')</python>")
    assert re.fullmatch(r"Code execution result: a{66}\n\[… 902 characters left out …\]\na{32}z\n\n", text)
    text = told(PythonTool(), "<python>print('a' * 10_000_000)\n1/0</python>")
    assert len(text) < 20_200
    note = re.search(r"\[… (\d+) characters left out …\]", text)
    assert note is not None
    assert 9_980_000 < int(note[1]) < 9_981_000
    assert text.endswith("ZeroDivisionError: division by zero\n")


def test_native_calls_run_the_code_argument() -> None:
    """A chat API's call of python answers like the text; one without a program says what is missing."""
    env = ToolEnvWrapper(Question(), [PythonTool])
    env.reset()
    call = {"id": "a", "function": {"name": "python", "arguments": json.dumps({"code": "print(6 * 7)"})}}
    observation, _, terminated, _, info = env.step({"role": "assistant", "content": None, "tool_calls": [call]})
    assert observation == "Code execution result: 42\n\n"
    assert not terminated
    assert info["tool_results"][0]["data"]["exit_code"] == 0
    wrong = {"id": "b", "function": {"name": "python", "arguments": "{}"}}
    observation, *_ = env.step({"role": "assistant", "content": None, "tool_calls": [wrong]})
    assert "code must be a str" in observation
    env.close()


def test_a_session_keeps_state_within_an_episode_only() -> None:
    """Variables and functions stay between calls, and are gone after reset."""
    tool = PythonTool(session=True)
    assert told(tool, "<python>x = 20\ndef double(n): return 2 * n</python>") == "Code execution result: \n"
    assert told(tool, "<python>print(double(x) + 2)</python>") == "Code execution result: 42\n\n"
    tool.reset()
    assert "NameError" in told(tool, "<python>print(x)</python>")
    tool.close()


def test_without_a_session_every_program_is_alone() -> None:
    """Nothing stays from one call to the next."""
    tool = PythonTool()
    told(tool, "<python>x = 1</python>")
    assert "NameError" in told(tool, "<python>print(x)</python>")


def test_the_state_of_a_session_is_json_and_complete() -> None:
    """A session goes on in another tool from its state, which survives JSON."""
    tool = PythonTool(session=True)
    told(tool, "<python>x = [1]</python>")
    told(tool, "<python>x.append(2)</python>")
    twin = PythonTool(session=True)
    twin.set_state(json.loads(json.dumps(tool.get_state())))
    told(tool, "<python>x.append('only mine')</python>")
    assert told(twin, "<python>print(x)</python>") == "Code execution result: [1, 2]\n\n"
    tool.close()
    twin.close()


def test_a_long_session_remembers_its_newest_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state holds the last calls of a session, in their order, and a twin plays those again."""
    monkeypatch.setattr("gem_tools.python_tool._LONGEST_SESSION", 3)
    tool = PythonTool(session=True, timeout=60)
    for number in range(5):
        told(tool, f"<python>x{number} = {number}</python>")
    state = tool.get_state()
    assert state == {"past": ["x2 = 2", "x3 = 3", "x4 = 4"]}
    twin = PythonTool(session=True, timeout=60)
    twin.set_state(state)
    assert told(twin, "<python>print(x2, x4, 'x1' in vars())</python>") == "Code execution result: 2 4 False\n\n"
    tool.close()
    twin.close()


@pytest.mark.slow
def test_a_session_that_ran_out_of_time_begins_anew() -> None:
    """After a time-out the next call works, in a fresh session, and the state holds what that one did."""
    tool = PythonTool(timeout=5, session=True)  # all of which one call needs, and a slow machine may need for another
    told(tool, "<python>x = 1</python>")
    assert "timed out" in told(tool, "<python>import time\ntime.sleep(600)</python>")
    assert "NameError" in told(tool, "<python>print(x)</python>")
    assert told(tool, "<python>print('well')</python>") == "Code execution result: well\n\n"
    tool.close()


@pytest.mark.slow
def test_a_session_that_died_between_two_calls_says_so_to_the_agent() -> None:
    """And the dead calls are no longer in the state, which would play them again in a twin."""
    tool = PythonTool(timeout=20, session=True)
    dies = "import os, signal\nsignal.signal(signal.SIGCONT, lambda *_: os._exit(1))"
    if not tool.sandbox.jailed:
        pytest.skip("only a session that rests is woken")
    assert told(tool, f"<python>x = 1\n{dies};</python>") == "Code execution result: \n"
    wait_for_a_rest()
    answered = tool.respond("<python>x</python>")
    assert answered is not None
    assert "The session has ended" in answered[1].text
    assert (answered[1].ok, tool.get_state()) == (False, {"past": []})
    assert "NameError" in told(tool, "<python>x</python>")
    assert tool.get_state() == {"past": ["x"]}
    tool.close()


def test_a_copy_has_a_session_of_its_own_and_shares_the_sandbox() -> None:
    """What ToolEnvWrapper.spawn copies shares no variables."""
    tool = PythonTool(session=True, timeout=60)
    told(tool, "<python>x = 1</python>")
    twin = copy.deepcopy(tool)
    assert (twin.sandbox, twin.timeout, twin.session) == (tool.sandbox, 60.0, True)
    assert "NameError" in told(twin, "<python>print(x)</python>")
    tool.close()
    twin.close()


@pytest.mark.parametrize(
    "code", ["print('\\x00')", "print('\\ud800')", "\x00", "import os; os.write(1, b'\\xff\\xfe')"]
)
def test_any_bytes_come_back_as_text(code: str) -> None:
    """NULs, lone surrogates and bytes that are no UTF-8 reach the agent as text that any file can hold."""
    told(PythonTool(), f"<python>{code}</python>").encode()


@given(st.text(alphabet=st.characters(exclude_characters="`~<"), max_size=200))
@settings(deadline=None)
def test_no_text_raises(text: str) -> None:
    """Whatever stands around a program is at worst no call."""
    tool = PythonTool(timeout=1)
    tool.parse(text)
    call = tool.parse(f"{text}\n<python>1</python>")
    assert call is not None


@pytest.mark.parametrize("attributes", ['title="a.py"', "{.numberLines}", "{cmd=true} "])
def test_the_attributes_of_a_fenced_block_are_no_code(attributes: str) -> None:
    """Only what follows the opening line is run, also where it looks like attributes."""
    call = PythonTool().parse(f"```python {attributes}\nx = 1\n```")
    assert call is not None
    assert call.arguments == {"code": "x = 1"}


def test_reading_is_linear() -> None:
    """A megabyte of openings that never close is looked through in one go."""
    for opening in ("<python>", "```python", "```\n", "<"):
        assert PythonTool().parse(opening * 100_000 + "x") is None or opening == "```python"


def test_arguments_are_checked() -> None:
    """Wrong arguments are refused with the value."""
    with pytest.raises(ArgumentError, match="sandbox"):
        PythonTool(sandbox="none")
    with pytest.raises(ArgumentError, match="timeout"):
        PythonTool(timeout=-1)
    with pytest.raises(ArgumentTypeError, match="past"):
        PythonTool(session=True).set_state({"past": 3})


@pytest.mark.parametrize(
    ("name", "reward"),
    [("python_tool", 0.3), ("python_tool_no_int_reward", 0.0), ("python_tool_no_int_reward_last_line_error", 0.0)],
)
def test_the_wrappers_by_name_pay_as_published(name: str, reward: float) -> None:
    """A run that succeeds earns what is published, and the fifth is the last."""
    env = apply_wrappers(Question(), name)
    observation, _ = env.reset()
    assert "<python>" in observation
    for use in range(5):
        observation, earned, terminated, _, info = env.step("<python>print(7)</python>")
        assert (earned, terminated, info["tool_use_counter"]) == (pytest.approx(reward), False, use + 1)
    assert "Reached the maximum number of tool use" in observation
    assert env.step("<python>print(42)</python>")[1:3] == (1.0, True)
    env.close()


def test_the_wrappers_take_arguments_of_the_tool_and_of_the_wrapper() -> None:
    """Keyword arguments go where they belong, and override what is published."""
    env = wrapper("python_tool", session=True, max_tool_uses=1, tool_reward=0.5)(Question())
    assert isinstance(env, ToolEnvWrapper)
    assert env.tools[0].session is True  # type: ignore[attr-defined]
    assert (env.max_tool_uses, env.tool_reward, env.tool_success_reward) == (1, 0.5, 0.25)
    with pytest.raises(ArgumentTypeError, match="timeot"):
        wrapper("python_tool", timeot=3)(Question())
    env.close()
