"""The site in a real browser: nothing from elsewhere, readable on a phone and in the dark, everything by keyboard."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from devtools.site import look, play
from devtools.site.build import write_settings
from devtools.site.environment_pages import turns_of
from devtools.site.restructured import section_id

from gem import built_in
from gem_cli.guide import index_of, pages
from gem_hub.site.environment import environment_body
from gem_hub.site.views import BaseEnvironment, RewardRange

ROOT = Path(__file__).parents[1]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="opens pages in a browser: install chromium"),
    pytest.mark.xdist_group("chromium"),
    pytest.mark.timeout(1200),
]

INDEX = """# A small site

```{toctree}
:hidden:
:caption: Pages
environment
```

| | |
|---|---|
| a long word | `gem.wrappers.attempts.Attempts.with_a_name_that_is_longer_than_a_phone_is_wide_by_far` |

```python
env = gem.make_vec("game:GuessTheNumber-v0", num_envs=64, mode="process", wrappers="concat_with_action", seed=0)
```
"""

BROKEN = """<!doctype html><html><body style="background: #fff">
<style>b, a:focus { outline: none } .veiled { background: rgba(0, 0, 0, .5) }</style>
<p style="color: #888">pale</p>
<p class="veiled">dim</p>
<div style="width: 900px">wide</div>
<label for="box">menu</label><input type="checkbox" id="box" style="display: none">
<a href="#x">plain</a>
<script src="http://127.0.0.1:9/x.js"></script>
<p>fine</p><a href="#y" style="outline: revert">also fine</a>
</body></html>"""

EXPECTED = [
    '1280 pixels, light: p "pale" has a contrast of 3.54',
    '1280 pixels, light: label "menu" is not reached by the keyboard',
    '1280 pixels, light: a "plain" looks the same with the focus',
    '400 pixels, light: div "wide" reaches from 8 to 908 of 400 pixels',
    "400 pixels, light: the page scrolls sideways: 908 of 400 pixels",
    "asks for http://127.0.0.1:9/x.js",
]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A page of a headless browser."""
    with look.browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser.page()


def sphinx(sources: Path, pages: Path) -> None:
    """Build pages with the settings of the site."""
    from sphinx.cmd.build import main

    write_settings(sources, {"paths": {}, "names": {}})
    assert main(["-W", "-q", str(sources), str(pages)]) == 0


def test_the_faults_of_a_page_are_noticed(opened: Any, tmp_path: Path) -> None:
    """Pale text, what the keyboard misses, a focus without a look, width, and a file from elsewhere; nothing else."""
    page = tmp_path / "broken.html"
    page.write_text(BROKEN, encoding="utf-8")
    found = list(look.faults_of(opened, page.as_uri(), tmp_path.as_uri(), [(1280, False), (400, False)]))
    for fault in EXPECTED:
        assert [line for line in found if line.startswith(fault)], (fault, found)
    assert not [line for line in found if "fine" in line or "dim" in line]


def test_what_the_tabulator_misses_is_noticed(opened: Any, tmp_path: Path) -> None:
    """A link that is left out of the order, and no other; hidden ones are no matter, a page without any is an error."""
    page = tmp_path / "page.html"
    links = '<a href="#a">one</a><p><a href="#b" tabindex="-1">two</a></p><a href="#c" style="display: none">three</a>'
    page.write_text(f"<!doctype html><html><body>{links}</body></html>", encoding="utf-8")
    opened.goto(page.as_uri())
    assert look.clicked_only(opened, look.tab_stops(opened)) == ['<a href="#b" tabindex="-1">two</a>']
    page.write_text("<!doctype html><html><body>nothing</body></html>", encoding="utf-8")
    opened.goto(page.as_uri())
    with pytest.raises(ValueError, match="nothing to click"):
        look.clicked_only(opened, look.tab_stops(opened))


