"""Verified tasks in a file: JSON lines, with the initial states apart, because tasks share them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gem.errors import ArgumentError
from gem_envs_desk.task import DeskCall, DeskTask, Slot, ToldFact, UserScript, Wish

__all__ = ["ListedTask", "TaskList"]

ListedTask = tuple[int, str, DeskTask]
"""Level, split, task."""


class TaskList:
    """Tasks by level and split."""

    def __init__(self, tasks: Mapping[tuple[int, str], Sequence[DeskTask]]) -> None:
        self._tasks = {place: list(of) for place, of in tasks.items() if of}

    def __len__(self) -> int:
        return sum(map(len, self._tasks.values()))

    def task(self, number: int, level: int, split: str) -> DeskTask:
        """Return the task of a number, which counts the tasks of a level and split in a circle.

        Raises:
            ArgumentError: if there is none of this level and split.
        """
        found = self._tasks.get((level, split))
        if found is None:
            there = ", ".join(f"level {level} of {split}" for level, split in sorted(self._tasks)) or "none"
            raise ArgumentError(f"there are no tasks of level {level} in the split {split!r}; there are {there}")
        return found[number % len(found)]

    def count(self, level: int, split: str) -> int:
        """Return the number of tasks of a level and split."""
        return len(self._tasks.get((level, split), ()))

    def all(self) -> Iterable[ListedTask]:
        """Yield all tasks."""
        return ((level, split, task) for (level, split), tasks in self._tasks.items() for task in tasks)

    def places(self) -> list[tuple[int, str]]:
        """Return the levels and splits that have tasks."""
        return sorted(self._tasks)

    def to_text(self) -> str:
        """Return the tasks as JSON lines, each state once, before its first task."""
        lines: list[str] = []
        numbers: dict[str, int] = {}
        for level, split, task in self.all():
            state = json.dumps(task.state, ensure_ascii=False)
            if state not in numbers:
                numbers[state] = len(numbers)
                lines.append(f'{{"state": {state}}}')
            lines.append(json.dumps(_as_json(task, level, split, numbers[state]), ensure_ascii=False))
        return "".join(f"{line}\n" for line in lines)

    @classmethod
    def from_text(cls, text: str) -> TaskList:
        """Undo :meth:`to_text`."""
        states: list[Any] = []
        tasks: dict[tuple[int, str], list[DeskTask]] = {}
        for line in filter(None, text.split("\n")):
            value = json.loads(line)
            if "kind" not in value:
                states.append(value["state"])
                continue
            tasks.setdefault((value["level"], value["split"]), []).append(_of_json(value, states[value["state"]]))
        return cls(tasks)


def _as_json(task: DeskTask, level: int, split: str, state: int) -> dict[str, Any]:
    script = task.script
    value: dict[str, Any] = {
        "kind": task.kind,
        "level": level,
        "split": split,
        "state": state,
        "text": task.text,
        "gold": [[call.tool, dict(call.arguments)] for call in task.gold],
        "facts": [[fact.value, fact.source, fact.about] for fact in task.facts],
    }
    if script is not None:
        value["user"] = {
            "opening": script.opening,
            "wishes": [wish.says for wish in script.wishes],
            "slots": [[slot.name, list(slot.asks), slot.says] for slot in script.slots],
            "patience": script.patience,
        }
    return value


def _of_json(value: Mapping[str, Any], state: Any) -> DeskTask:
    user = value.get("user")
    script = None
    if user is not None:
        script = UserScript(
            user["opening"],
            tuple(Wish(says) for says in user["wishes"]),
            tuple(Slot(name, tuple(asks), says) for name, asks, says in user["slots"]),
            patience=user["patience"],
        )
    return DeskTask(
        value["kind"],
        state,
        tuple(DeskCall(tool, arguments) for tool, arguments in value["gold"]),
        tuple(ToldFact(fact, source, about) for fact, source, about in value["facts"]),
        script,
        value["text"],
    )
