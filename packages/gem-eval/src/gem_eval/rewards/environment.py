"""The reward ``environment``: what the environment itself paid, as a part of composites."""

from __future__ import annotations

from gem.arguments import choice
from gem_questions.rewards import Reward, Score
from gem_rollout.trajectory import Trajectory

__all__ = ["EnvironmentReward"]


class EnvironmentReward(Reward):
    """The episode's own return, or 1.0 and 0.0 by its own success.

    Args:
        of: ``"return"`` or ``"success"``; an episode whose environment tells no success is then unreadable.
    """

    def __init__(self, *, of: str = "return") -> None:
        self.of = choice("of", of, ("return", "success"))

    def score(self, trajectory: Trajectory) -> Score:
        if self.of == "return":
            return Score(trajectory.episode_return)
        success = trajectory.success
        if success is None:
            return Score.unreadable("the environment does not tell whether the episode succeeded", "no_answer_known")
        return Score(float(success))

    def per_turn(self, trajectory: Trajectory, start: int = 0) -> list[float]:
        return [float(transition.reward) for transition in trajectory.transitions[start:]]
