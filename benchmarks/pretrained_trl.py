"""TRL's ``GRPOTrainer`` on a recipe of ``gem train``, from its start: success on unseen tasks before and after.

Run with gem-rl[lora], gem-envs-games and trl installed::

    python benchmarks/results.py run pretrained_trl --versions trl,gem-rl -- benchmarks/pretrained_trl.py FOLDER

``gem train`` takes the recipe's supervised steps and evaluates. Its adapters go on in TRL, whose trainer plays through
``rollout_func`` of ``examples/trainers/trl_grpo.py`` and learns with its own loss and optimizer, as many episodes an
update as the recipe has. Then they come back and are evaluated on the same tasks, with the same samples' seed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretrained_runs import difference, difference_cell, played_at_random

if TYPE_CHECKING:
    from gem_rl.training.recipe import Recipe
    from gem_rl.training.trainer import Trainer

EXAMPLE = Path(__file__).parents[1] / "examples" / "trainers" / "trl_grpo.py"
CHANGES = {"updates": int, "episodes": int, "group": int, "learning_rate": float, "evaluated": int}
"""Settings of the recipe that options change, and their kinds."""
AT_ONCE = 4
"""Episodes that TRL learns from at once, with the logits of all their tokens; 32 took more than 10 GB."""


def main() -> None:
    """Train and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="the folder of a pretrained model")
    parser.add_argument("--recipe", default="number-hunt")
    parser.add_argument("--seed", type=int, default=0)
    for name, kind in CHANGES.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, help="that of the recipe by default")
    parser.add_argument("--out", type=Path, default=Path("runs") / "trl")
    asked = parser.parse_args()
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    import torch

    from gem_rl.training.recipe import recipes
    from gem_rl.training.trainer import Trainer

    torch.set_num_threads(1)
    changes = {name: value for name in CHANGES if (value := getattr(asked, name)) is not None}
    recipe = replace(recipes()[asked.recipe], model=asked.model, **changes)
    if recipe.kwargs or len(recipe.environments) > 1:
        parser.error(f"{asked.recipe!r} has arguments or several environments, which rows of tasks do not name")
    trainer = Trainer(recipe, asked.seed, asked.out)
    trainer.assess()
    trainer.save_adapters()
    began = time.process_time()
    updates = trained_by_trl(trainer, asked.out / "adapter")
    spent = trainer.warm_seconds + time.process_time() - began
    trainer.update = recipe.updates
    trainer.assess()
    show(recipe, asked.seed, trainer, updates, spent)


def trained_by_trl(trainer: Trainer, adapters: Path) -> list[dict[str, Any]]:
    """Go on with a run's adapters in TRL, load what it has made of them into the run, and return TRL's figures."""
    import torch
    from datasets import Dataset
    from peft import PeftModel, get_peft_model_state_dict, set_peft_model_state_dict
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    from gem_rl.adapters import BatchPlayer, rows_of_tasks

    recipe, example = trainer.recipe, trl_example()
    tokenizer = AutoTokenizer.from_pretrained(recipe.model)
    base = AutoModelForCausalLM.from_pretrained(recipe.model, dtype=getattr(torch, recipe.precision))
    tasks = recipe.updates * recipe.episodes // recipe.group
    (env_id,) = recipe.environments
    theirs = GRPOTrainer(
        PeftModel.from_pretrained(base, adapters, is_trainable=True),
        reward_funcs=example.episode_return,
        args=GRPOConfig(
            str(adapters.parent / "trl"),
            learning_rate=recipe.learning_rate,
            max_steps=recipe.updates,
            per_device_train_batch_size=AT_ONCE,
            gradient_accumulation_steps=recipe.episodes // AT_ONCE,
            num_generations=recipe.group,
            max_completion_length=recipe.max_new_tokens,
            temperature=recipe.temperature,
            loss_type="dr_grpo",
            beta=0.0,
            seed=trainer.seed,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list(rows_of_tasks(env_id, tasks=tasks, seed=trainer.seed * tasks)),
        processing_class=tokenizer,
        rollout_func=example.rollout_func(BatchPlayer(tokenizer)),
    )
    theirs.train()
    set_peft_model_state_dict(trainer.model.adapted, get_peft_model_state_dict(theirs.model))
    return [entry for entry in theirs.state.log_history if "reward" in entry]


def trl_example() -> Any:
    """Return the example as a module."""
    spec = importlib.util.spec_from_file_location("trl_grpo", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def show(recipe: Recipe, seed: int, trainer: Trainer, updates: list[dict[str, Any]], spent: float) -> None:
    """Print what was learnt, and TRL's figures of each update."""
    achieved = {
        "before": trainer.folder.achieved(0),
        "after": trainer.folder.achieved(recipe.updates),
        "random": played_at_random(trainer),
    }
    compared = difference(achieved)
    assert compared is not None
    print(
        "| environment | seed | updates | episodes of each | group | learning rate | evaluated | difference "
        "| over random | CPU min |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    print(
        f"| `{', '.join(recipe.environments)}` | {seed} | {len(updates)} | {recipe.episodes} | {recipe.group} | "
        f"{recipe.learning_rate:g} | "
        f"{compared.mean_a:.3f} → {compared.mean_b:.3f} | {difference_cell(compared)} | "
        f"{difference_cell(difference(achieved, 'random'))} | {spent / 60:.0f} |\n"
    )
    print("| update | mean return | its deviation | entropy |\n|---|---|---|---|")
    for number, one in enumerate(updates, 1):
        print(f"| {number} | {one['reward']:.3f} | {one['reward_std']:.3f} | {one.get('entropy', float('nan')):.3f} |")


if __name__ == "__main__":
    main()
