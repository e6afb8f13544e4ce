"""Environments in which an episode is one of many numbered tasks and an answer ends it: :class:`NumberedTaskEnv`."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from gem.arguments import integer
from gem.core import Info
from gem.text_env import MoveResult, MoveT, TextEnv, failure, success

__all__ = ["TASKS", "NumberedTaskEnv"]

TASKS = 1 << 48
"""Number of tasks of a set."""


class NumberedTaskEnv(TextEnv[MoveT], ABC):
    """The number of a task, drawn or chosen by the reset option ``task``, and the score of the answer in ``info``.

    A subclass lists ``task`` in ``saved``. What its ``_play`` writes into ``_score`` is in the ``info`` of that step.
    """

    closings: ClassVar[dict[str, str]] = {
        **TextEnv.closings,
        "success": "That is right.",
        "failure": "That is not right.",
    }
    task: int

    def __init__(self, max_turns: int) -> None:
        super().__init__(max_turns)
        self._score: Info = {}

    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        """Play the move in ``action``; see :meth:`gem.TextEnv.step`."""
        self._score = {}
        observation, reward, terminated, truncated, info = super().step(action)
        info.update(self._score)
        return observation, reward, terminated, truncated, info

    def _begin(self, task: int | None = None) -> None:
        self.task = self.rng.getrandbits(48) if task is None else integer("task", task, minimum=0, maximum=TASKS - 1)

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        self.task = integer("task", self.task, minimum=0, maximum=TASKS - 1)

    def _answered(self, correct: bool) -> MoveResult:
        """Return the end of the episode with an answer; ``info["correct"]`` says whether it is right."""
        self._score = {"correct": correct}
        return success("You answer.") if correct else failure("You answer.")
