"""Recording an episode while it is played: :class:`TrajectoryBuilder`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from gem.core import Info
from gem.env_spec import EnvSpec
from gem.errors import TrajectoryError
from gem.policies import Act
from gem_rollout.trajectory.edit_chain import Track, TrackRecorder
from gem_rollout.trajectory.json_values import json_value, number
from gem_rollout.trajectory.record import Trajectory
from gem_rollout.trajectory.token_versions import token_versions
from gem_rollout.trajectory.transition import Failure, FailureSource, Transition
from gem_rollout.trajectory.turns import log_probabilities, top_log_probabilities

__all__ = ["TrajectoryBuilder"]

_PLAIN = [
    (name, attrgetter(name))
    for name in (
        *("token_ids", "tokens", "usage", "finish_reason", "reasoning", "model", "version", "version_spans"),
        "metadata",
    )
]
"""The fields of an act that are recorded as they are."""


class TrajectoryBuilder:
    """Records one episode, turn by turn, in memory that grows with what each turn added.

    ::

        builder = TrajectoryBuilder(env.spec, seed)
        observation, info = env.reset(seed=seed)
        builder.begin(observation, info)
        while not builder.over:
            action = policy.act(observation, info)
            observation, reward, terminated, truncated, info = env.step(action)
            builder.add(action, observation, reward, terminated, truncated, info)
        trajectory = builder.finish()

    Whatever the environment and the agent return, no method raises for it. Values of NumPy become JSON values; where
    JSON cannot hold a value, or the reward is no finite number, the episode has failed: ``failure`` says why, ``over``
    is true, and later turns are ignored.

    Args:
        spec: the environment's spec.
        seed: the seed of the reset.
        repetition: the number of the episode within its group.
        label: the environment's label in a run, where that differs from its id.
        agent: the name of the policy or model.
        metadata: further data about the episode, JSON-serialisable.
    """

    def __init__(
        self,
        spec: EnvSpec | None = None,
        seed: int | None = None,
        *,
        repetition: int = 0,
        label: str | None = None,
        agent: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        seed = json_value(seed, "seed")
        self.trajectory = Trajectory(spec, seed, agent=agent, repetition=repetition, metadata=dict(metadata or {}))
        """The record so far; it can be read at any time."""
        if label is not None and (spec is None or label != spec.id):
            self.trajectory.metadata["label"] = label
        self._began = time.perf_counter()
        self._recorders: dict[str | None, TrackRecorder] = {}
        self._tracks: dict[str | None, Track] = {}
        self._recorder(None)
        self.trajectory.rebuild_from(self._tracks)
        self._steps = 0
        self._ended = False

    @property
    def turns(self) -> int:
        """The number of recorded turns."""
        return len(self.trajectory.transitions)

    @property
    def failure(self) -> Failure | None:
        """Why the episode failed; None if it has not."""
        return self.trajectory.failure

    def played_before(self, seconds: float) -> None:
        """Count so many seconds that another process has played."""
        self._began -= seconds

    def track(self) -> Track:
        """The observations and prompts so far, of an environment with one agent."""
        return self._tracks[None]

    @property
    def over(self) -> bool:
        """Whether the episode has ended: terminated, truncated or failed."""
        return self._ended

    def begin(self, observation: Any, info: Info) -> None:
        """Record what ``reset`` returned; in an environment with several agents, dicts by agent."""
        record = self.trajectory
        record.started_at, self._began = time.time(), time.perf_counter()
        try:
            record.reset_info = _info(info)
            self._recorders[None].observe(observation)
        except TrajectoryError as error:
            self.fail("environment", "invalid_result", str(error))

    def add(
        self,
        action: Any | Act,
        observation: Any,
        reward: Any,
        terminated: Any,
        truncated: Any,
        info: Info,
        *,
        tool_calls: Sequence[dict[str, Any]] = (),
        act_seconds: float | None = None,
        step_seconds: float | None = None,
        version: int | str | None = None,
    ) -> None:
        """Record a turn: an action and what ``step`` returned for it.

        Args:
            action: the action, or an :class:`gem.policies.Act` with it.
            observation: the observation after the action.
            reward: the reward of the step.
            terminated: whether the episode is terminated.
            truncated: whether the episode is truncated.
            info: the info of the step.
            tool_calls: the tools that the action called.
            act_seconds: wall-clock seconds that the agent took.
            step_seconds: wall-clock seconds that the environment took.
            version: the version of the policy's weights, unless the act names one.
        """
        if self._ended:
            return
        turn = self._turn(action, None, act_seconds, step_seconds, version)
        if turn is None:
            return
        try:
            if tool_calls:
                turn.tool_calls = json_value(tool_calls, "tool_calls")
            turn.info = _info(info)
            turn.reward = number(reward, "the reward")
            turn.terminated, turn.truncated = _flag(terminated, "terminated"), _flag(truncated, "truncated")
            self._recorders[None].observe(observation)
        except TrajectoryError as error:
            self._fail_turns([turn], "environment", "invalid_result", str(error))
            return
        self._ended = turn.terminated or turn.truncated

    def add_step(
        self,
        actions: Mapping[str, Any | Act],
        observations: Mapping[str, Any],
        rewards: Mapping[str, Any],
        terminations: Mapping[str, Any],
        truncations: Mapping[str, Any],
        infos: Mapping[str, Info],
        *,
        over: bool = False,
        act_seconds: Mapping[str, float] | None = None,
        step_seconds: float | None = None,
        versions: Mapping[str, int | str | None] | None = None,
    ) -> None:
        """Record a step of an environment with several agents: a turn of each agent that acted.

        The other agents' results belong to their own last turns: rewards add up, flags and keys of info join. Results
        of an agent that has not acted yet are in ``metadata["before_acting"]``, by agent.

        Args:
            actions: by agent, the actions or acts.
            observations: what ``step`` returned, like the next four.
            rewards: by agent.
            terminations: by agent.
            truncations: by agent.
            infos: by agent.
            over: whether no agent is left.
            act_seconds: wall-clock seconds that each agent took.
            step_seconds: wall-clock seconds that the environment took.
            versions: the version of each agent's weights, unless its act names one.
        """
        if self._ended:
            return
        self._separate_agents()
        turns: dict[str, Transition] = {}
        for agent, action in actions.items():
            seconds, version = (act_seconds or {}).get(agent), (versions or {}).get(agent)
            turn = self._turn(action, agent, seconds, step_seconds, version)
            if turn is None:
                return
            turn.step = self._steps
            turns[agent] = turn
        self._steps += 1
        try:
            for agent, observation in observations.items():
                self._recorder(agent).observe(observation)
                reward = number(rewards.get(agent, 0.0), f"the reward of {agent}")
                terminated = _flag(terminations.get(agent, False), "terminated")
                truncated = _flag(truncations.get(agent, False), "truncated")
                info = _info(infos.get(agent, {}))
                turn = turns.get(agent) or self._last_turn(agent)
                if turn is None:
                    self._before_acting(agent, reward, terminated, truncated, info)
                    continue
                turn.reward += reward
                turn.terminated, turn.truncated = turn.terminated or terminated, turn.truncated or truncated
                turn.info = {**turn.info, **info}
        except TrajectoryError as error:
            self._fail_turns(list(turns.values()), "environment", "invalid_result", str(error))
            return
        self._ended = over

    def fail(
        self,
        source: FailureSource,
        kind: str,
        message: str,
        *,
        action: Any | Act = None,
        actions: Mapping[str, Any | Act] | None = None,
        act_seconds: float | None = None,
        step_seconds: float | None = None,
        version: int | str | None = None,
    ) -> None:
        """Record that the episode failed. Only the first failure of an episode counts.

        Args:
            source: the cause.
            kind: a word for tables, such as ``exception`` or ``timeout``.
            message: what happened.
            action: the action that the environment failed at, if it was that; it becomes a last turn, truncated, with
                the message in ``info["error"]``.
            actions: the same by agent, in an environment with several agents.
            act_seconds: as for :meth:`add`, of that last turn.
            step_seconds: as for :meth:`add`, of that last turn.
            version: as for :meth:`add`, of that last turn.
        """
        if self.failure is not None:
            return
        if actions is not None:
            self._separate_agents()
        acted = {None: action} if actions is None and action is not None else dict(actions or {})
        turns: list[Transition] = []
        for agent, act in acted.items():
            turn = self._turn(act, agent, act_seconds, step_seconds, version)
            if turn is None:
                return
            turn.step = None if agent is None else self._steps
            turns.append(turn)
        self._fail_turns(turns, source, kind, message)

    def finish(self, stop_reason: str | None = None, *, seconds: float | None = None) -> Trajectory:
        """Return the finished record.

        Args:
            stop_reason: the limit that ended the episode, if one did; otherwise the flags of the last turn tell.
            seconds: the time that the episode took, in wall-clock seconds; measured since ``begin`` unless given.
        """
        record = self.trajectory
        self._ended = True
        for track in self._tracks.values():
            track.observations.forget()
            track.prompts.forget()
        record.seconds = time.perf_counter() - self._began if seconds is None else seconds
        if record.failure is None:
            record.stop_reason = stop_reason or _reason(record)
        return record

    def _turn(
        self,
        action: Any | Act,
        agent: str | None,
        act_seconds: float | None,
        step_seconds: float | None,
        version: int | str | None,
    ) -> Transition | None:
        """Add a turn with the agent's part filled in; return None after recording that this is impossible."""
        act = action if isinstance(action, Act) else None
        recorder = self._recorder(agent)
        try:
            plain = json_value(action if act is None else act.action, "the action")
            values: dict[str, Any] = {"action": plain, "reward": 0.0, "terminated": False, "truncated": False}
            prompt = None
            if act is not None:
                prompt = act.prompt_token_ids
                for name, get in _PLAIN:
                    value = get(act)
                    if value is not None:
                        values[name] = value if type(value) is str else json_value(value, name)
                if act.version_spans is not None:
                    token_versions(act.version, act.version_spans, len(values.get("token_ids") or ()))
                if act.logprobs is not None:
                    values["logprobs"] = log_probabilities(act.logprobs)
                if act.top_logprobs is not None:
                    values["top_logprobs"] = top_log_probabilities(act.top_logprobs)
            index = recorder.act(plain, prompt, values.get("token_ids"))
        except TrajectoryError as error:
            self.fail("agent", "invalid_result", str(error))
            return None
        if version is not None:
            values.setdefault("version", version)
        if agent is not None:
            values["agent"] = agent
        values["act_seconds"], values["step_seconds"] = act_seconds, step_seconds
        turn = Transition.recorded(recorder.track, index, values)
        self.trajectory.transitions.append(turn)
        return turn

    def _recorder(self, agent: str | None) -> TrackRecorder:
        if agent not in self._recorders:
            self._recorders[agent] = recorder = TrackRecorder()
            self._tracks[agent] = recorder.track
        return self._recorders[agent]

    def _separate_agents(self) -> None:
        """Give each agent a track of its own, at the first step of an environment with several agents."""
        if None not in self._tracks:
            return
        first = self._tracks.pop(None).latest
        del self._recorders[None]
        for agent, observation in first.items() if isinstance(first, dict) else ():
            self._recorder(agent).observe(observation)

    def _last_turn(self, agent: str) -> Transition | None:
        return next((turn for turn in reversed(self.trajectory.transitions) if turn.agent == agent), None)

    def _before_acting(self, agent: str, reward: float, terminated: bool, truncated: bool, info: Info) -> None:
        results = self.trajectory.metadata.setdefault("before_acting", {})
        so_far = results.get(agent, {"reward": 0.0, "terminated": False, "truncated": False, "info": {}})
        results[agent] = {
            "reward": so_far["reward"] + reward,
            "terminated": so_far["terminated"] or terminated,
            "truncated": so_far["truncated"] or truncated,
            "info": {**so_far["info"], **info},
        }

    def _fail_turns(self, turns: list[Transition], source: FailureSource, kind: str, message: str) -> None:
        """Record a failure of the step that these turns, which are the last ones, were part of."""
        for turn in turns:
            turn.reward, turn.terminated, turn.truncated, turn.info = 0.0, False, True, {"error": message}
            self._recorder(turn.agent).observe_again()
        self.trajectory.failure = Failure(source, kind, message, self.turns - len(turns))
        self._ended = True


def _info(info: Any) -> Info:
    if type(info) is not dict and not isinstance(info, Mapping):
        raise TrajectoryError(f"info is of type {type(info).__name__}, not a dict")
    converted: Info = json_value(info, "info")
    return converted


def _flag(value: Any, name: str) -> bool:
    if type(value) is bool:
        return value
    try:
        return bool(value)
    except Exception as error:
        raise TrajectoryError(f"{name} is no boolean: {error}") from None


def _reason(record: Trajectory) -> str | None:
    if not record.transitions:
        return None
    last = record.transitions[-1]
    return "terminated" if last.terminated else "truncated" if last.truncated else None
