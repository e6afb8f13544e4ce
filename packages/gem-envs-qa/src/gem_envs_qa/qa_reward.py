"""The rewards ``qa_em`` and ``qa_f1``: exact match and F1 of short answers, as in :mod:`gem_envs_qa.grading`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.errors import DatasetError
from gem_envs_qa.grading import is_too_long, scores
from gem_questions.rewards import AnswerReward, Score
from gem_questions.schemas import qa_golds

__all__ = ["QaExactMatchReward", "QaF1Reward"]


class QaF1Reward(AnswerReward):
    """F1 of the answer's words, for the best-fitting right answer.

    Args:
        answer: as in :class:`gem_questions.rewards.AnswerReward`, like the next two.
        answer_from: where the right answer of an episode is.
        extract: which part of the text is the answer.
    """

    def __init__(self, *, answer: Any = None, answer_from: str | None = None, extract: str = "auto") -> None:
        super().__init__(answer=answer, answer_from=answer_from, extract=extract)

    def gold_of(self, env: Any, row: Mapping[str, Any]) -> Any:
        golds = getattr(env, "golds", None)
        return golds(row) if callable(golds) else super().gold_of(env, row)

    def grade(self, said: str, gold: Any) -> Score:
        try:
            golds = qa_golds({"answer": gold}, "answer")
        except DatasetError as error:
            return Score.unreadable(f"the right answer cannot be read: {error}")
        exact, f1 = (False, 0.0) if is_too_long(said, golds) else scores(said, golds)
        return Score(self._value(exact, f1), {"exact_match": float(exact), "f1": f1}, [f"the answer is {said!r:.200}"])

    def _value(self, exact: bool, f1: float) -> float:
        return f1


class QaExactMatchReward(QaF1Reward):
    """1.0 for an answer that matches a right one, else 0.0; arguments as for :class:`QaF1Reward`."""

    def _value(self, exact: bool, f1: float) -> float:
        return float(exact)
