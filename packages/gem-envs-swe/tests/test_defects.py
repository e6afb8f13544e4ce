"""Defects change what a function means, and nothing else of its file."""

from __future__ import annotations

import ast
import random
import re
import textwrap
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from small_package import FILES

from gem_envs_swe.making.baseline import Baseline, PackageTree
from gem_envs_swe.making.bugs import defects
from gem_envs_swe.making.python_source import PythonSource, is_other_program
from gem_envs_swe.making.single_changes import bugs
from gem_envs_swe.making.suites import SuiteRun

SOURCES = {path: text for path, text in FILES.items() if path.startswith("shelfmark/")}


def made(text: str) -> dict[str, list[str]]:
    """Return the defects of the first function of a text: sort → the whole texts with them."""
    source = PythonSource("x.py", textwrap.dedent(text))
    found: dict[str, list[str]] = {}
    for defect in defects(source, source.definitions[0]):
        found.setdefault(defect.what, []).append(source.edited(defect.edits))
    return found


@pytest.mark.parametrize(
    ("what", "before", "after"),
    [
        ("boundary", "return a < b", "return a <= b"),
        ("boundary", "return (a) >= (b)", "return (a) > (b)"),
        ("condition", "return a is None", "return a is not None"),
        ("condition", "return a and b", "return a or b"),
        ("condition", "return a and (b or 1)", "return a"),
        ("condition", "return not a", "return a"),
        ("condition", "return not (a and b)", "return (a and b)"),
        ("condition", "if a < b:\n        return a", "if a >= b:\n        return a"),
        ("condition", "if a.b:\n        return a", "if not a.b:\n        return a"),
        ("condition", "if a or b:\n        return a", "if not (a or b):\n        return a"),
        ("operator", "return a + b", "return a - b"),
        ("constant", "return a[1:]", "return a[2:]"),
        ("arguments", "return max(a, b + 1)", "return max(b + 1, a)"),
        ("default", "return sorted(a, reverse=True)", "return sorted(a, reverse=False)"),
        ("exception", "raise ValueError(a)", "raise TypeError(a)"),
        ("arguments", "return max((a or b), 1)", "return max(1, (a or b))"),
        ("guard", "if a:\n        return b  # b\n    return a", "return a"),
        ("guard", "b = a\n\n    if a: return b\n\n    return a", "b = a\n\n    return a"),
        ("order", "a += 1\n    b += a", "b += a\n    a += 1"),
    ],
)
def test_defects_of_each_sort(what: str, before: str, after: str) -> None:
    """Each sort of defect changes its place, and keeps the text around it."""
    form = "def f(a, b):  # kept\n    {}\n"
    assert form.format(after) in made(form.format(before))[what]


@pytest.mark.parametrize(
    "text",
    [
        "def f(a):\n    if a is None:\n        return a\n    return not a\n",
        "def f(a):\n    for x in a:\n        if x:\n            break\n    return 1\n",
        "def f(a):\n    if not a:\n        return 1\n    if a: return 2\n",
    ],
)
def test_a_defect_does_not_show_that_it_is_one(text: str) -> None:
    """No defect leaves a pass, a negated comparison or parentheses that nobody writes."""
    for each in (each for found in made(text).values() for each in found):
        assert not re.search(r"\bpass\b|not \(|if \(|return \(", each), each


def test_defaults_of_parameters_change() -> None:
    """A default is a place of its own, which every call may notice."""
    assert made("def f(a=1, *, b=False, c=''):\n    return a\n")["default"] == [
        "def f(a=2, *, b=False, c=''):\n    return a\n",
        "def f(a=1, *, b=True, c=''):\n    return a\n",
        "def f(a=1, *, b=False, c='-'):\n    return a\n",
    ]


@pytest.mark.parametrize(
    "body",
    ['return f"{a < 1}"', "x: Literal[1] = a", "return isinstance(a, int)", 'return "a" + a', "return f(a, a)"],
)
def test_text_annotations_and_equal_arguments_have_no_defects(body: str) -> None:
    """What has no place in the text, or means the same afterwards, is left alone."""
    assert made(f"def f(a):\n    {body}\n") == {}


@pytest.mark.parametrize("change", [str, lambda text: text.replace("\n", "\r\n")])
def test_defects_of_whole_files_are_programs(change: Callable[[str], str]) -> None:
    """Nearly every defect of real files is another program, and only the edited spans differ."""
    good = total = 0
    for path, text in SOURCES.items():
        source = PythonSource(path, change(text))
        for definition in source.definitions:
            for defect in defects(source, definition):
                total += 1
                edited = source.edited(defect.edits)
                good += is_other_program(source, edited)
                first, last = min(edit.start for edit in defect.edits), max(edit.end for edit in defect.edits)
                assert edited.startswith(source.text[:first])
                assert edited.endswith(source.text[last:])
    assert total > 40
    assert good > 0.95 * total


def test_spans_are_those_of_the_parser() -> None:
    """The text of each node is the segment that the standard library finds, which takes far longer."""
    text = '"""é"""\ndef f(x):\n    s = "\U0001f40d"; y = x.é + 1\n    return (s,\n            y)\n'
    source = PythonSource("x.py", text)
    nodes = [node for node in ast.walk(source.tree) if isinstance(node, ast.expr | ast.stmt)]
    random.Random(0).shuffle(nodes)
    for node in nodes:
        assert source.of(node) == ast.get_source_segment(text, node)


LAYOUT = (
    "import os\n\n\ndef f(x):\n    return x + 1\n\n\nclass K:\n    y = 1\n\n    def g(self):\n        return (self.y)\n"
)


@pytest.mark.parametrize(
    ("before", "after", "is_other"),
    [
        ("x + 1", "x - 1", True),
        ("x + 1", "(x + 1)  # why", False),
        ("(self.y)", "self.y", False),
        ("y = 1\n", "y = 1\n    z = 2\n", True),
        ("import os\n", "import os\nimport sys\n", True),
        ("import os\n", "# import\n\nimport os\n", False),
        ("y = 1\n", "return 1\n", False),
        ("return x + 1", "return x +", False),
        ("import os\n", "", True),
    ],
)
def test_another_program_means_something_else(before: str, after: str, is_other: bool) -> None:
    """Layout is none of it, and text that Python refuses is no program."""
    assert LAYOUT.count(before) == 1
    assert is_other_program(PythonSource("x.py", LAYOUT), LAYOUT.replace(before, after)) == is_other


def test_the_second_defect_is_one_that_other_tests_run(tmp_path: Path) -> None:
    """Two defects that the same tests run cannot be told from each other, mostly."""
    functions = {name: f"def {name}(a, b):\n    return a < b and a + 1 == b or a > 2\n" for name in ("f", "g", "h")}
    (tmp_path / "p.py").write_text("\n\n".join(functions.values()))
    lines = {"test_p.py::one": [2, 6], "test_p.py::two": [10]}
    run = SuiteRun(outcomes=dict.fromkeys(lines, "passed"), lines={"p.py": lines})
    baseline = Baseline(PackageTree(tmp_path), run, frozenset(lines), {})
    pairs = set()
    for seed in range(20):
        pairs |= {each.functions for each in islice(bugs(baseline, random.Random(seed)), 4) if each.level == 4}
    assert pairs
    assert all("p.py:h" in pair for pair in pairs), pairs
