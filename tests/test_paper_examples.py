"""The experiments of examples/paper: their task, their choice of settings, and their report."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PAPER = Path(__file__).resolve().parents[1] / "examples" / "paper"


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ModuleType, ModuleType]]:
    """The modules run_experiment, report and product_env, imported as the command imports them."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(PAPER))
    import product_env
    import report
    import run_experiment

    yield run_experiment, report, product_env
    for name in ("run_experiment", "report", "product_env"):
        if name not in before:
            sys.modules.pop(name, None)


Modules = tuple[ModuleType, ModuleType, ModuleType]


def test_the_products_can_be_copied_and_guessed(examples: Modules) -> None:
    """A call shows the result of its own factors, an answer ends the episode, and nothing else is read."""
    env = examples[2].ProductEnv(negative=-0.5)
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


def test_random_play_copies_as_often_as_it_is_told(examples: Modules) -> None:
    """With certain copying every called episode is won; without calls a product is rarely guessed."""
    for tool_share, lowest, highest in ((1.0, 1.0, 1.0), (0.0, 0.0, 0.2)):
        env = examples[2].ProductEnv(tool_share=tool_share, copying=1.0)
        won = 0
        for seed in range(100):
            env.reset(seed=seed)
            over = False
            while not over:
                _, reward, terminated, truncated, _ = env.step(env.sample_random_action())
                over = terminated or truncated
            won += reward == 1.0
        assert lowest <= won / 100 <= highest


def test_every_experiment_names_settings_that_a_recipe_has(examples: Modules) -> None:
    """A misspelt setting would show after the first hour."""
    pytest.importorskip("torch", reason="the recipes' module lies beside the trainer, which needs torch")
    from gem_rl.training.recipe import Recipe, recipes

    run_experiment = examples[0]
    known = run_experiment.tomllib.loads((PAPER / "experiments.toml").read_text(encoding="utf-8"))
    for name, entry in known.items():
        experiment = run_experiment.Experiment(name, entry, Path("unused"))
        base = recipes()[entry["recipe"]].to_dict() if "recipe" in entry else {"environments": {"game:Sudoku-v0": 1}}
        for settings in experiment.arms.values():
            Recipe.from_dict(run_experiment.merged(base, settings))
        assert len(entry["seeds"]) >= 5
        assert not set(entry["seeds"]) & set(entry.get("tuning", {}).get("seeds", ())), "tuned on what is counted"


def finished(run: Any, success: list[float]) -> None:
    """Write the result of a run, as training does."""
    run.folder.mkdir(parents=True)
    result = {
        "arm": run.arm,
        "seed": run.seed,
        "recipe": {},
        "stopped": None,
        "success": success,
        **{name: [2.0] * len(success) for name in ("turns_of_won_episodes", "entropy", "malformed")},
        "greedy_success": success[-1],
        "greedy_turns_of_won_episodes": None,
        "cpu_seconds": 1.0,
    }
    (run.folder / "result.json").write_text(json.dumps(result), encoding="utf-8")


def test_the_best_setting_of_each_arm_is_counted_on_other_seeds(examples: Modules, tmp_path: Path) -> None:
    """Tuning looks at its own seeds, arm by arm."""
    entry = {
        "arms": {"one": {}, "other": {}},
        "seeds": [0, 1],
        "tuning": {"setting": "learning_rate", "values": [0.1, 0.2], "seeds": [7, 8]},
    }
    experiment = examples[0].Experiment("tried", entry, tmp_path)
    best = {"one": 0.1, "other": 0.2}
    for run in experiment.tuning_runs():
        finished(run, [0.9 if run.settings["learning_rate"] == best[run.arm] else 0.2])
    assert {arm: experiment.tuned(arm)["learning_rate"] for arm in experiment.arms} == best
    assert {(run.arm, run.seed, run.settings["learning_rate"]) for run in experiment.counted_runs()} == {
        (arm, seed, rate) for arm, rate in best.items() for seed in (0, 1)
    }


def test_a_table_has_each_arm_with_its_interval(examples: Modules, tmp_path: Path) -> None:
    """The mean over seeds, Student's t around it, and how many runs reached the target."""
    run_experiment, report, _ = examples
    experiment = run_experiment.Experiment("tried", {"arms": {"γ = 1": {}}, "seeds": [0, 1, 2]}, tmp_path)
    runs = experiment.counted_runs()
    for run, last in zip(runs, (0.92, 0.94, 0.6), strict=True):
        finished(run, [0.5] * 6 + [last] * 6)
    # The mean of 0.92, 0.94 and 0.6 is 0.82; its standard error 0.1102, and t(0.975, 2) is 4.303.
    assert "| γ = 1 | 0.50 | 0.82 (0.35 … 1.00) | 2.00 | 12 (2 of 3) |" in report._table(experiment, runs)


@pytest.mark.nightly
def test_a_report_is_written_into_the_documents(
    examples: Modules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Raw figures, a picture, and the table between its marks; a missing run is refused."""
    pytest.importorskip("matplotlib", reason="draws the pictures")
    run_experiment, report, _ = examples
    monkeypatch.setattr(report, "DOCS", tmp_path)
    page = tmp_path / "paper.md"
    page.write_text("before\n<!-- begin tried -->\nold\n<!-- end tried -->\nafter\n", encoding="utf-8")
    experiment = run_experiment.Experiment("tried", {"arms": {"γ = 1": {}}, "seeds": [0, 1, 2]}, tmp_path / "runs")
    with pytest.raises(SystemExit, match="3 runs are missing"):
        report.write_report(experiment)
    for run in experiment.counted_runs():
        finished(run, [0.5] * 6)
    report.write_report(experiment)
    text = page.read_text(encoding="utf-8")
    assert "| γ = 1 | 0.50 | 0.50 |" in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert (tmp_path / "paper" / "tried.svg").stat().st_size > 1000
    assert len(json.loads((tmp_path / "paper" / "tried.json").read_text(encoding="utf-8"))["runs"]) == 3


@pytest.mark.nightly
def test_an_experiment_runs_and_goes_on_where_it_was(examples: Modules, tmp_path: Path) -> None:
    """Runs in processes of their own; a second call makes none anew."""
    pytest.importorskip("torch", reason="trains a model")
    entry = {
        "environment": "paper:Products",
        "settings": {"updates": 2, "episodes": 8, "warm_episodes": 64, "warm_steps": 20, "context": 160},
        "arms": {"tried": {}},
        "seeds": [0],
    }
    experiment = examples[0].Experiment("tried", entry, tmp_path)
    assert len(list(examples[0].make(experiment, experiment.counted_runs(), 1))) == 1
    (run,) = experiment.counted_runs()
    assert len(run.result["success"]) == 2
    assert list(examples[0].make(experiment, experiment.counted_runs(), 1)) == []
