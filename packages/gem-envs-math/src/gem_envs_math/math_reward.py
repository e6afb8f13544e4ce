r"""The reward ``math``: the content of the last ``\\boxed{…}`` equals the right answer as mathematics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gem.arguments import choice
from gem.text import action_text
from gem_envs_math import grader
from gem_envs_math.answer_judge import answer_judge
from gem_envs_math.math_env import option_result
from gem_questions.rewards import AnswerReward, RewardLike, Score

if TYPE_CHECKING:
    from gem_envs_math.grader import AnswerJudge, Done
    from gem_processes import ProcessPool, ResourceHandle
    from gem_rollout.trajectory import Trajectory

__all__ = ["MathReward"]


@dataclass(frozen=True)
class _RowGold:
    """The right answer of a row, with what its environment knows about it."""

    gold: Any
    question: str
    tolerance: float | None
    error: float | None
    done: Done = "equal"
    options: Mapping[str, str] | None = None


class MathReward(AnswerReward):
    r"""1.0 for a right answer, 0.0 for another, by :mod:`gem_envs_math.grader`.

    The question is that of the environment's row, or else the first observation. Unreadable where the grader could not
    read the answer or the right answer; where the comparison ran into its time limit, or ended its process.

    Args:
        answer: as in :class:`gem_questions.rewards.AnswerReward`, like the next two.
        answer_from: where the right answer of an episode is.
        extract: which part of the text is the answer; the last ``\\boxed{…}`` unless given.
        tolerance: greatest relative difference of numbers; None: as the environment of the episode has it.
        judge: as in :class:`gem_envs_math.MathEnv`.
        done: what counts as a finished answer, likewise; None: as the environment of the episode has it, else
            ``"equal"``.
    """

    def __init__(
        self,
        *,
        answer: Any = None,
        answer_from: str | None = None,
        extract: str = "boxed",
        tolerance: float | None = None,
        judge: AnswerJudge | RewardLike | None = None,
        done: Done | None = None,
    ) -> None:
        super().__init__(answer=answer, answer_from=answer_from, extract=extract)
        self.tolerance = tolerance
        self.done = None if done is None else choice("done", done, ("equal", "computed"))
        self._judge = None if judge is None else answer_judge(judge)
        self._workers: ResourceHandle[ProcessPool] = grader.workers()

    def gold_of(self, env: Any, row: Mapping[str, Any]) -> Any:
        gold = super().gold_of(env, row)
        if not hasattr(env, "text_of") or not hasattr(env, "tolerances_of"):
            return gold
        tolerance, error = env.tolerances_of(row)
        return _RowGold(gold, env.text_of(row), tolerance, error, env.done_of(row), env.options_of(row))

    def grade_episode(self, trajectory: Trajectory, said: str, gold: Any) -> Score:
        if not isinstance(gold, _RowGold) and self.answer is None and trajectory.transitions:
            question = action_text(trajectory.transitions[0].observation) or ""
            gold = _RowGold(gold, question, None, None)
        return self.grade(said, gold)

    def grade(self, said: str, gold: Any) -> Score:
        self._workers.acquire()  # counts as a user of the processes that the grader calls
        known = gold if isinstance(gold, _RowGold) else _RowGold(gold, "", None, None)
        if known.options:
            result = option_result(said, known.gold, known.options)
        else:
            result = grader.grade(
                said,
                known.gold,
                question=known.question or None,
                tolerance=known.tolerance if self.tolerance is None else self.tolerance,
                error=known.error,
                judge=self._judge,
                done=self.done or known.done,
            )
        if not result.readable:
            return Score.unreadable(f"the grader cannot tell whether {said!r:.200} is right: {result.how}", result.how)
        verdict = "right" if result.correct else "not right"
        return Score(float(result.correct), reasons=[f"{said!r:.200} is {verdict}"], metadata={"how": result.how})

    def close(self) -> None:
        self._workers.close()
        if self._judge is not None and hasattr(self._judge, "close"):
            self._judge.close()
        super().close()
