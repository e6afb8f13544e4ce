"""Applying a reward so that its faults become unreadable scores: :func:`score_episode` and its async twin."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from gem_questions.rewards.loop_thread import LOOP
from gem_questions.rewards.reward import Reward, Score

if TYPE_CHECKING:
    from gem_rollout.trajectory import Trajectory

__all__ = ["close_reward", "score_episode", "score_episode_async", "score_turns"]

_LONGEST_MESSAGE = 500  # characters; an exception can carry a whole document


async def score_episode_async(reward: Reward, trajectory: Trajectory) -> Score:
    """Return the score of an episode; a reward that raises gives an unreadable one."""
    try:
        result = reward.score(trajectory)
        return _checked(await result if inspect.isawaitable(result) else result)
    except Exception as error:
        return _fault(reward, error)


def score_episode(reward: Reward, trajectory: Trajectory) -> Score:
    """Do the same from plain code, in any thread: an async reward runs on an event loop in a thread of its own."""
    try:
        return _checked(_finished(reward.score(trajectory)))
    except Exception as error:
        return _fault(reward, error)


def score_turns(reward: Reward, trajectory: Trajectory, start: int) -> list[float] | Score:
    """Return the rewards of the turns from ``start`` on; an unreadable score if the reward cannot tell."""
    expected = len(trajectory) - start
    try:
        values = _finished(reward.per_turn(trajectory, start))
        if values is None or len(values) != expected:
            raise ValueError(f"per_turn returned {values!r:.80} for {expected} turns")
        return [Score(value).value for value in values]
    except Exception as error:
        return _fault(reward, error)


def close_reward(reward: Reward) -> None:
    """Close a reward that plain code has used; see :meth:`Reward.close`."""
    _finished(reward.close())


def _finished(result: Any) -> Any:
    if not inspect.isawaitable(result):
        return result
    awaitable: Awaitable[Any] = result
    return LOOP.run(awaitable)


def _checked(score: Any) -> Score:
    if not isinstance(score, Score):
        raise TypeError(f"score returned an object of type {type(score).__name__}, not a gem.rewards.Score")
    return score


def _fault(reward: Reward, error: Exception) -> Score:
    message = f"{type(error).__name__}: {error}"[:_LONGEST_MESSAGE]
    return Score.unreadable(f"the reward {reward.recorded_as} failed: {message}", "exception")
