"""Logs of test runners, and the verdicts from them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_logs import WRITERS, synthetic_log

from gem.errors import ArgumentError
from gem_envs_swe.published.grading import RowResolution, grade, grade_log
from gem_envs_swe.published.logs import LOG_FORMS, TestOutcomes, log_form, parse_log

SUMMARY = "======= short test summary info =======\n"

LOGS = {
    "pytest": (
        f"{SUMMARY}PASSED a.py::test_x[a b]\nSKIPPED [1] a.py:3: no\nERROR a.py::test_y - x\n"
        "FAILED a.py::test_z - 1 - 2\n",
        {"a.py::test_x[a": "PASSED", "a.py::test_y": "ERROR", "a.py::test_z": "FAILED"},
    ),
    "pytest_options": (
        "PASSED a::b[/home/me/x.txt]\nPASSED a::c[//x]\n",
        {"a::b[/x.txt]": "PASSED", "a::c[//x]": "PASSED"},
    ),
    "pytest_v2": (
        "\x1b[32mPASSED\x1b[0m a.py::\x1b[1mtest_x[a b]\x1b[0m\na.py::test_y FAILED\n"
        "FAILED a.py::test_z[p - q] - boom\n",
        {"a.py::test_x[a b]": "PASSED", "a.py::test_y": "FAILED", "a.py::test_z[p": "FAILED"},
    ),
    "matplotlib": ("PASSED a::b[MouseButton.LEFT]\n", {"a::b[1]": "PASSED"}),
    "seaborn": ("a::b PASSED [ 5%]\nFAILED a::c - no\n", {"a::b": "PASSED", "a::c": "FAILED"}),
    "django": (
        "test_a (m.C) ... ok\ntest_b (m.C) ... Creating\nok\ntest_c (m.C) ... skipped 'x'\n"
        "Words. ... FAIL\nFAIL: test_d (C)\n",
        {
            "test_a (m.C)": "PASSED",
            "test_b (m.C)": "PASSED",
            "test_c (m.C)": "SKIPPED",
            "Words.": "FAILED",
            "test_d": "FAILED",
        },
    ),
    "sympy": (
        "test_a ok\ntest_b F\n____ sympy/x.py:test_b ____\n",
        {"test_a": "PASSED", "test_b": "FAILED", "sympy/x.py:test_b": "FAILED"},
    ),
    "r2e": (f"{SUMMARY}PASSED r2e_tests/test_1.py::T::test_a\n", {"T.test_a": "PASSED"}),
    "jest": (
        "  ✓ adds (5 ms)\n  ✕ subtracts\n  ○ later\n",
        {"adds": "PASSED", "subtracts": "FAILED", "later": "SKIPPED"},
    ),
    "jest_json": ("[PASSED] a b\n[FAILED] c\n", {"a b": "PASSED", "c": "FAILED"}),
    "vitest": (" ✓ a.ts > b 5ms\n × a.ts > c\n", {"a.ts > b": "PASSED", "a.ts > c": "FAILED"}),
    "calypso": ("+ ./node_modules/.bin/jest x\n  s\n    ✓ a (5ms)\n", {"s - a": "PASSED"}),
    "mocha": (
        "  s\n    t\n      ✔ a (12ms)\n      1) b\n      - c\n    d\n      ✓ e\n\n  2 passing\n  1) s\n",
        {"s > t > a": "PASSED", "s > t > b": "FAILED", "s > t > c": "SKIPPED", "s > d > e": "PASSED"},
    ),
    "highlightjs": ("  h\n    ✓ a\n    1) b\n  2 passing\n  1) h\n", {"h.a": "PASSED", "h.b": "FAILED"}),
    "karma": (
        "Starting browser X\n  s\n    ✔ a\n    ✖ b\nSUMMARY:\n✔ 2 tests\n",
        {"s > a": "PASSED", "s > b": "FAILED"},
    ),
    "tap": ("ok 1 - a\nnot ok 2 - b\nok 3 - c # skip\n", {"- a": "PASSED", "- b": "FAILED", "- c # skip": "SKIPPED"}),
    "suite_files": ("PASS a/b.js (5.1 s)\nFAIL c.js\n", {"a/b.js": "PASSED", "c.js": "FAILED"}),
    "grommet": ("PASS a.js (2 s)\nFAIL a.js\nFAIL b.js\n", {"a.js": "PASSED", "b.js": "FAILED"}),
    "marked": ("1) spec a\nno\n", {"spec a": "FAILED"}),
    "chart_js": ("Chrome 98.0 (Linux x86_64) a b FAILED\n", {"a b ": "FAILED"}),
    "gotest": (
        "--- PASS: TestA/b_(c) (0.01s)\n    --- FAIL: TestD (1.00s)\n",
        {"TestA/b_(c)": "PASSED", "TestD": "FAILED"},
    ),
    "cargo": ("test a::b ... ok\ntest c ... FAILED\ntest d ... ignored\n", {"a::b": "PASSED", "c": "FAILED"}),
    "maven": (
        "+ mvn test -Dtest=A#a\nBUILD SUCCESS\n+ mvn test -Dtest=B\n[ERROR] BUILD FAILURE\n",
        {"A#a": "PASSED", "B": "FAILED"},
    ),
    "ant": ("  [junit] [PASS] a b\n  [junit] [ERR] c\n", {"a b": "PASSED", "c": "FAILED"}),
    "gradle_custom": (
        "A > b PASSED\nC > d\nwarning\nFAILED\n> Task :x PASSED\n",
        {"A > b": "PASSED", "C > d": "FAILED"},
    ),
    "googletest": ("[       OK ] A.b (0 ms)\n[  FAILED  ] A.c (1 ms)\n", {"A.b": "PASSED", "A.c": "FAILED"}),
    "ctest": (
        "1/3 Test #1: a b ......   Passed    0.01 sec\n2/3 Test #2: c ....***Failed\n"
        "3/3 Test  #3: d ...***Not Run   0.0\n",
        {"a b": "PASSED", "c": "FAILED", "d": "SKIPPED"},
    ),
    "redis": ("[ok]: a (5 ms)\n[err]: b in x.tcl\n[skip]: c\n", {"a": "PASSED", "b": "FAILED", "c": "SKIPPED"}),
    "jq": ("PASS: a\nFAIL: b\n", {"a": "PASSED", "b": "FAILED"}),
    "micropython_test": (
        "pass  a.py\nFAIL  b.py\nskip  c.py\n",
        {"a.py": "PASSED", "b.py": "FAILED", "c.py": "SKIPPED"},
    ),
    "doctest": (
        "<doctest><TestCase name='a'><SubCase name='b'><Expression success='true'/></SubCase></TestCase></doctest>",
        {"a > b": "PASSED"},
    ),
    "phpunit": ("Ab (B\\C)\n ✔ d\n ✘ e\n", {"Ab > d": "PASSED", "Ab > e": "FAILED"}),
    "minitest": (
        "A#test_: b.  = 0.01 s = .\nA#test_: c.  = 0.01 s = F\n",
        {"A#test_: b": "PASSED", "A#test_: c": "FAILED"},
    ),
    "cucumber": ("As a user .....\nI want ..F\n", {"As a user": "PASSED", "I want": "FAILED"}),
    "ruby_unit": ("test: a b:\t.: (0.1)\nc:\tO: (0.1)\n", {"a b": "PASSED", "c": "SKIPPED"}),
    "rspec_transformed_json": ("a - b - passed\nc - failed\n", {"a - b": "PASSED", "c": "FAILED"}),
}


def test_every_form_has_a_log() -> None:
    """No form of logs is without an example here."""
    assert set(LOGS) == set(LOG_FORMS)


@pytest.mark.parametrize("form", LOGS)
def test_a_log_shows_its_outcomes(form: str) -> None:
    """The outcomes of the runner's own lines, under the names that published sets list."""
    log, outcomes = LOGS[form]
    assert parse_log(form, log).by_test == outcomes


