from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

import pytest
from site_pages import Element, documents, parsed
from toy_hub import synthetic_release

from gem_hub.events import Deprecate
from gem_hub.records import Environment, Release
from gem_hub.site import pages
from gem_hub.site.render import static_files
from gem_hub.site.search_index import ONE_FILE, search_files, shard_of
from gem_hub.site.views import BaseEnvironment, Listing
from gem_hub_client.catalogue import Catalogue
from gem_hub_client.search import search
from gem_hub_client.stem import stem
from gem_hub_client.tokenize import tokenize
from gem_hub_client.typo import distance

NODE = shutil.which("node") or shutil.which("nodejs")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_node = pytest.mark.skipif(NODE is None, reason="runs the search script with node: install nodejs")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="opens pages in a browser: install chromium")

DRIVER = """
const [script, folder, ...queries] = process.argv.slice(1);
const search = require(script);
const fs = require("node:fs");
(async () => {
  const answers = [];
  for (const query of queries) {
    const files = [];
    const read = async (path) => { files.push(path); return JSON.parse(fs.readFileSync(`${folder}/search/${path}`)); };
    answers.push({ ...(await search.search(query, read)), files });
  }
  console.log(JSON.stringify(answers));
})();
"""

Ask = Callable[..., list[dict[str, Any]]]

WORLD = {
    "gem-envs-games": ("Text games", [("game:Sudoku-v0", "Fill a Sudoku grid."), ("game:TowerofHanoi-v0", "Move.")]),
    "gem-envs-math": ("Grade-school problems", [("math:GSM8K-v0", "Word problems with one number as the answer.")]),
    "sudoku-variants": ("Killer grids", [("killer:Cage-v0", "Cages with sums.")]),
    "terminal-tasks": ("Tasks in a shell", [("terminal:Bash-v0", "Find the game hidden in a folder.")]),
    "übung-free": ("", []),
    "old-grids": ("Grid puzzles", [("grids:Nonogram-v0", "Paint a grid.")]),
}


FAMILIES = sorted(
    root + ending
    for root in ("cod", "happ", "by", "hop", "hopp", "fall", "rel", "vietnam", "sky", "analys", "optim", "gener", "see")
    for ending in (
        *("", "e", "s", "ed", "eed", "ing", "y", "ies", "sses", "ation", "ational", "ization", "izer", "iveness"),
        *("fulness", "ousli", "alism", "biliti", "logi", "icate", "ical", "ness", "ement", "ment", "ent", "tion", "ll"),
    )
)
"""Words of every ending that stemming treats, after stems of every shape."""


def world() -> list[dict[str, Any]]:
    """Return the details of a few packages that are easily told apart."""
    releases = [release(name, *about) for name, about in WORLD.items() if name.isascii()]
    event = Deprecate(name="old-grids", reason="use another one", by="someone", created="2026-01-31T12:00:00Z")
    return documents(releases, [event])


def release(name: str, summary: str, environments: list[tuple[str, str]]) -> Release:
    """Return a release with these environments: (id, description)."""
    made, _ = synthetic_release(name, "0.1.0")
    listed = [
        Environment(id=full_id, entry_point="toys:Thing", description=text, tags=["tagged"], requires=["docker"])
        for full_id, text in environments
    ]
    return made.model_copy(
        update={"environments": listed, "metadata": made.metadata.model_copy(update={"summary": summary})}
    )


def write(files: dict[str, bytes], folder: Path) -> Path:
    """Write pages into a folder."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def asked(folder: Path, *queries: str) -> list[dict[str, Any]]:
    """Return what the search script answers to each query."""
    assert NODE is not None
    command = [NODE, "-e", DRIVER, "--", str(folder / "static/search.js"), str(folder), *queries]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


@pytest.fixture(scope="module", params=["one file", "many files"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same catalogue, with its index in one file and in many."""
    with patch("gem_hub.site.search_index.ONE_FILE", ONE_FILE if request.param == "one file" else 0):
        files = pages(world())
    assert ("search/w/su.json" in files) == (request.param == "many files")
    return write(files, tmp_path_factory.mktemp("site"))


