"""The grader that programs find by the name ``math``."""

from __future__ import annotations

from typing import Any

from gem_envs_math.grader import grade, read_gold
from gem_questions.rewards import GoldReading, GradeResult

__all__ = ["MathGrader"]


class MathGrader:
    """The functions of :mod:`gem_envs_math.grader` as a :class:`gem_questions.rewards.Grader`."""

    def read(self, gold: Any, question: str | None = None) -> GoldReading:
        """Return how the grader reads a gold answer."""
        return read_gold(gold, question)

    def grade(self, answer: Any, gold: Any, question: str | None = None) -> GradeResult:
        """Compare an answer, the content of the box, with a gold answer."""
        return grade(answer, gold, question=question)
