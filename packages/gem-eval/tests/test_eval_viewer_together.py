"""The pages of gem view on all its runs together: models by environments, groups, figures with their files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chromium import BROWSER, Chromium, ChromiumPage

from gem_eval.figures.drawing import to_svg
from gem_eval.figures.of_runs import RunRows, figures_of_runs
from gem_eval.runs import RunConfig, RunFolder
from gem_eval.statistics import summarize_run
from gem_eval.viewer.conversation_search import rows_that_say
from gem_eval.viewer.export import export_page
from gem_eval.viewer.side_by_side import figure_parts, group_parts
from gem_rollout.trajectory import Trajectory

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="opens pages in a browser: install chromium"),
    pytest.mark.xdist_group("chromium"),
]

MakeRun = Callable[..., RunFolder]
View = Callable[..., ChromiumPage]
ENVS = ("game:GuessTheNumber-v0-easy", "game:Wordle-v0-easy")


def test_models_by_environments_have_the_shares_of_the_tables(make_run: MakeRun, view: View) -> None:
    """Each cell has share, interval and counts; the groups of the same cells are by environment, model or program."""
    one = make_run("one", env=ENVS, episodes=8, agent="strong", skill=1.2, failures=1)
    other = make_run("other", env=ENVS[:1], episodes=8, agent="weak", skill=0.2)
    page = view(one, other, at="#/runs")
    page.wait_for("document.querySelectorAll('.matrix tbody tr').length === 2")
    summary = summarize_run(one.rows())
    cells = page.texts(".matrix tbody tr:first-child td")
    for cell, item in zip(cells, summary.environments, strict=False):
        assert item.success is not None
        assert cell.startswith(f"{100 * item.success.value:.0f}%")
        assert cell.endswith(f"{item.success_count} of 7 + 1 unknown: {100 * item.success_count / 8:.1f} … 100.0 %")
    assert cells[2].endswith(summary.together.counted)
    assert page.texts(".matrix tbody tr:last-child td")[1:] == ["–", "–"]
    assert page.texts("tr.group th") == list(ENVS)
    page.evaluate("location.hash = '#/runs?by=model'")
    page.wait_for("document.querySelector('tr.group th').textContent === 'strong'")
    assert page.texts("tr.group th") == ["strong", "weak"]
    page.evaluate("location.hash = '#/runs?by=harness'")
    page.wait_for("document.querySelector('tr.group th').textContent === 'without an agent program'")
    assert len(page.texts(".by-environment tr:not(.group) th[scope=row]")) == 3
    page.click(".matrix a")
    page.wait_for("location.hash.startsWith('#/0?env=') && document.querySelectorAll('.rows .row').length === 8")


def test_figures_of_the_page_are_those_for_papers(make_run: MakeRun, view: View, tmp_path: Path) -> None:
    """The page draws what the SVG has, environment by environment, and its files are the same SVG and a PNG of it."""
    run = make_run("one", env=ENVS, episodes=30)
    page = view(run, at="#/figures")
    rows = run.rows()
    expected = list(figures_of_runs([RunRows("one", rows, run.config.started_at)], [ENVS[0]]))
    page.wait_for(f"document.querySelectorAll('svg.figure').length === {len(expected)}")
    assert page.texts(".figure-cards h3") == [figure.title for figure in expected]
    points = sum(len(series.points) for figure in expected for series in figure.series)
    assert len(page.texts(".figure-cards .dot[data-tip]")) == points
    page.hover(".dot[data-tip]")
    page.wait_for("!document.querySelector('.tip').hidden")
    assert expected[0].series[0].points[0].about in page.text(".tip:not([hidden])")
    page.evaluate(f"location.hash = '#/figures?env={ENVS[1]}'")
    page.wait_for(f"document.querySelector('.figure-cards .remark').textContent === '{ENVS[1]}'")
    parts = figure_parts([run], [rows], ENVS[1:])
    page.save_to(tmp_path / "saved")
    for label in ("SVG", "PNG", "CSV"):
        page.evaluate(
            f"[...document.querySelectorAll('.saves button')].find((one) => one.textContent === '{label}').click()"
        )
        page.wait_for_file()
    wanted = {ending: tmp_path / "saved" / f"{parts[0]['file']}.{ending}" for ending in ("svg", "png", "csv")}
    assert wanted["svg"].read_text() == parts[0]["svg"]
    assert wanted["csv"].read_text() == parts[0]["csv"]
    assert wanted["png"].read_bytes().startswith(b"\x89PNG")
    assert int.from_bytes(wanted["png"].read_bytes()[16:20], "big") == 3 * 520


@pytest.mark.nightly
def test_an_exported_page_has_figures_and_groups_of_the_whole_runs(
    make_run: MakeRun, chromium: Chromium, tmp_path: Path
) -> None:
    """Also where it has the conversations of a part alone; and it asks for nothing."""
    one, other = make_run("one", env=ENVS, episodes=20), make_run("other", env=ENVS, episodes=20, salt=1, agent="weak")
    target = tmp_path / "page.html"
    target.write_bytes(export_page([one, other], most=2).content)
    page = chromium.page()
    page.goto(f"file://{target}#/runs")
    page.wait_for("document.querySelectorAll('.matrix tbody tr').length === 2")
    groups = group_parts([one, other], [one.rows(), other.rows()])
    assert page.texts(".matrix td span:last-child")[0] == groups["setups"][0]["cells"][0]["counted"]
    page.goto(f"file://{target}#/figures")
    page.wait_for("document.querySelectorAll('svg.figure').length > 3")
    assert "20 episodes" in page.text("svg.figure")
    assert [request for request in page.requests if not request.startswith(("file:", "data:"))] == []
    assert not page.errors
    page.close()


@pytest.mark.nightly
def test_names_of_models_and_environments_stay_text(
    make_config: Callable[..., RunConfig], make_trajectory: Callable[..., Trajectory], view: View, tmp_path: Path
) -> None:
    """Markup, controls and directions in names are shown, and nothing of them runs."""
    hostile = '<img src=x onerror=alert(1)>"><script>alert(2)</script>\u202e\x07'
    config: Any = make_config([f"x:{hostile}"], model=hostile, agent=hostile, served_model=hostile)
    with RunFolder.create(tmp_path / "run", config) as folder:
        for seed in range(4):
            folder.append(make_trajectory(f"x:{hostile}", seed, agent=hostile))
    page = view(RunFolder(tmp_path / "run"), RunFolder(tmp_path / "run"), at="#/runs")
    page.wait_for("document.querySelector('.matrix tbody td')")
    assert "<img src=x onerror=alert(1)>" in page.text(".matrix tbody th")
    page.evaluate("location.hash = '#/figures'")
    page.wait_for("document.querySelector('svg.figure')")
    assert "<img src=x onerror=alert(1)>" in page.text(".figure-cards .remark")
    assert page.evaluate("document.querySelectorAll('.overview img, .overview script').length") == 0
    (first, *_) = figures_of_runs([RunRows(hostile, RunFolder(tmp_path / "run").rows(), 1.0)])
    assert "<img" not in to_svg(first)


@pytest.mark.nightly
def test_a_large_run_comes_in_parts(make_run: MakeRun, view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows come in several answers, its figures after them, and the page then says what it would of a small one."""
    monkeypatch.setattr("gem_eval.viewer.server._MOST_ROWS", 5)
    monkeypatch.setattr("gem_eval.viewer.server._ROWS_WITH_FIGURES", 3)
    run = make_run("one", env=ENVS, episodes=7, failures=1)
    page = view(run)
    page.wait_for("document.querySelector('.result').textContent === '14 episodes'")
    counted = summarize_run(run.rows()).together.counted
    page.wait_for(f"document.querySelector('.figures').textContent.includes('{counted}; environments weigh the same')")
    assert len(page.texts(".rows .row")) == 14
    assert len(page.texts(".by-environment tbody tr")) == 2
    page.wait_for("document.querySelector('.live').hidden")


