"""The experiments of examples/paper: their tasks, their choice of settings, their report, and the page that is kept."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

PAPER = Path(__file__).resolve().parents[1] / "examples" / "paper"
NUMBER = re.compile(r"[−+]?\d+(?:\.\d+)?")
MODULES = ("product_env", "report", "run_experiment", "sorting_env")


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The modules of the experiments, imported as the command imports them."""
    before, paths = set(sys.modules), list(sys.path)
    monkeypatch.syspath_prepend(str(PAPER))
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    for name in (*MODULES, "pictures", "training_runs"):
        if name not in before:
            sys.modules.pop(name, None)
    sys.path[:] = paths


def test_the_products_can_be_copied_and_guessed(examples: SimpleNamespace) -> None:
    """A call shows the result of its own factors, an answer ends the episode, and nothing else is read."""
    env = examples.product_env.ProductEnv(negative=-0.5)
    observation, _ = env.reset(seed=3)
    a, b = env._factors
    assert f"{a}*{b}?" in observation
    observation, reward, terminated, _, _ = env.step("<python>9*9</python>")
    assert "81" in observation
    assert (reward, terminated) == (0.0, False)
    assert env.step(f"\\boxed{{{a * b}}}")[1] == 1.0
    for action, earned in (("\\boxed{1000}", 0.0), ("<python>9*99</python>", -0.5), ("I think 12", -0.5)):
        env.reset(seed=3)
        assert env.step(action)[1:3] == (earned, True)


def test_random_play_copies_as_often_as_it_is_told(examples: SimpleNamespace) -> None:
    """With certain copying every called episode is won; without calls a product is rarely guessed."""
    for tool_share, lowest, highest in ((1.0, 1.0, 1.0), (0.0, 0.0, 0.2)):
        env = examples.product_env.ProductEnv(tool_share=tool_share, copying=1.0)
        won = 0
        for seed in range(100):
            env.reset(seed=seed)
            over = False
            while not over:
                _, reward, terminated, truncated, _ = env.step(env.sample_random_action())
                over = terminated or truncated
            won += reward == 1.0
        assert lowest <= won / 100 <= highest


def test_swaps_of_pairs_out_of_order_sort_the_row(examples: SimpleNamespace) -> None:
    """Bubble sort wins in as many turns as there are inversions, with rewards that sum to 1; a swap back loses."""
    rows = set()
    for seed in range(20):
        env = examples.sorting_env.SortingEnv(size=5)
        env.reset(seed=seed)
        rows.add(tuple(env._row))
        inversions, rewards, terminated = env._inversions, [], False
        while not terminated:
            place = next(place for place in range(4) if env._row[place] > env._row[place + 1])
            observation, reward, terminated, _, info = env.step(f"\\boxed{{{place + 1}}}")
            rewards.append(reward)
        assert (env._row, info["success"], len(rewards)) == ([1, 2, 3, 4, 5], True, inversions)
        assert sum(rewards) == pytest.approx(1.0)
        assert "Sorted." in observation
    assert len(rows) > 15
    env.reset(seed=0)
    first, second = env.step("\\boxed{1}"), env.step("\\boxed{1}")
    assert first[1] == -second[1] != 0
    assert {first[0].split()[4], second[0].split()[4]} == {"Better.", "Worse."}


def test_every_experiment_names_settings_and_columns_that_exist(examples: SimpleNamespace) -> None:
    """A misspelt setting would show after the first hour."""
    for experiment in examples.run_experiment.known_experiments(Path("unused")).values():
        entry = experiment.entry
        for arm in entry["arms"]:
            experiment.recipe_of(arm, {})
        known = {*examples.report.COLUMNS, "target", "stopped", "by_environment"}
        assert set(entry["columns"]) <= known
        assert set(entry.get("paired", ())) <= set(examples.report.COLUMNS)
        assert len(entry["seeds"]) >= 3, "an interval over two seeds says nothing"
        assert not set(entry["seeds"]) & set(entry.get("tuning", {}).get("seeds", ())), "tuned on what is counted"


def figures(arm: str, seed: int, success: list[float], **others: Any) -> dict[str, Any]:
    """Return the figures of a run."""
    curves = {name: [2.0] * len(success) for name in ("turns_of_won_episodes", "turns_of_an_episode", "entropy")}
    greedy = {"any": {"success": success[-1], "turns_of_won_episodes": None}}
    return {
        "arm": arm,
        "seed": seed,
        "tuning": False,
        "recipe": {"updates": len(success)},
        "stopped": None,
        "success": success,
        **curves,
        "greedy_before": greedy,
        "greedy": greedy,
        "cpu_seconds": 1.0,
        **others,
    }


def finish(run: Any, success: list[float]) -> None:
    """Write the result of a run, as training does."""
    run.folder.mkdir(parents=True)
    (run.folder / "result.json").write_text(json.dumps(figures(run.arm, run.seed, success)), encoding="utf-8")


