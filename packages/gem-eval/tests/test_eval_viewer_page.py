"""The page of gem view in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from chromium import BROWSER, ChromiumPage

from gem_eval.runs import RunFolder

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="opens pages in a browser: install chromium"),
    pytest.mark.xdist_group("chromium"),
]

MakeRun = Callable[..., RunFolder]
View = Callable[..., ChromiumPage]


def test_the_table_shows_every_episode(make_run: MakeRun, view: View) -> None:
    """Each episode has a row, with a link to its conversation."""
    page = view(make_run(episodes=6, group=2))
    assert page.evaluate("document.querySelector('[role=table]').getAttribute('aria-rowcount')") == "7"
    assert len(page.texts(".rows .row")) == 6
    page.click(".rows .row a")
    page.wait_for("location.hash === '#/0/0' && document.querySelector('.turn.drawn')")
    assert "Turn 0: guess a number" in page.text(".turn")


def test_the_keyboard_steps_through_turns_and_episodes(make_run: MakeRun, view: View) -> None:
    """J and k go to the next and previous turn, n and p to the next and previous episode."""
    page = view(make_run(episodes=3, turns=4), at="#/0/1")
    page.wait_for("document.querySelectorAll('.turn').length > 3")
    page.press("j", "j", "k")
    assert page.evaluate("location.hash") == "#/0/1/1"
    page.press("j")
    assert page.evaluate("document.querySelector('.turn.current h2').textContent") == "Turn 2"
    page.press("n")
    page.wait_for("location.hash === '#/0/2'")
    page.press("p", "p")
    page.wait_for("location.hash === '#/0/0'")
