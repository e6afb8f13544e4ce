"""prime-rl: GEM environments as a task set of verifiers, which prime-rl trains on.

Put this file on the path of the environment workers, and name it in the configuration of the orchestrator::

    [orchestrator.train.source.env.taskset]
    id = "prime_rl_taskset"
    envs = ["game:GuessTheNumber-v0-easy"]
    tasks = 4096

The environment plays the user: each answer of the model is a turn, and prime-rl records the tokens. Reward functions
for a ``Rubric`` are ``gem.rewards.verifiers_reward``. An episode without an outcome (a fault of the environment, the
grader or a simulated user) ends with an error, and prime-rl masks it.

What was run, with verifiers 0.4.0 (``packages/gem-rl/tests/test_trainer_packages.py``): the task set through the
package's own loader, and episodes with a scripted player in the place of its agents. What was not run: prime-rl, which
needs GPUs. Read: PrimeIntellect-ai/prime-rl, commit 559b447.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf
from pydantic import Field

from gem_rl.adapters import TextEpisode, rows_of_tasks

__all__ = ["GemEnv", "GemEnvConfig", "GemTask", "GemTaskData", "GemTaskset", "GemTasksetConfig"]


class GemTasksetConfig(vf.TasksetConfig):
    """Which environments, and how many initial states of each."""

    envs: list[str] = Field(default_factory=lambda: ["game:GuessTheNumber-v0-easy"])
    tasks: int = 1024
    first_seed: int = 0


class GemTaskData(vf.TaskData):
    """One initial state."""

    env_id: str
    seed: int


class GemTask(vf.Task[GemTaskData, vf.State, vf.TaskConfig]):
    """One initial state."""


class GemEnvConfig(vf.EnvConfig):
    """The player is the model that is trained."""

    player: vf.AgentConfig = vf.AgentConfig()


class GemEnv(vf.Env[GemEnvConfig]):
    """Plays one episode."""

    async def run(self, task: Any, agents: Any) -> None:
        """Answer each segment of the player with what the environment says, until the episode is over."""
        episode = await asyncio.to_thread(TextEpisode, task.data.env_id)
        try:
            await asyncio.to_thread(episode.begin, task.data.seed)
            async with agents.player.interaction(task) as interaction:
                segment = await interaction.turn()  # the first observation is the prompt of the task
                while not segment.terminated:
                    turn = await asyncio.to_thread(episode.step, segment.last_reply)
                    if turn.done:
                        break
                    segment = await interaction.turn(turn.text)
            record = episode.trajectory
            if not episode.gradable:
                raise vf.EnvError(f"the episode {record.key} has no outcome: {record.error or 'it was not graded'}")
            for name, value in episode.metrics().items():
                interaction.trace.record_metric(name, value)
            interaction.trace.record_reward("episode_return", record.episode_return, 1.0)
        finally:
            episode.close()


class GemTaskset(vf.Taskset[GemTask, GemTasksetConfig]):
    """The initial states of the environments, which take turns."""

    def load(self) -> Iterator[GemTask]:
        """Yield the tasks."""
        for row in rows_of_tasks(self.config.envs, self.config.tasks, seed=self.config.first_seed):
            data = GemTaskData(
                name=f"{row['env_id']}#{row['seed']}",
                prompt=str(row["prompt"][-1]["content"]),
                env_id=row["env_id"],
                seed=row["seed"],
            )
            yield GemTask(data, self.config.task)
