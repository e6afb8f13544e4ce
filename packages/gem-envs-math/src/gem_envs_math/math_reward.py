r"""The reward ``math``: the content of the last ``\\boxed{…}`` equals the right answer as mathematics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gem.rewards import AnswerReward, Score
from gem_envs_math import grader

if TYPE_CHECKING:
    from gem.processes import ProcessPool, ResourceHandle

__all__ = ["MathReward"]

_UNDECIDED = ("timeout", "crash")


class MathReward(AnswerReward):
    r"""1.0 for a right answer, 0.0 for another, by :mod:`gem_envs_math.grader`.

    Unreadable where the comparison ran into its time limit or ended its process.

    Args:
        answer: as in :class:`gem.rewards.AnswerReward`, like the next two.
        answer_from: where the right answer of an episode is.
        extract: which part of the text is the answer; the last ``\\boxed{…}`` unless given.
    """

    def __init__(self, *, answer: Any = None, answer_from: str | None = None, extract: str = "boxed") -> None:
        super().__init__(answer=answer, answer_from=answer_from, extract=extract)
        self._workers: ResourceHandle[ProcessPool] = grader.workers()

    def grade(self, said: str, gold: Any) -> Score:
        self._workers.acquire()  # counts as a user of the processes that the grader calls
        result = grader.grade(said, gold)
        if result.how in _UNDECIDED:
            return Score.unreadable(f"the comparison of {said!r:.200} ended with a {result.how}", result.how)
        verdict = "right" if result.correct else "not right"
        return Score(float(result.correct), reasons=[f"{said!r:.200} is {verdict}"], metadata={"how": result.how})

    def close(self) -> None:
        self._workers.close()
        super().close()
