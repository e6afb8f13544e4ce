"""The tasks that a command works on: :func:`tasks_of`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gem.arguments import nearest
from gem.errors import ArgumentError
from gem_terminal.errors import TaskError
from gem_terminal.formats import bundled_tasks, task_folders
from gem_terminal.task import Task
from gem_terminal.task_options import TaskOptions
from gem_terminal.task_set import TaskFolder, load_task_set

__all__ = ["Selection", "readable", "tasks_of"]


@dataclass(frozen=True)
class Selection:
    """The part of the tasks that a command works on, and what it changes of them."""

    tasks: Sequence[str] | None = None
    filter: str | None = None
    split: str | None = None
    options: TaskOptions = field(default_factory=TaskOptions)

    def of(self, target: str) -> tuple[TaskFolder, ...]:
        """Return the tasks of a folder.

        Raises:
            ArgumentError: if the folder has no task, or none of the selection.
        """
        found = load_task_set(target, self.tasks, self.filter, self.split)
        return tuple(
            entry if entry.task is None else replace(entry, task=self.options.applied(entry.task))
            for entry in found.entries
        )


def tasks_of(targets: Iterable[str], selection: Selection | None = None) -> list[TaskFolder]:
    """Return the tasks of folders and names, or all bundled tasks if there are no targets.

    Raises:
        ArgumentError: if a target is neither a folder with a task nor the name of a bundled task.
    """
    chosen = selection or Selection()
    found = [entry for target in targets for entry in _entries(target, chosen)] or chosen.of(str(bundled_tasks()))
    return list({entry.folder: entry for entry in found}.values())


def readable(found: Iterable[TaskFolder]) -> list[Task]:
    """Return the tasks.

    Raises:
        TaskError: for the first folder without a valid task.
    """
    tasks = []
    for one in found:
        if one.task is None:
            raise TaskError(str(one.error), one.need)
        tasks.append(one.task)
    return tasks


def _entries(target: str, selection: Selection) -> tuple[TaskFolder, ...]:
    if Path(target).expanduser().is_dir():
        return selection.of(target)
    names = sorted(folder.name for folder in task_folders(bundled_tasks()))
    if target in names:
        return selection.of(str(bundled_tasks() / target))
    if "/" in target or "@" in target:
        load_task_set(target)  # raises with the reason
    hint = nearest(target, names)
    advice = f"did you mean {hint!r}?" if hint else "'gem terminal list' shows those that come with the package"
    raise ArgumentError(f"{target!r} is neither a folder nor the name of a task; {advice}")
