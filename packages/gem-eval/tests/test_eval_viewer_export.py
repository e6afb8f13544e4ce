"""Exported pages: one file, compact, the same as the served page."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chromium import BROWSER, Chromium
from click.testing import CliRunner

from gem_eval.cli.view import view_command
from gem_eval.runs import RunConfig, RunFolder
from gem_eval.viewer.export import export_page
from gem_eval.viewer.page_bundle import script
from gem_eval.viewer.page_files import page_files
from gem_rollout.trajectory import Trajectory

MakeRun = Callable[..., RunFolder]

needs_browser = pytest.mark.skipif(BROWSER is None, reason="opens pages in a browser: install chromium")


@needs_browser
@pytest.mark.xdist_group("chromium")
def test_an_exported_page_shows_the_same(make_run: MakeRun, chromium: Chromium, tmp_path: Path) -> None:
    """Rows, plots, conversations and the comparison work from a file, which asks for nothing."""
    one, other = make_run("one", episodes=12, turns=2, tokens=20), make_run("other", episodes=12, salt=1)
    target = tmp_path / "a page.html"
    target.write_bytes(export_page([one, other]).content)
    page = chromium.page()
    page.goto(target.as_uri() + "#/0/3")
    page.wait_for("document.querySelectorAll('.turn.drawn').length === 2")
    turn = one.episode(one.rows()[3]).transitions[0]
    assert page.texts(".turn:first-of-type .token[data-token]") == turn.tokens
    page.evaluate("location.hash = '#/1?sort=-return'")
    page.wait_for("document.querySelectorAll('.rows .row').length === 12 && document.querySelector('.plot')")
    page.evaluate("location.hash = '#/compare/0/1'")
    page.wait_for("document.querySelectorAll('.rows .row').length === 12")
    assert page.requests == [target.as_uri() + "#/0/3"] or page.requests == [target.as_uri()]
    assert not page.errors
    target.write_bytes(export_page([one], most=4).content)
    part = chromium.page()
    part.goto(target.as_uri())
    part.wait_for("document.querySelectorAll('.rows .row').length === 12")
    assert "This page has the conversations of 4 of 12 episodes; figures, plots and table are of all." in part.texts(
        ".notes li"
    )
    for opened in (page, part):
        opened.close()


@needs_browser
@pytest.mark.xdist_group("chromium")
def test_what_is_packed_is_unpacked(
    make_trajectory: Callable[..., Trajectory],
    make_config: Callable[..., RunConfig],
    chromium: Chromium,
    tmp_path: Path,
) -> None:
    """Token ids come out exactly and log-probabilities to three digits, with gaps and odd values where they were."""
    episode = make_trajectory(turns=3, tokens=40)
    first, second, third = episode.transitions
    first.token_ids = [0, 1, 2**31, 2**32 - 1, *range(36)]
    first.logprobs = [-0.0, -1e-9, -12.345678, -9999.0, -65504.0, *([-0.25] * 35)]
    first.action, spelling = "".join(first.tokens or []), "".join(second.tokens or [])
    second.action = {"role": "assistant", "content": spelling[60:], "reasoning_content": spelling[:60]}
    second.token_ids = [2**40 + number for number in range(40)]  # more than 32 bits
    second.logprobs = [-1e30, *([-0.5] * 39)]  # more than binary16 holds
    third.logprobs = [None, float("-inf"), *([-0.125] * 38)]  # type: ignore[list-item]
    third.tokens = ["\ufffd", *(third.tokens or [])[1:]]
    third.token_ids = [*(third.token_ids or [])[:-1], (third.token_ids or [])[0]]  # an id with two texts
    third.info = {"$packed": ["u32", 0, 99], "pieces": [[["transitions"], "u32", 0, 1]]}
    with RunFolder.create(tmp_path / "run", make_config()) as folder:
        folder.append(episode)
    run = RunFolder(folder.path)
    target = tmp_path / "page.html"
    target.write_bytes(export_page([run]).content)
    page = chromium.page()
    page.goto(target.as_uri() + "#/0/0")
    page.wait_for("document.querySelectorAll('.turn.drawn').length === 3")
    page.press("r")
    page.wait_for("document.querySelector('.raw')")
    page.click(".raw .more")
    shown = json.loads(page.text(".raw .text"))
    expected = json.loads(run.raw(run.rows()[0]))
    for got, wanted in zip(shown["transitions"], expected["transitions"], strict=True):
        assert got["token_ids"] == wanted["token_ids"]
        assert got["logprobs"] == pytest.approx(wanted["logprobs"], rel=1e-3, abs=1e-6, nan_ok=True) or (
            got["logprobs"] == wanted["logprobs"]
        )
        assert got["info"] == wanted["info"]
        assert got["action"] == wanted["action"]
        assert got["tokens"] == wanted["tokens"]
    page.close()


@pytest.mark.nightly
def test_a_hundred_episodes_are_a_small_file(
    make_trajectory: Callable[..., Trajectory], make_config: Callable[..., RunConfig], tmp_path: Path
) -> None:
    """100 episodes of 5 turns of 1,000 tokens, with their texts, ids and log-probabilities, take less than 5 MB."""
    chance = random.Random(0)
    words = [f" {''.join(chance.choices('etaoinshrdlu', k=chance.randint(1, 8)))}" for _ in range(3000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]  # as words are distributed in text
    with RunFolder.create(tmp_path / "run", make_config()) as folder:
        for seed in range(100):
            episode = make_trajectory(seed=seed, turns=5, tokens=0)
            for turn in episode.transitions:
                ids = chance.choices(range(len(words)), weights, k=1000)
                turn.tokens, turn.token_ids = [words[i] for i in ids], [i * 17 for i in ids]
                turn.logprobs = [-chance.expovariate(2.0) for _ in ids]
                turn.top_logprobs, turn.action = None, "".join(turn.tokens)
            folder.append(episode)
    page = export_page([RunFolder(folder.path)])
    assert page.episodes == 100
    assert len(page.content) < 5e6


def test_the_command_exports_what_it_is_asked_for(make_run: MakeRun, tmp_path: Path) -> None:
    """--filter and --episodes choose the conversations, of the first seeds; the figures are those of the whole run."""
    run = make_run(episodes=30)
    target = tmp_path / "page.html"
    arguments = [str(run.path), "--export", str(target), "--episodes", "4", "--filter", "outcome=solved"]
    result = CliRunner().invoke(view_command, arguments)
    assert result.exit_code == 0, result.output
    assert "30 episodes, conversations of 4" in result.output
    solved = sorted((row.seed, number) for number, row in enumerate(run.rows()) if row.success)
    parts = re.findall(r'id="part-episode-0-(\d+)"', target.read_text())
    assert sorted(map(int, parts)) == sorted(number for _, number in solved[:4])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--filter", "color=red"], "color=red"),
        (["--filter", "return"], "name=value"),
        (["--filter", "return=high"], "low..high"),
        (["--episodes", "0"], "x>=1"),
    ],
)
def test_impossible_exports_are_refused(arguments: list[str], message: str, make_run: MakeRun, tmp_path: Path) -> None:
    """A condition that does not exist, or makes no sense, is named, and no file is written."""
    target = tmp_path / "page.html"
    result = CliRunner().invoke(view_command, [str(make_run().path), "--export", str(target), *arguments])
    assert result.exit_code != 0
    assert message in result.output + str(result.exception)
    assert not target.exists()


def test_a_filter_without_export_is_refused(make_run: MakeRun) -> None:
    """The served page filters by itself, so --filter would be ignored."""
    result = CliRunner().invoke(view_command, [str(make_run().path), "--filter", "outcome=solved"])
    assert result.exit_code == 2
    assert "--export" in result.output


def test_the_page_parses_no_text_as_markup_or_code() -> None:
    """No script of the page uses what would turn text into elements or code, and the page loads nothing from afar."""
    for name, file in page_files().items():
        text = file.content.decode()
        forbidden = (
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|createContextualFragment"
        )
        assert not re.search(forbidden, text), name
        assert re.findall(r"https?://[^\"' ]+", text) in ([], ["http://www.w3.org/2000/svg"]), name
        assert "DOMParser" not in text, name


def test_every_file_of_the_page_is_used() -> None:
    """Each module is imported, directly or not, from main.js, and each style sheet is in the document."""
    files = page_files()
    html = files["index.html"].content.decode()
    assert set(re.findall(r"page/([a-z_]+\.css)", html)) == {name for name in files if name.endswith(".css")}
    reached, waiting = set(), ["main.js"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += re.findall(r'from "\./([a-z_]+\.js)"', files[name].content.decode())
    assert reached == {name for name in files if name.endswith(".js")}
    assert all(f'modules["{name}"]' in script() for name in reached)


def test_the_package_has_its_page() -> None:
    """The page's files are data of the package, found wherever it is installed."""
    files: Any = page_files()
    assert {"index.html", "main.js", "base.css"} <= set(files)
    assert files["main.js"].content_type == "text/javascript"