@pytest.mark.nightly
def test_an_environment_page_is_fit_for_phones_and_keyboards(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small site with a played episode and a picture; the menu opens and closes by keyboard on a narrow screen."""
    monkeypatch.setattr(play, "SECONDS", 0.05)
    line = play.played("game:GuessTheNumber-v0-easy", with_episode=True)
    turns = line["episode"]
    turns[0]["observation"] += f"\n![picture](data:image/png;base64,{PIXEL})"
    environment = BaseEnvironment("game:GuessTheNumber-v0", "Guess.", "multi", ["text"], [], [])
    environment.rewards.append(RewardRange(line["id"], -0.1, 1.0, -0.1, 1.0, "observation", line["scores"]))
    body = environment_body(environment, turns_of(turns), line["id"])
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "index.md").write_text(INDEX, encoding="utf-8")
    (sources / "environment.md").write_text(f"# `game:X-v0`\n\n```{{raw}} html\n{body}\n```\n", encoding="utf-8")
    site = tmp_path / "html"
    sphinx(sources, site)
    for page in ("index.html", "environment.html"):
        looks = [(1280, False), (400, True)]
        assert not list(look.faults_of(opened, (site / page).as_uri(), site.as_uri(), looks))
    assert opened.evaluate("document.querySelector('.episode img').naturalWidth") == 1
    opened.goto((site / "index.html").as_uri())
    menu_works(opened)


def menu_works(opened: Any) -> None:
    """Open the menu of a narrow page by keyboard, and close it again."""
    opened.resize(400, 800)
    shown = "getComputedStyle(document.querySelector('.sidebar-drawer')).visibility"
    assert opened.evaluate(shown) == "hidden"
    opened.evaluate("document.querySelector('label.nav-overlay-icon').focus()")
    opened.press("Enter")
    assert opened.evaluate(shown) == "visible"
    opened.press("Escape")
    assert opened.evaluate(shown) == "hidden"
    assert opened.evaluate("document.activeElement.className") == "nav-overlay-icon"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site; Sphinx reports nothing, no link is dead, and no page names a file of elsewhere."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "devtools.site.build", "--out", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


@pytest.mark.nightly
def test_the_site_has_the_entry_of_each_wrapper(site: Path) -> None:
    """The built page has the anchors to which documents link."""
    wrappers = (site / "reference" / "wrappers.html").read_text(encoding="utf-8")
    assert all(f'id="{section_id("wrapper", name)}"' in wrappers for name in built_in.WRAPPERS)


@pytest.mark.nightly
def test_no_page_asks_elsewhere_or_is_wider_than_a_phone(site: Path, opened: Any) -> None:
    """Every page on a phone in the dark, where most goes wrong, and a page of each kind in all four looks."""
    found = []
    for page in sorted(site.rglob("*.html")):
        name = page.relative_to(site).as_posix()
        looks = look.LOOKS if name in look.SHOWN else [(400, True)]
        found += [f"{name}: {fault}" for fault in look.faults_of(opened, page.as_uri(), site.as_uri(), looks)]
    assert not found


@pytest.mark.nightly
@pytest.mark.parametrize("width", [1280, 400])
def test_the_tabulator_reaches_all_that_can_be_clicked(site: Path, opened: Any, width: int) -> None:
    """On a page of each kind, one after the other, and back to the first."""
    for name in ("start.html", "environments/game-sudoku-v0.html"):
        opened.resize(width, 800)
        opened.goto((site / name).as_uri())
        assert not look.clicked_only(opened, look.tab_stops(opened)), name
    menu_works(opened)


@pytest.mark.nightly
def test_search_answers_questions_as_the_command_does(site: Path, opened: Any) -> None:
    """The first three results for a question in a user's words are the guides that ``gem guide QUESTION`` gives."""
    lines = (ROOT / "packages/gem-cli/tests/questions.txt").read_text(encoding="utf-8").splitlines()
    opened.goto((site / "search.html").as_uri() + "?q=sudoku")
    opened.wait_for("document.querySelector('#search-results ul.search li a')")
    index = index_of(pages())
    for question in (line.split(" | ", 1)[1] for line in lines):
        results = f"Search._performSearch(...Search._parseQuery({json.dumps(question)}))"
        found = opened.evaluate(f"{results}.slice(-3).reverse().map((item) => item[0].split('/').pop())")
        assert found == [answer.page for answer in index.search(question)[:3]], question


@pytest.mark.nightly
def test_search_works_offline(site: Path, opened: Any) -> None:
    """From a folder, without a server: what the field of the sidebar asks for finds the page of a game."""
    opened.resize(1280, 800)
    opened.requests.clear()
    opened.goto((site / "search.html").as_uri() + "?q=sudoku")
    opened.wait_for("document.querySelector('#search-results ul.search li a')")
    opened.wait_for("/found/.test(document.querySelector('.search-summary').textContent)")
    links = opened.evaluate("[...document.querySelectorAll('#search-results a')].map((a) => a.href)")
    assert any("game-sudoku-v0" in link for link in links)
    assert not look.asked_elsewhere(opened, site.as_uri())
