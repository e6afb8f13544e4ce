"""Tinker: GEM environments for the cookbook's ``rl.train``, as a ``MessageEnv`` and a data set of groups.

    python tinker_env.py model_name=Qwen/Qwen3-8B env_ids='["game:GuessTheNumber-v0-easy"]' batches=50

The cookbook renders and tokenizes; a history that a wrapper rewrites is fine, since each turn carries its own prompt.
An episode without an outcome (a fault of the environment, the grader or a simulated user) raises
:class:`UnknownOutcome`, and the cookbook's ``MinViableGroup`` trains on the rest of its group.

What was run, with tinker-cookbook 0.6.1 (``packages/gem-rl/tests/test_trainer_packages.py``): groups through the
cookbook's own ``do_group_rollout`` and renderer, with a sampler in the process. What was not run: training, which
happens in Tinker's service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import chz
from tinker_cookbook import model_info, renderers, tokenizer_utils
from tinker_cookbook.renderers.base import Message, Renderer, get_text_content
from tinker_cookbook.rl import train
from tinker_cookbook.rl.message_env import EnvFromMessageEnv, MessageEnv, MessageStepResult
from tinker_cookbook.rl.rollout_strategy import MinViableGroup
from tinker_cookbook.rl.types import Env, EnvGroupBuilder, RLDataset, RLDatasetBuilder

from gem_rl.adapters import TextEpisode


class UnknownOutcome(RuntimeError):  # noqa: N818  # it is no error of the policy
    """An episode says nothing about the policy."""


class GemMessageEnv(MessageEnv):
    """One episode.

    Args:
        env_id: the environment.
        seed: of the episode.
        **arguments: of ``TextEpisode``.
    """

    def __init__(self, env_id: str, seed: int, **arguments: Any) -> None:
        self._episode = TextEpisode(env_id, **arguments)
        self._seed = seed

    async def initial_observation(self) -> list[Message]:
        """Begin the episode."""
        return await asyncio.to_thread(self._episode.begin, self._seed)

    async def step(self, message: Message) -> MessageStepResult:
        """Play a turn."""
        turn = await asyncio.to_thread(self._episode.step, get_text_content(message))
        if turn.done and not self._episode.gradable:
            record = self._episode.trajectory
            raise UnknownOutcome(f"the episode {record.key} has no outcome: {record.error or 'it could not be graded'}")
        return MessageStepResult(
            reward=turn.reward,
            episode_done=turn.done,
            next_messages=turn.messages,
            metrics=self._episode.metrics() if turn.done else {},
        )

    def close(self) -> None:
        """Close the environment."""
        self._episode.close()


@dataclass
class GemGroupBuilder(EnvGroupBuilder):
    """Rollouts of one initial state; it can be pickled."""

    env_id: str
    seed: int
    size: int
    renderer: Renderer
    arguments: dict[str, Any] = field(default_factory=dict)

    async def make_envs(self) -> Sequence[Env]:
        """Return the environments of the group."""
        made = [GemMessageEnv(self.env_id, self.seed, **self.arguments) for _ in range(self.size)]
        self.__dict__.setdefault("_made", []).extend(made)  # a strategy that plays an episode again makes more
        return [EnvFromMessageEnv(self.renderer, one, failed_parse_reward=0.0) for one in made]

    async def cleanup(self) -> None:
        """Close the environments."""
        for one in self.__dict__.pop("_made", []):
            one.close()

    def logging_tags(self) -> list[str]:
        """Return the environment's id and its namespace."""
        return [self.env_id.partition(":")[0], self.env_id]


class GemDataset(RLDataset):
    """Batches of groups, with new seeds in each; environments take turns."""

    def __init__(self, env_ids: Sequence[str], groups: int, size: int, batches: int, seed: int, renderer: Renderer):
        self._env_ids = list(env_ids)
        self._groups, self._size, self._batches, self._seed = groups, size, batches, seed
        self._renderer = renderer

    def get_batch(self, index: int) -> Sequence[EnvGroupBuilder]:
        """Return the groups of a batch."""
        numbers = range(index * self._groups, (index + 1) * self._groups)
        count = len(self._env_ids)
        return [
            GemGroupBuilder(self._env_ids[number % count], self._seed + number // count, self._size, self._renderer)
            for number in numbers
        ]

    def __len__(self) -> int:
        """Return the number of batches."""
        return self._batches


@chz.chz
class GemDatasetBuilder(RLDatasetBuilder):
    """What ``tinker_cookbook.rl.train.Config(dataset_builder=…)`` takes."""

    env_ids: list[str]
    model_name: str
    renderer_name: str
    groups: int = 32
    group_size: int = 8
    batches: int = 50
    seed: int = 0

    async def __call__(self) -> tuple[GemDataset, GemDataset | None]:
        """Return the data set for training; the last batch of seeds, which it never reaches, for tests."""
        tokenizer = tokenizer_utils.get_tokenizer(self.model_name)
        renderer = renderers.get_renderer(self.renderer_name, tokenizer, model_name=self.model_name)
        train = GemDataset(self.env_ids, self.groups, self.group_size, self.batches, self.seed, renderer)
        unseen = self.seed + self.groups * (self.batches + 1)
        return train, GemDataset(self.env_ids, self.groups, 1, 1, unseen, renderer)


@chz.chz
class Options:
    """What the command line takes."""

    model_name: str
    env_ids: list[str]
    batches: int = 50
    learning_rate: float = 4e-5
    log_path: str = "tinker-run"


def training(options: Options) -> train.Config:
    """Return the configuration of a training run."""
    builder = GemDatasetBuilder(
        env_ids=options.env_ids,
        model_name=options.model_name,
        renderer_name=model_info.get_recommended_renderer_name(options.model_name),
        batches=options.batches,
    )
    return train.Config(
        recipe_name="gem",
        model_name=options.model_name,
        dataset_builder=builder,
        learning_rate=options.learning_rate,
        log_path=options.log_path,
        max_tokens=512,
        rollout_error_tolerance=MinViableGroup(),
    )


def main() -> None:
    """Train with Tinker's service."""
    asyncio.run(train.main(training(chz.entrypoint(Options))))


if __name__ == "__main__":
    main()
