"""The page of pretrained models has the figures of its kept runs, and an interval is computed here a second time."""

from __future__ import annotations

import math
import statistics
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("gem_eval", reason="gem-eval is not installed")
pytest.importorskip("gem_rl", reason="gem-rl is not installed")

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "guides" / "pretrained-models.md").read_text(encoding="utf-8")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that keeps the runs."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.delitem(sys.modules, "pretrained_runs", raising=False)
    return import_module("pretrained_runs")


def rows_of(text: str) -> list[str]:
    """Return the rows of the page's table of runs."""
    return [line for line in text.splitlines() if line.startswith("| `")]


def table(runs: ModuleType) -> list[str]:
    """Return the rows that the kept runs give."""
    return ["| " + " | ".join(runs.row(run)) + " |" for run in runs.kept()]


def test_the_table_of_runs_is_that_of_the_kept_data(runs: ModuleType) -> None:
    """Each kept run has its row, figure for figure, and no other run has one; an edited figure is noticed."""
    shown = [line for line in rows_of(PAGE) if line.count("|") == len(runs.HEADS) + 1]
    assert shown == table(runs)
    edited = PAGE.replace("+0.355 (", "+0.455 (", 1)
    assert edited != PAGE
    assert [line for line in rows_of(edited) if line.count("|") == len(runs.HEADS) + 1] != table(runs)


def test_the_figures_over_seeds_are_those_of_the_kept_data(runs: ModuleType) -> None:
    """The page has the mean and the interval of each recipe that several seeds have run."""
    sentences = runs.over_seeds(runs.kept())
    assert sentences
    for sentence in sentences:
        assert sentence in PAGE


def test_a_run_from_the_checkpoint_of_another_one_does_not_count_over_seeds(runs: ModuleType) -> None:
    """``i0`` has the settings of a recipe and not its first update; were it called whole, it would count."""
    kept = runs.kept()
    assert not any("`i0`" in sentence for sentence in runs.over_seeds(kept))
    whole = [{**run, "branch_of": None} for run in kept]
    assert any("`i0`" in sentence for sentence in runs.over_seeds(whole))


def test_the_figures_in_the_text_are_those_of_the_kept_data(runs: ModuleType) -> None:
    """What the page says of groups, episodes and entropies of single runs, and of random play."""
    kept = {run["run"]: run["updates"] for run in runs.kept()}
    later = kept["e0"][4:]
    groups, won = ([update[name] for update in later] for name in ("constant_groups", "success"))
    assert f"{min(groups):.2f} to {max(groups):.2f} of the groups of `e0`" in PAGE
    assert f"while it won {min(won):.2f} to {max(won):.2f} of the episodes" in PAGE
    entropies = [update["entropy"] for update in kept["a0"]]
    assert f"entropy fell from {entropies[0]:.2f} to {entropies[-1]:.2f}" in PAGE
    entropies = [update["entropy"] for update in kept["h0"]]
    assert f"entropy went from {entropies[0]:.2f} to {entropies[6]:.3f}\n  within seven updates" in PAGE
    entropies = [update["entropy"] for update in kept["g0"]]
    assert f"from {entropies[0]:.2f} to {entropies[2]:.2f} in three updates and to {entropies[5]:.2f} in six" in PAGE
    assert {update["constant_groups"] for update in kept["g0"][5:]} == {1.0}
    won, entropies = ([update[name] for update in kept["j0"]] for name in ("success", "entropy"))
    assert f"its entropy rose from {entropies[0]:.2f} to\n  {max(entropies):.2f}" in PAGE
    assert f"it won {min(won[2:]):.2f} to {max(won[2:]):.2f} of the episodes" in PAGE
    assert max(update["entropy"] for name in ("i1", "j2") for update in kept[name]) < 0.13
    won = [update["success"] for update in kept["f2"]]
    assert f"won {won[14]:.3f} of the episodes of update 15, and {won[15]:.2f} of those of the next one" in PAGE
    (numbers,) = [run["random"] for run in runs.kept() if run["run"] == "i1"]
    assert f"won {sum(numbers) / len(numbers):.3f} of these {len(numbers)}" in PAGE


def test_every_kept_run_has_its_curves(runs: ModuleType) -> None:
    """A picture lies beside the data for each run, and for nothing else."""
    names = {path.stem for path in runs.KEPT.parent.glob("*.svg")}
    assert names == {run["run"] for run in runs.kept()}


def test_an_interval_is_that_of_the_differences_task_by_task(runs: ModuleType) -> None:
    """Computed here by the textbook's formula for pairs, with the quantile of Student's t from a table."""
    (run,) = [one for one in runs.kept() if one["run"] == "f0"]
    pairs = [after - before for before, after in zip(run["before"], run["after"], strict=True)]
    mean, error = statistics.fmean(pairs), statistics.stdev(pairs) / math.sqrt(len(pairs))
    found = runs.difference(run)
    assert len(pairs) == 200
    assert found.difference == pytest.approx(mean)
    assert (found.low, found.high) == pytest.approx((mean - 1.97196 * error, mean + 1.97196 * error), abs=1e-5)
