r"""verl: an agent loop that plays GEM environments.

Write the data set once, and name this file in the configuration of the trainer::

    python verl_agent_loop.py game:GuessTheNumber-v0-easy --tasks 4096 --out train.parquet

    # agent.yaml
    - name: gem
      _target_: verl_agent_loop.GemAgentLoop

    python -m verl.trainer.main_ppo data.train_files=train.parquet data.return_raw_chat=True \
        actor_rollout_ref.rollout.agent.agent_loop_config_path=agent.yaml …

An episode is one sequence: verl masks what the environment said, and takes the sum of rewards as its score. Reward
functions for single answers are ``gem.rewards.verl_reward``. An episode without an outcome (a fault of the environment,
the server, the grader or a simulated user) gives no sequence, and the rest of its group is trained on. That takes
verl's trainer V1, its default: V0 needs a score from every episode.

What was run, with verl 0.9.1 (``packages/gem-rl/tests/test_trainer_examples.py``): the loop against a stand-in for
``AgentLoopBase`` and its server manager. What was not run: a training run, which needs a GPU.
"""

from __future__ import annotations

import argparse
import logging
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput, register

from gem.errors import EpisodeLimitError
from gem_rl import is_gradable, to_rows_dataset
from gem_rl.adapters import BatchPlayer, SampledTokens, only_trainer_row, requests_of, rows_of_tasks

logger = logging.getLogger(__name__)


@register("gem")
class GemAgentLoop(AgentLoopBase):
    """Plays the episode that the row names."""

    def __init__(self, trainer_config: Any, *args: Any, **kwargs: Any) -> None:
        if not trainer_config.config.trainer.get("use_v1", True):
            raise ValueError(
                "verl's trainer V0 cannot leave out an episode without an outcome; set trainer.use_v1=true"
            )
        super().__init__(trainer_config, *args, **kwargs)

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput | list[AgentLoopOutput]:
        """Return the tokens of the episode, its mask and its return; no output for one without an outcome."""
        player = BatchPlayer(self.tokenizer, template_arguments=dict(self.apply_chat_template_kwargs))
        request_id = uuid4().hex  # the same for all turns, so that they meet the same server and its cache
        most_prompt, most_response = self.rollout_config.prompt_length, self.rollout_config.response_length
        first: int | None = None  # tokens of the first prompt
        cut = 0  # verl's own loops, too, leave out the beginning of a prompt that is longer than prompt_length
        fields: dict[str, Any] = {}
        experts: Any = None

        async def generate(prompt_ids: list[int], key: tuple[str, int, int]) -> SampledTokens:
            nonlocal first, cut, experts
            if first is None:
                first = len(prompt_ids)
                cut = max(0, first - most_prompt)
            if len(prompt_ids) >= first + most_response:
                raise EpisodeLimitError("context")
            answer = await self.server_manager.generate(
                request_id=request_id, prompt_ids=prompt_ids[cut:], sampling_params=dict(sampling_params)
            )
            # The weights of the first turn, and of the last: verl computes the staleness of a sequence from both.
            newest = answer.extra_fields.get("max_global_steps", fields.get("max_global_steps"))
            fields.update({**answer.extra_fields, **fields, "max_global_steps": newest})
            experts = answer.routed_experts
            return SampledTokens(answer.token_ids, answer.log_probs, answer.stop_reason)

        (episode,) = await player.play_async(requests_of([row]), generate)
        found = only_trainer_row(episode) if is_gradable(episode) else None
        if found is None:
            logger.warning("the episode %s has no outcome and is left out: %s", episode.key, episode.error)
            return []
        prompt = found.prompt_ids[cut:]
        return AgentLoopOutput(
            prompt_ids=prompt,
            response_ids=found.response_ids[:most_response],
            response_mask=found.response_mask[:most_response],
            response_logprobs=None if found.logprobs is None else found.logprobs[:most_response],
            routed_experts=None if experts is None else experts[: len(prompt) + most_response],
            reward_score=episode.episode_return,
            num_turns=2 * len(episode),
            metrics=AgentLoopMetrics(),
            extra_fields={
                **fields,
                "turn_scores": [turn.reward for turn in episode.transitions],
                "tool_rewards": [],
            },
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
