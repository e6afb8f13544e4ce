"""Limits unknown to the agent: :class:`TimeLimit` in steps, as in Gymnasium, and :class:`WallClockLimit` in seconds.

Both end an episode as ``truncated`` alone: the task is undecided, and a learner should bootstrap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gem.arguments import boolean, integer, real
from gem.core import Env, Info, Wrapper
from gem.errors import ArgumentTypeError, EpisodeFinishedError

__all__ = ["TimeLimit", "WallClockLimit"]


class _Limit(Wrapper[Any, Any]):
    """Truncates an episode once ``_is_used_up`` returns true."""

    def __init__(self, env: Env[Any, Any]) -> None:
        super().__init__(env)
        self._over = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        observation, info = super().reset(seed=seed, options=options)
        self._over = False
        self._begin()
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        if self._over:
            raise EpisodeFinishedError(f"the episode of {self!r} has ended; call reset() to begin another")
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._is_used_up() and not terminated:
            truncated = True
        self._over = terminated or truncated
        return observation, reward, terminated, truncated, info

    def _begin(self) -> None:
        raise NotImplementedError

    def _is_used_up(self) -> bool:
        """Return whether the step just taken was the last; called once per step."""
        raise NotImplementedError


class TimeLimit(_Limit):
    """Truncates an episode after a number of steps, as Gymnasium's wrapper of the same name does.

    The limit can change over a run: a curriculum gives the agent more steps as it learns; see :meth:`set_limit`. An
    episode keeps the limit that it began with, so that it can be played again.

    Args:
        env: the environment.
        max_episode_steps: steps of an episode, at least 1; or a schedule, a function from the number of earlier
            episodes (0 for the first) to the limit of the next.
    """

    def __init__(self, env: Env[Any, Any], max_episode_steps: int | Callable[[int], int]) -> None:
        super().__init__(env)
        self.set_limit(max_episode_steps)
        self._limit: int | None = None
        self._step = 0
        self._episodes = 0

    def set_limit(self, max_episode_steps: int | Callable[[int], int]) -> None:
        """Change the limit from the next ``reset`` on.

        Raises:
            ArgumentTypeError, ArgumentError: if it is neither a positive int nor callable.
        """
        self._next_limit = max_episode_steps if callable(max_episode_steps) else _steps(max_episode_steps)

    def _begin(self) -> None:
        following = self._next_limit
        limit = following if isinstance(following, int) else following(self._episodes)
        self._limit = _steps(limit)
        self._step = 0
        self._episodes += 1

    def _is_used_up(self) -> bool:
        self._step += 1
        return self._limit is not None and self._step >= self._limit

    def _own_state(self) -> Info:
        following = self._next_limit
        return {
            "over": self._over,
            "limit": self._limit,
            "step": self._step,
            "episodes": self._episodes,
            # A schedule is an argument of the wrapper, not part of its state.
            "next_limit": following if isinstance(following, int) else None,
        }

    def _set_own_state(self, state: Info) -> None:
        over = boolean("over", state["over"])
        limit, following = state["limit"], state["next_limit"]
        if limit is not None:
            _steps(limit)
        if following is None and isinstance(self._next_limit, int):
            raise ValueError("the state is of a wrapper with a schedule")
        step, episodes = integer("step", state["step"], minimum=0), integer("episodes", state["episodes"], minimum=0)
        if following is not None:
            self._next_limit = _steps(following)
        self._over, self._limit, self._step, self._episodes = over, limit, step, episodes


class WallClockLimit(_Limit):
    """Truncates an episode with the first step that returns after a number of seconds.

    The time runs from the return of ``reset``, also while the agent thinks. The limit does not interrupt a step; for
    environments that may hang see ``step_timeout`` of :func:`gem.make_vec`. The elapsed time of an episode is part
    of its state.

    Args:
        env: the environment.
        seconds: length of an episode; the step that returns at exactly this time is the last.
        clock: returns the seconds since any fixed point; :func:`time.monotonic` by default.
    """

    def __init__(self, env: Env[Any, Any], seconds: float, clock: Callable[[], float] | None = None) -> None:
        super().__init__(env)
        self._seconds = real("seconds", seconds, minimum=0.0)
        if clock is not None and not callable(clock):
            raise ArgumentTypeError(f"clock must be callable, got {type(clock).__name__}")
        self._clock = time.monotonic if clock is None else clock
        self._began: float | None = None

    def _begin(self) -> None:
        self._began = self._clock()

    def _is_used_up(self) -> bool:
        return self._began is not None and self._clock() - self._began >= self._seconds

    def _own_state(self) -> Info:
        elapsed = None if self._began is None else self._clock() - self._began
        return {"over": self._over, "elapsed": elapsed}

    def _set_own_state(self, state: Info) -> None:
        over, elapsed = boolean("over", state["over"]), state["elapsed"]
        self._began = None if elapsed is None else self._clock() - real("elapsed", elapsed)
        self._over = over


def _steps(value: Any) -> int:
    return integer("max_episode_steps", value, minimum=1)