def experiment_of(examples: SimpleNamespace, out: Path, **entry: Any) -> Any:
    """Return an experiment of two arms."""
    arms = {"one": {"gamma": 0.9}, "other": {"gamma": 1.0}}
    common = {"settings": {"environments": {"any": 1.0}}, "arms": arms, "columns": ["last"], "paired": ["last"]}
    return examples.run_experiment.Experiment("tried", {**common, **entry}, out)


def test_the_best_setting_of_each_arm_is_counted_on_other_seeds(examples: SimpleNamespace, tmp_path: Path) -> None:
    """Tuning looks at its own seeds, arm by arm, and its runs are shorter if it says so."""
    tuning = {"setting": "learning_rate", "values": [0.1, 0.2], "seeds": [7, 8], "updates": 3}
    experiment = experiment_of(examples, tmp_path, seeds=[0, 1], tuning=tuning)
    best = {"one": 0.1, "other": 0.2}
    for run in experiment.tuning_runs():
        assert run.recipe.updates == 3
        finish(run, [0.9 if run.recipe.learning_rate == best[run.arm] else 0.2])
    assert {arm: experiment.tuned(arm)["learning_rate"] for arm in best} == best
    assert {(run.arm, run.seed, run.recipe.learning_rate, run.recipe.updates) for run in experiment.counted_runs()} == {
        (arm, seed, rate, 100) for arm, rate in best.items() for seed in (0, 1)
    }


def test_a_run_belongs_to_its_settings(examples: SimpleNamespace, tmp_path: Path) -> None:
    """A changed setting is another run, not the result of the old one; equal runs of two experiments are one."""
    before = experiment_of(examples, tmp_path, seeds=[0]).counted_runs()
    for run in before:
        finish(run, [0.5])
    changed = experiment_of(
        examples, tmp_path, seeds=[0], arms={"again": {"gamma": 0.9}, "new": {"gamma": 0.9, "updates": 7}}
    )
    again, new = changed.counted_runs()
    assert again.folder == before[0].folder
    assert again.result is not None
    assert new.result is None


def test_tables_show_intervals_differences_by_seed_and_the_tuning(examples: SimpleNamespace) -> None:
    """Student's t over the seeds of an arm, and over the differences between arms of one seed."""
    ends = {"one": (0.92, 0.94, 0.6), "other": (0.95, 0.99, 0.61)}
    runs = [
        figures(arm, seed, [0.5] * 6 + [last] * 6) for arm, lasts in ends.items() for seed, last in enumerate(lasts)
    ]
    rate = {"tuning": True, "recipe": {"learning_rate": 0.1}}
    runs += [figures(arm, 7, [0.25] * 6, **rate) for arm in ends]
    entry = {
        "arms": dict.fromkeys(ends),
        "columns": ["first", "last", "target", "turns", "greedy_turns", "stopped"],
        "paired": ["last"],
        "tuning": {"setting": "learning_rate", "values": [0.1, 2e-3]},
    }
    text = examples.report.tables(entry, runs)
    # The mean of 0.92, 0.94 and 0.6 is 0.82; its standard error 0.1102, and t(0.975, 2) is 4.303.
    assert "| one, learning rate 0.002 | 0.50 | 0.82 (0.35 … 1.00) | 12 (2 of 3) | 2.00 | – | 0 of 3 |" in text
    # Differences 0.03, 0.05 and 0.01, with a standard error of 0.0115: surer than the ends, which vary by seed.
    assert "| other − one | +0.03 (−0.02 … +0.08) |" in text
    assert "| one | 0.25 |  |" in text


def test_runs_without_a_figure_are_not_forgotten(examples: SimpleNamespace) -> None:
    """Never reached counts as later than any update, a stopped run stays where it was, and a mean names its runs."""
    report = examples.report
    assert report._median([20, float("inf"), float("inf")]) == "not reached (1 of 3)"
    assert report._median([20, 40, float("inf")]) == "40 (2 of 3)"
    assert report.interval([2.0, float("nan"), 2.0]) == "2.00, 2 of 3 runs"
    stopped = figures("one", 0, [0.0] * 6 + [0.4] * 6, recipe={"updates": 60}, stopped="collapse: …")
    assert report.mean_over_training(stopped) == pytest.approx(0.4 * 54 / 60)
    rising = figures("one", 0, [0.0, 1.0], recipe={"updates": 2})
    assert report.mean_over_training(rising) == pytest.approx(0.5)