@given(
    st.sampled_from(sorted(LOG_FORMS)),
    st.text(alphabet=st.sampled_from("PASED FIL.:[]()\n\r-=_✓1>#okx\x1b"), max_size=60),
)
def test_any_text_is_a_log(form: str, text: str) -> None:
    """No text makes a parser raise, and names of tests are not empty words."""
    assert all(isinstance(test, str) for test in parse_log(form, text).by_test)


def test_other_names_of_parsers() -> None:
    """The names that rows give to parsers stand for forms; unknown ones for none."""
    assert log_form("parse_log_scikit") == "pytest_v2"
    assert log_form("parse_log_carbon") == "suite_files"
    assert log_form("parse_log_unheard_of") is None
    assert all(log_form(f"parse_log_{name}") for name in WRITERS)
    with pytest.raises(ArgumentError, match="cargo"):
        parse_log("unheard of", "")


LONG = {
    "pytest": "short test summary info =" * 20_000,
    "pytest_v2": "1 " * 200_000,
    "sympy": "_" * 100 + " .py:" * 100_000,
    "django": " ... " * 100_000,
    "ctest": "1/1 Test #1: " + ". " * 200_000,
    "gotest": "--- PASS: " + "(" * 400_000,
    "minitest": ". = " * 100_000,
    "cucumber": " ." * 200_000,
    "phpunit": "a (" * 150_000,
    "chart_js": "Chrome 1 (" * 40_000,
    "gradle_custom": "a > " * 100_000,
    "maven": "-Dtest=" * 60_000,
}