@needs_node
def test_what_is_found_first(folder: Path) -> None:
    """Names come before ids, ids before descriptions; typos, beginnings and joined or parted words are understood."""
    first = {
        "sudoku": "sudoku-variants", "sodoku": "sudoku-variants", "sudok": "sudoku-variants",
        "usdoku": "sudoku-variants", "ssudoku": "sudoku-variants", "game:Sudoku-v0": "gem-envs-games",
        "GAME:SUDOKU-V0": "gem-envs-games", "gem-envs-games": "gem-envs-games", "games": "gem-envs-games",
        "tower of hanoi": "gem-envs-games", "towerofhanoi": "gem-envs-games", "hanoy": "gem-envs-games",
        "gsm8k": "gem-envs-math", "grade school": "gem-envs-math", "problms": "gem-envs-math",
        "termial": "terminal-tasks", "shell tasks": "terminal-tasks", "cages": "sudoku-variants", "grids": "old-grids",
    }  # fmt: skip
    answers = asked(folder, *first)
    found = {query: [hit["name"] for hit in answer["hits"]] for query, answer in zip(first, answers, strict=True)}
    assert {query: names[:1] for query, names in found.items()} == {query: [name] for query, name in first.items()}


@needs_node
def test_a_hit_names_the_environments_that_were_meant(folder: Path) -> None:
    """The environments that a query is about come with the hit, best first, also where it was mistyped."""
    exact, mistyped, package = asked(folder, "hanoi", "sodoku", "tagged")
    assert [e[0] for e in exact["hits"][0]["matches"]] == ["game:TowerofHanoi-v0"]
    assert not exact["corrected"]
    (hit,) = [hit for hit in mistyped["hits"] if hit["name"] == "gem-envs-games"]
    assert hit["matches"] == [["game:Sudoku-v0", "Fill a Sudoku grid."]]
    assert mistyped["corrected"]
    assert package["total"] == 5
    assert package["hits"][0]["matches"] == []
    assert package["hits"][-1]["name"] == "old-grids"  # deprecated, and else as good as the others


@pytest.mark.sampled(6)
@needs_node
@pytest.mark.parametrize(
    "query", ["", " ", "zzzzzz", "__proto__", "constructor", "toString", "%", "\u202e", "<b>", "🎲"]
)
def test_no_query_fails(folder: Path, query: str) -> None:
    """Text that nothing fits gives no hits, also the names of what every object of the language has."""
    (answer,) = asked(folder, query)
    assert answer["hits"] == []
    assert answer["total"] == 0


@needs_node
def test_a_query_loads_little_of_a_large_index(tmp_path: Path) -> None:
    """Of an index in many files, a word loads its own shard and what it found; a mistyped one some more."""
    with patch("gem_hub.site.search_index.ONE_FILE", 0):
        files = pages(world())
    assert sum(path.startswith("search/w/") for path in files) > 20
    known, mistyped = asked(write(files, tmp_path), "cages", "sodoku")
    assert known["files"] == ["index.json", "lexicon.json", "w/ca.json", "p/0.json"]
    assert {path[:3] for path in mistyped["files"]} == {"ind", "lex", "w/s", "p/0"}


@needs_node
def test_script_and_index_cut_words_alike() -> None:
    """The script folds and cuts a query as the index was cut, counts edits alike, and looks into the same file."""
    texts = [
        "GuessTheNumber-v0", "Game2048-v0-easy", "GSM8K", "größer Ärger", "ÉCOLE", "naïve café", "a_b_c", "HTTPServer",
        "数独 パズル", "ﬁne", "x" * 60, "tower of hanoi", "Multi-Turn (text)", "R2D2", "3.14", "don't", "\u202eabc", "",
    ]  # fmt: skip
    pairs = [
        ("sudoku", "sodoku"),
        ("ab", "ba"),
        ("", "abc"),
        ("kitten", "sitting"),
        ("ca", "abc"),
        ("abcdef", "abcdef"),
    ]
    code = f"""
    const module = {{}};
    {static_files()["static/search.js"].decode()}
    const [texts, pairs, families] = JSON.parse(process.argv[1]);
    console.log(JSON.stringify([
      texts.map(gemSearch.words), pairs.map((pair) => gemSearch.distance(...pair)), texts.map(gemSearch.shard),
      families.map(gemSearch.stem),
    ]));
    """
    assert NODE is not None
    command = [NODE, "-e", code, "--", json.dumps([texts, pairs, FAMILIES])]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        [tokenize(text) for text in texts],
        [distance(*pair) for pair in pairs],
        [shard_of(text) for text in texts],
        [stem(word) for word in FAMILIES],
    ]


