"""One episode after the other, in the calling thread: :func:`play_episode`."""

from __future__ import annotations

from typing import Any

from gem.arguments import integer
from gem.core import Env
from gem.policies import Act, Policy
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder

__all__ = ["play_episode"]


def play_episode(
    env: Env[Any, Any],
    policy: Policy[Any, Any],
    seed: int | None = None,
    *,
    max_turns: int | None = None,
    agent: str = "",
) -> Trajectory:
    """Play one episode in this thread and return its record.

    :func:`rollout` plays many in a batch. Exceptions of the environment and of the policy are passed on.

    Args:
        env: the environment; left open.
        policy: chooses the actions.
        seed: for the reset.
        max_turns: stop after this number of turns, at least 1; the record then ends without a flag.
        agent: written into the record.

    Returns:
        The record, without times, so that the same episode has the same record. It has failed if the environment
        returned a value that a record cannot hold.
    """
    if max_turns is not None:
        integer("max_turns", max_turns, minimum=1)
    builder = TrajectoryBuilder(env.spec, seed, agent=agent)
    observation, info = env.reset(seed=seed)
    builder.begin(observation, info)
    policy.reset(observation, info)
    while not builder.over and (max_turns is None or builder.turns < max_turns):
        act = policy.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(act.action if isinstance(act, Act) else act)
        builder.add(act, observation, reward, terminated, truncated, info)
    record = builder.finish(None if builder.over else "turns")
    record.started_at = record.seconds = None
    return record