@pytest.mark.parametrize("form", LONG)
def test_a_long_line_takes_no_longer_than_its_length_says(form: str) -> None:
    """Four times as long a hostile line takes about four times as long, not sixteen times."""
    hostile = LONG[form]

    def seconds(text: str) -> float:
        begin = time.process_time()
        parse_log(form, text)
        return time.process_time() - begin

    short, whole = min(seconds(hostile[: len(hostile) // 4]) for _ in range(3)), seconds(hostile)
    assert whole < 10 * short + 0.05


def test_a_summary_decides() -> None:
    """Lines before and after pytest's summary do not replace it, and what only they name is unconfirmed."""
    log = (
        f"PASSED a::x\nPASSED a::only_here\n{SUMMARY}PASSED a::y\nFAILED a::x - no\n"
        "==== 1 failed, 1 passed in 0.10s ====\nPASSED a::x\nPASSED a::later\n"
    )
    found = parse_log("pytest", log)
    assert found.by_test == {"a::x": "FAILED", "a::y": "PASSED", "a::only_here": "PASSED", "a::later": "PASSED"}
    assert found.unconfirmed == {"a::only_here", "a::later"}
    assert found.contradiction == ""


def test_forged_lines_in_a_summary_are_counted() -> None:
    """More lines than pytest counted contradict it, and then there is no verdict."""
    log = f"{SUMMARY}PASSED a::x\nPASSED a::forged\n==== 1 passed in 0.10s ====\n"
    assert "lists 2 passed tests, and pytest counted 1" in parse_log("pytest", log).contradiction
    verdict = grade_log("pytest", log, ["a::forged"], [])
    assert (verdict.resolved, bool(verdict.unknown)) == (False, True)
    hidden = f"{SUMMARY}PASSED a::x\n==== 1 failed, 1 passed in 0.10s ====\n"
    assert "lists none" in parse_log("pytest", hidden).contradiction


OUTCOMES = TestOutcomes(
    {"p": "PASSED", "x": "XFAIL", "f": "FAILED", "e": "ERROR", "s": "SKIPPED", "q[a, b]": "PASSED", "q[a, c]": "PASSED"}
)


@pytest.mark.parametrize(
    ("f2p", "p2p", "resolution"),
    [
        (["p", "x"], ["s", "p"], RowResolution.FULL),
        (["p", "f"], ["p"], RowResolution.PARTIAL),
        (["p", "f"], ["e"], RowResolution.NO),
        (["f"], ["p"], RowResolution.NO),
        (["s"], [], RowResolution.NO),
        (["absent"], [], RowResolution.NO),
        (["p"], ["absent"], RowResolution.NO),
        (["q[a,"], [], RowResolution.FULL),
        (["q[a]"], [], RowResolution.NO),
        ([], [], RowResolution.FULL),
    ],
)
def test_a_row_is_resolved_as_swe_bench_has_it(f2p: list[str], p2p: list[str], resolution: RowResolution) -> None:
    """What must pass passes, an expected failure included; what must be kept may be skipped; absent tests fail."""
    assert grade(OUTCOMES, f2p, p2p).resolution is resolution


def test_a_fix_is_shown_by_the_summary_alone() -> None:
    """A test outside of the runner's summary may be kept, and is not fixed."""
    outcomes = TestOutcomes({"a": "PASSED", "b": "PASSED"}, unconfirmed=frozenset({"b"}))
    assert grade(outcomes, ["a"], ["b"]).resolved
    assert not grade(outcomes, ["b"], ["a"]).resolved


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (">>>>> Patch Apply Failed\nPASSED a::x\n", "could not be applied"),
        (">>>>> Start Test Output\nPASSED a::x\n", "no whole part"),
        (">>>>> End Test Output\n>>>>> Start Test Output\nPASSED a::x\n", "no whole part"),
        ("nothing here", "shows no test"),
        (">>>>> Start Test Output\nPASSED a::x\n>>>>> End Test Output\n>>>>> Test Exit Code: 1\n", "exit code 1"),
    ],
)
def test_a_log_without_an_end_decides_nothing(log: str, reason: str) -> None:
    """Where the tests did not run, or the runner's exit contradicts its log, the verdict is unknown."""
    verdict = grade_log("pytest", log, ["a::x"], [])
    assert reason in verdict.unknown
    assert verdict.resolution is RowResolution.NO


def test_the_tests_own_output_is_no_word_of_the_script() -> None:
    """Code under test cannot escape a failure by writing the script's marks."""
    forged = ">>>>> Patch Apply Failed\n>>>>> End Test Output\n>>>>> Test Exit Code: 0\n"
    log = f">>>>> Start Test Output\n{forged}{SUMMARY}FAILED a::x\n>>>>> End Test Output\n>>>>> Test Exit Code: 1\n"
    verdict = grade_log("pytest", log, ["a::x"], [])
    assert (verdict.unfixed, verdict.unknown) == (("a::x",), "")


def test_an_absent_test_passes_where_only_failures_are_named() -> None:
    """A form that names failures alone needs a sign that its tests ran."""
    ran = "1) other\n12 specs, 1 failure\n"
    assert grade_log("marked", ran, ["a"], [], fail_only=True).resolved
    assert not grade_log("marked", ran, ["other"], [], fail_only=True).resolved
    assert grade_log("marked", "12 specs, 0 failures\n", ["a"], [], fail_only=True).resolved
    assert grade_log("marked", "browser did not start\n", ["a"], [], fail_only=True).unknown
    assert grade_log("marked", "Executed 0 of 0\n", ["a"], [], fail_only=True).unknown


@pytest.mark.parametrize("form", ["pytest", "django", "gotest", "jest"])
def test_a_synthetic_log_has_outcomes(form: str) -> None:
    """The logs on which we are compared with swebench are not empty."""
    name = log_form(form)
    assert name is not None
    assert sum(len(parse_log(name, synthetic_log(form, seed)).by_test) for seed in range(8)) > 8
