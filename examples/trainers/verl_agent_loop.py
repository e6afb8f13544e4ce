r"""verl: an agent loop that plays GEM environments.

Write the data set once, and name this file in the configuration of the trainer::

    python verl_agent_loop.py game:GuessTheNumber-v0-easy --tasks 4096 --out train.parquet

    # agent.yaml
    - name: gem
      _target_: verl_agent_loop.GemAgentLoop

    python -m verl.trainer.main_ppo data.train_files=train.parquet data.return_raw_chat=True \
        actor_rollout_ref.rollout.agent.agent_loop_config_path=agent.yaml …

An episode is one sequence: verl masks what the environment said, and takes the sum of rewards as its score. Reward
functions for single answers are ``gem.rewards.verl_reward``.

What was run, with verl 0.9.1 (``packages/gem-rl/tests/test_trainer_examples.py``): the loop against a stand-in for
``AgentLoopBase`` and its server manager. What was not run: a training run, which needs a GPU.
"""

from __future__ import annotations

import argparse
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput, register

from gem_rl import to_rows_dataset
from gem_rl.adapters import BatchPlayer, SampledTokens, episode_returns, only_trainer_row, requests_of, rows_of_tasks


@register("gem")
class GemAgentLoop(AgentLoopBase):
    """Plays the episode that the row names."""

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Return the tokens of the episode, its mask and its return."""
        room = self.rollout_config.prompt_length + self.rollout_config.response_length
        player = BatchPlayer(self.tokenizer, template_arguments=dict(self.apply_chat_template_kwargs), max_context=room)
        request_id = uuid4().hex  # the same for all turns, so that they meet the same server and its cache

        async def generate(prompt_ids: list[int], key: tuple[str, int, int]) -> SampledTokens:
            answer = await self.server_manager.generate(
                request_id=request_id, prompt_ids=prompt_ids, sampling_params=dict(sampling_params)
            )
            return SampledTokens(answer.token_ids, answer.log_probs, answer.stop_reason)

        (episode,) = await player.play_async(requests_of([row]), generate)
        if episode.failure is not None:
            raise RuntimeError(f"the episode {episode.key} failed: {episode.failure.message}")
        found = only_trainer_row(episode)
        if found is None:
            raise RuntimeError(f"the prompt of the episode {episode.key} fills the {room} tokens of the context")
        end = self.rollout_config.response_length
        reported = all(turn.logprobs is not None for turn in episode.transitions)
        return AgentLoopOutput(
            prompt_ids=found.prompt_ids,
            response_ids=found.response_ids[:end],
            response_mask=found.response_mask[:end],
            response_logprobs=found.logprobs[:end] if reported else None,
            reward_score=episode_returns([episode], ungradable=0.0)[0],
            num_turns=2 * len(episode),
            metrics=AgentLoopMetrics(),
            extra_fields={"turn_scores": [turn.reward for turn in episode.transitions], "tool_rewards": []},
        )


def main() -> None:
    """Write a data set of initial states."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("env", nargs="+")
    parser.add_argument("--tasks", type=int, default=1024, help="of each environment")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="train.parquet")
    chosen = parser.parse_args()
    rows = [
        {
            **row,
            "agent_name": "gem",
            "data_source": row["env_id"],
            "reward_model": {"style": "environment", "ground_truth": ""},
        }
        for row in rows_of_tasks(chosen.env, chosen.tasks, seed=chosen.seed)
    ]
    to_rows_dataset(rows).to_parquet(chosen.out)


if __name__ == "__main__":
    main()
