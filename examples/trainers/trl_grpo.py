"""TRL: ``GRPOTrainer`` on GEM environments, through its ``rollout_func`` or its ``environment_factory``.

    pip install gem-rl gem-envs-games trl transformers torch
    python trl_grpo.py Qwen/Qwen3-0.6B --env game:GuessTheNumber-v0-easy

``rollout_func`` is the way for environments that take text: whole episodes through GEM's rollout engine, all of a batch
in lockstep, one row for each with the tokens of the environment masked. ``environment_factory`` is for models that call
tools: TRL owns the loop, and a turn of the environment is a call of the tool ``play``.

What was run, with TRL 1.16.0 in one process on a CPU (``packages/gem-rl/tests/test_trl.py``): ``rollout_func`` trains a
small random model until its reward has risen; ``environment_factory`` plays in TRL's own tool loop, with the sampling
scripted. What was not run: vLLM, several processes. With several, TRL expects each to ask the model equally often, and
episodes differ in length. The call of the model, ``_generate_single_turn``, is private to TRL, and the only one that
serves every backend.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from gem_rl.adapters import (
    BatchPlayer,
    SampledTokens,
    TextEpisode,
    TrainerRow,
    episode_returns,
    only_trainer_row,
    requests_of,
    rows_of_tasks,
)


def rollout_func(player: BatchPlayer) -> Callable[[list[Any], GRPOTrainer], dict[str, Any]]:
    """Return the function that plays the episodes of a batch, whose prompts are those of ``rows_of_tasks``."""

    def rollout(prompts: list[Any], trainer: GRPOTrainer) -> dict[str, Any]:
        def generate(prompt_ids: list[list[int]]) -> list[SampledTokens]:
            sampled, logprobs = trainer._generate_single_turn(prompt_ids, None, {}, num_generations=1)
            return [
                SampledTokens(ids, None if logprobs is None else logprobs[place]) for place, ids in enumerate(sampled)
            ]

        episodes = player.play(requests_of(prompts), generate)
        end = trainer.processing_class.eos_token_id
        nothing = TrainerRow([end], [end], [0], [0.0], [-1], [0.0])  # of an episode that failed before its first turn
        rows = [only_trainer_row(episode) or nothing for episode in episodes]
        reported = all(turn.logprobs is not None for episode in episodes for turn in episode.transitions)
        return {
            "prompt_ids": [row.prompt_ids for row in rows],
            "completion_ids": [row.response_ids for row in rows],
            "logprobs": [row.logprobs for row in rows] if reported else None,
            "env_mask": [row.response_mask for row in rows],
            "episode_return": episode_returns(episodes),  # None masks what says nothing about the model
        }

    return rollout


def episode_return(episode_return: list[float | None], **columns: Any) -> list[float | None]:
    """Return what the environment paid: the reward function that goes with :func:`rollout_func`."""
    return episode_return


def environment_factory(env_id: str, **arguments: Any) -> Callable[[], Any]:
    """Return what makes an environment whose turns are calls of the tool ``play``.

    Args:
        env_id: the environment; a row of the data set that has ``env_id`` must name the same.
        **arguments: of ``TextEpisode``.
    """

    class ToolEpisode:
        def __init__(self) -> None:
            self._episode = TextEpisode(env_id, **arguments)

        def reset(self, seed: int | None = None, prompt: Any = None, **row: Any) -> str | None:
            first = self._episode.begin(seed)[-1]["content"]
            # Rows of rows_of_tasks show the first observation themselves.
            return None if prompt and prompt[-1]["content"] == first else str(first)

        def play(self, action: str) -> str:
            """Play your next turn, and see what follows.

            Args:
                action: What you do, in the form that the instructions ask for.

            Returns:
                What you see after your turn.
            """
            if self._episode.done:
                return "The episode is over."
            return self._episode.step(action).text or "The episode is over."

        def get_reward(self) -> float | None:
            return self._episode.trajectory.episode_return if self._episode.gradable else None

    return ToolEpisode


def main() -> None:
    """Train a model from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--env", default="game:GuessTheNumber-v0-easy")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--group", type=int, default=8, help="episodes of one seed")
    parser.add_argument("--batch", type=int, default=32, help="episodes of one step")
    parser.add_argument("--out", default="trl-run")
    chosen = parser.parse_args()
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(chosen.model)
    player = BatchPlayer(tokenizer, max_context=8192)
    trainer = GRPOTrainer(
        chosen.model,
        reward_funcs=episode_return,
        args=GRPOConfig(
            chosen.out,
            max_steps=chosen.steps,
            per_device_train_batch_size=chosen.batch,
            num_generations=chosen.group,
            max_completion_length=512,
            logging_steps=1,
            loss_type="dr_grpo",
        ),
        train_dataset=Dataset.from_list(rows_of_tasks(chosen.env, tasks=chosen.steps * chosen.batch // chosen.group)),
        processing_class=tokenizer,
        rollout_func=rollout_func(player),
    )
    trainer.train()


if __name__ == "__main__":
    main()
