"""Counting steps and rewards: :class:`EpisodeTracking`."""

from __future__ import annotations

from typing import Any

from gem.arguments import integer, real
from gem.core import Env, Info, Wrapper
from gem.errors import ArgumentTypeError

__all__ = ["EpisodeTracking"]


class EpisodeTracking(Wrapper[Any, Any]):
    """Adds to every info ``step_counter`` and ``cumulative_rewards``, the steps and the return of the episode so far.

    On ``reset`` both are zero, and ``prev_ep_step_counter`` and ``prev_ep_cumulative_rewards`` hold their final values
    in the episode before. As the outermost wrapper it counts the agent's actions.

    Raises:
        ArgumentTypeError: for an environment with several agents.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        super().__init__(env)
        if hasattr(self.unwrapped, "active_agents"):
            raise ArgumentTypeError(
                f"EpisodeTracking sums up one reward a step, and {env!r} has one for each of several agents; its own "
                "cumulative_rewards has the sums"
            )
        self._steps = 0
        self._return = 0.0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        observation, info = super().reset(seed=seed, options=options)
        before = {"prev_ep_step_counter": self._steps, "prev_ep_cumulative_rewards": self._return}
        self._steps, self._return = 0, 0.0
        return observation, {**info, "step_counter": 0, "cumulative_rewards": 0.0, **before}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._steps += 1
        self._return += reward
        counters = {"step_counter": self._steps, "cumulative_rewards": self._return}
        return observation, reward, terminated, truncated, {**info, **counters}

    def _own_state(self) -> Info:
        return {"steps": self._steps, "return": self._return}

    def _set_own_state(self, state: Info) -> None:
        steps, total = integer("steps", state["steps"], minimum=0), real("return", state["return"])
        self._steps, self._return = steps, total
