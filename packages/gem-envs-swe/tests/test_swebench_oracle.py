"""Our parsers and our grader against those of the package swebench, on synthetic logs and on hostile ones."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from synthetic_logs import WRITERS, synthetic_log

from gem_envs_swe.published.grading import grade_log
from gem_envs_swe.published.logs import log_form, parse_log

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

VERSION = "5.0.2"
ASKED_FOR_EACH_FORM = 8
START, END = ">>>>> Start Test Output", ">>>>> End Test Output"

SUMMARY = "=========== short test summary info ===========\n"

FAULTS = {
    "a line after the end of pytest replaces its summary": (
        "pytest",
        f"{SUMMARY}FAILED a.py::test_x - boom\n==== 1 failed in 0.10s ====\nPASSED a.py::test_x\n",
        {"a.py::test_x": "FAILED"},
        {"a.py::test_x": "PASSED"},
    ),
    "a word that only begins with an outcome is an outcome": (
        "pytest", "PASSEDLY a.py::test_x\n", {}, {"a.py::test_x": "PASSEDLY"},
    ),
    "a message of pytest about its options is a test": (
        "pytest", "ERROR: usage: pytest [options]\n", {}, {"usage:": "ERROR:"},
    ),
    "two parameters of one escape sequence stay in the line": (
        "pytest_v2", "\x1b[1;31mFAILED\x1b[0m a.py::test_x - boom\n", {"a.py::test_x": "FAILED"}, {},
    ),
    "any line that begins with ok ends a test": (
        "django", "test_x (a.B) ... loading\nokay, one more\n", {}, {"test_x (a.B)": "PASSED"},
    ),
    "a stray ok makes of a failure a success": (
        "django", "test_x (a.B) ... FAIL\nok\n", {"test_x (a.B)": "FAILED"}, {"test_x (a.B)": "PASSED"},
    ),
    "an ok replaces the outcome of a later run": (
        "django",
        "test_x (a.B) ... System check identified no issues (0 silenced)\nok\ntest_x (a.B) ... FAIL\n",
        {"test_x (a.B)": "FAILED"},
        {"test_x (a.B)": "PASSED"},
    ),
    "a heading without a name raises": ("django", "FAIL:\n", {}, "IndexError"),
    "a place in a traceback is a failed test": (
        "sympy", "see core/a.py:12 for more\n", {}, {"core/a.py:12 for": "FAILED"},
    ),
    "a skipped test of TAP has passed": (
        "tap", "ok 1 - x # SKIP net\n", {"- x # SKIP net": "SKIPPED"}, {"- x # SKIP net": "PASSED"},
    ),
    "a skipped test of Minitest has passed, for the point in its time": (
        "minitest", "A#test_: x.  = 0.01 s = S\n", {"A#test_: x": "SKIPPED"}, {"A#test_: x": "PASSED"},
    ),
    "a time within a name raises": (
        "calypso",
        "+ ./node_modules/.bin/jest a\n  s\n    ✓ takes (5ms) or less\n",
        {"s - takes (5ms) or less": "PASSED"},
        "AttributeError",
    ),
    "a heading less deep than the first raises": (
        "karma", "Starting browser X\n      a\n    b\n   c\n", {}, "IndexError",
    ),
    "a report that is cut raises": ("doctest", "<doctest binary='x'><TestCase name='a'>", {}, "ParseError"),
}  # fmt: skip
"""A fault of swebench's parsers → the parser, a log, the outcomes as they are, and what swebench says."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with swebench and the one library that its parsers and grader import."""
    pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
    folder = tmp_path_factory.mktemp("swebench")
    install = [sys.executable, "-m", "uv", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
    subprocess.run([*install, f"swebench=={VERSION}", "unidiff==0.7.5"], check=True)
    return folder


def answers(library: Path, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what swebench says of each log."""
    script = Path(__file__).with_name("swebench_oracle.py")
    done = subprocess.run(
        [sys.executable, str(script)],
        input=json.dumps(asked),
        env={**os.environ, "PYTHONPATH": str(library)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def question(form: str, seed: int) -> dict[str, Any]:
    """Return a log between its marks, with tests of it and others that must pass, and sometimes an exit code."""
    rng = random.Random(seed)
    log = synthetic_log(form, seed)
    ours = log_form(f"parse_log_{form}")
    assert ours is not None
    outcomes = parse_log(ours, log).by_test
    passing = [test for test, outcome in outcomes.items() if outcome == "PASSED"]
    others = [*outcomes, "no such test"] if seed % 3 else passing
    f2p = rng.sample(passing, min(len(passing), 3)) + (rng.sample(others, 1) if others and seed % 2 else [])
    p2p = rng.sample(others, min(len(others), 3))
    marks = [f"+ : '{START}'", log, f"+ : '{END}'", *([f">>>>> Test Exit Code: {seed % 2}"] if seed % 4 else [])]
    eval_type = "fail_only" if form in ("marked", "chart_js") else "pass_and_fail"
    return {"form": form, "log": "\n".join(marks), "f2p": f2p, "p2p": p2p, "eval_type": eval_type}


def test_outcomes_and_verdicts_agree(library: Path) -> None:
    """On 264 logs of 33 parsers every test has the same outcome and every row the same verdict.

    A log whose summary of pytest is cut counts for neither: its runner did not end.
    """
    asked = [question(form, seed) for form in WRITERS for seed in range(ASKED_FOR_EACH_FORM)]
    assert len(asked) >= 200
    full = 0
    for one, theirs in zip(asked, answers(library, asked), strict=True):
        form = log_form(f"parse_log_{one['form']}")
        assert form is not None
        fail_only = one["eval_type"] == "fail_only"
        verdict = grade_log(form, one["log"], one["f2p"], one["p2p"], fail_only=fail_only)
        assert parse_log(form, one["log"]).by_test == theirs["outcomes"], one
        assert verdict.resolution.value == theirs["resolution"], (one, verdict)
        full += verdict.resolved
    assert 40 < full < 220


def test_differences_are_faults_of_theirs(library: Path) -> None:
    """On each of 14 hostile logs swebench says what no runner said, or raises, and we say what the runner said."""
    asked = [
        {"form": form, "log": log, "f2p": [], "p2p": [], "eval_type": "pass_and_fail"}
        for form, log, _, _ in FAULTS.values()
    ]
    for (fault, (form, log, ours, expected)), theirs in zip(FAULTS.items(), answers(library, asked), strict=True):
        name = log_form(f"parse_log_{form}")
        assert name is not None
        assert parse_log(name, log).by_test == ours, fault
        assert (theirs.get("exception") or theirs["outcomes"]) == expected, fault
