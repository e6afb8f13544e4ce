"""The findings of the GEM paper in small: ``python examples/paper/run_experiment.py gamma``.

Needs ``pip install 'gem-rl[train]' gem-envs-games gem-eval matplotlib``. The experiments are in ``experiments.toml``. A
run is a folder below ``--out``; runs that are there are not made again, so a stopped experiment goes on where it was.
``--report`` writes what is there into docs/: the raw figures, a picture, and the table in docs/paper.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # processes that are spawned find the modules beside this one

GREEDY_EPISODES = 100
LAST = 6
"""Updates whose mean is called the final figure."""


@dataclass(frozen=True)
class Run:
    """One training run."""

    arm: str
    seed: int
    settings: Mapping[str, Any]
    folder: Path

    @property
    def result(self) -> dict[str, Any] | None:
        """The result, if the run has ended."""
        path = self.folder / "result.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    @property
    def final_success(self) -> float:
        """The mean success of the last updates; 0 for a run that has not ended."""
        result = self.result
        return 0.0 if result is None else mean_of_last(result["success"])


@dataclass(frozen=True)
class Experiment:
    """An entry of experiments.toml."""

    name: str
    entry: Mapping[str, Any]
    out: Path

    @property
    def arms(self) -> dict[str, dict[str, Any]]:
        """The settings of each arm, with those that all arms share."""
        return {arm: merged(self.entry.get("settings", {}), own) for arm, own in self.entry["arms"].items()}

    def run_of(self, arm: str, seed: int, changed: Mapping[str, Any]) -> Run:
        """Return a run of an arm, whether or not it was made."""
        tuned = "".join(f"-{name}-{value}" for name, value in changed.items())
        slug = re.sub(r"[^\w.=]+", "-", arm).strip("-")
        return Run(arm, seed, {**self.arms[arm], **changed}, self.out / self.name / f"{slug}{tuned}-seed-{seed}")

    def tuning_runs(self) -> list[Run]:
        """Return the runs that choose settings; none without tuning."""
        tuning = self.entry.get("tuning")
        if tuning is None:
            return []
        return [
            self.run_of(arm, seed, {tuning["setting"]: value})
            for arm in self.arms
            for value in tuning["values"]
            for seed in tuning["seeds"]
        ]

    def tuned(self, arm: str) -> dict[str, Any]:
        """Return the setting whose tuning runs were most successful in the end."""
        tuning = self.entry.get("tuning")
        if tuning is None:
            return {}
        name = tuning["setting"]

        def success(value: Any) -> float:
            return sum(self.run_of(arm, seed, {name: value}).final_success for seed in tuning["seeds"])

        return {name: max(tuning["values"], key=success)}

    def counted_runs(self) -> list[Run]:
        """Return the runs that the tables count."""
        return [self.run_of(arm, seed, self.tuned(arm)) for arm in self.arms for seed in self.entry["seeds"]]


def merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of both; constructor arguments add up."""
    settings = {**common, **own}
    if "kwargs" in common or "kwargs" in own:
        settings["kwargs"] = {**common.get("kwargs", {}), **own.get("kwargs", {})}
    return settings


def mean_of_last(values: list[float | None]) -> float:
    """Return the mean of the last values; None counts as 0."""
    last = values[-LAST:]
    return sum(value or 0.0 for value in last) / len(last) if last else 0.0


def train(entry: Mapping[str, Any], run: Run) -> None:
    """Make one run in this process, and write its result."""
    import torch

    import gem
    from gem_rl.training.recipe import Recipe, recipes
    from gem_rl.training.trainer import Trainer

    torch.set_num_threads(1)
    gem.register("paper:Products", "product_env:ProductEnv", replace=True)
    base = recipes()[entry["recipe"]].to_dict() if "recipe" in entry else {"environments": {entry["environment"]: 1.0}}
    settings = merged(base, run.settings)
    if "environments" in run.settings:
        settings["kwargs"] = run.settings.get("kwargs", {})  # those of the base belong to its environment
    recipe = Recipe.from_dict(settings)
    trainer = Trainer(recipe, run.seed, run.folder)
    stopped = trainer.train()
    greedy = trainer.evaluate(GREEDY_EPISODES)
    lines = trainer.folder.metrics

    def curve(name: str) -> list[float | None]:
        return [None if line.get(name) is None else round(float(line[name]), 4) for line in lines]

    result = {
        "arm": run.arm,
        "seed": run.seed,
        "recipe": recipe.to_dict(),
        "stopped": stopped,
        "success": curve("success"),
        "turns_of_won_episodes": curve("turns_of_won_episodes"),
        "malformed": curve("malformed"),
        "entropy": curve("entropy"),
        "within_group_spread": curve("within_group_spread"),
        "turns_of_an_episode": [round(line["turns"] / recipe.episodes, 4) for line in lines],
        "greedy_success": sum(bool(one.success) for one in greedy) / len(greedy),
        "greedy_turns_of_won_episodes": average([len(one) for one in greedy if one.success]),
        "greedy_success_by_environment": by_environment(greedy),
        "cpu_seconds": round(sum(line["rollout_cpu_seconds"] + line["update_cpu_seconds"] for line in lines), 1),
    }
    path = run.folder / "result.json"
    path.with_suffix(".new").write_text(json.dumps(result) + "\n", encoding="utf-8")
    path.with_suffix(".new").replace(path)


def by_environment(episodes: list[Any]) -> dict[str, float]:
    """Return the success in each environment."""
    found: dict[str, list[bool]] = {}
    for episode in episodes:
        found.setdefault(episode.key.env, []).append(bool(episode.success))
    return {name: sum(values) / len(values) for name, values in sorted(found.items())}


def average(values: list[int]) -> float | None:
    """Return the mean, or None of nothing."""
    return sum(values) / len(values) if values else None


def make(experiment: Experiment, runs: list[Run], jobs: int) -> Iterator[Run]:
    """Make the runs that are missing, so many at a time, and yield each as it ends."""
    missing = [run for run in runs if run.result is None]
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        made = {pool.submit(train, experiment.entry, run): run for run in missing}
        for future in as_completed(made):
            future.result()
            yield made[future]


def main(arguments: list[str]) -> None:
    """Run the command."""
    known = tomllib.loads((HERE / "experiments.toml").read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=sorted(known))
    parser.add_argument("--out", type=Path, default=Path("runs/paper"), help="folder of runs (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, a thread each (default: %(default)s)")
    parser.add_argument(
        "--report", action="store_true", help="write docs/paper.md and what it shows, and train nothing"
    )
    options = parser.parse_args(arguments)
    experiment = Experiment(options.experiment, known[options.experiment], options.out)
    if not options.report:
        for runs in (experiment.tuning_runs, experiment.counted_runs):  # the second depends on the first
            for run in make(experiment, runs(), options.jobs):
                print(f"{run.arm}, seed {run.seed}: success {run.final_success:.2f} ({run.folder})", flush=True)
    else:
        from report import write_report

        write_report(experiment)


if __name__ == "__main__":
    main(sys.argv[1:])
