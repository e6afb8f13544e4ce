"""Groups of the file for Tinker through the cookbook's own rollouts and renderer."""

from __future__ import annotations

import asyncio
import json
import pickle
import random
import sys
import threading
from typing import Any

import tinker
import tinker_env
from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl.data_processing import assemble_training_data, compute_advantages
from tinker_cookbook.rl.rollout_strategy import MinViableGroup
from tinker_cookbook.rl.rollouts import do_group_rollout
from tinker_cookbook.tokenizer_utils import register_tokenizer
from tiny_chat import tiny_tokenizer

import gem

tokenizer = tiny_tokenizer()


class OneAtATime:
    """The tokenizer for several threads, in which the cookbook renders: encoding sets options of the tokenizer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def encode(self, *arguments: Any, **fields: Any) -> list[int]:
        with self._lock:
            return list(tokenizer.encode(*arguments, **fields))

    def __getattr__(self, name: str) -> Any:
        return getattr(tokenizer, name)


shared = OneAtATime()
register_tokenizer("tiny", lambda: shared)
log: list[tuple[list[int], list[int]]] = []


class Guesses(TokenCompleter):
    """Guesses at random."""

    async def __call__(self, model_input: tinker.ModelInput, stop: Any, **fields: Any) -> TokensWithLogprobs:
        text = f"\\boxed{{{random.Random(len(log)).randrange(1, 11)}}}<|im_end|>"
        ids = shared.encode(text, add_special_tokens=False)
        log.append((model_input.to_ints(), ids))
        return TokensWithLogprobs(tokens=ids, maybe_logprobs=[-1.0] * len(ids))


builder = tinker_env.GemDatasetBuilder(
    env_ids=["game:GuessTheNumber-v0-easy", "game:TowerofHanoi-v0-easy"],
    model_name="tiny",
    renderer_name="qwen3_disable_thinking",
    groups=4,
    group_size=3,
    batches=2,
)
data, unseen = asyncio.run(builder())
assert (len(data), len(unseen)) == (2, 1)
first, second = data.get_batch(0), data.get_batch(1)
assert [(one.env_id, one.seed) for one in [*first, *second]] == [
    (env_id, seed) for seed in range(4) for env_id in ("game:GuessTheNumber-v0-easy", "game:TowerofHanoi-v0-easy")
]
groups = [asyncio.run(do_group_rollout(pickle.loads(pickle.dumps(one)), Guesses())) for one in first]
for group in groups:
    assert len(group.trajectories_G) == 3
    for trajectory in group.trajectories_G:
        for turn in trajectory.transitions:
            assert (turn.ob.to_ints(), turn.ac.tokens) in log
        assert trajectory.transitions[-1].episode_done
        assert "turns" in trajectory.transitions[-1].metrics


class Flaky(gem.Env[str, str]):
    """Fails in every second episode."""

    made = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        Flaky.made += 1
        self.number = Flaky.made
        return "Go on.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.number % 2:
            raise OSError("the disk is full")
        return "", 1.0, True, False, {}


gem.register("test:Flaky-v0", Flaky)
flaky = tinker_env.GemGroupBuilder("test:Flaky-v0", 0, 4, first[0].renderer)
partial = asyncio.run(do_group_rollout(flaky, Guesses(), MinViableGroup(min_successful=2)))
assert set(partial.get_total_rewards()) == {1.0}
assert len(partial.trajectories_G) >= 2
assert {error.error_type for error in partial.rollout_errors} == {"UnknownOutcome"}

started: list[Any] = []


async def start(config: Any) -> None:
    started.append(config)


tinker_env.train.main = start
sys.argv = ["tinker_env.py", "model_name=Qwen/Qwen3-8B", 'env_ids=["game:GuessTheNumber-v0-easy"]', "batches=3"]
tinker_env.main()
(config,) = started
assert config.recipe_name == "gem"
assert (config.dataset_builder.batches, config.dataset_builder.renderer_name) == (3, "qwen3")
assert isinstance(config.effective_rollout_strategy(), MinViableGroup)

datums, _ = assemble_training_data(groups, compute_advantages(groups))
print(json.dumps({"returns": [group.get_total_rewards() for group in groups], "datums": len(datums)}))
