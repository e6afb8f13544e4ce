"""Rewards applied beside the environment's own while an evaluation goes on."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gem.errors import ArgumentError, ArgumentTypeError
from gem_eval.runs.errors import EvaluationConfigError
from gem_questions.rewards import Reward, RewardContext, Score, make_reward, score_episode, score_episode_async
from gem_rollout.trajectory import Trajectory

__all__ = ["EpisodeScorer"]


class EpisodeScorer:
    """Scores episodes with several rewards. One that fails on an episode gives that episode an unreadable score."""

    def __init__(self, rewards: Iterable[str | Mapping[str, Any] | Reward]) -> None:
        """Make the rewards.

        Raises:
            EvaluationConfigError: if two are recorded under one name, or one refuses its arguments.
            MissingPluginError: for an unknown name.
        """
        self.rewards: dict[str, Reward] = {}
        for item in rewards:
            try:
                reward = make_reward(item)
            except (ArgumentError, ArgumentTypeError) as error:
                raise EvaluationConfigError(str(error)) from error
            if reward.recorded_as in self.rewards:
                raise EvaluationConfigError(
                    f"two rewards would be recorded as {reward.recorded_as!r}; give one of them another 'label'"
                )
            self.rewards[reward.recorded_as] = reward

    @property
    def configs(self) -> list[dict[str, Any]]:
        """Names and arguments of the rewards, without what may be secret."""
        return [reward.config for reward in self.rewards.values()]

    def begin(self, folder: Path, judge: Mapping[str, Any]) -> None:
        """Tell the rewards which run they score.

        Raises:
            EvaluationConfigError: if one lacks something, such as a judge.
        """
        for reward in self.rewards.values():
            try:
                reward.begin(RewardContext(folder, judge))
            except (ArgumentError, ArgumentTypeError) as error:
                raise EvaluationConfigError(f"the reward {reward.recorded_as!r}: {error}") from error

    async def score(self, trajectory: Trajectory) -> None:
        """Put the scores of a finished episode into its record."""
        for name, reward in self.rewards.items():
            if reward.asynchronous:
                score = await score_episode_async(reward, trajectory)
            else:
                score = await asyncio.to_thread(score_episode, reward, trajectory)
            trajectory.scores[name] = _recordable(score).to_dict()

    async def close(self) -> None:
        """Release what the rewards hold."""
        for reward in self.rewards.values():
            closed = reward.close()
            if inspect.isawaitable(closed):
                await closed


def _recordable(score: Score) -> Score:
    """Return a score that a record can hold: itself, unless its further data is no JSON."""
    try:
        json.dumps(score.to_dict(), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return Score.unreadable(f"the score cannot be recorded: {error}", "exception")
    return score
