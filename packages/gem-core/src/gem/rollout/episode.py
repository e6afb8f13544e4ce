"""One episode's life: from the environment that it gets to its finished record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gem.core import Env
from gem.errors import EpisodeLimitError
from gem.policies import Act
from gem.rollout.environments import EnvironmentPool, PooledEnvironment
from gem.rollout.faults import EpisodeFailedError, environment_fault, policy_fault
from gem.rollout.limits import EpisodeLimits
from gem.rollout.plan import EpisodeRequest
from gem.rollout.policy_calls import PolicyCaller, PolicyCalls, TookTooLongError
from gem.trajectory import Trajectory, TrajectoryBuilder
from gem.vector.env_runner import describe

__all__ = ["EpisodeAttempt", "PolicyMaker", "RolloutContext"]

PolicyMaker = Callable[[Env[Any, Any]], Any]


@dataclass
class RolloutContext:
    """What the episodes of an engine share."""

    environments: EnvironmentPool
    calls: PolicyCalls
    make_policy: PolicyMaker
    limits: EpisodeLimits
    agent: str
    strict: bool
    version: int | str | None
    """Of the policy's weights; it may change at any time."""


class EpisodeAttempt:
    """One attempt to play an episode.

    Args:
        context: what it shares with other episodes.
        request: the episode to play.
    """

    def __init__(self, context: RolloutContext, request: EpisodeRequest) -> None:
        self.request = request
        self.turns = 0
        self.began = time.perf_counter()
        self.oldest_version: int | str | None = None
        """The version of the policy at the first turn."""
        self._context = context
        self._limits: EpisodeLimits = context.limits
        self._tokens = 0

    async def play(self) -> Trajectory:
        """Play the episode to its end and return its record; a failure is part of the record."""
        environments = self._context.environments
        place = environments.take(self.request.spec)
        try:
            return await self._play_in(place)
        finally:
            environments.give_back(place)

    async def _play_in(self, place: PooledEnvironment) -> Trajectory:
        environments, (label, seed, repetition) = self._context.environments, self.request.key
        builder = TrajectoryBuilder(
            self.request.spec, seed, repetition=repetition, label=label, agent=self._context.agent
        )
        stop_reason: str | None = None
        try:
            if place.wanted is None or place.wanted != self.request.spec:
                place.policy = None
                await environments.make(place, self.request.spec)
            observation, info = await environments.reset(place, seed)
            builder.trajectory.spec = place.spec
            self.began = time.perf_counter()
            builder.begin(observation, info)
            if not builder.over:
                stop_reason = await self._turns(place, builder, observation, info)
        except EpisodeFailedError as fault:
            if self._context.strict and fault.kind == "not_made":
                raise fault.__cause__ or fault from None
            if builder.trajectory.started_at is None:
                builder.begin("", {"error": str(fault)})
            builder.fail(fault.source, fault.kind, str(fault))
        record = builder.finish(stop_reason)
        if record.failure is not None:
            place.policy = None
        elif stop_reason is not None and record.transitions:
            record.transitions[-1].truncated = True
        return record

    async def _turns(
        self, place: PooledEnvironment, builder: TrajectoryBuilder, observation: Any, info: Any
    ) -> str | None:
        """Play turn by turn; return the limit that ended the episode, if one did."""
        environments, limits, context = self._context.environments, self._limits, self._context
        deadline = None if limits.max_seconds is None else self.began + limits.max_seconds
        try:
            policy = await self._policy(place, observation, info)
            while True:
                version = context.version
                begin = time.perf_counter()
                act = await self._act(policy, observation, info, deadline)
                acted = time.perf_counter()
                observation, reward, terminated, truncated, info = await environments.step(
                    place, act.action if type(act) is Act else act
                )
                step_seconds = time.perf_counter() - acted
                if self.oldest_version is None:
                    self.oldest_version = version if type(act) is not Act or act.version is None else act.version
                if (terminated or truncated) and "error" in info:
                    fault = environment_fault(str(info["error"]))
                    builder.fail(
                        fault.source,
                        fault.kind,
                        str(fault),
                        action=act,
                        act_seconds=acted - begin,
                        step_seconds=step_seconds,
                        version=version,
                    )
                    return None
                builder.add(
                    act,
                    observation,
                    reward,
                    terminated,
                    truncated,
                    info,
                    act_seconds=acted - begin,
                    step_seconds=step_seconds,
                    version=version,
                )
                self.turns += 1
                if builder.over:
                    return None
                reached = self._reached(act, deadline)
                if reached is not None:
                    return reached
        except EpisodeLimitError as reached:
            return str(reached.limit)

    async def _policy(self, place: PooledEnvironment, observation: Any, info: Any) -> PolicyCaller:
        _, seed, repetition = self.request.key
        if place.policy is None:
            try:
                place.policy = await self._new_policy(place)
            except (asyncio.CancelledError, GeneratorExit):
                raise
            except BaseException as error:
                raise EpisodeFailedError("agent", "not_made", describe(error)) from error
        try:
            policy: PolicyCaller = place.policy
            await policy.begin(seed, repetition, observation, info, self._limits.act_timeout)
            return policy
        except (asyncio.CancelledError, EpisodeLimitError, EpisodeFailedError, GeneratorExit):
            raise
        except BaseException as error:
            raise policy_fault(error) from error

    async def _new_policy(self, place: PooledEnvironment) -> PolicyCaller:
        env, make_policy = place.env, self._context.make_policy
        assert env is not None
        calls = self._context.calls
        return PolicyCaller(calls, place.index, await calls.in_thread(place.index, lambda: make_policy(env)))

    async def _act(self, policy: PolicyCaller, observation: Any, info: Any, deadline: float | None) -> Any:
        """Return the action or act.

        Raises:
            EpisodeLimitError: if the policy says so, or the episode's time is up.
            EpisodeFailedError: if the policy fails.
        """
        limit = self._limits.act_timeout
        left = None
        if deadline is not None:
            left = max(0.0, deadline - time.perf_counter())
            limit = left if limit is None else min(limit, left)
        try:
            act = await policy.act(observation, info, limit)
        except (asyncio.CancelledError, EpisodeLimitError, GeneratorExit):
            raise
        except TookTooLongError as error:
            if limit == left:
                raise EpisodeLimitError("seconds") from error
            raise policy_fault(error) from error
        except BaseException as error:
            raise policy_fault(error) from error
        action = act.action if type(act) is Act else act
        if not isinstance(action, (str, dict)) and action is None:
            raise EpisodeFailedError(
                "agent", "invalid_action", f"the policy returned {type(act).__name__}, not an action"
            )
        return act

    def _reached(self, act: Any, deadline: float | None) -> str | None:
        limits = self._limits
        if limits.max_turns is not None and self.turns >= limits.max_turns:
            return "turns"
        if limits.max_tokens is not None:
            self._tokens += _sampled_tokens(act)
            if self._tokens >= limits.max_tokens:
                return "tokens"
        if deadline is not None and time.perf_counter() >= deadline:
            return "seconds"
        return None


def _sampled_tokens(act: Any) -> int:
    if not isinstance(act, Act):
        return 0
    if act.token_ids is not None:
        return len(act.token_ids)
    count = (act.usage or {}).get("completion_tokens", 0)
    return count if isinstance(count, int) else 0
