"""The reward of a task with several steps, by Harbor's rules: :class:`StepResult`, :func:`result_of_steps`.

Each step has tests of its own, which run when the agent has finished it or its time is over. The steps after it begin
only if its rewards reach their ``min_reward``. The reward of the task is then ``"final"``, that of the last step that
was played, or ``"mean"``: for each name, the mean over the steps that were played, where a missing name counts as 0.0.

Two differences from Harbor 0.25, so that an agent gains nothing by preventing its verification: a step whose tests gave
no reward counts as 0.0, where Harbor leaves it out; and so do the steps that did not begin because the episode ran out
of turns or time, limits that Harbor does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gem.arguments import real, string
from gem_terminal.task import TaskStep
from gem_terminal.verdicts.verifier_result import VerifierResult

__all__ = ["StepResult", "result_of_steps"]


@dataclass(frozen=True)
class StepResult:
    """The rewards of one step."""

    name: str
    rewards: Mapping[str, float]
    error: str | None = None
    """Why there is no reward."""

    @classmethod
    def of(cls, step: TaskStep, result: VerifierResult) -> StepResult:
        """Return the result of a step's tests."""
        return cls(step.name, dict(result.rewards), result.error)

    @classmethod
    def loaded(cls, record: Mapping[str, Any]) -> StepResult:
        """Return the result of a record of :meth:`dumped`; raises ValueError, TypeError or LookupError for another."""
        rewards = {string("name", name): real("reward", number) for name, number in record["rewards"].items()}
        error = record["error"]
        return cls(string("name", record["name"]), rewards, None if error is None else string("error", error))

    def dumped(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return {"name": self.name, "rewards": dict(self.rewards), "error": self.error}

    def reaches(self, least: Mapping[str, float]) -> bool:
        """Return whether the steps after this one may begin."""
        if not self.rewards and self.error is not None:
            return False
        return all(self.rewards.get(name, float("-inf")) >= number for name, number in least.items())


def result_of_steps(
    results: Sequence[StepResult], strategy: str, last: VerifierResult, missing: int = 0
) -> VerifierResult:
    """Return the result of a task.

    Args:
        results: those of the steps that were played, at least one.
        strategy: ``"mean"`` or ``"final"``.
        last: the result of the last of them, which has the details.
        missing: the number of steps that did not begin for want of turns or time.
    """
    if strategy == "final":
        if missing:
            return replace(last, rewards={"reward": 0.0}, error=last.error or "the last step did not begin")
        return last
    count = len(results) + missing
    names = dict.fromkeys(name for result in results for name in result.rewards)
    rewards = {name: sum(result.rewards.get(name, 0.0) for result in results) / count for name in names}
    return replace(last, rewards=rewards)
