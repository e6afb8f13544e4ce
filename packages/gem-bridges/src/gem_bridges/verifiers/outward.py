"""Environments of GEM for verifiers 0.4: task set, environment and harness. Importing this module imports verifiers.

verifiers finds them by the name of the package: ``vf-eval gem-bridges --env.taskset.env-id game:Wordle-v0``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import gem
from gem.discovery.official import install_line
from gem.errors import ArgumentError
from gem.faults import is_fault
from gem.multiagent import MultiAgentEnv

try:
    import verifiers.v1 as vf
    from pydantic import Field

    from gem_bridges.verifiers.in_process_chat import InProcessChat
except ModuleNotFoundError as error:
    line = install_line("'gem-bridges[verifiers]'")
    raise ModuleNotFoundError(f"task sets of verifiers need verifiers 0.4; run: {line}", name="verifiers") from error

__all__ = ["GemTask", "GemTaskData", "GemTaskset", "GemTasksetConfig", "InProcessChat", "UserPlay", "UserPlayConfig"]


class GemTasksetConfig(vf.TasksetConfig):
    """Which environment, and which of its initial states: ``--env.taskset.*``."""

    env_id: str = ""
    """An id of GEM with one agent."""
    env_args: dict[str, Any] = Field(default_factory=dict)
    """Arguments of ``gem.make``."""
    tasks: int = Field(default=100, ge=1)
    """Number of tasks."""
    first_seed: int = Field(default=0, ge=0)
    """Seed of the first task; the next one has the next seed."""


class GemTaskData(vf.TaskData):
    """One initial state. The first observation opens the exchange, so there is no prompt."""

    env_id: str
    env_args: dict[str, Any]
    seed: int


class GemTask(vf.Task[GemTaskData, vf.State, vf.TaskConfig]):
    """One initial state."""


class GemTaskset(vf.Taskset[GemTask, GemTasksetConfig]):
    """Initial states of an environment, one for each seed."""

    def load(self) -> Iterator[GemTask]:
        """Yield the tasks.

        Raises:
            GemError: if the environment cannot be made.
            ArgumentError: if it has several agents, or none is named.
        """
        wanted = self.config
        if not wanted.env_id:
            raise ArgumentError("the task set has no environment; name one: --env.taskset.env-id game:Wordle-v0")
        with gem.make(wanted.env_id, **wanted.env_args) as env:  # a wrong id is no failure of every task
            if isinstance(env.unwrapped, MultiAgentEnv):
                raise ArgumentError(f"{wanted.env_id} has several agents, and a task of verifiers has one")
        for seed in range(wanted.first_seed, wanted.first_seed + wanted.tasks):
            name = f"{wanted.env_id}#{seed}"
            data = GemTaskData(name=name, env_id=wanted.env_id, env_args=wanted.env_args, seed=seed)
            yield GemTask(data, wanted.task)


class UserPlayConfig(vf.EnvConfig):
    """The agent that plays: ``--env.agent.*``."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    max_turns: int = Field(default=1000, ge=1)
    """Turns after which an episode is scored as it stands."""


class UserPlay(vf.Env[UserPlayConfig]):
    """Plays an environment of GEM as the user who talks to the agent.

    The reward ``episode_return`` is the sum of the environment's rewards; the numbers in the last ``info`` are metrics.
    """

    async def run(self, task: Any, agents: Any) -> None:
        """Answer each reply of the agent with the next observation, until the episode is over."""
        data = task.data
        env = await asyncio.to_thread(gem.make, data.env_id, **data.env_args)
        try:
            observation, info = await asyncio.to_thread(env.reset, data.seed)
            total, over = 0.0, False
            async with agents.agent.interaction(task) as exchange:
                for _ in range(self.config.max_turns):
                    reply = await exchange.turn([{"role": "user", "content": observation}])
                    if reply.terminated:
                        break
                    observation, reward, terminated, truncated, info = await asyncio.to_thread(
                        env.step, reply.last_reply or ""
                    )
                    total += float(reward)
                    if is_fault(terminated, truncated, info):
                        raise RuntimeError(f"the environment failed: {info['error']}")
                    over = terminated or truncated
                    if over:
                        break
            exchange.trace.record_reward("episode_return", total)
            exchange.trace.record_metrics({**_numbers(info), "episode_over": float(over)})
        finally:
            await asyncio.to_thread(env.close)


def _numbers(info: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in info.items() if isinstance(value, (bool, int, float))}
