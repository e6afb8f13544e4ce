"""Verdicts without a container: what counts, what is believed, and what it is worth."""

from __future__ import annotations

import ast
import hmac
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_envs_swe import SweEnv
from gem_envs_swe.errors import SweError
from gem_envs_swe.verdicts.agent_changes import MOST_DIFF, diff_of_agent
from gem_envs_swe.verdicts.test_runs import TestRun, _judged, _signed_lines, steady_log, with_controls
from gem_envs_swe.verdicts.verdict import SweVerdict
from gem_envs_swe.workplace.tasks import SweTask, load_tasks
from gem_terminal.engines.base import FileChanges

KEY = b"k" * 32
ROOT = "/code/repo"


def signed(*said: dict[str, Any], key: bytes = KEY, first: int = 0) -> bytes:
    """Return lines of a report."""
    texts = [json.dumps([number, each]).encode() for number, each in enumerate(said, first)]
    return b"".join(hmac.new(key, text, "sha256").hexdigest().encode() + b" " + text + b"\n" for text in texts)


def run_of(content: bytes, controls: set[str]) -> TestRun:
    """Return what is believed of a report."""
    return _judged(_signed_lines(content, KEY), controls, "")


PASSED: dict[str, Any] = {"test": "t.py::a", "outcome": "passed"}
CONTROL: dict[str, Any] = {"test": "t.py::c", "outcome": "failed"}
END: dict[str, Any] = {"end": 1, "wrong": ""}


def test_a_genuine_report_counts() -> None:
    """Its controls are no tests."""
    assert run_of(signed(PASSED, CONTROL, END), {"t.py::c"}) == TestRun({"t.py::a": "passed"})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\n",
        signed(PASSED, CONTROL),
        signed(PASSED, CONTROL) + signed(END, key=b"x" * 32, first=2),
        signed(PASSED, CONTROL) + signed(END, first=5),
        signed(PASSED, CONTROL, END).replace(b"passed", b"failed"),
        signed(CONTROL, END) + signed(PASSED, first=7) + signed(END, first=1),
        signed(PASSED, {**CONTROL, "outcome": "passed"}, END),
        signed(PASSED, {**CONTROL, "outcome": "skipped"}, END),
        signed(PASSED, END),
        signed(PASSED, CONTROL, {**END, "wrong": "pytest.raises was replaced"}),
    ],
)
def test_nothing_else_does(content: bytes) -> None:
    """A report that is cut off, forged, reordered, or whose controls did not fail."""
    run = run_of(content, {"t.py::c"})
    assert not run.passed("t.py::a")


def test_two_outcomes_of_one_test_are_a_failure() -> None:
    """In either order."""
    for outcomes in (("passed", "failed"), ("failed", "passed")):
        said = [{"test": "t.py::a", "outcome": outcome} for outcome in outcomes]
        assert run_of(signed(*said, CONTROL, END), {"t.py::c"}).outcomes == {"t.py::a": "failed"}


@pytest.mark.parametrize(
    "text", ["", "import os\nA = 1\n# the end", "def f(): pass\n\nclass T:\n    x = '''\n'''", "def f(:"]
)
def test_controls_fail_in_any_file(text: str) -> None:
    """Each is a function that raises; the last stands behind whatever the file ends with."""
    for _ in range(20):
        whole, names = with_controls(text)
        assert len(set(names)) == len(names) == 7
        if "(:" in text:
            assert whole.startswith(text)
            continue
        space: dict[str, Any] = {}
        exec(whole, space)
        for name in names:
            with pytest.raises((AssertionError, pytest.fail.Exception)):
                space[name]()


def test_nothing_but_its_body_tells_a_control_from_a_test() -> None:
    """Names, numbers and places are drawn anew, and controls stand between the tests of the file."""
    text = "\n\n\n".join(f"def test_{letter}():\n    assert True" for letter in "abcdefgh")
    drawn = [with_controls(text) for _ in range(20)]
    assert len({whole for whole, _ in drawn}) == 20
    assert len({name for _, names in drawn for name in names}) > 50
    tests = ast.parse(drawn[0][0]).body
    order = [node.name in drawn[0][1] for node in tests if isinstance(node, ast.FunctionDef)]
    assert any(order[: order.index(False) + 7])
    assert order[-1]


@pytest.mark.parametrize("gap", ["\n", "\n\n", "\n\n\n", "\n\n\n\n", "\r\n \r\n\r\n"])
def test_controls_move_no_line_of_a_file(gap: str) -> None:
    """A test may know the line that it stands in, as tests of tracebacks do."""
    tests = [f"class Test{letter}:\n    X = '{letter}'" for letter in "abcdefgh"]
    text = gap.join(tests)
    for _ in range(20):
        whole, names = with_controls(text)
        ast.parse(whole)
        kept = [(at, line) for at, line in enumerate(text.split("\n")) if line.strip()]
        lines = whole.split("\n")
        assert kept == [(at, lines[at]) for at, _ in kept]
        at_end = sum(line.startswith("def ") for line in lines[len(text.split("\n")) :])
        assert at_end == (1 if gap.count("\n") > 2 else len(names))


