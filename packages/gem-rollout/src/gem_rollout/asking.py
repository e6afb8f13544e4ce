"""What one episode knows while it is played, and how it asks a policy: :class:`EpisodeProgress`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem.core import Info
from gem.errors import ArgumentError, EpisodeLimitError, TrajectoryError
from gem.policies import Act, call_fitting
from gem.vector.env_runner import describe
from gem_rollout.environments import EnvironmentPool, PooledEnvironment
from gem_rollout.faults import EpisodeFailedError, policy_fault
from gem_rollout.limits import EpisodeLimits
from gem_rollout.plan import EpisodeRequest
from gem_rollout.policy_calls import PolicyCaller, PolicyCalls, TookTooLongError
from gem_rollout.seating import Seating
from gem_rollout.trajectory.json_values import json_value
from gem_rollout.turn_journal import TurnJournal
from gem_rollout.weight_gate import WeightGate

__all__ = ["EpisodeProgress", "PolicyMaker", "RolloutContext", "bare", "checked_act"]

PolicyMaker = Callable[..., Any] | Mapping[str, Callable[..., Any]] | Seating
"""Called with the environment; where several agents act, with the environment and the agent's name if it takes both.
Or a mapping from the agent's name to such callables, or policies that change seats."""


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
    gate: WeightGate
    """Holds back calls of policies while the weights change."""
    journal: TurnJournal | None = None
    """Where turns of running episodes are kept, to continue them in another process."""
    stopped: bool = False
    """Whether running episodes are being dropped."""


