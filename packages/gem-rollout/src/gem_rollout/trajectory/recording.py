"""Recording the episodes of any loop: :class:`RecordTrajectories`."""

from __future__ import annotations

import os
from typing import Any

from gem.arguments import string
from gem.core import Env, Info, Wrapper
from gem.faults import INTERRUPTS
from gem_rollout.trajectory.builder import TrajectoryBuilder
from gem_rollout.trajectory.files import TrajectoryWriter

__all__ = ["RecordTrajectories"]


class RecordTrajectories(Wrapper[Any, Any]):
    """Appends each episode to a file, for loops that know nothing of trajectories; observations stay unchanged.

    An episode is written at its end, in one write, so that the environments of a vector environment, also in several
    processes, can share a file. An episode that ends early, by ``reset`` or ``close``, is written with the stop reason
    ``abandoned``. The record names the wrappers inside this one, so that a replay records nothing. As the outermost
    wrapper it records the observations as the agent sees them.

    After ``set_state`` nothing is recorded until the next ``reset``, because a state holds no earlier turns.

    Args:
        env: the environment.
        path: the file, JSON lines; its folder is made.
        agent: the name of the policy or model, for the record.
    """

    def __init__(self, env: Env[Any, Any], path: str | os.PathLike[str], agent: str = "") -> None:
        super().__init__(env)
        self._path = string("path", os.fspath(path))
        self._agent = string("agent", agent) if agent else ""
        self._builder: TrajectoryBuilder | None = None

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        self._write("abandoned")
        observation, info = super().reset(seed=seed, options=options)
        self._builder = TrajectoryBuilder(self.env.spec, seed, agent=self._agent)
        self._builder.begin(observation, info)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        builder = self._builder
        if builder is None or builder.over:
            return self.env.step(action)
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
        except INTERRUPTS:
            raise
        except BaseException as error:
            builder.fail("environment", "exception", f"{type(error).__name__}: {error}", action=action)
            self._write()
            raise
        builder.add(action, observation, reward, terminated, truncated, info)
        if terminated or truncated or builder.failure is not None:
            self._write()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        self._write("abandoned")
        super().close()

    def _write(self, stop_reason: str | None = None) -> None:
        builder, self._builder = self._builder, None
        if builder is not None and (builder.turns or builder.failure):
            with TrajectoryWriter(self._path) as writer:
                writer.write(builder.finish(stop_reason))

    def _set_own_state(self, state: Info) -> None:
        self._write("abandoned")
