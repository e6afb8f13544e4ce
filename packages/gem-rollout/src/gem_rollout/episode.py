"""One episode's life: from the environment that it gets to its finished record."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from gem.core import Info
from gem.errors import EpisodeLimitError
from gem.faults import is_fault
from gem.vector.env_runner import StepResult, describe
from gem_rollout.asking import EpisodeProgress, RolloutContext, bare, checked_act
from gem_rollout.environments import PooledEnvironment
from gem_rollout.faults import EpisodeFailedError, environment_fault, policy_fault
from gem_rollout.joint_turns import play_joint_turns
from gem_rollout.plan import EpisodeRequest
from gem_rollout.planned_turn import PlannedTurn
from gem_rollout.policy_calls import PolicyCaller
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder
from gem_rollout.turn_journal import EpisodeJournal, act_of

__all__ = ["EpisodeAttempt"]

_INSTANT = 0.0001
"""Seconds in which no model answers."""


@dataclass(slots=True)  # not frozen, which would cost a microsecond each
class _PlayedTurn:
    act: Any
    """The policy's act, or its action."""
    result: StepResult
    act_seconds: float
    step_seconds: float
    version: int | str | None
    """Of the weights as the policy was asked."""


class _OtherwiseError(Exception):
    """An environment did not answer as it did when the episode was interrupted; the text is a sentence."""


