"""The play page of gem-server in a real browser, with an environment that is hostile to it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from os import environ, pathsep
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.append(str(Path(__file__).parents[1] / "packages" / "gem-eval" / "tests"))
from chromium import BROWSER, Chromium, ChromiumPage

if TYPE_CHECKING:
    from conftest import PluginSite

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="opens pages in a browser: install chromium"),
    pytest.mark.xdist_group("chromium"),
    pytest.mark.timeout(240),
]

TOKEN = "a-token-of-the-tests-1234"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
PICTURE = f"data:image/png;base64,{PIXEL}"
REFUSED = ("http://192.0.2.1/picture.png", "data:image/svg+xml,<svg onload=alert(4)>", "javascript:alert(5)")
NASTY = "<img src=x onerror=alert(1)><script>alert(2)</script></pre>&lt;b&gt; javascript:alert(3)"

PACKAGE = f'''
import gem

class Hostile(gem.Env):
    """Echoes actions, with markup in every text and addresses in every picture."""

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.turn = 0
        return [
            {{"type": "text", "text": {NASTY!r}}},
            {{"type": "image_url", "image_url": {{"url": {PICTURE!r}}}}},
            {{"type": "image_url", "image_url": {{"url": "http://192.0.2.1/picture.png"}}}},
            {{"type": "image_url", "image_url": {{"url": "data:image/svg+xml,<svg onload=alert(4)>"}}}},
            {{"type": "image_url", "image_url": {{"url": "javascript:alert(5)"}}}},
        ], {{"{NASTY}": "{NASTY}"}}

    def step(self, action):
        self.turn += 1
        return f"{{action}} {NASTY}", 0.5, self.turn == 3, False, {{"turn": self.turn, "seen": "{NASTY}"}}

    def sample_random_action(self):
        return {NASTY!r}
'''
MANIFEST = f"""schema = 1
[[environment]]
id = "hostile:Page-v0"
entry_point = "hostile_envs:Hostile"
description = '{NASTY}'
"""


@pytest.fixture
def played(site: PluginSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ChromiumPage, str]]:
    """A page of a browser, and the address of a server of the hostile environment and a game."""
    files = {"hostile_envs/__init__.py": PACKAGE, "hostile_envs/environments.toml": MANIFEST}
    site.add("hostile-envs", {"hostile": "hostile_envs"}, files)
    command = [sys.executable, "-m", "gem", "serve", "hostile:Page-v0", "game:Sudoku-v0-easy", "--port", "0"]
    command += ["--workers", "1", "--token", TOKEN, "--drain-timeout", "0"]
    path = pathsep.join(filter(None, (str(site.folder), environ.get("PYTHONPATH"))))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**environ, "PYTHONPATH": path})
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split(" at ")[1].partition(",")[0]
        with Chromium(tmp_path_factory.mktemp("profile")) as browser:
            page = browser.page()
            yield page, url
            assert [one for one in page.requests if not one.startswith((url, url.replace("http", "ws"), "data:"))] == []
            assert page.dialogs == []
            # The browser reports the refused token, and nothing else.
            assert [error for error in page.errors if "401" not in error] == []
    finally:
        process.terminate()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()


def log_in(page: ChromiumPage, url: str, fragment: str = "") -> None:
    page.goto(f"{url}/play{fragment}")
    page.wait_for("!document.querySelector('#login').hidden")
    page.evaluate(f"document.querySelector('#token').value = {TOKEN!r}")
    page.click("#login button")
    page.wait_for("!document.querySelector('#choice').hidden")


def choose(page: ChromiumPage, env_id: str, seed: int) -> None:
    page.evaluate(f"document.querySelector('#env').value = {env_id!r}; document.querySelector('#seed').value = {seed}")
    page.click("#choice button")


@pytest.mark.slow(reason="starts a browser and a server")
def test_an_episode_is_played_by_hand(played: tuple[ChromiumPage, str]) -> None:
    """Token, choice, turns, pictures, random actions, the end, another episode; hostile texts stay texts."""
    page, url = played
    log_in(page, url)
    choose(page, "hostile:Page-v0", 3)
    page.wait_for("document.querySelectorAll('article').length == 1")
    assert page.texts("h2") == ["hostile:Page-v0, seed 3"]
    assert page.texts("article > pre")[0] == NASTY
    assert page.evaluate("[...document.images].map((i) => [i.complete, i.naturalWidth])") == [[True, 1]]
    assert page.texts("article > pre")[1:] == [
        json.dumps({"type": "image_url", "image_url": {"url": address}}, separators=(",", ":")) for address in REFUSED
    ]
    page.click("#action")
    page.press(*"<b>first</b>", "Enter")
    page.wait_for("document.querySelectorAll('article').length == 3")
    assert page.texts("article")[1] == "you<b>first</b>"
    assert page.texts("article > pre")[-1] == f"<b>first</b> {NASTY}"
    assert page.texts("h2")[-1] == "turn 1, reward 0.5"
    page.click("#random")
    page.wait_for("document.querySelector('#action').value")
    assert page.evaluate("document.querySelector('#action').value") == NASTY
    for _ in range(2):
        page.wait_for("!document.querySelector('#send').disabled")
        page.click("#send")
    page.wait_for("document.querySelector('article.end')")
    assert page.texts("h2")[-1] == "turn 3, reward 0.5, the end, return 1.5"
    assert page.evaluate("document.querySelector('#send').disabled")
    assert page.evaluate("document.querySelectorAll('main script, main b, main a').length") == 0
    page.click("#another")
    page.wait_for("document.querySelectorAll('article').length == 1 && !document.querySelector('#send').disabled")
    assert page.text("#about") == NASTY
    choose(page, "hostile:Nothing-v0", 3)
    page.wait_for("document.querySelector('#state.fault')")
    assert "does not serve 'hostile:Nothing-v0'" in page.text("#state")
    choose(page, "game:Sudoku-v0-easy", 1)
    page.wait_for("document.querySelector('article pre').textContent.includes('Sudoku')")
    assert not page.evaluate("document.querySelector('#state').classList.contains('fault')")
    assert page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
    assert not any(TOKEN in request for request in page.requests)
    for width in (340, 1280):
        page.resize(width, 800)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    grounds = []
    for dark in (False, True):
        page.set_dark(dark)
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(set(grounds)) == 2
    if folder := environ.get("GEM_SCREENSHOTS"):
        for width, dark in ((340, False), (340, True), (1280, False), (1280, True)):
            page.resize(width, 800)
            page.set_dark(dark)
            page.screenshot(Path(folder, f"play-{width}-{'dark' if dark else 'light'}.png"))


@pytest.mark.slow(reason="starts a browser and a server")
def test_the_page_forgives_as_gem_play_does(played: tuple[ChromiumPage, str]) -> None:
    """A box may be left out, what is not understood is not counted, unless it is asked for; costs are red."""
    page, url = played

    def send(text: str, articles: int) -> None:
        page.click("#action")
        page.press(*text, "Enter")
        page.wait_for(f"document.querySelectorAll('article').length == {articles}")

    log_in(page, url)
    choose(page, "game:Sudoku-v0-easy", 1)
    page.wait_for("document.querySelectorAll('article').length == 1 && !document.querySelector('#send').disabled")
    send("what now", 3)
    assert page.texts("article")[1] == "you\\boxed{what now}"
    assert page.texts("h2")[-1] == "not counted"
    assert page.texts("article > pre")[-1].startswith("Not understood: ")
    page.wait_for("!document.querySelector('#send').disabled")
    send("1 1 1", 5)
    assert page.texts("article > pre")[-2] == "\\boxed{1 1 1}"
    assert page.texts("h2")[-1].startswith("turn 1, reward ")
    page.wait_for("!document.querySelector('#send').disabled")
    page.click("#strict")
    send("what now", 7)
    assert page.texts("h2")[-1] == "turn 2, reward -0.1, the end, return -0.1"
    assert page.texts("h2 .cost")[-2:] == ["reward -0.1", "return -0.1"]


@pytest.mark.slow(reason="starts a browser and a server")
def test_a_wrong_token_and_a_lost_server_are_said(played: tuple[ChromiumPage, str]) -> None:
    """The page tells what is wrong, and its files come with a policy that admits nothing foreign."""
    page, url = played
    page.goto(f"{url}/play/")
    page.wait_for("!document.querySelector('#login').hidden")
    page.evaluate("document.querySelector('#token').value = 'a-wrong-token-of-the-tests'")
    page.click("#login button")
    page.wait_for("document.querySelector('#state').textContent.includes('not valid')")
    log_in(page, url, "#game:Sudoku-v0-easy")
    with urllib.request.urlopen(f"{url}/play", timeout=60) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{url}/play/../server.py", timeout=60)
