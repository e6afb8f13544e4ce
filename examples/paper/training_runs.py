"""One training run of an experiment, in a process that may make many: :func:`train`.

Runs of one seed whose settings agree in all that a warm start depends on begin from the same warm start, which is made
once. So arms are compared from equal weights, seed by seed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

import gem
from gem.trajectory import Trajectory
from gem_rl.training.folder import TrainingFolder
from gem_rl.training.recipe import Recipe
from gem_rl.training.trainer import Trainer

__all__ = ["register_environments", "train"]

GREEDY_EPISODES = 100
CURVES = ("success", "turns_of_won_episodes", "malformed", "entropy", "within_group_spread")
LATER = (
    "description",
    "algorithm",
    "normalize_tasks",
    "keep_groups",
    "keep_share",
    "keep_turns",
    "gamma",
    "lam",
    "updates",
    "episodes",
    "epochs",
    "minibatches",
    "learning_rate",
    "rise",
    "clip",
    "gradient_norm",
    "entropy_bonus",
    "value_weight",
    "world_model",
    "temperature",
    "max_new_tokens",
    "budgets",
    "target",
)
"""The settings that matter after the warm start alone; it depends on all others."""
REWARDS = ("negative",)
"""Arguments of environments that change rewards alone, which a warm start does not see."""


def register_environments() -> None:
    """Register the environments of the experiments in this process."""
    gem.register("paper:Products", "product_env:ProductEnv", replace=True)
    gem.register("paper:Sorting", "sorting_env:SortingEnv", replace=True)
    gem.register(
        "paper:GuessTheNumber",
        "gem_envs_games.guess_the_number:GuessTheNumberEnv",
        replace=True,
        min_number=1,
        max_number=10,
        max_turns=10,
    )


def train(recipe: Recipe, seed: int, folder: Path, warm_starts: Path) -> None:
    """Make a run, or what a stopped process left of it, and write ``result.json``, which says that it is complete.

    Args:
        recipe: the settings.
        seed: of the run.
        folder: of the run.
        warm_starts: a folder of warm starts that runs share.
    """
    torch.set_num_threads(1)  # another number gives other weights
    register_environments()
    trainer = _begin(recipe, seed, folder, warm_starts)
    before = folder / "before.json"
    if trainer.update == 0:
        _write(before, _greedy(trainer))
    stopped = trainer.train()
    lines = trainer.folder.metrics
    seconds = sum(line["rollout_cpu_seconds"] + line["update_cpu_seconds"] for line in lines)
    _write(
        folder / "result.json",
        {
            "seed": seed,
            "recipe": recipe.to_dict(),
            "stopped": stopped,
            **{name: [_rounded(line.get(name)) for line in lines] for name in CURVES},
            "turns_of_an_episode": [_rounded(line["turns"] / recipe.episodes) for line in lines],
            "greedy_before": json.loads(before.read_text(encoding="utf-8")),
            "greedy": _greedy(trainer),
            "cpu_seconds": round(trainer.warm_seconds + seconds, 1),
        },
    )
    for name in ("checkpoint.pt", "before.json"):  # the weights of a hundred runs are no result
        (folder / name).unlink()


def _begin(recipe: Recipe, seed: int, folder: Path, warm_starts: Path) -> Trainer:
    """Return a trainer after its warm start, or after the last update of a run that goes on."""
    settings = {name: value for name, value in recipe.to_dict().items() if name not in LATER}
    settings["kwargs"] = {name: value for name, value in recipe.kwargs.items() if name not in REWARDS}
    text = json.dumps([settings, seed], sort_keys=True)
    shared = warm_starts / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.pt"
    checkpoint = folder / "checkpoint.pt"
    is_new = not checkpoint.exists()
    if is_new and shared.exists():
        content = torch.load(shared, weights_only=False)
        TrainingFolder(folder).save({**content, "recipe": recipe.to_dict()})
    trainer = Trainer(recipe, seed, folder)
    if is_new and shared.exists():
        trainer.folder.begin(recipe, seed, trainer.specs)  # which a run that goes on has already
    elif is_new:
        warm_starts.mkdir(parents=True, exist_ok=True)
        temporary = warm_starts / f"{folder.name}.new"
        shutil.copyfile(checkpoint, temporary)
        temporary.replace(shared)
    return trainer


def _greedy(trainer: Trainer) -> dict[str, dict[str, float | None]]:
    """Return success and turns of won episodes at temperature 0, by environment, on seeds that training never plays."""
    found: dict[str, list[Trajectory]] = {}
    for episode in trainer.evaluate(GREEDY_EPISODES):
        found.setdefault(episode.key.env, []).append(episode)
    return {name: _figures(episodes) for name, episodes in sorted(found.items())}


def _figures(episodes: list[Trajectory]) -> dict[str, float | None]:
    won = [len(episode) for episode in episodes if episode.success]
    return {
        "success": _rounded(len(won) / len(episodes)),
        "turns_of_won_episodes": _rounded(sum(won) / len(won)) if won else None,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 3)


def _write(path: Path, content: Mapping[str, Any]) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")
    temporary.replace(path)
