"""Environments of GEM as a task of Inspect. Importing this module imports ``inspect_ai``.

The entry point lets Inspect find it: ``inspect eval gem_bridges/gem_env -T env_id=game:GuessTheNumber-v0-easy``.
"""

from __future__ import annotations

import asyncio
from typing import Any

import gem
from gem.arguments import integer
from gem.discovery.official import install_line
from gem.errors import ArgumentError
from gem.faults import is_fault
from gem.multiagent import MultiAgentEnv

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
except ModuleNotFoundError as error:
    line = install_line("'gem-bridges[inspect]'")
    raise ModuleNotFoundError(f"tasks of Inspect need inspect-ai; run: {line}", name="inspect_ai") from error

__all__ = ["gem_env", "gem_episode", "gem_return"]

_RETURN, _INFO = "gem_return", "gem_info"


@task
def gem_env(
    env_id: str, episodes: int = 10, first_seed: int = 0, max_turns: int = 1000, env_args: dict[str, Any] | None = None
) -> Task:
    """Return the task of playing an environment: one sample for each seed, scored with the sum of its rewards.

    Args:
        env_id: an id of GEM.
        episodes: number of samples.
        first_seed: seed of the first one.
        max_turns: turns after which an episode is scored as it stands.
        env_args: arguments of ``gem.make``.

    Raises:
        GemError: if the environment cannot be made.
        ArgumentError: if it has several agents.
    """
    integer("max_turns", max_turns, minimum=1)
    seeds = range(integer("first_seed", first_seed, minimum=0), first_seed + integer("episodes", episodes, minimum=1))
    with gem.make(env_id, **(env_args or {})) as env:  # an id that is wrong is no failure of every sample
        if isinstance(env.unwrapped, MultiAgentEnv):
            raise ArgumentError(f"{env_id} has several agents, and a task of Inspect has one")
    samples = [Sample(input=f"{env_id}, seed {seed}", id=seed, metadata={"seed": seed}) for seed in seeds]
    return Task(
        dataset=MemoryDataset(samples, name=env_id),
        solver=gem_episode(env_id, max_turns, env_args),
        scorer=gem_return(),
        metadata={"env_id": env_id},
    )


@solver
def gem_episode(env_id: str, max_turns: int = 1000, env_args: dict[str, Any] | None = None) -> Solver:
    """Play an episode with the seed of the sample: observations are the user's messages, completions the actions."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        env = await asyncio.to_thread(gem.make, env_id, **(env_args or {}))
        try:
            total = 0.0
            observation, info = await asyncio.to_thread(env.reset, int(state.metadata["seed"]))
            state.messages = [_message(observation)]
            for _ in range(max_turns):
                state = await generate(state)
                action = state.output.completion
                observation, reward, terminated, truncated, info = await asyncio.to_thread(env.step, action)
                total += float(reward)
                if is_fault(terminated, truncated, info):
                    raise RuntimeError(f"the environment failed: {info['error']}")
                if terminated or truncated or state.completed:
                    break
                state.messages.append(_message(observation))
            state.store.set(_RETURN, total)
            state.store.set(_INFO, {key: value for key, value in info.items() if _is_plain(value)})
        finally:
            await asyncio.to_thread(env.close)
        return state

    return solve


@scorer(metrics=[mean(), stderr()])
def gem_return() -> Scorer:
    """Score an episode with the sum of its rewards; the last ``info`` is the score's metadata."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=float(state.store.get(_RETURN, 0.0)), metadata=state.store.get(_INFO, {}))

    return score


def _message(observation: Any) -> ChatMessageUser:
    if isinstance(observation, str):
        return ChatMessageUser(content=observation)
    parts = [
        ContentText(text=part["text"]) if part["type"] == "text" else ContentImage(image=part["image_url"]["url"])
        for part in observation
    ]
    return ChatMessageUser(content=list(parts))


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))
