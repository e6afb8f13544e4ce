"""Diffs are what git applies."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gem_envs_swe.making.patches import diff_of

TEXTS = st.text(st.sampled_from("ab\n\r\f\x0b\u2028é -+\\"), min_size=1, max_size=30)
TREES = st.dictionaries(st.sampled_from(["a.py", "folder/b.py", "c"]), TEXTS, max_size=3)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is what is asked")
@given(before=TREES, after=TREES)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_git_makes_the_second_tree_of_the_first(before: dict[str, str], after: dict[str, str], tmp_path: Path) -> None:
    """Whatever ends lines, and whether the last one ends, the files are those of the other tree, byte for byte."""
    tree = tmp_path / "tree"
    subprocess.run(["rm", "-rf", tree], check=True)
    for name, text in before.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(text.encode())
    tree.mkdir(exist_ok=True)
    diff = diff_of(before, after)
    if diff:
        command = ["git", "apply", "--whitespace=nowarn", "-"]
        environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CEILING_DIRECTORIES": str(tmp_path)}
        subprocess.run(command, input=diff.encode(), cwd=tree, check=True, env=environment)
    assert {
        str(path.relative_to(tree)): path.read_bytes().decode() for path in tree.rglob("*") if path.is_file()
    } == after


@pytest.mark.parametrize("same", [{}, {"a": "x"}])
def test_equal_trees_have_no_diff(same: dict[str, str]) -> None:
    """No file is named that is the same."""
    assert diff_of(same, dict(same)) == ""
