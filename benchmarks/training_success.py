"""What the recipes of ``gem train`` learn: success on seeds that training never plays, before and after it.

Run with gem-rl[train] and gem-envs-games installed::

    nice python benchmarks/training_success.py RECIPE SEED... [--episodes 500] [--set NAME=VALUE]...

Each line is a run on one thread. *Before* is the warm start, *after* the last update; both play the same unseen seeds,
at temperature 1 with a 95 % interval of Wilson, and at temperature 0. *Turns* are those of won greedy episodes. *CPU*:
the warm start and the updates, without the evaluations here.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gem_eval.statistics.estimates import wilson_bounds
from gem_rl.training.recipe import Recipe, recipes
from gem_rl.training.trainer import Trainer
from gem_rollout.trajectory import Trajectory

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SHOWN = ("success", "malformed", "entropy", "rollout_cpu_seconds", "update_cpu_seconds")
LAST = 6
"""Updates that the column *last updates* averages."""


def wilson(episodes: list[Trajectory]) -> str:
    """Return the share of won episodes with its 95 % interval (Wilson 1927)."""
    known = [one.success for one in episodes if one.success is not None]
    share = sum(known) / len(known)
    low, high = map(float, wilson_bounds(np.array(share), len(known), 1.96))
    return f"{share:.3f} ({max(0.0, low):.3f}-{min(1.0, high):.3f})"


def greedy(episodes: list[Trajectory]) -> str:
    """Return the share of won episodes and the mean of their turns."""
    won = [len(one) for one in episodes if one.success]
    known = sum(one.success is not None for one in episodes)
    return f"{len(won) / known:.2f}, {sum(won) / len(won):.1f}" if won else "0.00, none"


def report(figures: dict[str, Any]) -> None:
    """Say on the standard error how a run goes."""
    if figures["update"] % LAST == 0:
        print(figures["update"], {name: figures[name] for name in SHOWN}, file=sys.stderr, flush=True)


def run(recipe: Recipe, seed: int, episodes: int) -> list[str]:
    """Train, and return the cells of a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(recipe, seed, Path(folder))
        print(f"warm start: {trainer.warm_seconds:.0f} s of CPU", file=sys.stderr, flush=True)
        before = [trainer.evaluate(episodes, temperature=temperature) for temperature in (1.0, 0.0)]
        began = time.process_time()
        stopped = trainer.train(report)
        spent = trainer.warm_seconds + time.process_time() - began
        after = [trainer.evaluate(episodes, temperature=temperature) for temperature in (1.0, 0.0)]
        last = [line["success"] for line in trainer.folder.metrics[-LAST:]]
    return [
        str(seed),
        f"{wilson(before[0])} → {wilson(after[0])}",
        f"{greedy(before[1])} → {greedy(after[1])}",
        f"{sum(last) / len(last):.3f}",
        f"{spent:.0f}" + (f" ({stopped})" if stopped else ""),
    ]


def main() -> None:
    """Train what the arguments name, one run after the other."""
    parser = argparse.ArgumentParser()
    parser.add_argument("recipe")
    parser.add_argument("seeds", type=int, nargs="+")
    parser.add_argument("--episodes", type=int, default=500)
    parser.add_argument("--set", action="append", default=[])
    asked = parser.parse_args()
    torch.set_num_threads(1)
    recipe = Recipe.from_dict({**recipes()[asked.recipe].to_dict(), **tomllib.loads("\n".join(asked.set))})
    print("| recipe | seed | sampled, before → after | greedy and turns, before → after | last updates | CPU s |")
    print("|---|---|---|---|---|---|", flush=True)
    for seed in asked.seeds:
        print(f"| `{asked.recipe}` |", " | ".join(run(recipe, seed, asked.episodes)), "|", flush=True)


if __name__ == "__main__":
    main()