def test_a_log_holds_nothing_that_is_drawn() -> None:
    """Equal changes have equal logs: the controls, their places among the tests, seconds and addresses are left out."""
    output = (
        "F.FF [100%]\n=== FAILURES ===\n___ test_late_c ___\n    assert 1 == 2\n___ test_a ___\nE  <T at 0x7ff0>\n"
        "___ test_late_d ___\nE  no\n=== short test summary info ===\nFAILED t.py::test_late_c - assert\n"
        "FAILED t.py::test_a - why\nFAILED t.py::test_late_d\n3 failed, 1 passed in 0.05s\n"
    )
    assert steady_log(output, ["test_late_c", "test_late_d"]) == (
        "=== FAILURES ===\n___ test_a ___\nE  <T at 0x0>\n=== short test summary info ===\nFAILED t.py::test_a - why\n"
    )


@given(st.integers(0, 5), st.integers(0, 5), st.booleans())
def test_rewards_are_shares(mended: int, broken: int, wrong: bool) -> None:
    """All: everything passes. Fraction: the share that is mended. Regressions: less one share for each broken test."""
    verdict = SweVerdict(mended, 5, broken=tuple(map(str, range(broken))), wrong="why" if wrong else "")
    rewards = [verdict.reward(kind) for kind in ("all", "fraction", "regressions")]
    if wrong:
        assert rewards == [0.0, 0.0, 0.0]
    else:
        assert rewards == [float(mended == 5 and not broken), mended / 5, max(mended - broken, 0) / 5]


@pytest.fixture
def task(tally: Path) -> SweTask:
    """The task with a bug."""
    return load_tasks(tally)[0]


def changes(files: Mapping[str, bytes | str], removed: tuple[str, ...] = ()) -> FileChanges:
    """Return changes of a tree; text stands for the target of a link."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"repo/{name}")
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return FileChanges((("/code", buffer.getvalue()),), tuple(f"{ROOT}/{name}" for name in removed))


def test_the_diff_has_what_the_agent_did(task: SweTask) -> None:
    """And not what was broken before, nor byte code; bytes that are no text are named, and a long diff is cut off."""
    begun = task.text("tally/counting.py")
    assert begun is not None
    untouched = {"tally/counting.py": begun.encode(), "tally/__pycache__/a.pyc": b"\0", ".git/HEAD": b"x"}
    assert diff_of_agent(task, changes(untouched)) == ""
    solved = task.solved["tally/counting.py"]
    assert solved is not None
    assert diff_of_agent(task, changes({"tally/counting.py": solved.encode()})) == task.row.patch
    made = diff_of_agent(task, changes({"a.bin": b"\xff", "l": "../x", "n.py": "ü\n".encode()}, ("tests",)))
    assert "Binary file a.bin, 1 bytes\nLink l -> ../x\n" in made
    assert "+++ b/n.py\n@@ -0,0 +1 @@\n+ü\n" in made
    assert "deleted file mode 100644\n--- a/tests/test_counting.py" in made
    test = task.text("tests/test_counting.py")
    assert test is not None
    replaced = changes({"tests/test_counting.py": test.encode()}, ("tests",))
    assert diff_of_agent(task, replaced) == "", "a folder that was replaced has what lies in it now"
    long = diff_of_agent(task, changes({"n.py": b"x\n" * MOST_DIFF}))
    assert len(long) < MOST_DIFF + 100
    assert long.endswith("more characters]\n")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"tasks": ["tally-chunk"]}, "there is no task 'tally-chunk'; did you mean 'tally-chunks'?"),
        ({"tasks": "tally-chunks"}, "tasks must be a list of strings"),
        ({"kinds": ["bugs"]}, "kinds must be one of"),
        ({"kinds": ["tests"]}, "no task meets"),
        ({"level": 9}, "level must be at most 5"),
        ({"reward": "some"}, "reward must be one of"),
        ({"pass_to_pass": -1}, "pass_to_pass must be at least 0"),
        ({"run_tests": 1}, "run_tests"),
        ({"path": None}, "path must name a folder of tasks"),
    ],
)
def test_bad_arguments_are_named(tally: Path, arguments: dict[str, Any], why: str) -> None:
    """With what to do."""
    with pytest.raises((ArgumentError, TypeError), match=why.replace("?", r"\?")):
        SweEnv(**{"path": tally, **arguments})


def test_a_folder_without_a_set_is_named(tmp_path: Path) -> None:
    """Also one whose image is missing."""
    with pytest.raises(SweError, match="make one with gem swe make"):
        SweEnv(tmp_path)


def test_kinds_and_names_select_tasks(tally: Path) -> None:
    """And run_tests=False takes the tool away."""
    env = SweEnv(tally, kinds=["feature"], run_tests=False)
    assert [task.name for task in env.tasks] == ["tally-most"]
    assert "run_tests" not in {schema["function"]["name"] for schema in env.tool_schemas}
    assert {"bash", "view", "edit", "search", "submit"} == {schema["function"]["name"] for schema in env.tool_schemas}
