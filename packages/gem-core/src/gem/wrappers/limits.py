"""Limits that the agent is not told of: :class:`TurnLimit` and :class:`TimeLimit`.

Both end an episode as ``truncated`` alone: the task is undecided, and a learner should bootstrap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gem.arguments import boolean, integer, real
from gem.core import Env, Info, Wrapper
from gem.errors import ArgumentTypeError, EpisodeFinishedError

__all__ = ["TimeLimit", "TurnLimit"]


class _Limit(Wrapper[Any, Any]):
    """Truncates an episode when ``_is_used_up`` says so."""

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
        """Tell whether the step that has just been taken was the last; called once a step."""
        raise NotImplementedError


class TurnLimit(_Limit):
    """Ends an episode after some number of turns.

    The limit can change over a run, for a curriculum that gives the agent more turns as it learns; see
    :meth:`set_limit`. An episode keeps the limit that it began with, so that it can be played again.

    Args:
        env: the environment.
        limit: turns of an episode, at least 1; or a schedule, a function from the number of episodes that
            were begun before (0 for the first) to the limit of the next.
    """

    def __init__(self, env: Env[Any, Any], limit: int | Callable[[int], int]) -> None:
        super().__init__(env)
        self.set_limit(limit)
        self._limit: int | None = None
        self._turn = 0
        self._episodes = 0

    def set_limit(self, limit: int | Callable[[int], int]) -> None:
        """Change the limit from the next ``reset`` on.

        Raises:
            ArgumentTypeError, ArgumentError: if it is neither a positive int nor callable.
        """
        self._next_limit = limit if callable(limit) else integer("limit", limit, minimum=1)

    def _begin(self) -> None:
        following = self._next_limit
        limit = following if isinstance(following, int) else following(self._episodes)
        self._limit = integer("limit", limit, minimum=1)
        self._turn = 0
        self._episodes += 1

    def _is_used_up(self) -> bool:
        self._turn += 1
        return self._limit is not None and self._turn >= self._limit

    def _own_state(self) -> Info:
        following = self._next_limit
        return {
            "over": self._over,
            "limit": self._limit,
            "turn": self._turn,
            "episodes": self._episodes,
            # A schedule is part of how the wrapper was made, not of its state.
            "next_limit": following if isinstance(following, int) else None,
        }

    def _set_own_state(self, state: Info) -> None:
        over = boolean("over", state["over"])
        limit, following = state["limit"], state["next_limit"]
        if limit is not None:
            integer("limit", limit, minimum=1)
        if following is None and isinstance(self._next_limit, int):
            raise ValueError("the state is of a wrapper with a schedule")
        turn, episodes = integer("turn", state["turn"], minimum=0), integer("episodes", state["episodes"], minimum=0)
        if following is not None:
            self._next_limit = integer("next_limit", following, minimum=1)
        self._over, self._limit, self._turn, self._episodes = over, limit, turn, episodes


class TimeLimit(_Limit):
    """Ends an episode with the first step that returns after some time.

    The time runs from the return of ``reset``, while the agent thinks as well. A step that is going on is not
    interrupted; for environments that may hang see the step timeout of :func:`gem.make_vec`. The time that an
    episode has taken so far is part of its state.

    Args:
        env: the environment.
        seconds: time for an episode.
        clock: returns seconds from any fixed point on; :func:`time.monotonic` unless given.
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
