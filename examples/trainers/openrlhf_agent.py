r"""OpenRLHF: a multi-turn agent that plays GEM environments.

Name this file as the agent of the trainer::

    GEM_TOKENIZER=Qwen/Qwen3-4B python -m openrlhf.cli.train_ppo_ray --agent_func_path openrlhf_agent.py \
        --input_key prompt --label_key label …

The data set has a text as ``prompt``, and as ``label`` the episode: ``{"env_id": …, "seed": …}`` as JSON, as
:func:`rows` writes them. OpenRLHF hands the agent text and no tokenizer, so ``GEM_TOKENIZER`` names it: what follows an
answer has to be written in the model's chat format. The prompt of the data set is not used; the environment's own first
observation is.

What was run, with OpenRLHF 0.11.2 (``packages/gem-rl/tests/test_trainer_packages.py``): whole episodes in the package's
own ``MultiTurnAgentExecutor``, with a scripted engine in the place of vLLM. What was not run: a training run, which
needs GPUs.
"""

from __future__ import annotations

import asyncio
import json
import os
from functools import cache
from typing import Any

import torch
from openrlhf.utils.agent import AgentInstanceBase, MultiTurnAgentExecutor

from gem_rl.adapters import ChatPrompt, TextEpisode, rows_of_tasks


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
        self._episode: TextEpisode | None = None

    async def reset(self, states: dict[str, Any], **kwargs: Any) -> dict[str, str]:
        """Begin the episode that the label names, and return its prompt in the model's chat format."""
        task = json.loads(states["label"])
        self._episode = await asyncio.to_thread(TextEpisode, task["env_id"])
        messages = await asyncio.to_thread(self._episode.begin, task["seed"])
        return {"observation": self._prompt.first_text(messages)}

    async def step(self, states: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Play a turn, and return what follows the answer."""
        episode = self._episode
        assert episode is not None
        said = states["action_text"]
        turn = await asyncio.to_thread(episode.step, _plain(said))
        # vLLM leaves the token that ended the turn out of the text, and OpenRLHF keeps it among the tokens.
        feedback = "" if turn.done else self._prompt.text_after(turn.messages, said + tokenizer().eos_token)
        result: dict[str, Any] = {
            "rewards": torch.tensor(turn.reward),
            "scores": torch.tensor(turn.reward),
            "environment_feedback": feedback,
            "done": turn.done,
            "sampling_params": states.get("sampling_params"),
            "extra_logs": {},
        }
        if turn.done:
            figures = episode.metrics()
            result["scores"] = torch.tensor(figures["return"])
            result["extra_logs"] = {name: torch.tensor(value) for name, value in figures.items()}
            episode.close()
        return result


class AgentExecutor(MultiTurnAgentExecutor):
    """What OpenRLHF looks for in this file."""

    def __init__(self) -> None:
        super().__init__(AgentInstance)
