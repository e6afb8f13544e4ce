"""``gem train``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from gem.errors import ArgumentError, MissingPluginError
from gem_cli.output import Table, json_option, print_json
from gem_cli.progress import progress

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from gem_rl.training.recipe import Recipe
    from gem_rollout.trajectory import Trajectory

__all__ = ["train_command"]

_LAST_UPDATES = 6
"""Updates whose mean success is the result of a run."""


@click.command("train", short_help="Train a small or a pretrained model on an environment.")
@click.argument("recipe", required=False)
@click.option("--list", "lists", is_flag=True, help="Show the recipes.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A recipe of your own.")
@click.option("--set", "changes", metavar="NAME=VALUE", multiple=True, help="Change a setting, as in TOML.")
@click.option("--algorithm", metavar="NAME", help="The estimator of advantages, in place of the recipe's.")
@click.option("--advantage", metavar="MODULE:FUNCTION", help="A function of your own in its place.")
@click.option("--kl", type=click.FloatRange(0), metavar="WEIGHT", help="Keep to the policy before the first update.")
@click.option("--opponents", type=click.IntRange(0), help="Past versions that play the other agents (self-play).")
@click.option(
    "--model", metavar="FOLDER", help="A pretrained model, as transformers loads it, in place of a small one."
)
@click.option("--harness", metavar="NAME", help="Agent program that plays with the model, as in gem eval.")
@click.option(
    "--server-tool",
    "server_tools",
    metavar="KIND=TOOL",
    multiple=True,
    help="With --harness: web_search=search:WHERE or code_interpreter=python, as in gem eval.",
)
@click.option("--lora", type=click.IntRange(0), metavar="RANK", help="Train adapters of this rank alone; 0 for none.")
@click.option("--bf16", is_flag=True, help="Keep the model's weights in bfloat16; with adapters.")
@click.option("--sft-steps", type=click.IntRange(0), help="Steps on reference answers before everything else.")
@click.option("--sft-tasks", type=click.IntRange(1), help="Tasks whose reference answers are learnt.")
@click.option("--seed", type=click.IntRange(0, 2**20), default=0, show_default=True, help="Of weights and episodes.")
@click.option("--out", "-o", type=click.Path(file_okay=False, path_type=Path), help="Folder  [runs/RECIPE-SEED]")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads of torch.")
@click.option("--device", default="cpu", show_default=True, help="Where the model is, in torch's words: cpu, cuda.")
@click.option("--track", multiple=True, metavar="NAME", help="Send the figures of each update to this run tracker.")
@click.option("--copy", "target", type=click.Path(dir_okay=False, path_type=Path), help="Copy the loop to this file.")
@json_option
def train_command(
    recipe: str | None,
    lists: bool,
    config: Path | None,
    changes: tuple[str, ...],
    algorithm: str | None,
    advantage: str | None,
    kl: float | None,
    opponents: int | None,
    model: str | None,
    harness: str | None,
    server_tools: tuple[str, ...],
    lora: int | None,
    bf16: bool,
    sft_steps: int | None,
    sft_tasks: int | None,
    seed: int,
    out: Path | None,
    threads: int,
    device: str,
    track: tuple[str, ...],
    target: Path | None,
    as_json: bool,
) -> None:
    """Train a small model from scratch, or a pretrained one, by reinforcement learning through the rollout engine.

    A run that was interrupted goes on where it stopped, to the same weights. Its folder opens in gem view.

    \b
    Examples:
      gem train --list
      gem train guess-the-number --seed 1 --out runs/guess --track tensorboard
      gem train guess-the-number --algorithm rebn --set updates=50
      gem train guess-the-number --advantage mine:credit
      gem train --config mine.toml
      gem train needle --model models/SmolLM2-135M-Instruct --threads 2
      gem train --config mine.toml --model models/Qwen3-0.6B --lora 32 --bf16 --device cuda
      gem train --config mine.toml --model models/SmolLM2-135M-Instruct --harness python:my_agent:play
      gem train --copy my_trainer.py
    """
    if target is not None:
        _copy(target)
        return
    if lists:
        _list(as_json)
        return
    options = {
        "algorithm": algorithm,
        "advantage": advantage,
        "kl_weight": kl,
        "opponents": opponents,
        "model": model,
        "harness": harness,
        "server_tools": server_tools or None,
        "lora": lora,
        "sft_steps": sft_steps,
        "sft_tasks": sft_tasks,
    }
    named = {name: value for name, value in options.items() if value is not None}
    name, chosen = _chosen(recipe, config, changes, {**named, **({"precision": "bfloat16"} if bf16 else {})})
    folder = out or Path("runs") / f"{name}-{seed}"
    figures = _train(name, chosen, seed, folder, threads, device, track)
    if as_json:
        print_json(figures)
        return
    table = Table(("figure", "value"), right=("value",), title=f"{name}, seed {seed}, in {folder}")
    for label, value in figures.items():
        if value == "":
            continue
        text = "unknown" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
        table.add_row(label.replace("_", " "), text)
    table.show()


def _train(
    name: str, recipe: Recipe, seed: int, folder: Path, threads: int, device: str, track: tuple[str, ...]
) -> dict[str, Any]:
    """Train, and return the figures of the run."""
    try:
        import torch

        from gem_rl.training.trainer import Trainer
        from gem_rl.training.update_trackers import UpdateTrackers
    except ModuleNotFoundError as error:
        raise MissingPluginError(
            f"training needs the library {error.name}; run: pip install 'gem-rl[train]'"
        ) from error
    _check_device(device)
    torch.set_num_threads(threads)
    with progress() as shown, UpdateTrackers(track, folder) as trackers:
        task = shown.add_task(_beginning(recipe), total=None)
        trainer = Trainer(recipe, seed, folder, device=device)
        if recipe.model and not trainer.update:
            shown.update(task, description=f"evaluation of {recipe.evaluated} tasks")
            trainer.assess()

        def report(figures: dict[str, Any]) -> None:
            trackers.update(figures)
            shown.update(task, completed=figures["update"], description=_progress_line(figures))
            if figures["constant"]:
                click.echo(f"update {figures['update']}: every return was equal, so nothing was learnt", err=True)
            if again := figures.get("begun_again"):
                click.echo(
                    f"update {figures['update']}: episodes that began again, since their environments answered "
                    f"otherwise than before the run was killed: {again}",
                    err=True,
                )

        shown.update(task, total=recipe.updates, completed=trainer.update, description="training")
        stopped = trainer.train(report)
        picture = trainer.folder.draw(f"gem train {name}, seed {seed}")
        trainer.save_adapters()
        shown.update(task, total=None, description=f"evaluation of {recipe.evaluated} tasks")
        evaluated = trainer.assess()
    metrics = trainer.folder.metrics
    return {
        "updates": trainer.update,
        "stopped": stopped or "",
        **_success_figures(metrics, evaluated, trainer.folder.achieved(0) if recipe.model else None),
        "evaluated_turns": sum(map(len, evaluated)) / len(evaluated),
        "cpu_seconds": trainer.warm_seconds
        + sum(line["rollout_cpu_seconds"] + line["update_cpu_seconds"] for line in metrics),
        "curves": str(picture),
    }


def _success_figures(
    metrics: Sequence[Mapping[str, Any]], evaluated: Sequence[Trajectory], start: Sequence[int | None] | None = None
) -> dict[str, Any]:
    """Return shares of successes among the episodes whose outcome is known; None where there are none.

    Args:
        metrics: of the updates.
        evaluated: the evaluation at the end.
        start: which tasks of the evaluation at the start were achieved, where there was one.
    """
    known = [won for won in start or () if won is not None]
    sampled = [line["success"] for line in metrics[-_LAST_UPDATES:] if line["success"] is not None]
    solved = [one.success for one in evaluated if one.success is not None]
    return {
        "first_success": metrics[0]["success"],
        **({} if start is None else {"start_evaluated_success": fmean(known) if known else None}),
        "sampled_success": fmean(sampled) if sampled else None,
        "evaluated_success": fmean(solved) if solved else None,
        "evaluated_episodes": len(evaluated),
        "evaluated_unknown": len(evaluated) - len(solved),
    }


def _beginning(recipe: Recipe) -> str:
    """Return what a run does before its first update."""
    if not recipe.model or recipe.warm_steps:
        return f"warm start of {recipe.warm_steps} steps on random play"
    return f"{recipe.sft_steps} steps on reference answers" if recipe.sft_steps else "loading the model"


def _progress_line(figures: dict[str, Any]) -> str:
    turns, success, malformed = (figures[name] for name in ("turns_of_won_episodes", "success", "malformed"))
    won = "" if turns is None else f", {turns:.1f} turns when won"
    share = "unknown" if success is None else f"{success:.0%}"
    return f"success {share}{won}" + ("" if malformed is None else f", {malformed:.0%} malformed")


def _check_device(device: str) -> None:
    """Raise ArgumentError if torch cannot use the device."""
    import torch

    try:
        torch.zeros((), device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # by the kind of device
        reason = str(error).strip().splitlines()[0]
        raise ArgumentError(f"torch cannot use the device {device!r}: {reason}") from error


def _chosen(
    name: str | None, config: Path | None, changes: tuple[str, ...], named: dict[str, Any]
) -> tuple[str, Recipe]:
    """Return the name and the recipe that the options describe."""
    from gem.arguments import nearest
    from gem_rl.training.recipe import Recipe, recipes

    try:
        changed = {**tomllib.loads("\n".join(changes)), **named}
        own = tomllib.loads(config.read_text(encoding="utf-8")) if config is not None else None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{'--set' if config is None else config} is not TOML: {error}") from error
    if (name is None) == (own is None):
        raise click.UsageError("name a recipe (gem train --list shows them), or give one with --config")
    if own is not None and config is not None:
        return config.stem, Recipe.from_dict({**own, **changed})
    known = recipes()
    if name not in known:
        hint = nearest(name or "", known)
        raise ArgumentError(
            f"there is no recipe {name!r}" + (f"; did you mean {hint!r}?" if hint else "; gem train --list shows them")
        )
    return name, Recipe.from_dict({**known[name].to_dict(), **changed})


def _list(as_json: bool) -> None:
    from gem_rl.training.recipe import recipes

    if as_json:
        print_json({name: recipe.to_dict() for name, recipe in recipes().items()})
        return
    table = Table(("recipe", "algorithm", "updates", "description"), right=("updates",))
    for name, recipe in recipes().items():
        table.add_row(name, recipe.algorithm, str(recipe.updates), recipe.description)
    table.show()


def _copy(target: Path) -> None:
    import gem_rl.training

    if target.exists():
        raise ArgumentError(f"{target} exists already; name a new file")
    shutil.copyfile(Path(gem_rl.training.__path__[0]) / "trainer.py", target)
    click.echo(f"{target}: from {target.stem} import Trainer")
