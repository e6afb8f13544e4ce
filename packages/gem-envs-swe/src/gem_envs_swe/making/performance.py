"""Candidates with a function that does needless work: :func:`slow_functions`.

The hidden test counts the calls and lines of the package that some of its own tests run, and compares the count with
that of the package's own file. It measures no time, so that no busy machine decides. Imports are not counted. A package
that sets another tracer, or begins threads or processes, which are not counted, ends the process; tests for which the
package's own file does so are in no task.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from gem_envs_swe.making.baseline import Baseline
from gem_envs_swe.making.candidates import Candidate
from gem_envs_swe.making.python_source import PythonSource, is_other_program
from gem_envs_swe.making.single_changes import tested_functions
from gem_envs_swe.making.slowdowns import slowdowns
from gem_envs_swe.making.structure_tests import hidden_path

__all__ = ["count_test", "slow_functions"]

_MARGIN = 25
"""Percent by which the count may be above that of the package's own file."""
_MOST_TESTS = 8
"""Tests that are counted; tracing makes them slower."""
_LEVELS = {"memo": 1, "lookup": 2, "loop": 3}
_GROWTH = {
    "memo": "What was worked out once is worked out anew every time it is asked for, so the work grows with the number "
    "of times.",
    "lookup": "Every lookup in a collection walks through its elements, so the work grows with its size.",
    "loop": "What is the same in all rounds of a loop is worked out in each, so the work grows with the rounds.",
}
_VERIFIER = '''\
import json
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[{depth}]
PATH = {path!r}
OWN = {own!r}
TESTS = {tests!r}
TEST_FILES = {test_files!r}
MARGIN = {margin!r}
COUNTER = """
import _thread, json, os, sys, threading
import pytest

REFUSED = ("sys.settrace", "sys.setprofile", "os.fork", "os.posix_spawn", "os.exec", "subprocess.Popen")

def main(key, tree, root, report, apart, arguments, tests):
    apart = frozenset(os.path.join(tree, name) for name in apart)
    libraries = tuple(os.path.join(each, "") for each in sys.path if each and not each.startswith((tree, root)))
    libraries += ("<frozen ",)
    calls = returns = lines = 0
    counting = False

    def line(frame, event, argument):
        nonlocal lines, returns
        lines += event == "line"
        if event == "return":
            returns += 1
            if not frame.f_trace_lines:
                os._exit(9)
        return line

    def call(frame, event, argument):
        nonlocal calls
        path = frame.f_code.co_filename
        if path in apart or path.startswith(libraries):
            return None
        calls += 1
        return line

    def refuse(event, arguments):
        if counting and event in REFUSED:
            os._exit(9)

    start_new_thread = _thread.start_new_thread

    def start(*arguments, **keywords):  # before Python 3.12 no event tells of it
        if counting:
            os._exit(9)
        return start_new_thread(*arguments, **keywords)

    class Start:
        def pytest_collection_finish(self, session):
            nonlocal counting
            sys.settrace(call)
            counting = True

    _thread.start_new_thread = threading._start_new_thread = start
    sys.addaudithook(refuse)
    status = pytest.main([*arguments, *tests], plugins=[Start()])
    with open(report, "w") as file:
        json.dump([key, calls + lines, calls - returns], file)
    os._exit(int(status))

main(**json.load(sys.stdin))
"""


def counted(folder, text):
    """Return how many calls and lines of the package the tests run, with a text in place of one of its files."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__", ".pytest_cache"))
    (tree / PATH).write_text(text, encoding="utf-8", newline="")
    found = os.pathsep.join([str(tree), str(tree / "src")])
    report, key = folder / "count", secrets.token_hex(16)
    asked = dict(
        key=key, tree=str(tree), root=str(ROOT), report=str(report), apart=TEST_FILES, arguments={arguments!r},
        tests=TESTS,
    )  # not as arguments, which any code can read
    done = subprocess.run(
        [sys.executable, "-c", COUNTER], cwd=tree,
        env={{**os.environ, "PYTHONPATH": found, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}},
        input=json.dumps(asked).encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240,
    )
    assert done.returncode == 0, f"it ends with {{done.returncode}}: {{done.stdout[-2000:].decode(errors='replace')}}"
    said = json.loads(report.read_text()) if report.is_file() else []
    assert said[:1] == [key], "its report was written by something else"
    assert said[2] == 0, "its tracer was taken away"
    return said[1]


def test_counted_work(tmp_path):
    """The tests run about as many calls and lines of the package as with its own file."""
    own = counted(tmp_path / "own", OWN)
    now = counted(tmp_path / "now", (ROOT / PATH).read_bytes().decode())
    assert own > 0
    assert now * 100 <= own * (100 + MARGIN), f"{{now}} calls and lines instead of {{own}}"
'''


def slow_functions(baseline: Baseline, generator: random.Random) -> Iterator[Candidate]:
    """Return functions without a memo (level 1), with searches for lookups (2), with work moved into loops (3)."""
    found = [
        (source, definition, slowdown)
        for source, definition in tested_functions(baseline)
        for slowdown in slowdowns(source, definition)
    ]
    generator.shuffle(found)
    for source, definition, slowdown in found:
        text = source.edited(slowdown.edits)
        lines = {source.path: frozenset(definition.lines)}
        tests = sorted(baseline.covering(lines), key=lambda test: (baseline.seconds([test]), test))[-_MOST_TESTS:]
        if not tests or not is_other_program(source, text):
            continue
        path = hidden_path(baseline, "test_counted_work.py")
        yield Candidate(
            kind="performance", level=_LEVELS[slowdown.what], what=slowdown.what, write={source.path: text},
            lines=lines, functions=(f"{source.path}:{definition.name}",),
            asked={"statement": _statement(tests, _GROWTH[slowdown.what])},
            hidden={path: count_test(path, source, tests, baseline)},
            hidden_tests=(f"{path}::test_counted_work",),
        )  # fmt: skip


def count_test(hidden: str, source: PythonSource, tests: Sequence[str], baseline: Baseline) -> str:
    """Return the text of a hidden test of the work that tests make.

    Args:
        hidden: where the test will stand.
        source: the package's own file, of which the agent gets a slower one.
        tests: the tests that run.
        baseline: has the arguments of pytest, and the files of tests, in which nothing is counted, as in those outside
            of the tree that Python imports from.
    """
    return _VERIFIER.format(
        depth=len(PurePosixPath(hidden).parts) - 1, path=source.path, own=source.text, tests=list(tests),
        test_files=sorted(baseline.test_files), margin=_MARGIN, arguments=baseline.arguments,
    )  # fmt: skip


def _statement(tests: Sequence[str], growth: str) -> str:
    listed = "\n".join(f"- `{test}`" for test in tests)
    return (
        "# The package does needless work\n\n"
        f"All tests pass, and all results are right, but a function of the package works too much. {growth}\n\n"
        f"It shows in the calls and lines of the package that these tests run:\n\n{listed}\n\n"
        f"Find and remove the needless work. Their number must be at most {_MARGIN} percent above that of the package "
        "as it was released; no time is measured. Results must stay the same: all tests of the package must pass; they "
        "are not to be changed.\n"
    )