def judged() -> Any:
    """Return the module with the judged queries of the benchmarks."""
    path = Path(__file__).parents[2] / "benchmarks" / "search_quality.py"
    found = importlib.util.spec_from_file_location("search_quality", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["search_quality"] = module
    found.loader.exec_module(module)
    return module


def listing_of(line: dict[str, Any]) -> Listing:
    """Return a line of the catalogue as the pages list it."""
    environments = [
        BaseEnvironment(**{key: entry[key] for key in ("id", "description", "turns", "modality", "requires", "tags")})
        for entry in line["environments"]
    ]
    return Listing(
        name=line["name"], version=line["version"], summary=line["summary"], status=line["status"], mode="link",
        tags=line["tags"], requires=environments[0].requires, environments=environments, check=None, install="",
        published=line["published"],
    )  # fmt: skip


@pytest.mark.sampled(1)
@needs_node
@pytest.mark.parametrize(("files", "share"), [("one file", 0.85), ("many files", 0.7)])
def test_pages_and_command_rank_alike(files: str, share: float, tmp_path: Path) -> None:
    """On the 80 judged queries the script finds as much as the command does, and mostly the same three first.

    With an index of many files it loads fewer synonyms, so that the order differs more often.
    """
    benchmark = judged()
    lines, queries = benchmark.packages(), benchmark.queries()
    with patch("gem_hub.site.search_index.ONE_FILE", ONE_FILE if files == "one file" else 0):
        index = dict(search_files(listing_of(line) for line in sorted(lines, key=lambda line: str(line["name"]))))
    site = write({**index, "static/search.js": static_files()["static/search.js"]}, tmp_path)
    answers = [[hit["name"] for hit in one["hits"]] for one in asked(site, *(query.text for query in queries))]
    recall = sum(query.recall(names) for query, names in zip(queries, answers, strict=True)) / len(queries)
    assert recall > 0.9
    with Catalogue.create(None) as catalogue:
        catalogue.apply(lines, 1)
        commands = [[hit.record["name"] for hit in search(catalogue, query.text).hits] for query in queries]
    same = [names[:3] == others[:3] for names, others in zip(answers, commands, strict=True)]
    assert sum(same) / len(same) > share, [q.text for q, s in zip(queries, same, strict=True) if not s]


@pytest.mark.nightly
def test_the_index_is_one_file_while_it_is_small() -> None:
    """Up to the limit there is one file to load, beyond it none is larger, however many packages there are."""
    small = pages(world())
    assert sorted(path for path in small if path.startswith("search/")) == ["search/index.json", "search/lexicon.json"]
    # Words as no two packages share them, apart from the common beginning of names.
    names = [f"pack{number:05d}" for number in range(1500)]
    large = pages(
        documents(
            release(
                name, f"About {name} and {chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{n}", [(f"{name}:One-v0", "x" * 300)]
            )
            for n, name in enumerate(names)
        )
    )
    sizes = {path: len(content) for path, content in large.items() if path.startswith("search/")}
    assert len(sizes) > 500
    assert max(sizes.values()) < ONE_FILE / 4


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def served(folder: Path) -> Iterator[str]:
    """The address at which the catalogue is served by a web server that knows nothing."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def opened(address: str, profile: Path) -> Element:
    """Return a page as it is after its scripts have run in a browser."""
    assert BROWSER is not None
    command = [
        *(BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--disable-extensions", "--no-first-run", f"--user-data-dir={profile}", "--virtual-time-budget=5000"),
        *("--dump-dom", address),
    ]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return parsed(done.stdout)


@needs_browser
def test_a_browser_searches_under_the_policy(served: str, tmp_path: Path) -> None:
    """A mistyped query in the address shows the package, its environment and a button that copies the command."""
    page = opened(f"{served}/index.html?q={quote('tower of hanio')}", tmp_path)
    (card,) = page.one("ul", id="list").all("h3")
    assert card.one("a").text == "gem-envs-games"
    listed = page.one("ul", id="list")
    assert "game:TowerofHanoi-v0" in listed.text
    assert listed.one("button").attributes["data-copy"] == "gem hub install gem-envs-games"
    assert "hidden" not in listed.one("button").attributes
    assert "1 package close to" in page.one("p", id="found").text


@needs_browser
def test_hostile_hits_are_text(tmp_path: Path) -> None:
    """What a package says of itself never becomes an element, not even where the script shows it."""
    hostile = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
    files = pages(documents([release("evil", hostile, [("evil:Thing-v0", hostile)])]))
    site = write(files, tmp_path / "site")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}/index.html?q={quote('thing <img')}"
            page = opened(address, tmp_path / "profile")
        finally:
            server.shutdown()
            thread.join()
    assert page.one("title").text == "GEM hub"
    assert not page.all("img")
    assert hostile in page.one("ul", id="list").text


@needs_browser
def test_a_page_opened_as_a_file_searches_its_list(folder: Path, tmp_path: Path) -> None:
    """Without a web server the list of the page itself is searched."""
    page = opened(f"{(folder / 'index.html').as_uri()}?q=gsm8k", tmp_path)
    assert [card.one("a").text for card in page.one("ul", id="list").all("h3")] == ["gem-envs-math"]
