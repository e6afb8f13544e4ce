"""The reward ``process``: every turn is scored, by a rule or by a judge."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from gem.arguments import choice, integer
from gem.entry_points import load
from gem.errors import ArgumentError
from gem_eval.rewards.criteria import Criterion, read_scores, rubric_schema, rubric_task, weighted_mean
from gem_eval.rewards.episode_text import episode_text
from gem_eval.rewards.judge import JudgeError
from gem_eval.rewards.judged import JudgedReward, all_answers, unreadable
from gem_eval.rewards.predicates import Predicate, check_item, predicate_of
from gem_questions.rewards import Score
from gem_rollout.trajectory import Trajectory

__all__ = ["ProcessReward"]

_COMBINE = ("mean", "min", "last", "sum")


class ProcessReward(JudgedReward):
    """Scores each turn, and an episode by the mean, the least, the last or the sum of its turns.

    Give either ``rule`` or ``criteria``. A rule is ``"module:function"``, called with the trajectory and the number
    of a turn, from 0, and returning a number; or a predicate as an item of a checklist, for example
    ``{"legal": true}``, of an episode that consists of that turn alone. Criteria are for a judge, who sees the
    turns up to that one.

    Args:
        rule: the rule.
        criteria: as in :class:`gem_eval.rewards.rubric.RubricReward`.
        combine: ``"mean"``, ``"min"``, ``"last"`` or ``"sum"``.
        context: how many turns before the judged one the judge sees.
        instructions: more for the judge.
        judge: as in :class:`gem_eval.rewards.judged.JudgedReward`, like the next one.
        max_chars: length of the text.
    """

    def __init__(
        self,
        *,
        rule: str | Mapping[str, Any] | None = None,
        criteria: Any = None,
        combine: str = "mean",
        context: int = 8,
        instructions: str = "",
        judge: Any = None,
        max_chars: int = 12_000,
    ) -> None:
        super().__init__(judge=judge, max_chars=max_chars)
        if (rule is None) == (criteria is None):
            raise ArgumentError("give either a rule or criteria for a judge")
        self.criteria = () if criteria is None else Criterion.all_of(criteria)
        if criteria is not None and not self.criteria:
            raise ArgumentError("a process reward by a judge needs at least one criterion")
        self.combine = choice("combine", combine, _COMBINE)
        self.context = integer("context", context, minimum=0)
        self.instructions = str(instructions)
        self._predicate: Predicate | None = None
        self._function: Any = None
        if isinstance(rule, Mapping):
            check_item(rule)
            self._predicate = predicate_of(rule)
        elif rule is not None:
            self._function = load(rule)

    @property
    def asks(self) -> bool:
        return bool(self.criteria)

    @property
    def asynchronous(self) -> bool:
        return self.asks

    def score(self, trajectory: Trajectory) -> Score | Awaitable[Score]:
        if self.asks:
            return self._score_by_judge(trajectory)
        return self._combined(self._by_rule(trajectory, 0))

    def per_turn(self, trajectory: Trajectory, start: int = 0) -> list[float] | Awaitable[list[float]]:
        if self.asks:
            return self._by_judge(trajectory, start)
        return self._by_rule(trajectory, start)

    def _by_rule(self, trajectory: Trajectory, start: int) -> list[float]:
        turns = range(start, len(trajectory))
        if self._predicate is None:
            return [Score(self._function(trajectory, turn)).value for turn in turns]
        return [float(self._predicate(_turn_alone(trajectory, turn))) for turn in turns]

    async def _score_by_judge(self, trajectory: Trajectory) -> Score:
        try:
            turns = await self._judge_turns(trajectory, 0)
        except JudgeError as error:
            return unreadable(error)
        reasons = [f"turn {number}: {reason}" for number, (_, reason) in enumerate(turns, start=1) if reason]
        return self._combined([value for value, _ in turns], reasons)

    async def _by_judge(self, trajectory: Trajectory, start: int) -> list[float]:
        return [value for value, _ in await self._judge_turns(trajectory, start)]

    async def _judge_turns(self, trajectory: Trajectory, start: int) -> list[tuple[float, str]]:
        """Return value and reasons of each turn, a question each, so that a running episode asks only for new ones.

        Raises:
            JudgeError: if one of them has no answer.
        """
        turns = range(start, len(trajectory))
        return await all_answers(*(self._judge_turn(trajectory, turn) for turn in turns))

    async def _judge_turn(self, trajectory: Trajectory, turn: int) -> tuple[float, str]:
        task = (
            f"{rubric_task(self.criteria, self.instructions)}\nScore only the agent's action in turn {turn + 1}, the "
            "last one shown, given what the agent had seen by then."
        )
        shown = range(max(0, turn - self.context), turn + 1)
        answer = await self.ask(
            trajectory,
            task,
            rubric_schema(self.criteria),
            lambda record: read_scores(record, self.criteria),
            render=lambda limit: episode_text(trajectory, limit, turns=shown),
        )
        reasons = " ".join(given.reason for given in answer.value.values() if given.reason)
        return weighted_mean(self.criteria, answer.value)[0], reasons

    def _combined(self, values: list[float], reasons: Sequence[str] = ()) -> Score:
        if not values:
            return Score(0.0, reasons=["the episode has no turn"])
        value = {
            "mean": math.fsum(values) / len(values),
            "min": min(values),
            "last": values[-1],
            "sum": math.fsum(values),
        }[self.combine]
        return Score(value, {f"turn_{number}": item for number, item in enumerate(values, start=1)}, list(reasons))


def _turn_alone(trajectory: Trajectory, turn: int) -> Trajectory:
    """Return an episode that consists of one turn."""
    return Trajectory(trajectory.spec, trajectory.seed, trajectory.transitions[turn : turn + 1])