class EpisodeProgress:
    """An episode that is being played: how far it is, and what its limits leave."""

    def __init__(self, context: RolloutContext, request: EpisodeRequest) -> None:
        self.context = context
        self.request = request
        self.turns = 0
        self.oldest_version: int | str | None = None
        """The oldest version of the policy that a turn was played by."""
        self.seats: dict[str, str] = {}
        """The policy of each agent, by its name in a :class:`Seating`."""
        self.evaluated: str | None = None
        """The agent that the evaluated policy of a :class:`Seating` is."""
        self.dropped = False
        """Whether the engine drops the episode, because it has become too old."""
        self._begun_version = context.version
        self.began = time.perf_counter()
        self._tokens = 0

    async def policy(self, place: PooledEnvironment, agent: str | None = None) -> PolicyCaller:
        """Return the policy that acts in an environment, for one of its agents where it has several.

        Raises:
            EpisodeFailedError: if it cannot be made.
        """
        name = self.seats.get(agent or "")
        known = place.policies.get((agent, name))
        if known is None:
            env, calls, make_policy = place.env, self.context.calls, self.context.make_policy
            if isinstance(make_policy, Seating) and name is not None:
                make_policy = make_policy.pool[name]
            try:
                made = await calls.in_thread(place.index, lambda: _made(make_policy, env, agent))
                known = place.policies[agent, name] = PolicyCaller(calls, place.index, made)
            except BaseException as error:
                if self.context.stopped or self.dropped:
                    raise
                raise EpisodeFailedError("agent", "not_made", describe(error)) from error
        return known

    def take_seats(self, agents: Sequence[str]) -> dict[str, Any]:
        """Seat the policies of a :class:`Seating`, if there is one, and return what the record says of it."""
        seating = self.context.make_policy
        if not isinstance(seating, Seating):
            return {}
        _, seed, repetition = self.request.key
        self.seats = seating.line_up(agents, seed, repetition)
        facts: dict[str, Any] = {"seats": dict(self.seats)}
        if seating.evaluated is not None:
            self.evaluated = next(agent for agent, name in self.seats.items() if name == seating.evaluated)
            facts["evaluated"] = self.evaluated
        return facts

    async def begin(self, policy: PolicyCaller, observation: Any, info: Info) -> None:
        """Have a policy begin the episode; raises as :meth:`act` does."""
        _, seed, repetition = self.request.key
        limit = self._limit()
        try:
            await policy.begin(seed, repetition, observation, info, limit)
        except BaseException as error:
            raise self._meaning(error, limit) from error

    async def act(self, policy: PolicyCaller, observation: Any, info: Info) -> tuple[Any, int | str | None]:
        """Return a policy's action or act, and the version of the weights as it was asked.

        Raises:
            EpisodeLimitError: if the policy says so, or the episode's time is up.
            EpisodeFailedError: if the policy fails, or returns something that is no action.
        """
        limit: float | None = None
        version: int | str | None = None

        def call() -> Awaitable[Any]:
            nonlocal limit, version
            limit, version = self._limit(), self.context.version
            return policy.act(observation, info, limit)

        try:
            result = await self.context.gate.ask(call, self.is_dropped, policy.droppable)
        except BaseException as error:
            raise self._meaning(error, limit) from error
        return checked_act(result), version

    def is_dropped(self) -> bool:
        """Whether nobody wants the episode any more."""
        return self.context.stopped or self.dropped

    async def recall(self, policy: PolicyCaller, observation: Any, info: Info, act: Act) -> None:
        """Tell a policy what it answered before; raises as :meth:`act` does."""
        limit = self._limit()
        try:
            await policy.recall(observation, info, act, limit)
        except BaseException as error:
            raise self._meaning(error, limit) from error

    async def result_of(self, act: Awaitable[Any]) -> Any:
        """Return an awaited action or act; raises as :meth:`act` does."""
        try:
            result = await act
        except BaseException as error:
            raise self._meaning(error, None) from error
        return checked_act(result)

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since the reset, of all processes that have played the episode."""
        return time.perf_counter() - self.began

    def oldest(self) -> int | str | None:
        """Return the oldest version that has sampled in the episode, or that may be sampling its first turn."""
        return self._begun_version if self.oldest_version is None else self.oldest_version

    def note_act(self, act: Any, version: int | str | None) -> None:
        """Count the tokens of an act, and note its version: its own, or that of the engine when it was asked for."""
        own = version
        if isinstance(act, Act):
            own = version if act.version is None else act.version
            self._tokens += _sampled_tokens(act)
        oldest = self.oldest_version
        if oldest is None or (isinstance(own, int) and isinstance(oldest, int) and own < oldest):
            self.oldest_version = own

    def reached(self) -> str | None:
        """Return the limit that the episode has reached, after a turn."""
        limits = self.context.limits
        if limits.max_turns is not None and self.turns >= limits.max_turns:
            return "turns"
        if limits.max_tokens is not None and self._tokens >= limits.max_tokens:
            return "tokens"
        if limits.max_seconds is not None and self.seconds >= limits.max_seconds:
            return "seconds"
        return None

    def _limit(self) -> float | None:
        """Return the seconds that the policy may take now."""
        limits = self.context.limits
        if limits.max_seconds is None:
            return limits.act_timeout
        left = max(0.0, self.began + limits.max_seconds - time.perf_counter())
        return left if limits.act_timeout is None else min(limits.act_timeout, left)

    def _meaning(self, error: BaseException, limit: float | None) -> BaseException:
        """Return what to raise for an exception of a call of the policy.

        Returns:
            The exception itself if it ends the episode without a failure; EpisodeLimitError if the episode's time is
            up; otherwise EpisodeFailedError.
        """
        if isinstance(error, EpisodeLimitError) or self.is_dropped():
            return error
        if isinstance(error, TookTooLongError) and limit != self.context.limits.act_timeout:
            return EpisodeLimitError("seconds")
        return policy_fault(error)


def checked_act(act: Any) -> Any:
    """Return an act or action that an environment can take and a record can hold.

    Raises:
        EpisodeFailedError: if it is neither text nor made of JSON values.
    """
    action = bare(act)
    if type(action) is not str:
        if action is None:
            raise EpisodeFailedError("agent", "invalid_action", "the policy returned None, not an action")
        try:
            json_value(action, "the action")
        except TrajectoryError as error:
            raise EpisodeFailedError("agent", "invalid_action", str(error)) from error
    return act


def bare(act: Any) -> Any:
    """Return the action of an act, or the action itself."""
    return act.action if isinstance(act, Act) else act


def _made(make_policy: PolicyMaker, env: Any, agent: str | None) -> Any:
    """Return a new policy.

    Raises:
        ArgumentError: if nothing makes a policy for this agent.
    """
    if isinstance(make_policy, Seating) or (agent is None and isinstance(make_policy, Mapping)):
        raise ArgumentError(f"policies by agent are for environments with several agents, and {env!r} has one")
    if isinstance(make_policy, Mapping):
        if agent is None or agent not in make_policy:
            known = ", ".join(make_policy) or "none"
            raise ArgumentError(f"no policy is given for the agent {agent!r}; there are {known}")
        return call_fitting(make_policy[agent], env, agent)
    return make_policy(env) if agent is None else call_fitting(make_policy, env, agent)


def _sampled_tokens(act: Act) -> int:
    if act.token_ids is not None:
        return len(act.token_ids)
    count = act.usage.get("completion_tokens", 0) if isinstance(act.usage, dict) else 0
    return count if isinstance(count, int) else 0
