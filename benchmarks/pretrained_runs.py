"""What runs of ``gem train --model`` have learnt: success on the same unseen tasks before and after, with the interval.

Run with gem-rl[lora], gem-eval and the environment's package installed::

    nice gem train needle --model FOLDER --seed 0 --out runs/a
    python benchmarks/pretrained_runs.py keep runs/a --note "stopped by hand"   # evaluates it if it was stopped
    python benchmarks/pretrained_runs.py table

``keep`` writes recipe, seed, the figures of each update and which tasks were achieved into
``docs/pretrained/runs.jsonl``, also of a run that learnt nothing, in place of an earlier line of the folder's name, and
its curves beside it. Where the environment has random moves, the random policy plays the same tasks. ``table`` prints a
row for each line, with Student's 95 % intervals of the differences from the start and from random play, and for each
recipe that several seeds have run whole the mean of their differences with an interval over seeds. A run that went on
from a checkpoint of another one (``--branch-of``) has not run its recipe whole, and does not count there.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import gem
from gem.errors import NotSupportedError
from gem.policies import make_policy
from gem_eval.statistics import ComparedMeans, compare_means, estimate_mean
from gem_rl.training.recipe import Recipe

if TYPE_CHECKING:
    from gem_rl.training.trainer import Trainer

KEPT = Path(__file__).parent.parent / "docs" / "pretrained" / "runs.jsonl"
FIGURES = ("update", "success", "malformed", "entropy", "constant_groups", "rollout_cpu_seconds", "update_cpu_seconds")
HEADS = (
    *("run", "environment", "seed", "learning rate", "updates", "sampled", "evaluated", "difference"),
    *("over random", "CPU min", "note"),
)
LAST = 6
"""Updates that the column *last updates* averages."""


def keep(folder: Path, note: str, evaluate: bool, branch_of: str | None) -> None:
    """Write a run into the file of runs, and its curves beside it; evaluate it where that was not done, if wanted."""
    import torch

    from gem_rl.training.trainer import Trainer

    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    recipe = Recipe.from_dict(record["training"])
    saved = torch.load(folder / "checkpoint.pt", weights_only=False)
    torch.set_num_threads(saved["threads"])
    trainer = Trainer(recipe, record["seed"], folder, device=saved["device"])
    if evaluate and trainer.folder.achieved(trainer.update) is None:
        trainer.assess()
    line = {
        "run": folder.name,
        "note": note,
        "branch_of": branch_of,
        "seed": record["seed"],
        "threads": saved["threads"],
        "packages": record["packages"],
        "recipe": {**recipe.to_dict(), "model": Path(recipe.model).name},
        "warm_cpu_seconds": trainer.warm_seconds,
        "before": trainer.folder.achieved(0),
        "after": trainer.folder.achieved(trainer.update),
        "random": played_at_random(trainer),
        "updates": [{name: one[name] for name in FIGURES} for one in trainer.folder.metrics],
    }
    KEPT.parent.mkdir(exist_ok=True)
    others = [one for one in kept() if one["run"] != folder.name]
    lines = sorted([*others, line], key=lambda one: str(one["run"]))
    KEPT.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    env_id = ", ".join(recipe.environments)
    picture = trainer.folder.draw(f"{env_id}, seed {record['seed']}")
    (KEPT.parent / f"{folder.name}.svg").write_bytes(picture.read_bytes())


def played_at_random(trainer: Trainer) -> list[int | None] | None:
    """Return which tasks of the evaluation random moves achieve; None where there are no such moves."""
    requests = trainer.evaluation_requests()
    try:
        for spec in trainer.specs.values():
            with gem.make(spec) as env:
                env.reset(seed=0)
                env.sample_random_action()
    except NotSupportedError:
        return None
    episodes = {one.key: one.success for one in trainer.player.played_by(partial(make_policy, "random"), requests)}
    achieved = [episodes[request.key] for request in requests]
    return [None if one is None else int(one) for one in achieved]


def kept() -> list[dict[str, Any]]:
    """Return the runs of the file."""
    if not KEPT.exists():
        return []
    return [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()]


def difference(
    run: dict[str, Any], start: Literal["before", "random"] = "before", confidence: float = 0.95
) -> ComparedMeans | None:
    """Return the success after a run beside that before it, or of random play, task by task; None if one is missing."""
    tasks = [
        {task: [float(won)] for task, won in enumerate(run.get(name) or ()) if won is not None}
        for name in (start, "after")
    ]
    return compare_means(*tasks, share=True, confidence=confidence)


def difference_cell(compared: ComparedMeans | None) -> str:
    """Return a difference with its interval; nothing where there is none."""
    return "" if compared is None else f"{compared.difference:+.3f} ({compared.low:+.3f} to {compared.high:+.3f})"


def over_seeds(runs: list[dict[str, Any]]) -> list[str]:
    """Return a sentence for each recipe that at least two evaluated seeds have run whole."""
    recipes: dict[str, dict[int, list[float]]] = {}
    names: dict[str, list[str]] = {}
    for run in runs:
        compared = difference(run)
        whole = len(run["updates"]) == run["recipe"]["updates"] and run["branch_of"] is None
        if compared is not None and whole:
            # Settings that a run's version did not know had their defaults.
            settings = {**Recipe.from_dict(run["recipe"]).to_dict(), "description": ""}
            recipe = json.dumps(settings, sort_keys=True)
            recipes.setdefault(recipe, {}).setdefault(run["seed"], []).append(compared.difference)
            names.setdefault(recipe, []).append(f"`{run['run']}`")
    found = []
    for recipe, seeds in recipes.items():
        mean = estimate_mean(seeds)
        if mean is not None and len(seeds) > 1:
            found.append(
                f"{', '.join(names[recipe])} ({', '.join(json.loads(recipe)['environments'])}), {len(seeds)} seeds: "
                f"{mean.value:+.3f} ({mean.low:+.3f} to {mean.high:+.3f})"
            )
    return found


def row(run: dict[str, Any]) -> list[str]:
    """Return the cells of a run."""
    env_id = ", ".join(run["recipe"]["environments"])
    first, last = run["updates"][0]["success"], [one["success"] for one in run["updates"][-LAST:]]
    spent = sum(one["rollout_cpu_seconds"] + one["update_cpu_seconds"] for one in run["updates"])
    compared, start = difference(run), [won for won in run["before"] if won is not None]
    after = "not evaluated" if compared is None else f"{compared.mean_b:.3f}"
    return [
        f"`{run['run']}`",
        f"`{env_id}`",
        str(run["seed"]),
        f"{run['recipe']['learning_rate']:g}",
        f"{len(run['updates'])} of {run['recipe']['updates']}",
        f"{first:.2f} → {sum(last) / len(last):.2f}",
        f"{sum(start) / len(start):.3f} → {after}",
        difference_cell(compared),
        difference_cell(difference(run, "random")),
        f"{(run['warm_cpu_seconds'] + spent) / 60:.0f}",
        run["note"],
    ]


def main() -> None:
    """Keep a run, or print the table."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    keeping = commands.add_parser("keep")
    keeping.add_argument("folder", type=Path)
    keeping.add_argument("--note", default="")
    keeping.add_argument("--branch-of", help="the run from whose checkpoint it went on with other settings")
    keeping.add_argument("--unevaluated", action="store_true", help="do not play what a stopped run lacks")
    commands.add_parser("table")
    asked = parser.parse_args()
    if asked.command == "keep":
        keep(asked.folder, asked.note, not asked.unevaluated, asked.branch_of)
        return
    print("| " + " | ".join(HEADS) + " |")
    print("|" + "---|" * len(HEADS))
    for run in kept():
        print("| " + " | ".join(row(run)) + " |")
    print("", *over_seeds(kept()), sep="\n")


if __name__ == "__main__":
    main()
