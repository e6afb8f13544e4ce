"""Slower forms of functions are found, and told from others by counted work alone."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path

import pytest
from small_package import FILES, write_archive

from gem_envs_swe import SweEnv
from gem_envs_swe.making.baseline import Baseline, PackageTree
from gem_envs_swe.making.performance import count_test
from gem_envs_swe.making.python_source import PythonSource
from gem_envs_swe.making.set_maker import MakingOptions, make_set
from gem_envs_swe.making.slowdowns import slowdowns
from gem_envs_swe.making.suites import SuiteRun
from gem_envs_swe.policies.reference import SweReferencePolicy
from gem_envs_swe.task_set import read_rows
from gem_terminal.engines import Engine

SOURCE = """\
from functools import lru_cache


@lru_cache(maxsize=None)
def ways(steps):
    if steps < 2:
        return 1
    return ways(steps - 1) + ways(steps - 2)


def common(left, right):
    known = set(right)
    return [each_left for each_left in left if each_left in known]
"""
TESTS = """\
from steps import common, ways


def test_ways():
    assert ways(15) == 987


def test_common():
    assert common(range(40), range(20, 60)) == list(range(20, 40))
"""


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counted tests load no plugins of pytest, which would take most of their time."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def slower(text: str) -> list[tuple[str, str]]:
    """Return the sorts and whole texts of the slower forms of all functions."""
    source = PythonSource("steps.py", textwrap.dedent(text))
    return [(each.what, source.edited(each.edits)) for one in source.definitions for each in slowdowns(source, one)]


def complaint(folder: Path, text: str) -> str:
    """Return what the hidden test says of a tree with a text; nothing if it passes."""
    (folder / "tests").mkdir(parents=True)
    (folder / "steps.py").write_text(text, encoding="utf-8")
    (folder / "tests" / "test_steps.py").write_text(TESTS, encoding="utf-8")
    tests = ["tests/test_steps.py::test_ways", "tests/test_steps.py::test_common"]
    hidden = folder / "tests" / "test_counted_work.py"
    own = PythonSource("steps.py", SOURCE)
    baseline = Baseline(PackageTree(folder), SuiteRun(), frozenset(tests), {})
    hidden.write_text(count_test("tests/test_counted_work.py", own, tests, baseline), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("counted_work", hidden)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scratch = folder.parent / f"{folder.name}-counted"
    try:
        module.test_counted_work(scratch)
    except AssertionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("what", "before", "after"),
    [
        ("memo", "@cache\ndef f(a):\n    return a\n", "def f(a):\n    return a\n"),
        ("memo", "class C:\n    @cached_property\n    def f(self):\n        return 1\n",
         "class C:\n    @property\n    def f(self):\n        return 1\n"),
        ("lookup", "def f(a, b):\n    return a not in b\n",
         "def f(a, b):\n    return not any(each == a for each in b)\n"),
        ("lookup", "def f(a, b):\n    return c == (a not in b)\n",
         "def f(a, b):\n    return c == (not any(each == a for each in b))\n"),
        ("loop", "def f(a):\n    n = len(a)\n    for x in a:\n        g(n)\n",
         "def f(a):\n    n = len(a)\n    for x in a:\n        g(len(a))\n"),
        ("loop", "def f(a):\n    n = len(a) + 1\n    for x in a:\n        g(n)\n",
         "def f(a):\n    n = len(a) + 1\n    for x in a:\n        g((len(a) + 1))\n"),
    ],
)  # fmt: skip
def test_each_sort_of_slower_function(what: str, before: str, after: str) -> None:
    """A slower form changes its places alone."""
    assert slower(before) == [(what, after)]


@pytest.mark.parametrize(
    "text",
    [
        "def f(a):\n    n = len(a)\n    for x in a:\n        n = n + g(n)\n",
        "def f(a):\n    n = (x for x in a)\n    for x in a:\n        g(n)\n",
        "def f(a):\n    n = len(a)\n    a = 1\n    for x in b:\n        g(n)\n",
        "def f(each, b):\n    return each in b\n",
        "def f(a):\n    return a in (1, 2)\n",
    ],
)
def test_work_that_depends_on_the_loop_stays_where_it_is(text: str) -> None:
    """What is assigned anew, is read once only or would change its meaning has no slower form."""
    assert slower(text) == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("number", "what"), [(0, "memo"), (1, "lookup")])
def test_slower_forms_fail_the_count(number: int, what: str, tmp_path: Path) -> None:
    """The lost memo and the search exceed the margin."""
    found, text = slower(SOURCE)[number]
    assert found == what
    assert "calls and lines instead of" in complaint(tmp_path / what, text)


@pytest.mark.nightly
def test_a_rewriting_without_further_work_passes_the_count(tmp_path: Path) -> None:
    """A neighbour with other text and as much work is no slower form."""
    assert complaint(tmp_path / "other", SOURCE.replace("known = set(right)", "known = frozenset(right)")) == ""


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.settrace(None)", "it ends with 9"),
        ("import threading; threading.Thread(target=print).start()", "it ends with 9"),
        ("import _thread; _thread.start_new_thread(print, ())", "it ends with 9"),
        ("import sys; sys._getframe().f_trace_lines = False", "it ends with 9"),
        ("import sys; sys._getframe().f_trace = None", "its tracer was taken away"),
        (
            "import os, pathlib; pathlib.Path('../count').write_text('[\"\", 1, 0]'); os._exit(0)",
            "its report was written by something else",
        ),
        ("import os; os._exit(0)", "its report was written by something else"),
    ],
    ids=["settrace", "thread", "low-level thread", "lines", "frame", "report", "exit"],
)
def test_a_package_cannot_escape_the_count(code: str, said: str, tmp_path: Path) -> None:
    """A slower form that takes the tracer away, works elsewhere, or writes the report itself fails."""
    text = slower(SOURCE)[1][1].replace("    known =", f"    {code}\n    known =")
    assert said in complaint(tmp_path / "cheat", text)


@pytest.mark.nightly
@pytest.mark.only_engine("namespace", "docker")
def test_tasks_are_proved_and_solved(engine: Engine, tmp_path: Path) -> None:
    """Each task has the count alone as what fails; the solution earns 1.0."""
    files = {**FILES, "shelfmark/steps.py": SOURCE, "tests/test_steps.py": TESTS.replace("steps", "shelfmark.steps", 1)}
    options = MakingOptions(tasks=2, kinds=("performance",))
    make_set(str(write_archive(tmp_path, files)), tmp_path / "set", options, engine)
    with SweEnv(tmp_path / "set", engine=engine) as env:
        for row in read_rows(tmp_path / "set"):
            assert [test.rpartition("::")[2] for test in row.FAIL_TO_PASS] == ["test_counted_work"]
            observation, info = env.reset(options={"task": row.instance_id})
            policy = SweReferencePolicy(env)
            policy.reset(observation, info)
            done = False
            while not done:
                observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
                done = terminated or truncated
            assert reward == 1.0, (row.instance_id, info)
