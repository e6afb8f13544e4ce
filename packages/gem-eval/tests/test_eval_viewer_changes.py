"""Changes of files in the page of gem view."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from chromium import BROWSER, ChromiumPage

from gem_eval.runs import RunFolder

DIFF = """diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
 import os
-print(1)
+print("<b>\u202e")
"""


@pytest.mark.skipif(BROWSER is None, reason="opens pages in a browser: install chromium")
@pytest.mark.xdist_group("chromium")
def test_changes_are_shown_by_line(make_run: Callable[..., RunFolder], view: Callable[..., ChromiumPage]) -> None:
    """Added and removed lines are marked, and nothing in them is markup."""
    page = view(make_run(episodes=1, turns=1, info={"diff": DIFF}), at="#/0/0/1")
    page.wait_for("document.querySelector('.diff')")
    unseen = page.text(".diff .added .unseen")
    assert page.text(".diff .removed").strip() == "-print(1)"
    assert page.text(".diff .added").strip() == f'+print("<b>{unseen}")'
    assert page.evaluate("document.querySelectorAll('.diff .head').length") == 3
    assert page.evaluate("document.querySelectorAll('.diff b').length") == 0
