"""The grader ``code``."""

from __future__ import annotations

from typing import Any

import pytest

from gem_envs_code import plugin
from gem_envs_code.code_grader import CodeGrader
from gem_envs_code.judge import RUNTIME_ERROR, TIME_LIMIT, WRONG_ANSWER
from gem_questions.rewards import Grader, make_grader

DOUBLE = {"inputs": ["1", "2"], "outputs": ["2", "4"]}
ADD = {"inputs": [[1, 2]], "outputs": [3], "fn_name": "add"}


@pytest.fixture(scope="module")
def grader() -> Grader:
    """The grader of the hook."""
    return make_grader("code")


def test_the_plugin_offers_it(grader: Grader) -> None:
    """The name leads to the class."""
    assert isinstance(grader, CodeGrader)
    assert list(plugin.gem_graders()) == ["code"]


@pytest.mark.parametrize(
    ("answer", "gold", "verdict", "how"),
    [
        ("print(2 * int(input()))", DOUBLE, "same", "tests"),
        ("So:\n```python\nprint(2 * int(input()))\n```", DOUBLE, "same", "tests"),
        ("def add(a, b): return a + b", ADD, "same", "tests"),
        ("print(2)", DOUBLE, "different", WRONG_ANSWER),
        ("no program", DOUBLE, "different", RUNTIME_ERROR),
        ("while True: pass", DOUBLE, "different", TIME_LIMIT),
        ("", DOUBLE, "different", "no_program"),
        (None, DOUBLE, "different", "no_program"),
        (7, DOUBLE, "different", "no_program"),
        ("print(2)", None, "unreadable", "no_tests"),
        ("print(2)", {}, "unreadable", "no_tests"),
        ("print(2)", [], "unreadable", "no_tests"),
        ("print(2)", "#### 18", "unreadable", "no_tests"),
        ("print(2)", float("nan"), "unreadable", "no_tests"),
    ],
)
def test_a_program_is_graded(answer: Any, gold: Any, verdict: str, how: str) -> None:
    """By all tests of the gold; without tests nobody can tell."""
    result = CodeGrader(seconds=0.5).grade(answer, gold)
    assert (result.verdict, result.how, result.correct) == (verdict, how, verdict == "same")


@pytest.mark.parametrize(
    ("gold", "text", "kind"),
    [
        (DOUBLE, "2 tests: '1' → '2'", "program"),
        (ADD, "1 test of add: '[1, 2]' → '3'", "function"),
        ({**DOUBLE, "checker": "def check(i, o, e): return True"}, "2 tests, by a checker: '1' → '2'", "program"),
    ],
)
def test_a_gold_is_read(gold: Any, text: str, kind: str, grader: Grader) -> None:
    """The number of tests, of what, and the first of them; or the reason why there is none."""
    assert (grader.read(gold).text, grader.read(gold).kind, grader.read(gold).readable) == (text, kind, True)
    nothing = grader.read(["x"])
    assert (nothing.kind, nothing.readable) == ("nothing", False)
    assert "must have an input and an output" in nothing.text
