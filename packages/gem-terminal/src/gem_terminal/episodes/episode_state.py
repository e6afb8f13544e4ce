"""Where an episode of a terminal task is, and how it came there: :class:`EpisodeState`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gem.arguments import choice, integer
from gem.core import Info
from gem.errors import EpisodeFinishedError, ResetNeededError
from gem_terminal.actions import ActionKinds, load_action
from gem_terminal.episodes.multi_step import StepResult
from gem_terminal.task import Task

__all__ = ["NOT_BEGUN", "OVER", "WORKING", "EpisodeState"]

NOT_BEGUN, WORKING, OVER = "not begun", "working", "over"
_PHASES = (NOT_BEGUN, WORKING, OVER)


@dataclass
class EpisodeState:
    """The place of an episode, without its container."""

    phase: str = NOT_BEGUN
    index: int = 0
    """Of the task."""
    turn: int = 0
    step: int = 0
    """Of a task that has several."""
    step_results: list[StepResult] = field(default_factory=list)
    actions: list[dict[str, Any]] = field(default_factory=list)
    """The actions that were carried out, to repeat them."""

    @classmethod
    def loaded(
        cls, state: Mapping[str, Any], tasks: Sequence[Task], max_turns: int, kinds: ActionKinds | None = None
    ) -> EpisodeState:
        """Return the state of :meth:`dumped`; raises LookupError, TypeError, ValueError or AttributeError for another.

        Args:
            state: the state.
            tasks: the tasks of the environment.
            max_turns: the turns of an episode.
            kinds: the possible actions; None for those of a terminal.
        """
        index = integer("index", state["index"], minimum=0, maximum=len(tasks) - 1)
        actions = [dict(action) for action in state["actions"]]
        for action in actions:
            load_action(action, kinds)
        return cls(
            choice("phase", state["phase"], _PHASES),
            index,
            integer("turn", state["turn"], minimum=0, maximum=max_turns),
            integer("step", state["step"], minimum=0, maximum=max(len(tasks[index].steps) - 1, 0)),
            [StepResult.loaded(record) for record in state["step_results"]],
            actions,
        )

    def dumped(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        return {
            "phase": self.phase,
            "index": self.index,
            "turn": self.turn,
            "step": self.step,
            "step_results": [result.dumped() for result in self.step_results],
            "actions": [dict(action) for action in self.actions],
        }

    def check_working(self) -> None:
        """Check that the episode continues.

        Raises:
            ResetNeededError: if no episode has begun.
            EpisodeFinishedError: if the episode is over.
        """
        if self.phase == NOT_BEGUN:
            raise ResetNeededError("no episode has begun; call reset() first")
        if self.phase == OVER:
            raise EpisodeFinishedError("the task is over; call reset() for the next")

    def info(self, task: Task) -> Info:
        """Return what the info of every turn says of the place of the episode.

        Args:
            task: the task, as it is in the present step.
        """
        step: Info = {"step": task.steps[self.step].name} if task.steps else {}
        return {"turn": self.turn, "task": task.name, **step}
