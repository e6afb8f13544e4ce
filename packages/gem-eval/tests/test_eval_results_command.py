"""``gem results`` and ``gem compare`` on run folders."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gem.errors import GemError
from gem_cli.main import cli
from gem_eval.cli.episode_files import write_csv, write_parquet
from gem_eval.cli.figure_text import mean_text, one_line, share_text
from gem_eval.runs import Prices, RunConfig, RunFolder
from gem_eval.statistics import Estimate
from gem_rollout.trajectory import Trajectory

GUESS = "game:GuessTheNumber-v0-easy"
MakeRun = Callable[..., RunFolder]


def gem(*arguments: object, code: int = 0) -> Result:
    """Run ``gem`` with these arguments and expect its exit code."""
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def hostile_run(
    tmp_path: Path, make_trajectory: Callable[..., Trajectory], make_config: Callable[..., RunConfig]
) -> RunFolder:
    """A run whose names hold escape sequences, newlines, a formula and half a surrogate pair."""
    config = make_config(name="\x1b[31mred\x1b[0m\nsecond line", episodes=4, agent="=cmd()\ud800")
    path = tmp_path / "hostile"
    with RunFolder.create(path, config) as folder:
        for seed in range(4):
            trajectory = make_trajectory(seed=seed, agent="=cmd()\ud800\x1b]0;title\x07")
            trajectory.stop_reason = "\x1b[2Jcleared\u202e"
            trajectory.scores = {"[bold]\x9b31m": {"value": 0.5}}
            folder.append(trajectory)
    return RunFolder(path)


def test_results_of_one_run(make_run: MakeRun) -> None:
    """The table names the environment, counts, means with intervals, pass@k, failures, cost and what they mean."""
    run = make_run("demo", episodes=40, group=4, failures=3, prices=Prices(1.0, 2.0), skill=0.5)
    output = gem("results", run.path).output
    for expected in (
        "demo · made-up-model · 37 of 40 episodes · 3 failed",
        GUESS,
        "mean return",
        "success",
        "pass@2",
        "pass^4",
        "turns",
        "completion tokens",
        "ended: 37 terminated",
        "failed: 3 endpoint/server_error",
        "cost: ",
        "note: 3 of 40 episodes failed by no fault of the agent and count in no mean",
    ):
        assert expected in output


def test_pooled_shares_and_attempts_have_counts_and_bounds(make_run: MakeRun) -> None:
    """The row of all environments and each k say how many outcomes are unknown, and what they could change."""
    env = (GUESS, "game:Wordle-v0-easy")
    run = make_run("two", env=env, episodes=8, group=4, failures=1, skill=2.0)
    output = gem("results", run.path).output
    assert re.search(r"all, equal weights .* 14 of 14 \+ 2 unknown: 87\.5 … 100\.0 %\n", output)
    # The seed with a failure has 3 of 4 successes at worst: pass^4 is then 0 for one seed of two.
    assert re.search(rf"{GUESS} +4 .* 100\.0 … 100\.0 %.* 50\.0 … 100\.0 % +1\n", output)
    alone = gem("results", make_run("one", episodes=8, group=4, failures=1, skill=2.0).path).output
    assert re.search(r"pass\^4 .*, 1 seeds \+ 1 unknown: 50\.0 … 100\.0 %\n", alone)


@pytest.mark.parametrize(
    ("value", "low", "high", "mean", "share"),
    [
        (0.8125, 0.75, 0.875, "0.812 ± 0.062", "81.2 % (75.0 … 87.5)"),
        (1.0, 0.86, 1.0, "1.000 ± 0.070", "100 % (86.0 … 100)"),
        (0.0, None, None, "0.000", "0 %"),
        (12.345, 11.345, 13.345, "12.35 ± 1.000", ""),
        (1234.5, 1000.0, 1469.0, "1,234 ± 234.5", ""),
        (-23456.0, -33456.0, -13456.0, "-23.5k ± 10.0k", ""),
        (1.5e9, 1e9, 2e9, "1.5e+09 ± 5e+08", ""),
    ],
)
def test_estimates_as_text(value: float, low: float | None, high: float | None, mean: str, share: str) -> None:
    """A few digits, half of the interval for a mean, and both ends for a share."""
    estimate = Estimate(value, low, high, groups=10, episodes=10, method="t")
    assert mean_text(estimate) == mean
    assert not share or share_text(estimate) == share
    assert mean_text(None) == share_text(None) == ""


def test_cost_and_notes_cover_all_environments(make_run: MakeRun, make_trajectory: Callable[..., Trajectory]) -> None:
    """The cost is that of all environments, and a note names its figures and for how many environments it holds."""
    run = make_run("demo", env=[GUESS, "game:Sudoku-v0-easy"], episodes=8, prices=Prices(1e4, 1e4), skill=1.5)
    total = sum(row.cost or 0 for row in run.rows())
    output = gem("results", run.path).output
    assert f"cost: {total:.4g}" in output
    assert "note: mean return: no interval: all 8 seeds have the same mean" in output
    one = make_run("one", env=[GUESS, "game:Sudoku-v0-easy"], episodes=8)
    with RunFolder.open(one.path, write=True) as folder:
        for seed in range(8):
            folder.append(make_trajectory("game:Sudoku-v0-easy", seed, skill=1.5))
    assert "all 8 seeds have the same mean (1 of 2 environments)" in gem("results", one.path).output


def test_any_number_of_reasons_fits(
    tmp_path: Path, make_trajectory: Callable[..., Trajectory], make_config: Callable[..., RunConfig]
) -> None:
    """The ten most frequent ends of episodes are listed, each cut to a length, and the others counted."""
    with RunFolder.create(tmp_path / "run", make_config(episodes=30)) as folder:
        for seed in range(30):
            trajectory = make_trajectory(seed=seed)
            trajectory.stop_reason = "terminated" if seed < 5 else f"reason {seed} " + 10_000 * "x"
            folder.append(trajectory)
    (line,) = (line for line in gem("results", tmp_path / "run").output.splitlines() if line.startswith("ended: "))
    assert line.startswith("ended: 5 terminated, 1 reason 5 ")
    assert line.endswith(", 16 others")
    assert len(line) < 1000


def test_unreadable_grades_are_in_the_table(
    tmp_path: Path, make_trajectory: Callable[..., Trajectory], make_config: Callable[..., RunConfig]
) -> None:
    """One environment has a line for them, several have a table; without any there is neither."""
    for name, envs in {"one": [GUESS], "two": [GUESS, "game:Sudoku-v0-easy"]}.items():
        with RunFolder.create(tmp_path / name, make_config(envs, episodes=4)) as folder:
            for env in envs:
                for seed in range(4):
                    trajectory = make_trajectory(env, seed=seed)
                    verdict = "unreadable" if seed == 0 and env == GUESS else "different"
                    trajectory.transitions[-1].info["grade"] = verdict
                    folder.append(trajectory)
        output = gem("results", tmp_path / name).output
        assert "unreadable" in output
        assert ("1 of 4 (25.0 %)" if name == "one" else "1/4") in output
        assert "hint: 1 of 4 answers" in output
        assert [row.grade for row in RunFolder(tmp_path / name).rows()][:2] == ["unreadable", "different"]
    (record,) = json.loads(gem("results", tmp_path / "one", "--json").output)
    assert record["environments"][0]["answers"]["unreadable"] == 1
    with RunFolder.create(tmp_path / "none", make_config(episodes=1)) as folder:
        folder.append(make_trajectory(seed=0))
    assert "unreadable" not in gem("results", tmp_path / "none").output


def test_a_run_that_goes_on_says_so(make_run: MakeRun) -> None:
    """While another process writes the run, its results and comparisons are those so far."""
    run = make_run("demo", episodes=8)
    with RunFolder.open(run.path, write=True):
        assert "the run goes on; these are the figures so far" in gem("results", run.path).output
        assert "warning: B goes on" in gem("compare", run.path, run.path).output
    assert "goes on" not in gem("results", run.path).output


def test_results_as_json(make_run: MakeRun) -> None:
    """One object for each run, with the figures of each environment."""
    runs = [make_run("a", episodes=12, group=2), make_run("b", episodes=6)]
    first, second = json.loads(gem("results", *(run.path for run in runs), "--json").output)
    assert (first["name"], first["episodes"], second["episodes"]) == ("a", 12, 6)
    (environment,) = first["environments"]
    assert environment["env"] == GUESS
    assert environment["success"]["groups"] == 6
    assert set(environment["pass_at_k"]) == {"1", "2"}
    assert first["finished"]


def test_results_of_several_environments_and_runs(make_run: MakeRun) -> None:
    """Several environments share tables with an overall row; several runs stand side by side."""
    envs = [GUESS, "game:Sudoku-v0-easy"]
    a, b = make_run("first", env=envs, episodes=12, group=2), make_run("second", env=envs[0], episodes=6)
    alone = gem("results", a.path).output
    assert "all, equal weights" in alone
    assert alone.count("game:Sudoku-v0-easy") == 4
    together = gem("results", a.path, b.path).output
    assert [line.split()[0] for line in together.splitlines() if line.startswith(("first ", "second "))] == [
        "first",
        "second",
        "first",
    ]


def test_long_names_of_runs_become_numbers(make_run: MakeRun) -> None:
    """Names that would fold the tables stand above them, once each."""
    long = "20261122-105357-game-GuessTheNumber-v0-easy-reference"
    output = gem("results", make_run(long, episodes=4).path, make_run("b", episodes=4).path).output
    assert f"1  {long}, agent made-up-model" in output
    assert output.count(long) == 1
    assert [line.split()[0] for line in output.splitlines() if line.startswith(("1  ", "2  "))] == ["1", "2", "1", "2"]


@pytest.mark.parametrize(("by", "expected"), [("seed", "of 2"), ("stop", "failed"), ("agent", "made-up-model")])
def test_results_by_seed_stop_and_agent(make_run: MakeRun, by: str, expected: str) -> None:
    """One row for each seed, end or agent."""
    output = gem("results", make_run("demo", episodes=12, group=2, failures=1).path, "--by", by).output
    assert GUESS in output
    assert expected in output
    assert len(output.splitlines()) == 4 + {"seed": 6, "stop": 2, "agent": 1}[by]


def test_an_unfinished_run_says_so(make_run: MakeRun, make_config: Callable[..., RunConfig]) -> None:
    """A run with fewer episodes than planned is shown with a note."""
    run = make_run("demo", episodes=5)
    run.replace_config(make_config(episodes=20))
    assert "not finished: 15 of 20 episodes have not been played" in gem("results", run.path).output


def test_a_run_of_a_trainer_has_the_episodes_that_it_recorded(
    make_run: MakeRun, make_config: Callable[..., RunConfig]
) -> None:
    """It plans none, so that nothing is counted out of nothing."""
    run = make_run("demo", episodes=5)
    run.replace_config(make_config(episodes=0))
    assert "5 episodes" in (output := gem("results", run.path).output)
    assert "of 0" not in output
    assert "/0" not in output


def test_a_terminal_of_80_columns_shows_ids_whole(make_run: MakeRun) -> None:
    """Drawn on a real terminal, no line is longer than it is wide, and an id of 27 characters stands on one line."""
    if not hasattr(os, "openpty"):
        pytest.skip("no pseudo-terminals here")
    run = make_run("demo", env=[GUESS, "game:Sudoku-v0-easy"], episodes=40, group=4, failures=2)
    ours, theirs = os.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
    process = subprocess.Popen(
        [sys.executable, "-m", "gem", "results", str(run.path)], stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    output = b""
    try:
        while chunk := os.read(ours, 4096):
            output += chunk
    except OSError:  # how Linux reports that the other end has closed
        pass
    finally:
        os.close(ours)
    assert process.wait(timeout=60) == 0
    lines = output.decode().splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(GUESS in line for line in lines) >= 3


def test_csv_holds_every_episode(make_run: MakeRun, tmp_path: Path) -> None:
    """The file has a line an episode, over all runs, that any CSV reader takes."""
    runs = [make_run("a", episodes=6, failures=1), make_run("b", episodes=4)]
    file = tmp_path / "episodes.csv"
    assert gem("results", *(run.path for run in runs), "--csv", file).output == ""
    with file.open(encoding="utf-8", newline="") as lines:
        records = list(csv.DictReader(lines))
    assert [record["run"] for record in records] == ["a"] * 6 + ["b"] * 4
    assert (records[0]["failure_source"], records[0]["failure_kind"]) == ("endpoint", "server_error")
    row = runs[1].rows()[2]
    assert (float(records[8]["return"]), int(records[8]["turns"])) == (row.episode_return, row.turns)
    piped = gem("results", runs[0].path, "--csv", "-").output
    assert len(list(csv.reader(io.StringIO(piped)))) == 7


@pytest.mark.slow(reason="imports datasets")
def test_parquet_holds_episodes_and_turns(make_run: MakeRun, tmp_path: Path) -> None:
    """Both files read back with the figures of the run, also where a column is empty."""
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("datasets")
    run = make_run("demo", episodes=6, failures=1)
    episodes, turns = tmp_path / "episodes.parquet", tmp_path / "turns.parquet"
    gem("results", run.path, "--parquet", episodes, "--turns", turns)
    table = parquet.read_table(episodes)
    assert table.num_rows == 6
    assert table["return"].to_pylist() == [row.episode_return for row in run.rows()]
    assert str(table.schema.field("cost").type) == "double"
    assert parquet.read_table(turns).num_rows == sum(row.turns for row in run.rows())


@pytest.mark.parametrize("option", ["--parquet", "--turns"])
def test_a_missing_library_is_named(
    make_run: MakeRun, tmp_path: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without datasets, the message has the line that installs it."""
    monkeypatch.setitem(sys.modules, "datasets", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = CliRunner().invoke(cli, ["results", str(make_run().path), option, str(tmp_path / "x.parquet")])
    assert isinstance(result.exception, GemError)
    assert "pip install 'gem-rollout[datasets]'" in str(result.exception)


@pytest.mark.parametrize("extra", [(), ("--by", "stop"), ("--by", "agent"), ("--json",), ("--csv", "-")])
def test_hostile_names_change_nothing_in_a_terminal(hostile_run: RunFolder, extra: tuple[str, ...]) -> None:
    """Escape sequences, newlines and surrogates in names print as visible text, in every form of output."""
    output = gem("results", hostile_run.path, *extra).output
    controls = [c for c in output if unicodedata.category(c) in ("Cc", "Cs") and c != "\n"]
    if extra[:1] == ("--csv",):
        assert "\ud800" not in output
        assert "'=cmd()" in output
    else:
        assert not controls
        assert "\u202e" not in output
    both = gem("results", hostile_run.path, hostile_run.path).output
    assert "\x1b" not in both
    assert "\x1b" not in gem("compare", hostile_run.path, hostile_run.path, "--metric", "[bold]\x9b31m").output


def test_csv_and_parquet_of_a_hostile_run(hostile_run: RunFolder, tmp_path: Path) -> None:
    """A text that looks like a formula is quoted, and half a surrogate pair is written as its escape."""
    write_csv(str(tmp_path / "x.csv"), [hostile_run])
    assert "'=cmd()\\ud800" in (tmp_path / "x.csv").read_text(encoding="utf-8")
    parquet = pytest.importorskip("pyarrow.parquet")
    write_parquet(str(tmp_path / "x.parquet"), [hostile_run])
    assert parquet.read_table(tmp_path / "x.parquet").num_rows == 4


@pytest.mark.parametrize(
    ("text", "shown"), [("a\nb\t c", "a b c"), ("\x1b[31m", "␛[31m"), ("\u2028x", "x"), ("\ud800", "\ufffd"), (7, "7")]
)
def test_one_line(text: object, shown: str) -> None:
    """White space becomes one blank, and what a terminal would obey becomes visible."""
    assert one_line(text) == shown


def test_compare_says_in_words_how_runs_differ(make_run: MakeRun) -> None:
    """Difference, interval, p-value and the detectable difference stand in one sentence, paired by seed."""
    a, b = (
        make_run("before", episodes=200, group=4, skill=0.3),
        make_run("after", episodes=200, group=4, skill=0.7, salt=1),
    )
    output = gem("compare", a.path, b.path).output
    assert "paired" in output
    assert "points more (95 %: " in output
    assert "p < 0.001); with these 50 seeds a difference of " in output
    assert "points would have been seen four times out of five." in output
    record = json.loads(gem("compare", a.path, b.path, "--json").output)
    (environment,) = record["environments"]
    result = environment["result"]
    assert (result["paired"], result["significant"], result["groups"]) == (True, True, 50)
    shares = [sum(bool(row.success) for row in run.rows()) / 200 for run in (a, b)]
    assert result["difference"] == pytest.approx(shares[1] - shares[0])
    assert environment["words"] in output
    low, high = (f"{100 * result[name]:+.1f}".replace("-", "−") for name in ("low", "high"))
    assert f"{low} … {high}" in output
    assert record["a"]["name"] == "before"


def test_failed_episodes_take_no_part_in_a_comparison(make_run: MakeRun) -> None:
    """A seed whose episode failed in one run is left out of the other as well."""
    a, b = make_run("a", episodes=30), make_run("b", episodes=30, failures=4, salt=1)
    for metric in ("success", "return", "turns"):
        (environment,) = json.loads(gem("compare", a.path, b.path, "--metric", metric, "--json").output)["environments"]
        assert environment["result"]["groups"] == 26
        assert "26 seeds meet; left out are 4 that only A has and 0 that only B has" in environment["result"]["notes"]


def test_a_run_compared_with_itself(make_run: MakeRun) -> None:
    """No difference, p = 1, and a difference that would have been seen."""
    run = make_run(episodes=60)
    output = gem("compare", run.path, run.path).output
    assert "A and B solve the same share (95 %: " in output
    assert "p = 1.000); with these 60 seeds a difference of " in output


@pytest.mark.parametrize("metric", ["return", "turns", "completion_tokens", "seconds"])
def test_other_metrics(make_run: MakeRun, metric: str) -> None:
    """Means without bounds are compared in their own unit."""
    a, b = make_run("a", episodes=40, turns=2), make_run("b", episodes=40, turns=4, salt=1)
    (environment,) = json.loads(gem("compare", a.path, b.path, "--metric", metric, "--json").output)["environments"]
    assert environment["metric"] == metric
    if metric == "turns":
        assert environment["words"] == "B's mean number of turns is 2 higher; the data give no interval."


def test_an_unknown_metric_is_refused_with_those_that_exist(make_run: MakeRun) -> None:
    """The message lists the metrics and the rewards of the runs."""
    run = make_run()
    result = CliRunner().invoke(cli, ["compare", str(run.path), str(run.path), "--metric", "beauty"])
    assert isinstance(result.exception, GemError)
    assert "no episode has the metric 'beauty'; there are: success, return, turns" in str(result.exception)


def test_runs_that_do_not_meet(make_run: MakeRun, tmp_path: Path) -> None:
    """Other seeds give an unpaired comparison that says so, and other environments none."""
    a, b = make_run("a", episodes=30), make_run("b", env="game:Sudoku-v0-easy", episodes=30)
    output = gem("compare", a.path, b.path).output
    assert "The runs have no environment in common." in output
    assert "only in A: game:GuessTheNumber-v0-easy" in output
    assert "only in B: game:Sudoku-v0-easy" in output


def test_several_environments_have_an_overall_row(
    make_run: MakeRun,
) -> None:
    """The mean over environments says how it weighs them, and that several tests were made."""
    envs = [GUESS, "game:Sudoku-v0-easy"]
    a, b = make_run("a", env=envs, episodes=40), make_run("b", env=envs, episodes=40, salt=1)
    output = gem("compare", a.path, b.path).output
    assert "all 2 environments, equal weights" in output
    assert "of 2 environments without any difference, at least one would show p < 0.05 with a chance of 10 %" in output
    returns = json.loads(gem("compare", a.path, b.path, "--metric", "return", "--json").output)
    assert returns["overall"] is None


def test_differences_beside_the_agent_are_warned_of(make_run: MakeRun) -> None:
    """Other code, wrappers or limits make a comparison of agents doubtful."""
    a, b = make_run("a"), make_run("b")
    environment = replace(b.config.environments[0], digest="other", wrappers=("concat",))
    b.replace_config(replace(b.config, environments=(environment,), limits={"max_turns": 3}))
    output = gem("compare", a.path, b.path).output
    for expected in ("different versions of its code", "different wrappers", "different limits"):
        assert expected in output


@pytest.mark.parametrize("command", ["results", "compare"])
def test_a_folder_without_a_run(tmp_path: Path, command: str) -> None:
    """The error says that there is no run, without a traceback."""
    arguments: list[Any] = [command, tmp_path] + ([tmp_path] if command == "compare" else [])
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert isinstance(result.exception, GemError)
    assert "holds no run" in str(result.exception)


@pytest.mark.parametrize("command", ["results", "compare"])
def test_help_has_examples(command: str) -> None:
    """The help shows how the command is used."""
    assert f"gem {command} runs/" in gem(command, "--help").output
