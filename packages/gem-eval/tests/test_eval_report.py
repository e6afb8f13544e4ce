"""``gem report``: its tables are those of gem results, its files complete, and words of others stay words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from gem_cli.main import cli
from gem_eval.figures.drawing import to_svg
from gem_eval.figures.png import NoFontError, _writes, to_png
from gem_eval.report.content import report_of
from gem_eval.report.settings_file import settings_toml
from gem_eval.runs import EvaluationConfig, RunConfig, RunFolder, settings_of
from gem_rollout.trajectory import Trajectory

MakeRun = Callable[..., RunFolder]
ENVS = ("game:GuessTheNumber-v0-easy", "game:Wordle-v0-easy")


def gem(*arguments: object, code: int = 0) -> Result:
    """Run a command in this process."""
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def table_rows(markdown: str) -> list[list[str]]:
    """Return the cells of all rows of tables, those without a text left out."""
    rows = [line.strip("|").split(" | ") for line in markdown.splitlines() if line.startswith("| ")]
    cells = [[re.sub(r"\\(.)", r"\1", cell.strip()) for cell in row] for row in rows]
    return [[cell for cell in row if cell] for row in cells if not set("".join(row)) <= set("-: ")]


def printed_rows(output: str) -> list[list[str]]:
    """Return the lines of tables that a command printed as cells."""
    return [re.split(r" {2,}", line.strip()) for line in output.splitlines()]


def test_the_tables_of_a_report_are_those_of_gem_results(make_run: MakeRun, tmp_path: Path) -> None:
    """Every row of the results of a run, of runs beside each other, and every sentence of their comparison."""
    one = make_run("one", env=ENVS, episodes=16, group=4, failures=3)
    other = make_run("other", env=ENVS, episodes=16, group=4, salt=1, skill=0.2, agent="weak")
    gem("report", one.path, other.path, "--out", tmp_path / "report")
    markdown = (tmp_path / "report" / "report.md").read_text()
    of_one = markdown.partition("## Results of one\n")[2].partition("\n## ")[0]
    expected = [row for row in printed_rows(gem("results", one.path).output) if len(row) > 1]
    assert len(expected) >= 15
    assert [row for row in table_rows(of_one) if row not in expected] == []
    beside = markdown.partition("## The runs side by side\n")[2].partition("\n## ")[0]
    printed = printed_rows(gem("results", one.path, other.path).output)
    assert len(table_rows(beside)) == 6
    assert [row for row in table_rows(beside) if row not in printed] == []
    compared = gem("compare", one.path, other.path).output
    sentences = re.findall(r"^- \S+: (B .*)$", beside, re.MULTILINE)
    assert len(sentences) == 2
    assert all(re.sub(r"\\(.)", r"\1", sentence) in compared for sentence in sentences)


def test_the_files_of_a_report_are_complete(make_run: MakeRun, tmp_path: Path) -> None:
    """Each figure is in the page, and beside it as SVG and CSV; the page asks for nothing."""
    run = make_run("one", env=ENVS, episodes=20)
    gem("report", run.path, "--out", tmp_path / "report", "--title", "An appendix")
    report = report_of([run])
    page, markdown = ((tmp_path / "report" / f"report.{ending}").read_text() for ending in ("html", "md"))
    named = re.findall(r"\]\((figures/[^)]*)\)", markdown)
    assert len(named) == 2 * len(report.illustrations) == len({*named})
    assert all((tmp_path / "report" / name).is_file() for name in named)
    for part in report.illustrations:
        svg = (tmp_path / "report" / "figures" / f"{part.file_name}.svg").read_text()
        assert svg == to_svg(part.figure)
        assert to_svg(part.figure, alone=False) in page
    assert "<h1>An appendix</h1>" in page
    assert "gem report one --out report --title 'An appendix'" in markdown
    assert not re.search(r"""(?:src|href)=|url\(|<script""", page)
    for package, version in run.config.packages.items():
        assert f"| {package} | {version} |" in markdown


def test_the_settings_beside_a_report_play_the_run_again(make_run: MakeRun, tmp_path: Path) -> None:
    """They are those of the run: gem eval takes the file as it is."""
    run = make_run("one", env=ENVS, episodes=8, group=2, agent="a-model")
    gem("report", run.path, "--out", tmp_path / "report")
    (file,) = (tmp_path / "report" / "settings").iterdir()
    assert EvaluationConfig.from_toml(file) == EvaluationConfig.from_dict(
        json.loads(json.dumps(_document(settings_of(run.config))))
    )
    assert f"gem eval --config settings/{file.name} --out one" in (tmp_path / "report" / "report.md").read_text()


def _document(config: EvaluationConfig) -> dict[str, Any]:
    return {
        "name": config.name,
        "model": config.model,
        "base_url": config.base_url,
        "episodes": config.episodes,
        "group": config.group,
        "environment": [
            {"id": item.id, "episodes": item.episodes, "group": item.group, "seed": item.seed, "wrappers": []}
            for item in config.environments
        ],
        "retries": config.retries,
        "concurrency": config.concurrency,
        "give_up_after": config.give_up_after,
    }


TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(system=TEXTS, kwargs=st.dictionaries(TEXTS, VALUES, max_size=3), group=st.integers(1, 4))
def test_any_settings_survive_their_file(
    system: str, kwargs: dict[str, Any], group: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever texts, numbers and nested values they hold; a null has no file."""
    wrappers = [{"name": "sliding_window", "turns": group}, "messages"]
    document = {"system": system, "environment": [{"id": "a:B-v0", "kwargs": kwargs, "wrappers": wrappers}]}
    config = EvaluationConfig.from_dict({**document, "episodes": 4 * group, "group": group, "prices": {"input": 1.0}})
    file = tmp_path_factory.mktemp("settings") / "settings.toml"
    file.write_text(settings_toml(config) or "", encoding="utf-8", newline="")
    assert EvaluationConfig.from_toml(file) == config
    null = {"environment": [{"id": "a:B-v0", "kwargs": {"x": [None]}}]}
    assert settings_toml(EvaluationConfig.from_dict(null)) is None
    assert settings_toml(EvaluationConfig(system="\ud800")) is None


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_words_of_others_stay_words(
    make_config: Callable[..., RunConfig], make_trajectory: Callable[..., Trajectory], tmp_path: Path
) -> None:
    """Names with markup, table rules, fences and controls change neither page nor Markdown."""
    hostile = '<script>alert(1)</script>"><img src=x>\n| a | b |\n```\n# x [y](http://z) \x1b[2J\u202e'
    config = make_config([hostile], model=hostile, agent=hostile, name=hostile, packages={hostile: hostile})
    with RunFolder.create(tmp_path / "run", config) as folder:
        for seed in range(4):
            folder.append(make_trajectory(hostile, seed, agent=hostile))
    gem("report", tmp_path / "run", tmp_path / "run", "--out", tmp_path / "report", "--title", hostile)
    page, markdown = ((tmp_path / "report" / f"report.{ending}").read_text() for ending in ("html", "md"))
    reader = _Tags()
    reader.feed(page)
    assert not reader.tags & {"script", "img", "a", "link", "iframe"}
    assert not {name for name in reader.attributes if name.startswith("on")} | reader.attributes & {"src", "href"}
    assert "\x1b" not in page + markdown
    assert "\u202e" not in page + markdown
    outside = re.sub(r"^(`{3,})bash\n.*?^\1$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)<script|(?<!\\)\[y\]|(?<!\\)`", outside)
    lines = markdown.splitlines()
    for number, line in enumerate(lines):
        if re.fullmatch(r"[|: -]*---[|: -]*", line):  # each row of a table has the cells of its head
            counts = {len(re.findall(r"(?<!\\)\|", row)) for row in (lines[number - 1], line, lines[number + 1])}
            assert len(counts) == 1


def test_a_training_run_has_a_report(make_run: MakeRun, tmp_path: Path) -> None:
    """Its learning curve is among the figures, and its settings stay in its own folder."""
    run = make_run("trained", episodes=30, metadata={"update": 7})
    record = json.loads((run.path / "run.json").read_text())
    record["environments"][0]["episodes"] = 0
    record |= {"agent": "gem train (grpo)", "model": None, "training": {"algorithm": "grpo"}}
    (run.path / "run.json").write_text(json.dumps(record))
    report = report_of([RunFolder(run.path)])
    assert report.illustrations[0].figure.kind == "learning-curve"
    gem("report", run.path, "--out", tmp_path / "report")
    assert "# the settings are in trained/run.json" in (tmp_path / "report" / "report.md").read_text()


def test_what_cannot_be_written_is_said(make_run: MakeRun, tmp_path: Path) -> None:
    """A folder that is a file, and one that holds no run."""
    run = make_run("one")
    (tmp_path / "taken").touch()
    assert "taken" in gem("report", run.path, "--out", tmp_path / "taken", code=2).output
    (tmp_path / "a" / "report.html").mkdir(parents=True)
    assert "cannot be written" in gem("report", run.path, "--out", tmp_path / "a", code=1).output
    result = CliRunner().invoke(cli, ["report", str(tmp_path), "--out", str(tmp_path / "b")])
    assert "holds no run" in str(result.exception)


def test_a_machine_without_a_font_is_recognised() -> None:
    """Text would be missing there; what reads the SVG writes a text only with one."""
    from resvg_py import svg_to_bytes

    assert not _writes(partial(svg_to_bytes, skip_system_fonts=True))
    if not _writes(svg_to_bytes):
        pytest.skip("this machine has no font")
    picture = to_png('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="5"/>')
    assert picture.startswith(b"\x89PNG")
    assert (int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")) == (27, 15)


@pytest.mark.nightly
def test_figures_are_pictures_too(make_run: MakeRun, tmp_path: Path) -> None:
    """With --png, each has a PNG of its size; a machine without a font says which package brings one."""
    run = make_run("one", episodes=20)
    result = CliRunner().invoke(cli, ["report", str(run.path), "--out", str(tmp_path / "report"), "--png"])
    figures = tmp_path / "report" / "figures"
    if isinstance(result.exception, NoFontError):
        assert "fonts-dejavu-core" in str(result.exception)
        assert not figures.exists()
        return
    assert {file.stem for file in figures.glob("*.png")} == {file.stem for file in figures.glob("*.svg")} != set()
    assert all(int.from_bytes(file.read_bytes()[16:20], "big") == 3 * 520 for file in figures.glob("*.png"))
