"""Unified diffs: what is applied, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_swe.errors import SweError
from gem_envs_swe.making.patches import diff_of
from gem_envs_swe.workplace.patching import apply_patch

LINES = st.lists(st.sampled_from(["", "a", "b", " c", "-d", "+e", "@@ -1 +1 @@", "--- a/x", "\\ No", "\r", "ü\x0c"]))
TEXTS = st.builds(lambda lines, ended: "\n".join(lines) + "\n" * ended, LINES, st.booleans())
TREES = st.dictionaries(st.sampled_from(["a.py", "b/c.py", "b/d e.py"]), TEXTS)
ONE = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"


@given(TREES, TREES)
def test_a_diff_leads_from_one_tree_to_the_other(before: dict[str, str], after: dict[str, str]) -> None:
    """Whatever the lines are, with or without an end of the last one, new, removed and empty files among them."""
    changed = apply_patch(diff_of(before, after), before.get)
    assert {path: text for path, text in {**before, **changed}.items() if text is not None} == after


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (ONE.replace(" a\n", " A\n"), "does not fit x at line 1"),
        (ONE.replace("-1,2", "-2,2"), "does not fit x at line 2"),
        (ONE.replace("-1,2", "-1,5"), "cut off"),
        (ONE[:-3], "cut off"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+c\n", "does not fit x at line 1"),
        (ONE.replace("b/x", "b/../x"), "outside the tree"),
        (ONE.replace("a/x", "/etc/passwd"), "outside the tree"),
        (ONE.replace("/x", "/y"), "changes y, which does not exist"),
        ("Binary files a/x and b/x differ\n", "no text"),
        ("diff --git a/x b/y\nrename from x\nrename to y\n", "no text"),
        ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "not all of its lines"),
    ],
)
def test_a_diff_that_does_not_fit_is_refused(patch: str, why: str) -> None:
    """With the reason, which names the file or the place."""
    with pytest.raises(SweError, match=why.replace(".", r"\.")):
        apply_patch(patch, {"x": "a\nb\n"}.get)


def test_git_lines_and_second_changes_of_a_file_count() -> None:
    """The lines that git adds say nothing; a later part goes on from an earlier one."""
    head = "diff --git a/x b/x\nindex 123..456 100644\n"
    second = "--- a/x\n+++ b/x\n@@ -2 +2 @@\n-c\n+d\n\\ No newline at end of file\n"
    assert apply_patch(head + ONE + second, {"x": "a\nb\n"}.get) == {"x": "a\nd"}
