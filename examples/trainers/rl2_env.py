"""RL2: a ``generate`` function that plays GEM environments.

Name this file in the configuration: ``rollout.train.env_path=rl2_env.py``; the rows of the data set have ``env_id`` and
``seed``, as ``gem_rl.adapters.rows_of_tasks`` writes them (``to_rows_dataset(rows).to_parquet(path)``).

RL2's own adapter tokenizes each state anew and compares texts. Here the ids are those that the router reported, and an
episode whose history was rewritten has several sequences, which RL2 trains on as one trajectory. An episode without an
outcome (a fault of the environment, the router, the grader or a simulated user) is masked: RL2's groups have a fixed
size, so one token stands for it, whose reward is the mean of the others in its group and whose advantage is thus 0.

What was run (``packages/gem-rl/tests/test_trainer_examples.py``): the function against a stand-in for RL2's samples and
router. What was not run: a training run, which needs a GPU. Read: ChenmienTan/RL2, commit 9161ede.
"""

from __future__ import annotations

import logging
from typing import Any

from omegaconf import DictConfig, OmegaConf
from RL2.datasets import Sample
from RL2.utils.communication import async_request

from gem_rl import is_gradable
from gem_rl.adapters import BatchPlayer, GroupReturns, SampledTokens, requests_of, trainer_rows

logger = logging.getLogger(__name__)
_groups = GroupReturns()


class _AbortedError(Exception):
    """The router gave up the request, since the weights are about to change."""


async def generate(config: DictConfig, tokenizer: Any, router_url: str, sample: Sample) -> None:
    """Play the episode of a sample and put its sequences into it.

    An aborted episode is played anew from its beginning, with the new weights.
    """
    key = (sample.sample["env_id"], sample.sample["seed"])
    if sample.status == Sample.Status.DONE:  # in a group whose others were aborted
        async with _groups.member(key) as group:
            group.returns += sample.metrics["rewards"]
        return
    sampling = OmegaConf.to_container(config.sampling_params)
    aborted = False

    async def ask(prompt_ids: list[int], key: tuple[str, int, int]) -> SampledTokens:
        nonlocal aborted
        answer = await async_request(
            router_url,
            "generate",
            json={
                "input_ids": prompt_ids,
                "sampling_params": {**sampling, "no_stop_trim": True},
                "return_logprob": True,
            },
        )
        figures = answer["meta_info"]
        reason = figures["finish_reason"]["type"]
        if reason == "abort":
            aborted = True
            raise _AbortedError
        logprobs = [entry[0] for entry in figures["output_token_logprobs"]]
        return SampledTokens([entry[1] for entry in figures["output_token_logprobs"]], logprobs, reason)

    async with _groups.member(key) as group:
        (episode,) = await BatchPlayer(tokenizer).play_async(requests_of([sample.sample]), ask)
        rows = [] if aborted or not is_gradable(episode) else trainer_rows(episode)
        if rows:
            group.returns.append(episode.episode_return)
    if aborted:
        sample.status = Sample.Status.ABORTED
        return
    sample.status = Sample.Status.DONE
    sample.metrics["masked"].append(not rows)
    if not rows:
        logger.warning("the episode %s has no outcome and is masked: %s", episode.key, episode.error)
        end, mean = tokenizer.eos_token_id, await group.mean()
        sample.state_dicts.append(
            {
                "states": [end, end],
                "actions": [0, end],
                "action_mask": [0, 1],
                "logps": [0.0, 0.0],  # read only as a factor of the advantage
                "rewards": [0.0, mean],
            }
        )
        sample.metrics["rewards"].append(mean)
        return
    for row in rows:
        before = len(row.prompt_ids)
        if row.logprobs is None:
            raise ValueError("RL2 needs log-probabilities, and the router did not report them")
        sample.state_dicts.append(
            {
                "states": row.prompt_ids + row.response_ids,
                "actions": [0] * before
                + [token * mask for token, mask in zip(row.response_ids, row.response_mask, strict=True)],
                "action_mask": [0] * before + row.response_mask,
                "logps": [0.0] * before + row.logprobs,
                "rewards": [0.0] * before + row.rewards,
            }
        )
    turns = episode.transitions
    sample.turn = len(turns)
    sample.state_text, sample.action_text = str(turns[-1].observation), str(turns[-1].action)  # for RL2's log
    sample.metrics["turns"].append(len(turns))
    sample.metrics["rewards"].append(episode.episode_return)
    sample.metrics["response_length"] += [len(turn.token_ids or []) for turn in turns]
    sample.metrics["length_clip_ratio"] += [turn.finish_reason == "length" for turn in turns]
