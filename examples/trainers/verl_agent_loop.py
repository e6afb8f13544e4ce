r"""verl: an agent loop that plays GEM environments.

Write the data set once, and name this file in the configuration of the trainer::

    python verl_agent_loop.py game:GuessTheNumber-v0-easy --tasks 4096 --out train.parquet

    # agent.yaml
    - name: gem
      _target_: verl_agent_loop.GemAgentLoop

    python -m verl.trainer.main_ppo data.train_files=train.parquet data.return_raw_chat=True \
        actor_rollout_ref.rollout.agent.agent_loop_config_path=agent.yaml …

An episode is one sequence: verl masks what the environment said, and takes the sum of rewards as its score. With
``history: template`` in agent.yaml the model sees of its answers what its chat template shows, and an episode has a
sequence for each rewrite of its history; verl's GRPO (``algorithm.adv_estimator=grpo``) takes the group's returns once
for each episode, and its other estimators once for each sequence. Reward functions for single answers are
``gem.rewards.verl_reward``. An episode without an outcome (a fault of the environment,
the server, the grader or a simulated user) gives no sequence, and the rest of its group is trained on. That takes
verl's trainer V1, its default: V0 needs a score from every episode.

What was run, with verl 0.9.1 (``packages/gem-rl/tests/test_trainer_packages.py``): groups of episodes in the package's
own worker of trainer V1, its post-processing and its advantages, with a scripted model server and a dictionary in the
place of TransferQueue. What was not run: a training run, which needs a GPU.
"""

from __future__ import annotations

import argparse
import logging
from typing import Any, Literal
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput, register

from gem.errors import EpisodeLimitError
from gem_rl import is_gradable, to_rows_dataset
from gem_rl.adapters import BatchPlayer, SampledTokens, requests_of, rows_of_tasks, trainer_rows

logger = logging.getLogger(__name__)


@register("gem")
class GemAgentLoop(AgentLoopBase):
    """Plays the episode that the row names.

    Args:
        trainer_config: verl's, like the rest.
        history: as in ``BatchPlayer``.
    """

    def __init__(
        self, trainer_config: Any, *args: Any, history: Literal["sampled", "template"] = "sampled", **kwargs: Any
    ) -> None:
        if not trainer_config.config.trainer.get("use_v1", True):
            raise ValueError(
                "verl's trainer V0 cannot leave out an episode without an outcome; set trainer.use_v1=true"
            )
        super().__init__(trainer_config, *args, **kwargs)
        self._history: Literal["sampled", "template"] = history

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> list[AgentLoopOutput]:
        """Return the tokens of the episode, its mask and its return; no output for one without an outcome."""
        player = BatchPlayer(
            self.tokenizer, history=self._history, template_arguments=dict(self.apply_chat_template_kwargs)
        )
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
        rows = trainer_rows(episode) if is_gradable(episode) else []
        if not rows:
            logger.warning("the episode %s has no outcome and is left out: %s", episode.key, episode.error)
            return []
        shown = len(rows[0].prompt_ids[cut:])
        measured = all(one.logprobs is not None for one in rows)
        outputs = []
        for one in rows:
            prompt = one.prompt_ids[cut:]
            room = shown + most_response - len(prompt)  # a later sequence begins with what was shown before it
            outputs.append(
                AgentLoopOutput(
                    prompt_ids=prompt,
                    response_ids=one.response_ids[:room],
                    response_mask=one.response_mask[:room],
                    response_logprobs=one.logprobs[:room] if measured and one.logprobs is not None else None,
                    # The server reports them for its last call, whose prompt the earlier sequences do not have.
                    routed_experts=None if experts is None or len(rows) > 1 else experts[: len(prompt) + room],
                    reward_score=episode.episode_return,
                    num_turns=2 * len(episode),
                    metrics=AgentLoopMetrics(),
                    extra_fields={
                        **fields,
                        "turn_scores": [turn.reward for turn in episode.transitions],
                        "tool_rewards": [],
                        "reward_extra_info": {},  # verl copies it from the last sequence to the others
                    },
                )
            )
        return outputs


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
