"""Judges of answers that the grader cannot read: functions, or rewards by name."""

from __future__ import annotations

from gem.errors import ArgumentTypeError
from gem_envs_math.grader import AnswerJudge
from gem_questions.rewards import Reward, RewardLike, close_reward, make_reward, score_episode
from gem_rollout.trajectory import Trajectory, Transition

__all__ = ["RewardJudge", "answer_judge"]

_RIGHT = 0.5


class RewardJudge:
    """A reward as a judge: an answer is right if its episode of one turn gets more than half.

    The episode's first observation is the question, its action the answer; the gold answer is ``info["answer"]``.

    Args:
        reward: a name, a specification, or a reward.
    """

    def __init__(self, reward: RewardLike) -> None:
        self._reward = make_reward(reward)

    def __call__(self, answer: str, gold: str, question: str | None) -> bool | None:
        episode = Trajectory(None, 0, [Transition(question or "", answer, 0.0, True, False, {"answer": gold})])
        score = score_episode(self._reward, episode)
        return score.value > _RIGHT if score.readable else None

    def close(self) -> None:
        """Release what the reward holds."""
        close_reward(self._reward)


def answer_judge(judge: AnswerJudge | RewardLike) -> AnswerJudge:
    """Return a judge for :func:`gem_envs_math.grader.grade`.

    Raises:
        ArgumentTypeError: if it is neither a function nor a reward.
    """
    if isinstance(judge, (str, Reward)) or hasattr(judge, "keys"):
        return RewardJudge(judge)  # type: ignore[arg-type]
    if not callable(judge):
        raise ArgumentTypeError(f"judge must be a function or a reward, got {judge!r:.80} ({type(judge).__name__})")
    return judge