@pytest.mark.nightly
def test_conversations_are_searched(
    make_trajectory: Callable[..., Trajectory], make_config: Callable[..., RunConfig], view: View, tmp_path: Path
) -> None:
    """All words, wherever they stand in a record, as JSON escapes them; what was found can be filtered further."""
    with RunFolder.create(tmp_path / "run", make_config(episodes=6)) as folder:
        for seed in range(6):
            episode = make_trajectory(seed=seed, turns=2)
            episode.transitions[0].action = f'Grüße "an" <b>{seed % 3}</b>\nalle'
            folder.append(episode)
    run = RunFolder(tmp_path / "run")
    found = {
        "GRÜSSE": [],
        "grüße <b>1</b>": [1, 4],
        '"<b>1</b>\nalle"': [1, 4],
        'an" <b>2': [2, 5],
        "(.*)": [],
        "": [],
    }
    for text, expected in found.items():
        assert rows_that_say(run, run.rows(), text) == expected, text
    page = view(run)
    page.evaluate("document.querySelector('[aria-label=\"Search conversations\"]').focus()")
    page.call("Input.insertText", text="<b>1</b>")
    page.press("Enter")
    page.wait_for("document.querySelector('.result').textContent === '2 of 6 episodes'")
    assert page.texts(".rows .row > :nth-child(2)") == ["1", "4"]
    page.evaluate("location.hash = '#/0?said=%3Cb%3E1%3C%2Fb%3E&seed=4'")
    page.wait_for("document.querySelector('.result').textContent === '1 of 6 episodes'")
