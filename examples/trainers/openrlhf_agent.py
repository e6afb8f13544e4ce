r"""OpenRLHF: a multi-turn agent that plays GEM environments.

Name this file as the agent of the trainer::

    GEM_TOKENIZER=Qwen/Qwen3-4B python -m openrlhf.cli.train_ppo_ray --train.agent_func_path openrlhf_agent.py \
        --data.input_key prompt --data.label_key label …

The data set has a text as ``prompt``, and as ``label`` the episode: ``{"env_id": …, "seed": …}`` as JSON, as
:func:`rows` writes them. OpenRLHF hands the agent text and no tokenizer, so ``GEM_TOKENIZER`` names it: what follows an
answer has to be written in the model's chat format. The prompt of the data set is not used; the environment's own first
observation is.

An episode without an outcome (a fault of the environment, the engine, the grader or a simulated user) is masked: a
group of OpenRLHF has a fixed size, so one token of it stays, whose reward is the mean of the others in its group and
whose advantage is thus 0.

What was run, with OpenRLHF 0.11.2 (``packages/gem-rl/tests/test_trainer_packages.py``): whole episodes in the package's
own ``MultiTurnAgentExecutor``, with a scripted engine in the place of vLLM. What was not run: a training run, which
needs GPUs.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from functools import cache
from typing import Any

import torch
from openrlhf.utils.agent import AgentInstanceBase, MultiTurnAgentExecutor

from gem.errors import ArgumentError, NotSupportedError
from gem_rl.adapters import ChatPrompt, GroupReturns, TextEpisode, rows_of_tasks

logger = logging.getLogger(__name__)


@cache
def tokenizer() -> Any:
    """Return the tokenizer of the model that is trained."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(os.environ["GEM_TOKENIZER"])


def rows(env_ids: str | list[str], tasks: int, seed: int = 0) -> list[dict[str, str]]:
    """Return a data set of initial states."""
    return [
        {
            "prompt": str(row["prompt"][-1]["content"]),
            "label": json.dumps({"env_id": row["env_id"], "seed": row["seed"]}),
        }
        for row in rows_of_tasks(env_ids, tasks, seed=seed)
    ]


def _plain(text: str) -> str:
    """Return a text without special tokens."""
    return str(tokenizer().decode(tokenizer().encode(text, add_special_tokens=False), skip_special_tokens=True))


class AgentInstance(AgentInstanceBase):
    """One episode."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._prompt = ChatPrompt(tokenizer())
        self.episode: TextEpisode | None = None
        """The episode, which the executor closes."""

    async def reset(self, states: dict[str, Any], **kwargs: Any) -> dict[str, str]:
        """Begin the episode that the label names, and return its prompt in the model's chat format."""
        task = json.loads(states["label"])
        self.episode = await asyncio.to_thread(TextEpisode, task["env_id"])
        messages = await asyncio.to_thread(self.episode.begin, task["seed"])
        return {"observation": self._prompt.first_text(messages)}

    async def step(self, states: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Play a turn, and return what follows the answer."""
        episode = self.episode
        assert episode is not None
        said = states["action_text"]
        turn = await asyncio.to_thread(episode.step, _plain(said))
        # vLLM leaves the token that ended the turn out of the text, and OpenRLHF keeps it among the tokens.
        feedback = "" if turn.done else self._prompt.text_after(turn.messages, said + tokenizer().eos_token)
        return {
            "rewards": torch.tensor(turn.reward),
            "environment_feedback": feedback,
            "done": turn.done,
            "sampling_params": states.get("sampling_params"),
        }


class AgentExecutor(MultiTurnAgentExecutor):
    """What OpenRLHF looks for in this file."""

    def __init__(self) -> None:
        super().__init__(AgentInstance)
        self._groups = GroupReturns()

    async def execute(
        self, prompt: str, label: str, sampling_params: Any, max_length: int, hf_tokenizer: Any, *rest: Any, **more: Any
    ) -> dict[str, Any]:
        """Play one episode of a group; OpenRLHF begins all of a group at once."""
        instance = AgentInstance()
        plain = MultiTurnAgentExecutor(AgentInstance)
        plain.agent_instance_cls = lambda: instance
        result: dict[str, Any] = {}
        async with self._groups.member(label) as group:
            try:
                result = await plain.execute(prompt, label, sampling_params, max_length, hf_tokenizer, *rest, **more)
            except Exception as error:  # of the environment's first observation, of the engine
                if instance.episode is None or isinstance(error, (ArgumentError, NotSupportedError)):
                    raise  # what was configured is wrong, for every episode
                logger.warning("the episode %s is masked: %s: %s", label, type(error).__name__, error)
            finally:
                if instance.episode is not None:
                    instance.episode.close()
            # Also where OpenRLHF's token budget has ended the episode, whose last step knew nothing of it.
            if result and instance.episode is not None:
                figures = instance.episode.metrics()
                result["extra_logs"] = {name: torch.tensor(value) for name, value in figures.items()}
                if instance.episode.gradable:
                    group.returns.append(figures["return"])
                    return result
        mean = await group.mean()
        if not result or not result["action_ranges"]:
            asked = hf_tokenizer(text=prompt, add_special_tokens=False)["input_ids"]
            ids = [*asked[: max_length - 1], hf_tokenizer.eos_token_id]
            result = {
                "prompt": prompt,
                "label": label,
                "images": None,
                "mm_train_inputs": None,
                "observation_tokens": ids,
                "action_ranges": [(len(ids) - 1, len(ids))],
                "rollout_log_probs": None if sampling_params.logprobs is None else [0.0] * len(ids),
                "truncated": False,
                "extra_logs": {},
            }
        end = result["action_ranges"][-1][1]
        return {**result, "action_ranges": [(end - 1, end)], "reward": mean, "scores": mean}
