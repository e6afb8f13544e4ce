"""Candidates without the tests of a function, which the agent writes: :func:`unwritten_tests`.

The hidden tests run the written file on copies of the tree. It must pass on the package and on the package with another
layout of its text, on which one that compares texts fails, and fail on each of several defects.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath

from gem_envs_swe.making.baseline import Baseline
from gem_envs_swe.making.bugs import defects
from gem_envs_swe.making.candidates import Candidate
from gem_envs_swe.making.hidden_tests import test_functions, without
from gem_envs_swe.making.python_source import Definition, PythonSource, is_other_program
from gem_envs_swe.making.single_changes import tested_functions
from gem_envs_swe.making.structure_tests import hidden_path

__all__ = ["unwritten_tests"]

_DEFECTS = 3
_MOST_LINES = 40
"""Lines of a test function: a longer one tests more than one function, mostly."""
_VERIFIER = '''\
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[{depth}]
WRITTEN = {written!r}
PATH = {path!r}
SAME = {same!r}
DEFECTS = {defects!r}


def outcome(folder, text):
    """Return pytest's exit code for the written file, with a text in place of that of the package."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__", ".pytest_cache"))
    (tree / PATH).write_text(text, encoding="utf-8", newline="")
    found = os.pathsep.join([str(tree), str(tree / "src")])
    command = [sys.executable, "-m", "pytest", *{arguments!r}, WRITTEN]
    done = subprocess.run(
        command, cwd=tree, env={{**os.environ, "PYTHONPATH": found, "PYTHONDONTWRITEBYTECODE": "1"}},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
    )
    return done.returncode


def test_they_pass_on_the_package(tmp_path):
    """The written tests pass on the package, whatever the layout of its text."""
    assert (ROOT / WRITTEN).is_file()
    assert outcome(tmp_path / "own", (ROOT / PATH).read_bytes().decode()) == 0
    assert outcome(tmp_path / "same", SAME) == 0


@pytest.mark.parametrize("number", range(len(DEFECTS)))
def test_they_notice(number, tmp_path):
    """The written tests fail on a defect, and do so as tests."""
    assert (ROOT / WRITTEN).is_file()
    assert outcome(tmp_path, DEFECTS[number]) == 1
'''


def unwritten_tests(baseline: Baseline, generator: random.Random) -> Iterator[Candidate]:
    """Return functions whose tests are gone, with defects for new ones to notice."""
    functions = list(tested_functions(baseline))
    generator.shuffle(functions)
    for source, definition in functions:
        tests = _tests_of(baseline, source, definition)
        if tests is not None:
            made = _made(baseline, source, definition, *tests, generator)
            if made is not None:
                yield made


def _tests_of(
    baseline: Baseline, source: PythonSource, definition: Definition
) -> tuple[PythonSource, dict[str, Definition], frozenset[str]] | None:
    """Return the file, functions and names of the tests that run and name a function; None unless in one file."""
    short = definition.name.rpartition(".")[2]
    covering = baseline.covering({source.path: definition.lines})
    functions = test_functions(baseline, covering)
    if not functions:
        return None
    naming = {
        test: (file, each) for test, (file, each) in functions.items()
        if _mentions(each.node, short) and (each.node.end_lineno or 0) - each.first_line < _MOST_LINES
    }  # fmt: skip
    files = {file.path: file for file, _ in naming.values()}
    if len(files) != 1:
        return None
    (file,) = files.values()
    chosen = {each.name: each for _, each in naming.values()}
    everything = test_functions(baseline, [test for test in baseline.stable if test.startswith(f"{file.path}::")])
    if everything is None:
        return None
    removed = frozenset(test for test, (_, each) in everything.items() if each.name in chosen)
    return file, chosen, removed


def _mentions(node: ast.AST, name: str) -> bool:
    return any(name in (getattr(each, "id", None), getattr(each, "attr", None)) for each in ast.walk(node))


def _made(
    baseline: Baseline, source: PythonSource, definition: Definition, file: PythonSource, chosen: dict[str, Definition],
    removed: frozenset[str], generator: random.Random,
) -> Candidate | None:  # fmt: skip
    texts = [source.edited(defect.edits) for defect in defects(source, definition)]
    generator.shuffle(texts)
    found = list(islice((text for text in texts if is_other_program(source, text)), _DEFECTS))
    if len(found) < _DEFECTS:
        return None
    short = definition.name.rpartition(".")[2].strip("_")
    written = str(PurePosixPath(file.path).parent / f"test_written_for_{short}.py")
    others = [each for each in file.definitions if each.name not in chosen and _is_test(each)]
    path = hidden_path(baseline, "test_of_written_tests.py")
    text = _VERIFIER.format(
        depth=len(PurePosixPath(path).parts) - 1, written=written, path=source.path, arguments=baseline.arguments,
        same=f"{ast.unparse(source.tree)}\n", defects=found,
    )  # fmt: skip
    said = (
        f"# Write tests for `{definition.name}`\n\n"
        f"`{definition.name}` in `{source.path}` has no tests of its own. Write them, for pytest, in the new file "
        f"`{written}`.\n\nThey must pass on the package as it is, and must not depend on the text or the layout of its "
        f"source. They are run on {_DEFECTS} versions of the package with a defect in `{definition.name}` each, and "
        "must fail on every one. Nothing else is to be changed.\n"
    )
    return Candidate(
        kind="tests", level=2, what="tests", write={file.path: without(file, list(chosen.values()))}, lines={},
        functions=(f"{source.path}:{definition.name}",), asked={"statement": said},
        solution={written: without(file, others)}, hidden={path: text}, removed=removed,
        hidden_tests=(
            f"{path}::test_they_pass_on_the_package",
            *(f"{path}::test_they_notice[{number}]" for number in range(_DEFECTS))
        ),
    )  # fmt: skip


def _is_test(definition: Definition) -> bool:
    return definition.node.name.startswith("test")
