"""One episode's life: from the environment that it gets to its finished record."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from gem.core import Env
from gem.errors import EpisodeLimitError, TrajectoryError
from gem.policies import Act
from gem.rollout.environments import EnvironmentPool, PooledEnvironment
from gem.rollout.faults import EpisodeFailedError, environment_fault, policy_fault
from gem.rollout.limits import EpisodeLimits
from gem.rollout.plan import EpisodeRequest
from gem.rollout.planned_turn import PlannedTurn
from gem.rollout.policy_calls import PolicyCaller, PolicyCalls, TookTooLongError
from gem.trajectory import Trajectory, TrajectoryBuilder
from gem.trajectory.json_values import json_value
from gem.vector.env_runner import StepResult, describe

__all__ = ["EpisodeAttempt", "PolicyMaker", "RolloutContext"]

PolicyMaker = Callable[[Env[Any, Any]], Any]

_PlayedTurn = tuple[Any, StepResult, float, float]
"""Act or action, the result of the step, and the seconds that policy and environment took."""


@dataclass
class RolloutContext:
    """What the episodes of an engine share."""

    environments: EnvironmentPool
    calls: PolicyCalls
    make_policy: PolicyMaker
    limits: EpisodeLimits
    agent: str
    strict: bool
    asks_in_place: bool
    """Whether the thread that steps an environment asks a plain policy: not where only one of them has a time limit."""
    version: int | str | None
    """Of the policy's weights; it may change at any time."""
    stopped: bool = False
    """Whether running episodes are being dropped."""


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
        """The oldest version of the policy that a turn was played by."""
        self._context = context
        self._limits: EpisodeLimits = context.limits
        self._tokens = 0
        self._deadline: float | None = None

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
            if place.wanted is not self.request.spec and place.wanted != self.request.spec:
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
        context, limits = self._context, self._limits
        self._deadline = None if limits.max_seconds is None else self.began + limits.max_seconds
        try:
            policy = await self._policy(place)
            begun = False
            while True:
                version = context.version
                if policy.plain and context.asks_in_place:
                    played = await self._planned_turn(policy, place, begun, observation, info)
                else:
                    if not begun:
                        await self._begin(policy, observation, info)
                    played = await self._turn(policy, place, observation, info)
                begun = True
                act, (observation, reward, terminated, truncated, info), act_seconds, step_seconds = played
                self._note_version(act, version)
                if (terminated or truncated) and "error" in info:
                    fault = environment_fault(str(info["error"]))
                    builder.fail(
                        fault.source,
                        fault.kind,
                        str(fault),
                        action=act,
                        act_seconds=act_seconds,
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
                    act_seconds=act_seconds,
                    step_seconds=step_seconds,
                    version=version,
                )
                self.turns += 1
                if builder.over:
                    return None
                reached = self._reached(act)
                if reached is not None:
                    return reached
        except EpisodeLimitError as reached:
            return str(reached.limit)

    async def _turn(self, policy: PolicyCaller, place: PooledEnvironment, observation: Any, info: Any) -> _PlayedTurn:
        """Ask the policy, then step the environment."""
        begin = time.perf_counter()
        act = await self._act(policy, observation, info)
        acted = time.perf_counter()
        result = await self._context.environments.step(place, act.action if isinstance(act, Act) else act)
        return act, result, acted - begin, time.perf_counter() - acted

    async def _planned_turn(
        self, policy: PolicyCaller, place: PooledEnvironment, begun: bool, observation: Any, info: Any
    ) -> _PlayedTurn:
        """Have the policy asked where the environment is stepped."""
        if begun:
            turn = PlannedTurn(partial(policy.act_here, observation, info))
        else:
            _, seed, repetition = self.request.key
            turn = PlannedTurn(partial(policy.begin_and_act, seed, repetition, observation, info))
        result = await self._context.environments.step(place, turn)
        if turn.error is not None:
            if isinstance(turn.error, EpisodeLimitError):
                raise turn.error
            raise policy_fault(turn.error) from turn.error
        if turn.played:
            return _checked(turn.act), result, turn.act_seconds, time.perf_counter() - turn.acted
        begin = time.perf_counter()
        act = await self._asked(policy.resolve(turn.act))
        acted = time.perf_counter()
        result = await self._context.environments.step(place, act.action if isinstance(act, Act) else act)
        return act, result, turn.act_seconds + acted - begin, time.perf_counter() - acted

    async def _policy(self, place: PooledEnvironment) -> PolicyCaller:
        if place.policy is None:
            env, calls, make_policy = place.env, self._context.calls, self._context.make_policy
            assert env is not None
            try:
                made = await calls.in_thread(place.index, lambda: make_policy(env))
                place.policy = PolicyCaller(calls, place.index, made)
            except BaseException as error:
                if self._context.stopped:
                    raise
                raise EpisodeFailedError("agent", "not_made", describe(error)) from error
        policy: PolicyCaller = place.policy
        return policy

    async def _begin(self, policy: PolicyCaller, observation: Any, info: Any) -> None:
        _, seed, repetition = self.request.key
        limit = self._limit()
        try:
            await policy.begin(seed, repetition, observation, info, limit)
        except BaseException as error:
            raise self._meaning(error, limit) from error

    async def _act(self, policy: PolicyCaller, observation: Any, info: Any) -> Any:
        limit = self._limit()
        try:
            act = await policy.act(observation, info, limit)
        except BaseException as error:
            raise self._meaning(error, limit) from error
        return _checked(act)

    async def _asked(self, act: Awaitable[Any]) -> Any:
        try:
            return _checked(await act)
        except EpisodeFailedError:
            raise
        except BaseException as error:
            raise self._meaning(error, None) from error

    def _limit(self) -> float | None:
        """Return the seconds that the policy may take now."""
        limit = self._limits.act_timeout
        if self._deadline is None:
            return limit
        left = max(0.0, self._deadline - time.perf_counter())
        return left if limit is None else min(limit, left)

    def _meaning(self, error: BaseException, limit: float | None) -> BaseException:
        """Return what to raise for an exception of a call of the policy.

        Returns:
            The exception itself if it ends the episode without a failure; EpisodeLimitError if the episode's time is
            up; otherwise EpisodeFailedError.
        """
        if isinstance(error, EpisodeLimitError) or self._context.stopped:
            return error
        if isinstance(error, TookTooLongError) and limit != self._limits.act_timeout:
            return EpisodeLimitError("seconds")
        return policy_fault(error)

    def _note_version(self, act: Any, version: int | str | None) -> None:
        own = act.version if isinstance(act, Act) and act.version is not None else version
        oldest = self.oldest_version
        if self.turns == 0 or (isinstance(own, int) and isinstance(oldest, int) and own < oldest):
            self.oldest_version = own

    def _reached(self, act: Any) -> str | None:
        limits = self._limits
        if limits.max_turns is not None and self.turns >= limits.max_turns:
            return "turns"
        if limits.max_tokens is not None:
            self._tokens += _sampled_tokens(act)
            if self._tokens >= limits.max_tokens:
                return "tokens"
        if self._deadline is not None and time.perf_counter() >= self._deadline:
            return "seconds"
        return None


def _checked(act: Any) -> Any:
    """Return an act or action that an environment can take and a record can hold.

    Raises:
        EpisodeFailedError: if it is neither text nor made of JSON values.
    """
    action = act.action if isinstance(act, Act) else act
    if type(action) is not str:
        if action is None:
            raise EpisodeFailedError("agent", "invalid_action", "the policy returned None, not an action")
        try:
            json_value(action, "the action")
        except TrajectoryError as error:
            raise EpisodeFailedError("agent", "invalid_action", str(error)) from error
    return act


def _sampled_tokens(act: Any) -> int:
    if not isinstance(act, Act):
        return 0
    if act.token_ids is not None:
        return len(act.token_ids)
    count = (act.usage or {}).get("completion_tokens", 0)
    return count if isinstance(count, int) else 0
