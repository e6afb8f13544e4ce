"""The original GEM's QA environment and its exact match; only :mod:`gem.migration` refers to this module."""

from __future__ import annotations

from typing import Any

from gem.migration_adapters import TakesOldArguments
from gem_envs_qa import qa_env
from gem_envs_qa.grading import exact_match, golds_of

__all__ = ["QaEnv", "em_check"]


def em_check(prediction: str, golden_answers: str | list[str]) -> bool:
    """Return whether an answer matches one of the right ones exactly."""
    return exact_match(prediction, golds_of(golden_answers))


class QaEnv(TakesOldArguments, qa_env.QaEnv):
    """The original's environment, with its static grader."""

    @staticmethod
    def check_correct(model_answer: str, gt_answer: Any) -> bool:
        """Return whether an answer matches a gold answer, or one of a list."""
        return em_check(model_answer, gt_answer)
