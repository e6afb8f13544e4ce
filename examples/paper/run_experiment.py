"""The findings of the GEM paper in small: ``python examples/paper/run_experiment.py gamma``.

Needs ``pip install 'gem-rl[train]' gem-envs-games gem-eval matplotlib``. The experiments are in ``experiments.toml``.
A run is a folder below ``--out``, named after its settings: a run that is complete is not made again, one that was
stopped goes on where it was, and experiments share the runs that they have in common. When the last run of an
experiment is complete, its figures go into docs/paper, and the page is written anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
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

from report import DATA, mean_of_last, write_page  # noqa: E402

from gem_rl.training.recipe import Recipe  # noqa: E402


@dataclass(frozen=True)
class Run:
    """One training run."""

    arm: str
    seed: int
    recipe: Recipe
    out: Path

    @property
    def folder(self) -> Path:
        """The folder of the run, named after all that decides its weights."""
        settings = {
            name: value for name, value in self.recipe.to_dict().items() if name not in ("description", "target")
        }
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
        task = re.sub(r"\W+", "-", "+".join(self.recipe.environments)).strip("-")
        return self.out / f"{task}-{self.recipe.algorithm}-{digest}-seed-{self.seed}"

    @property
    def result(self) -> dict[str, Any] | None:
        """The result, if the run is complete."""
        path = self.folder / "result.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


@dataclass(frozen=True)
class Experiment:
    """An entry of experiments.toml."""

    name: str
    entry: Mapping[str, Any]
    out: Path

    def recipe_of(self, arm: str, changed: Mapping[str, Any]) -> Recipe:
        """Return the settings of an arm."""
        return Recipe.from_dict({**self.entry["settings"], **self.entry["arms"][arm], **changed})

    def tuning_runs(self) -> list[Run]:
        """Return the runs that choose settings; none without tuning."""
        tuning = self.entry.get("tuning")
        if tuning is None:
            return []
        shorter = {"updates": tuning["updates"]} if "updates" in tuning else {}
        return [
            Run(arm, seed, self.recipe_of(arm, {tuning["setting"]: value, **shorter}), self.out)
            for arm in self.entry["arms"]
            for value in tuning["values"]
            for seed in tuning["seeds"]
        ]

    def tuned(self, arm: str) -> dict[str, Any]:
        """Return the value whose tuning runs ended with the highest mean success; of equal ones, the first."""
        tuning = self.entry.get("tuning")
        if tuning is None:
            return {}
        name = tuning["setting"]
        ended: dict[Any, list[float]] = {value: [] for value in tuning["values"]}
        for run in self.tuning_runs():
            if run.arm == arm and run.result is not None:
                ended[getattr(run.recipe, name)].append(mean_of_last(run.result["success"]))
        return {name: max(ended, key=lambda value: sum(ended[value]))}

    def counted_runs(self) -> list[Run]:
        """Return the runs that the tables count."""
        return [
            Run(arm, seed, self.recipe_of(arm, self.tuned(arm)), self.out)
            for arm in self.entry["arms"]
            for seed in self.entry["seeds"]
        ]

    def write_data(self) -> None:
        """Write the figures of all runs into docs/paper, a line each.

        Raises:
            SystemExit: if a run is missing.
        """
        tuning, counted = self.tuning_runs(), self.counted_runs()
        missing = [run for run in [*tuning, *counted] if run.result is None]
        if missing:
            raise SystemExit(f"{self.name}: {len(missing)} runs are missing, such as {missing[0].folder}")
        lines = [
            {"arm": run.arm, "tuning": run in tuning, **(run.result or {}), "recipe": changed_settings(run.recipe)}
            for run in [*tuning, *counted]
        ]
        DATA.mkdir(exist_ok=True)
        text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
        (DATA / f"{self.name}.jsonl").write_text(text, encoding="utf-8")


def changed_settings(recipe: Recipe) -> dict[str, Any]:
    """Return the settings that are not the defaults of a recipe."""
    default = Recipe({"any": 1.0}).to_dict()
    return {name: value for name, value in recipe.to_dict().items() if value != default[name] and name != "description"}


def make(runs: Sequence[Run], jobs: int) -> Iterator[Run]:
    """Make the runs that are missing, so many at a time, and yield each when it is complete."""
    from training_runs import train  # torch loads on first use

    missing = {run.folder: run for run in runs if run.result is None}
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        made = {pool.submit(train, run.recipe, run.seed, run.folder, run.out / "warm"): run for run in missing.values()}
        for future in as_completed(made):
            future.result()
            yield made[future]


def known_experiments(out: Path) -> dict[str, Experiment]:
    """Return the experiments of experiments.toml by name."""
    entries = tomllib.loads((HERE / "experiments.toml").read_text(encoding="utf-8"))
    return {name: Experiment(name, entry, out) for name, entry in entries.items()}


def main(arguments: list[str]) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=sorted(known_experiments(Path())), nargs="+")
    parser.add_argument("--out", type=Path, default=Path("runs/paper"), help="folder of runs (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, a thread each (default: %(default)s)")
    parser.add_argument("--no-page", action="store_true", help="train, and leave docs/ as it is")
    options = parser.parse_args(arguments)
    for name in options.experiment:
        experiment = known_experiments(options.out)[name]
        for runs in (experiment.tuning_runs, experiment.counted_runs):  # the second depends on the first
            for run in make(runs(), options.jobs):
                print(f"{name}: {run.arm}, seed {run.seed}: {run.folder}", flush=True)
        if not options.no_page:
            experiment.write_data()
            write_page()


if __name__ == "__main__":
    main(sys.argv[1:])
