"""The reward ``rubric``: a judge scores an episode by named criteria."""

from __future__ import annotations

from typing import Any

from gem.errors import ArgumentError
from gem_eval.rewards.criteria import Criterion, read_scores, rubric_schema, rubric_task, weighted_mean
from gem_eval.rewards.judge import JudgeError
from gem_eval.rewards.judged import JudgedReward, judged_by, unreadable
from gem_questions.rewards import Score
from gem_rollout.trajectory import Trajectory

__all__ = ["RubricReward"]


class RubricReward(JudgedReward):
    """The weighted mean of a judge's scores, each as a share of its scale: 0.0 to 1.0.

    Args:
        criteria: a list of ``"name: description"``, or of dicts with ``name``, ``description``, ``weight`` (1.0;
            negative for what must not be there), ``low`` (1) and ``high`` (5).
        instructions: more for the judge: what the task was, what to forgive.
        judge: as in :class:`gem_eval.rewards.judged.JudgedReward`, like the next one.
        max_chars: length of an episode's text.
    """

    def __init__(self, *, criteria: Any, instructions: str = "", judge: Any = None, max_chars: int = 24_000) -> None:
        super().__init__(judge=judge, max_chars=max_chars)
        self.criteria = Criterion.all_of(criteria)
        self.instructions = str(instructions)
        if not self.criteria:
            raise ArgumentError("a rubric needs at least one criterion")

    async def score(self, trajectory: Trajectory) -> Score:
        criteria = self.criteria
        try:
            answer = await self.ask(
                trajectory,
                rubric_task(criteria, self.instructions),
                rubric_schema(criteria),
                lambda record: read_scores(record, criteria),
            )
        except JudgeError as error:
            return unreadable(error)
        value, shares = weighted_mean(criteria, answer.value)
        reasons = [f"{name}: {given.score:g}. {given.reason}".strip() for name, given in answer.value.items()]
        return Score(value, shares, reasons, judged_by(answer))
