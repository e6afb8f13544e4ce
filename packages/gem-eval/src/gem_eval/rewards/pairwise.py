"""The reward ``pairwise``: a judge compares an episode with that of a baseline on the same seed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gem.arguments import string
from gem.errors import ArgumentError
from gem_eval.rewards.episode_source import EpisodeSource, open_episodes
from gem_eval.rewards.episode_text import episode_text
from gem_eval.rewards.judge import JudgeError
from gem_eval.rewards.judge_answers import MalformedAnswerError, reason_of, value_of
from gem_eval.rewards.judged import JudgedReward, all_answers, unreadable
from gem_eval.runs.episode_row import EpisodeRow
from gem_questions.rewards import RewardContext, Score
from gem_rollout.trajectory import Trajectory

__all__ = ["Comparison", "PairwiseReward"]

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "better": {"type": "string", "enum": ["first", "second", "tie"]}},
    "required": ["reason", "better"],
    "additionalProperties": False,
}
_WORDS = {"first": 1.0, "second": 0.0, "tie": 0.5}
_LONGEST_REASON = 1000  # characters


@dataclass(frozen=True)
class Comparison:
    """The result of comparing two episodes in both orders. Values are those of the first of the two: 1, ½ or 0."""

    shown_first: float
    """Its value where the judge saw it first."""
    shown_second: float
    """Its value where the judge saw it second."""
    reasons: tuple[str, ...] = ()
    model: str = ""

    @property
    def value(self) -> float:
        """The mean of both orders; ½ where the judge prefers a position instead of an episode."""
        return (self.shown_first + self.shown_second) / 2

    @property
    def outcome(self) -> Literal["win", "loss", "tie"]:
        """The result for the first of the two episodes."""
        return "win" if self.value > 0.5 else "loss" if self.value < 0.5 else "tie"

    @property
    def consistent(self) -> bool:
        """Whether both orders gave the same."""
        return self.shown_first == self.shown_second


class PairwiseReward(JudgedReward):
    """1.0 where the episode is better than the baseline's of the same seed, 0.5 for a tie, 0.0 where it is worse.

    The judge compares both orders of the two; where the results differ, the value is their mean. The parts
    ``shown_first`` and ``shown_second`` show the bias of the judge for a position.

    Args:
        baseline: a run folder or a JSONL file of episodes. Of several episodes of a seed, the one of the same
            repetition is taken, else the first.
        question: what "better" means.
        judge: as in :class:`gem_eval.rewards.judged.JudgedReward`, like the next one.
        max_chars: length of both episodes' text together.
    """

    def __init__(
        self,
        *,
        baseline: str | os.PathLike[str] | None = None,
        question: str = "Which agent did the task better?",
        judge: Any = None,
        max_chars: int = 24_000,
    ) -> None:
        super().__init__(judge=judge, max_chars=max_chars)
        self.baseline = baseline
        self.question = string("question", question)
        self._source: EpisodeSource | None = None
        self._rows: dict[tuple[str, int], list[EpisodeRow]] = {}

    def begin(self, context: RewardContext) -> None:
        super().begin(context)
        self._open_baseline()

    async def score(self, trajectory: Trajectory) -> Score:
        source = self._open_baseline()
        key = trajectory.key
        rows = self._rows.get((key.env, key.seed), [])
        if not rows:
            return Score.unreadable(f"the baseline has no episode of {key.env} with the seed {key.seed}", "no_baseline")
        row = next((row for row in rows if row.repetition == key.repetition), rows[0])
        try:
            comparison = await self.compare(trajectory, source.episode(row))
        except JudgeError as error:
            return unreadable(error)
        return Score(
            comparison.value,
            {"shown_first": comparison.shown_first, "shown_second": comparison.shown_second},
            list(comparison.reasons),
            {"judge": comparison.model, "outcome": comparison.outcome, "consistent": comparison.consistent},
        )

    async def compare(self, one: Trajectory, other: Trajectory) -> Comparison:
        """Compare two episodes in both orders.

        Raises:
            JudgeError: if the judge gives no answer in one of them.
        """
        (there, why_there, model), (back, why_back, _) = await all_answers(
            self._ask_for(one, other), self._ask_for(other, one)
        )
        return Comparison(there, 1.0 - back, (why_there, why_back), model)

    async def _ask_for(self, first: Trajectory, second: Trajectory) -> tuple[float, str, str]:
        """Return the value of the first, the reason, and the model's name."""

        def render(limit: int) -> str:
            return (
                f"The first record:\n{episode_text(first, limit // 2)}\n\n"
                f"The second record:\n{episode_text(second, limit // 2)}"
            )

        task = (
            "You compare the records of two episodes of the same task, in which agents acted in an environment. "
            f"{self.question} Give the reason in one or two sentences, then the better one: first, second or tie. The "
            "order of the records means nothing, nor does their length."
        )
        answer = await self.ask(first, task, _SCHEMA, _read, render=render)
        return answer.value[0], answer.value[1], answer.model

    def _open_baseline(self) -> EpisodeSource:
        if self._source is None:
            if self.baseline is None:
                raise ArgumentError("pairwise needs a baseline: a run folder or a file of episodes")
            self._source, _ = open_episodes(self.baseline)
            for row in self._source.rows():
                if not row.failed:
                    self._rows.setdefault((row.env, row.seed), []).append(row)
        return self._source


def _read(record: Mapping[str, Any]) -> tuple[float, str]:
    better = value_of(record, "better")
    word = str(better).strip().strip(".").casefold()
    if word not in _WORDS:
        raise MalformedAnswerError(f"'better' must be first, second or tie, not {better!r:.60}")
    return _WORDS[word], reason_of(record)[:_LONGEST_REASON]
