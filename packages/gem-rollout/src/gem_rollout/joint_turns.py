"""Episodes with several agents: all agents that act in a step are asked at the same time."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from gem.core import Info
from gem.errors import EpisodeLimitError
from gem.policies import Act
from gem_rollout.asking import EpisodeProgress, bare
from gem_rollout.environments import PooledEnvironment
from gem_rollout.faults import EpisodeFailedError, environment_fault
from gem_rollout.trajectory import TrajectoryBuilder

__all__ = ["play_joint_turns"]


async def play_joint_turns(
    progress: EpisodeProgress, place: PooledEnvironment, builder: TrajectoryBuilder, observations: Any, info: Info
) -> str | None:
    """Play an episode of a :class:`gem_rollout.joint_env.JointEnv` step by step.

    Returns:
        The limit that ended the episode, if one did.

    Raises:
        EpisodeFailedError: if a policy or the environment fails.
    """
    context, begun = progress.context, set[str]()
    observations, infos = dict(observations), info["infos"]
    builder.begin(observations, infos)
    facts = progress.take_seats(list(observations))
    returns = dict.fromkeys(observations, 0.0) if facts else {}
    builder.trajectory.metadata.update(facts)
    try:
        while not builder.over:
            asked = [
                _act(progress, place, agent, agent not in begun, observations.get(agent), infos.get(agent, {}))
                for agent in info["active"]
            ]
            acts, act_seconds, versions = {}, {}, {}
            for agent, (act, version, seconds) in zip(info["active"], await _all(asked), strict=True):
                acts[agent], act_seconds[agent], versions[agent] = act, seconds, version
                progress.note_act(act, version)
            begun.update(acts)
            acted = time.perf_counter()
            result = await context.environments.step(place, {agent: bare(act) for agent, act in acts.items()})
            seen, _, over, failed, info = result
            if failed:
                raise environment_fault(str(info.get("error")))
            observations.update(seen)
            infos = {**infos, **info["infos"]}
            builder.add_step(
                acts,
                seen,
                info["rewards"],
                info["terminations"],
                info["truncations"],
                info["infos"],
                over=over,
                act_seconds=act_seconds,
                step_seconds=time.perf_counter() - acted,
                versions=versions,
            )
            for agent in returns:
                returns[agent] += info["rewards"].get(agent, 0.0)
            progress.turns += 1
            reached = None if builder.over else progress.reached()
            if reached is not None:
                return reached
    except EpisodeLimitError as limit:
        return str(limit.limit)
    finally:
        if returns:
            builder.trajectory.metadata["returns"] = returns
    return None


async def _act(
    progress: EpisodeProgress, place: PooledEnvironment, agent: str, first: bool, observation: Any, info: Info
) -> tuple[Any | Act, int | str | None, float]:
    """Return an agent's action or act, the version of the weights as it was asked, and the seconds that it took."""
    begin = time.perf_counter()
    try:
        policy = await progress.policy(place, agent)
        if first:
            await progress.begin(policy, observation, info)
        act, version = await progress.act(policy, observation, info)
        return act, version, time.perf_counter() - begin
    except EpisodeFailedError as fault:
        # To the evaluated policy, the others are a part of the environment.
        others = fault.source == "agent" and progress.evaluated not in (None, agent)
        source = "environment" if others else fault.source
        raise EpisodeFailedError(source, fault.kind, f"{agent}: {fault}") from fault.__cause__


async def _all(coroutines: list[Any]) -> list[Any]:
    """Return the results of coroutines that run at the same time; if one raises, cancel the others."""
    if len(coroutines) == 1:
        return [await coroutines[0]]
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
