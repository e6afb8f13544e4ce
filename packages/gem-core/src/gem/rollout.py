"""Running policies in batches of environments, and recording the episodes.

Every episode has a seed of its own (``seed + k`` for the k-th episode of an environment) at any batch size, so that
each can be played again alone. Environments run ahead of each other, so a slow one delays no other.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gem.arguments import integer
from gem.core import Env
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.registry import spec as find_spec
from gem.trajectory import Trajectory, Transition
from gem.vector import VectorEnv, make_vec
from gem.wrappers import WrapperLike

__all__ = ["Summary", "play_episode", "rollout", "summarize"]

PolicyMaker = Callable[[Env[Any, Any]], Policy[Any, Any]]


@dataclass
class _BatchMember:
    """One environment of the batch: its policy, the seeds of its remaining episodes, and the current episode."""

    spec: EnvSpec
    policy: Policy[Any, Any] | None
    """None after the environment has failed, until it is rebuilt."""
    seeds: Iterator[int]
    record: Trajectory | None = None
    observation: Any = None
    action: Any = None
    act_seconds: float = 0.0
    sent_at: float | None = None
    """When the last action was sent; None where the episode waits for its first observation."""


def rollout(
    env_ids: str | EnvSpec | Sequence[str | EnvSpec],
    make_policy: PolicyMaker,
    *,
    num_envs: int = 8,
    episodes: int = 8,
    seed: int = 0,
    agent: str = "",
    wrappers: WrapperLike | Iterable[WrapperLike] = (),
    mode: str = "thread",
    step_timeout: float | None = None,
) -> Iterator[Trajectory]:
    """Yield episodes as they finish.

    Args:
        env_ids: one environment, or several, which share the batch evenly.
        make_policy: called once for every environment of the batch; for example
            ``lambda env: gem.make_policy("reference", env)``.
        num_envs: size of the batch; at least one for each of ``env_ids``.
        episodes: number of episodes of each environment.
        seed: seed of the first episode of each environment; each later episode adds one.
        agent: written into every trajectory.
        wrappers: as in ``gem.make``.
        mode: as in ``gem.make_vec``.
        step_timeout: time limit of a step in seconds, as in ``gem.make_vec``.

    Raises:
        ArgumentError: if a number is out of range. Errors of ``gem.make`` are passed on.
    """
    wanted = [env_ids] if isinstance(env_ids, (str, EnvSpec)) else list(env_ids)
    specs = [item if isinstance(item, EnvSpec) else find_spec(item) for item in wanted]
    if not specs:
        raise ArgumentError("env_ids must name at least one environment")
    integer("num_envs", num_envs, minimum=1)
    integer("episodes", episodes, minimum=1)
    integer("seed", seed, minimum=0)
    # No more members than episodes, and at least one for each environment.
    members_each = [max(1, min(episodes, len(range(i, num_envs, len(specs))))) for i in range(len(specs))]
    seeds = [iter(range(seed, seed + episodes)) for _ in specs]
    batch = [(spec, queue) for spec, queue, count in zip(specs, seeds, members_each, strict=True) for _ in range(count)]
    with make_vec(
        [spec for spec, _ in batch], wrappers=wrappers, mode=mode, autoreset="disabled", step_timeout=step_timeout
    ) as envs:
        members = [
            # The environment's own spec lists its wrappers, without which a record could not be replayed.
            _BatchMember(env.spec or spec, make_policy(env), queue)
            for (spec, queue), env in zip(batch, envs.envs, strict=True)
        ]
        for index, member in enumerate(members):
            _begin(envs, index, member, agent)
        while any(member.record is not None for member in members):
            ready = envs.recv()
            now = time.perf_counter()
            for index, observation, reward, terminated, truncated, info in zip(*ready, strict=True):
                member = members[index]
                record = member.record
                assert record is not None
                if member.sent_at is None:
                    record.reset_info = info
                else:
                    record.transitions.append(
                        Transition(
                            member.observation,
                            member.action,
                            float(reward),
                            bool(terminated),
                            bool(truncated),
                            info,
                            act_seconds=member.act_seconds,
                            step_seconds=now - member.sent_at,
                        )
                    )
                if terminated or truncated:
                    record.final_observation = observation
                    if record.error is not None:
                        member.policy = None
                    member.record = None
                    yield record
                    _begin(envs, index, member, agent)
                    continue
                if member.policy is None:
                    member.policy = make_policy(envs.env_at(index))
                if member.sent_at is None:
                    member.policy.reset(observation, info)
                begin = time.perf_counter()
                member.observation, member.action = observation, member.policy.act(observation, info)
                member.sent_at = time.perf_counter()
                member.act_seconds = member.sent_at - begin
                envs.send({index: member.action})


def _begin(envs: VectorEnv, index: int, member: _BatchMember, agent: str) -> None:
    seed = next(member.seeds, None)
    if seed is not None:
        member.record, member.sent_at = Trajectory(member.spec, seed, agent=agent), None
        envs.send_reset({index: seed})


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
        The record, without times.
    """
    if max_turns is not None:
        integer("max_turns", max_turns, minimum=1)
    observation, info = env.reset(seed=seed)
    record = Trajectory(env.spec, seed, reset_info=info, final_observation=observation, agent=agent)
    policy.reset(observation, info)
    while max_turns is None or len(record) < max_turns:
        action = policy.act(observation, info)
        before = observation
        observation, reward, terminated, truncated, info = env.step(action)
        record.transitions.append(Transition(before, action, float(reward), bool(terminated), bool(truncated), info))
        record.final_observation = observation
        if terminated or truncated:
            break
    return record


@dataclass(frozen=True)
class Summary:
    """The figures of a set of episodes of one environment. Failed episodes count only in ``errors``."""

    env_id: str
    episodes: int
    mean_return: float
    standard_error: float
    """Standard error of the mean: the sample standard deviation over √episodes; 0.0 for fewer than two."""
    success_rate: float | None
    """Share of episodes with ``info["success"]`` or ``info["correct"]``; None if no episode has either."""
    mean_turns: float
    errors: int


@dataclass
class _Figures:
    """The figures of one environment's episodes: a few numbers each, so that no trajectory stays in memory."""

    returns: list[float] = field(default_factory=list)
    successes: list[bool] = field(default_factory=list)
    turns: int = 0
    errors: int = 0

    def add(self, trajectory: Trajectory) -> None:
        if trajectory.error is not None:
            self.errors += 1
            return
        self.returns.append(trajectory.episode_return)
        self.turns += len(trajectory)
        if trajectory.success is not None:
            self.successes.append(trajectory.success)

    def summary(self, env_id: str) -> Summary:
        episodes = len(self.returns)
        return Summary(
            env_id=env_id,
            episodes=episodes,
            mean_return=statistics.fmean(self.returns) if episodes else float("nan"),
            standard_error=statistics.stdev(self.returns) / episodes**0.5 if episodes > 1 else 0.0,
            success_rate=statistics.fmean(self.successes) if self.successes else None,
            mean_turns=self.turns / episodes if episodes else float("nan"),
            errors=self.errors,
        )


def summarize(trajectories: Iterable[Trajectory]) -> list[Summary]:
    """Return one summary for each environment, in order of first appearance.

    Takes the trajectories one by one and keeps none of them.
    """
    by_id: dict[str, _Figures] = {}
    for trajectory in trajectories:
        by_id.setdefault(trajectory.spec.id if trajectory.spec else "unknown", _Figures()).add(trajectory)
    return [figures.summary(env_id) for env_id, figures in by_id.items()]