def test_the_page_agrees_with_the_figures_that_are_kept(examples: SimpleNamespace) -> None:
    """Each table is that of the raw data, each picture names them, and every counted run of an experiment is there."""
    report = examples.report
    page = report.PAGE.read_text(encoding="utf-8")
    experiments = examples.run_experiment.known_experiments(Path("unused"))
    kept = sorted(report.DATA.glob("*.jsonl"))
    assert kept
    assert {name.split(" ")[0] for name in page.split("<!-- begin ")[1:]} == {path.stem for path in kept}
    for path in kept:
        runs, entry = report.read_figures(path.stem), experiments[path.stem].entry
        expected = report.with_tables(page, {path.stem: report.section(path.stem, entry, runs)})
        assert page == expected, f"{path.name} gives other tables; run examples/paper/report.py"
        assert report.digest_of(path) in path.with_suffix(".svg").read_text(encoding="utf-8")
        counted = sorted((run["arm"], run["seed"]) for run in runs if not run["tuning"])
        assert counted == sorted((arm, seed) for arm in entry["arms"] for seed in entry["seeds"])
        for run in runs:
            changed = {"updates": run["recipe"]["updates"], "learning_rate": run["recipe"].get("learning_rate", 2e-3)}
            wanted = experiments[path.stem].recipe_of(run["arm"], changed)
            assert examples.run_experiment.changed_settings(wanted) == run["recipe"], "the settings have changed since"


@pytest.mark.parametrize("name", ["filtered-groups", "normalized-tasks"])
def test_numbers_in_the_prose_stand_in_the_tables(examples: SimpleNamespace, name: str) -> None:
    """Prose above the tables of an experiment, from its heading on, has no figure that the kept runs do not give."""
    before, _, rest = examples.report.PAGE.read_text(encoding="utf-8").partition(f"<!-- begin {name} -->")
    prose = re.sub(r"arXiv [\d.]+", "", before.rpartition("\n## ")[2])
    written = set(NUMBER.findall(prose))
    assert written, "the section gives no figure"
    assert written <= set(NUMBER.findall(rest.partition(f"<!-- end {name} -->")[0]))


def test_a_page_without_a_place_for_a_table_is_refused(examples: SimpleNamespace) -> None:
    """Only what stands between the marks changes."""
    with_tables = examples.report.with_tables
    page = "before\n<!-- begin tried -->\nold\n<!-- end tried -->\nafter\n"
    assert with_tables(page, {"tried": "new\n"}) == page.replace("old", "new")
    with pytest.raises(SystemExit, match="begin other"):
        with_tables(page, {"other": "new\n"})


@pytest.mark.nightly
def test_raw_data_page_and_picture_come_from_the_runs(
    examples: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing run is refused; the picture of the same figures is the same file."""
    pytest.importorskip("matplotlib", reason="draws the pictures")
    pictures = importlib.import_module("pictures")
    monkeypatch.setattr(examples.run_experiment, "DATA", tmp_path)
    experiment = experiment_of(examples, tmp_path / "runs", seeds=[0, 1, 2])
    with pytest.raises(SystemExit, match="6 runs are missing"):
        experiment.write_data()
    for run in experiment.counted_runs():
        finish(run, [0.5] * 6)
    experiment.write_data()
    lines = [json.loads(line) for line in (tmp_path / "tried.jsonl").read_text(encoding="utf-8").splitlines()]
    wanted = [(arm, seed) for arm in ("one", "other") for seed in range(3)]
    assert [(line["arm"], line["seed"]) for line in lines] == wanted
    drawn = []
    for path in (tmp_path / "one.svg", tmp_path / "two.svg"):
        pictures.draw(experiment.entry, lines, path, "0123")
        drawn.append(path.read_bytes())
    assert drawn[0] == drawn[1]
    assert b"Turns of won episodes" in drawn[0]


@pytest.mark.nightly
def test_an_experiment_runs_and_goes_on_where_it_was(examples: SimpleNamespace, tmp_path: Path) -> None:
    """Runs in processes of their own; a second call makes none anew, and a shared warm start changes nothing."""
    pytest.importorskip("torch", reason="trains a model")
    settings = {
        "environments": {"paper:Products": 1.0},
        "updates": 2,
        "episodes": 8,
        "warm_episodes": 64,
        "warm_steps": 20,
        "context": 160,
    }
    experiment = experiment_of(examples, tmp_path / "shared", settings=settings, seeds=[0])
    make = examples.run_experiment.make
    assert len(list(make(experiment.counted_runs(), 1))) == 2
    assert len(list((tmp_path / "shared" / "warm").glob("*.pt"))) == 1
    shared = experiment.counted_runs()
    assert list(make(shared, 1)) == []
    alone = experiment_of(examples, tmp_path / "alone", settings=settings, seeds=[0]).counted_runs()[1:]
    assert len(list(make(alone, 1))) == 1
    assert len(alone[0].result["success"]) == 2
    same = {name: value for name, value in alone[0].result.items() if name != "cpu_seconds"}
    assert same == {name: shared[1].result[name] for name in same}
