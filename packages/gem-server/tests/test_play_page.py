"""The play page in a real browser: pictures, turns, tokens, errors."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gem

sys.path.append(str(Path(__file__).parents[2] / "gem-eval" / "tests"))

chromium = pytest.importorskip("chromium", reason="the tests of gem-eval, which drive the browser, are not there")

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chromium import ChromiumPage
    from conftest import RunningServer

pytestmark = [
    pytest.mark.skipif(chromium.BROWSER is None, reason="opens pages in a browser: install chromium"),
    pytest.mark.xdist_group("chromium"),
]

TOKEN = "a-token-of-the-tests-1234"
GAME = "game:GuessTheNumber-v0-easy"


@pytest.fixture(scope="module")
def guarded(serve: Any, faulty_specs: dict[str, str]) -> Iterator[RunningServer]:
    """A server of a game and of an environment that answers as the action says."""
    with serve(GAME, "faulty", "--workers", "1", "--token", TOKEN, **faulty_specs) as started:
        yield started


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser for all tests of this module."""
    with chromium.Chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def connect(page: ChromiumPage, token: str) -> None:
    """Type a token into the page."""
    page.wait_for("!document.getElementById('login').hidden")
    page.evaluate(f"document.getElementById('token').value = {json.dumps(token)}")
    page.click("#login button")


def begin(page: ChromiumPage, env_id: str, seed: int) -> None:
    """Begin an episode and wait for its first observation."""
    page.wait_for("!document.getElementById('choice').hidden")
    page.evaluate(
        f"document.getElementById('env').value = {json.dumps(env_id)}; document.getElementById('seed').value = {seed}"
    )
    page.click("#choice button")
    page.wait_for(f"document.querySelector('article h2')?.textContent === '{env_id}, seed {seed}'")


def play(page: ChromiumPage, action: str) -> str:
    """Type an action, send it with Enter, and return what is answered."""
    page.wait_for("!document.getElementById('send').disabled")
    turns = len(page.texts("article"))
    page.click("#action")
    page.press(*action, "Enter")
    page.wait_for(f"document.querySelectorAll('article').length === {turns + 2}")
    return page.texts("article")[-1]


def test_a_game_is_played_to_its_end(guarded: RunningServer, browser: Any) -> None:
    """After the token, turns are those of the environment; the end shows the return and offers another episode."""
    page = browser.page()
    page.goto(f"{guarded.url}/play")
    connect(page, TOKEN[:-1] + "x")
    page.wait_for("document.getElementById('state').textContent.includes('not valid')")
    connect(page, TOKEN)
    begin(page, GAME, 7)
    with gem.make(GAME) as here:
        assert page.texts("article pre")[0] == here.reset(seed=7)[0]
        guess, total, over = 0, 0.0, False
        while not over:
            guess += 1
            observation, reward, terminated, truncated, _ = here.step(f"\\boxed{{{guess}}}")
            total, over = total + reward, terminated or truncated
            assert observation in play(page, f"\\boxed{{{guess}}}")
    title = page.texts("article h2")[-1]
    assert title.endswith(f", {'the end' if terminated else 'out of turns'}, return {total:g}")
    assert page.evaluate("document.getElementById('answer').hidden")
    page.click("#another")
    page.wait_for("document.querySelectorAll('article').length === 1 && !document.getElementById('answer').hidden")
    # The one complaint is the browser's, about the requests without the right token.
    assert all("401" in error for error in page.errors)
    assert {address.partition("?")[0].removeprefix(guarded.url) for address in page.requests} <= {
        *("/play", "/play/page.css", "/play/page.js", "/v1/environments", "/v1/ticket", "data:,"),
        f"ws{guarded.url.removeprefix('http')}/v1/socket",
    }


def test_pictures_are_shown_and_texts_are_texts(guarded: RunningServer, browser: Any) -> None:
    """A picture of an observation is drawn; markup in a text, or in the address of a picture, stays text."""
    page = browser.page(600, 700)
    page.goto(f"{guarded.url}/play")
    connect(page, TOKEN)
    begin(page, "faulty:Showing-v0", 1)
    play(page, "picture")
    page.wait_for("document.querySelector('article:last-child img')?.naturalWidth === 3")
    assert "<b>markup</b>" in play(page, "<b>markup</b>")
    assert "javascript:" in play(page, "address")
    assert page.evaluate("document.querySelectorAll('article img, article b').length") == 1
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert not page.dialogs
    page.evaluate("document.getElementById('env').value = 'faulty:Nothing-v0'")
    page.click("#choice button")
    page.wait_for("document.getElementById('state').textContent.includes('does not serve')")