class EpisodeAttempt:
    """One attempt to play an episode.

    Args:
        context: what it shares with other episodes.
        request: the episode to play.
    """

    def __init__(self, context: RolloutContext, request: EpisodeRequest) -> None:
        self.request = request
        self.progress = EpisodeProgress(context, request)
        self._context = context

    async def play(self) -> Trajectory:
        """Play the episode to its end and return its record; a failure is part of the record."""
        environments = self._context.environments
        place = environments.take(self.request.spec)
        try:
            try:
                return await self._play_in(place)
            except _OtherwiseError as difference:
                self.progress = EpisodeProgress(self._context, self.request)
                record = await self._play_in(place)
                record.metadata["begun_again"] = str(difference)
                return record
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
                await environments.make(place, self.request.spec)
            observation, info = await environments.reset(place, seed)
            builder.trajectory.spec = place.spec
            self.progress.began = time.perf_counter()
            if place.joint:
                stop_reason = await play_joint_turns(self.progress, place, builder, observation, info)
            else:
                stop_reason = await self._turns(place, builder, observation, info)
        except EpisodeFailedError as fault:
            if self._context.strict and fault.kind == "not_made":
                raise fault.__cause__ or fault from None
            if builder.trajectory.started_at is None:
                builder.begin("", {"error": str(fault)})
            builder.fail(fault.source, fault.kind, str(fault))
        except asyncio.CancelledError as error:
            if self._context.stopped:
                raise
            if self.progress.dropped:
                environments.forget_policies(place)
                raise
            # Nobody dropped this episode: a client library has cancelled the task that it runs in.
            builder.fail("environment", "cancelled", describe(error))
        record = builder.finish(stop_reason)
        if record.failure is not None:
            environments.forget_policies(place)
        elif stop_reason is not None:
            # Of each agent the last turn, where there are several.
            for turn in {turn.agent: turn for turn in record.transitions}.values():
                turn.truncated = turn.truncated or not turn.terminated
        return record

    async def _turns(
        self, place: PooledEnvironment, builder: TrajectoryBuilder, observation: Any, info: Info
    ) -> str | None:
        """Play turn by turn; return the limit that ended the episode, if one did."""
        context, progress = self._context, self.progress
        builder.begin(observation, info)
        policy: PolicyCaller | None = None
        try:
            policy = None if builder.over else await progress.policy(place)
            journal: EpisodeJournal | None = None
            if policy is not None and context.journal is not None and policy.recalls:
                journal = context.journal.open(self.request.key)
                observation, info = await self._play_earlier(policy, place, builder, journal, observation, info)
                reached = None if builder.over else progress.reached()
                if reached is not None:
                    return reached
            while policy is not None and not builder.over:
                if policy.plain and context.asks_in_place:
                    played = await self._planned_turn(policy, place, observation, info)
                else:
                    played = await self._turn(policy, place, observation, info)
                act = played.act
                observation, reward, terminated, truncated, info = played.result
                progress.note_act(act, played.version)
                if is_fault(terminated, truncated, info):
                    fault = environment_fault(str(info["error"]))
                    builder.fail(
                        fault.source,
                        fault.kind,
                        str(fault),
                        action=act,
                        act_seconds=played.act_seconds,
                        step_seconds=played.step_seconds,
                        version=played.version,
                    )
                    return None
                builder.add(
                    act,
                    observation,
                    reward,
                    terminated,
                    truncated,
                    info,
                    act_seconds=played.act_seconds,
                    step_seconds=played.step_seconds,
                    version=played.version,
                )
                progress.turns += 1
                if journal is not None and not builder.over:
                    journal.add(builder.trajectory.transitions[-1], builder.track(), progress.seconds)
                reached = None if builder.over else progress.reached()
                if reached is not None:
                    return reached
        except EpisodeLimitError as reached:
            return str(reached.limit)
        finally:
            if policy is not None:
                builder.trajectory.metadata.update(await policy.end(observation, info))
        return None

    async def _play_earlier(
        self,
        policy: PolicyCaller,
        place: PooledEnvironment,
        builder: TrajectoryBuilder,
        journal: EpisodeJournal,
        observation: Any,
        info: Info,
    ) -> tuple[Any, Info]:
        """Play again what was played before the episode was interrupted, without asking the policy.

        Raises:
            _OtherwiseError: if the environment answers otherwise.
        """
        progress, earlier = self.progress, journal.earlier
        if earlier is None:
            return observation, info
        for turn in earlier.transitions:
            if builder.over:
                break
            if progress.turns == 0:
                await progress.begin(policy, observation, info)
            act = act_of(turn)
            await progress.recall(policy, observation, info, act)
            observation, reward, terminated, truncated, info = await self._context.environments.step(place, bare(act))
            if is_fault(terminated, truncated, info):
                raise _OtherwiseError(f"turn {progress.turns + 1}: {info['error']}")
            progress.note_act(act, turn.version)
            builder.add(
                act,
                observation,
                reward,
                terminated,
                truncated,
                info,
                act_seconds=turn.act_seconds,
                step_seconds=turn.step_seconds,
            )
            progress.turns += 1
        difference = journal.difference(builder.trajectory)
        if difference is not None:
            raise _OtherwiseError(str(difference))
        seconds = earlier.seconds or 0.0
        progress.began -= seconds
        builder.played_before(seconds)
        if earlier.transitions:
            builder.trajectory.metadata["recalled_turns"] = len(earlier)
        return observation, info

    async def _turn(self, policy: PolicyCaller, place: PooledEnvironment, observation: Any, info: Info) -> _PlayedTurn:
        """Ask the policy, then step the environment."""
        begin = time.perf_counter()
        if self.progress.turns == 0:
            await self.progress.begin(policy, observation, info)
        act, version = await self.progress.act(policy, observation, info)
        acted = time.perf_counter()
        if acted - begin < _INSTANT:
            await asyncio.sleep(0)  # neither policy nor environment may have waited: others must have their turn
        result = await self._context.environments.step(place, bare(act))
        return _PlayedTurn(act, result, acted - begin, time.perf_counter() - acted, version)

    async def _planned_turn(
        self, policy: PolicyCaller, place: PooledEnvironment, observation: Any, info: Info
    ) -> _PlayedTurn:
        """Have the policy asked where the environment is stepped."""
        if self.progress.turns:
            turn = PlannedTurn(partial(policy.act_here, observation, info))
        else:
            _, seed, repetition = self.request.key
            turn = PlannedTurn(partial(policy.begin_and_act, seed, repetition, observation, info))
        gate = self._context.gate
        if gate.closed:
            await gate.opened()
        version = self._context.version
        gate.turns += 1
        try:
            result = await self._context.environments.step(place, turn)
        finally:
            gate.turns -= 1
            if gate.closed:
                gate.note_end()
        if turn.error is not None:
            if isinstance(turn.error, EpisodeLimitError):
                raise turn.error
            raise policy_fault(turn.error) from turn.error
        if turn.played:
            return _PlayedTurn(turn.act, result, turn.act_seconds, time.perf_counter() - turn.acted, version)
        begin = time.perf_counter()
        act = await self.progress.result_of(policy.resolve(turn.act)) if turn.awaits else checked_act(turn.act)
        acted = time.perf_counter()
        result = await self._context.environments.step(place, bare(act))
        return _PlayedTurn(act, result, turn.act_seconds + acted - begin, time.perf_counter() - acted, version)
