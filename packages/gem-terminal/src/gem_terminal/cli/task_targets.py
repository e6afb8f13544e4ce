"""The tasks that a command works on: :func:`tasks_of`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gem.arguments import nearest
from gem.errors import ArgumentError
from gem_terminal.errors import TaskError
from gem_terminal.formats import bundled_tasks, load_task, task_folders
from gem_terminal.task import Task

__all__ = ["TaskFolder", "readable", "tasks_of"]


@dataclass(frozen=True)
class TaskFolder:
    """A folder with a task, or with a malformed one."""

    folder: Path
    task: Task | None
    error: str | None = None
    """The reason for a missing task: it is malformed or unsupported."""

    @property
    def name(self) -> str:
        return self.folder.name if self.task is None else self.task.name


def tasks_of(targets: Iterable[str]) -> list[TaskFolder]:
    """Return the tasks of folders and names, or all bundled tasks if there are no targets.

    Raises:
        ArgumentError: if a target is neither a folder with a task nor the name of a bundled task.
    """
    folders = [folder for target in targets for folder in _folders(target)] or list(task_folders(bundled_tasks()))
    return [_read(folder) for folder in dict.fromkeys(folders)]


def readable(found: Iterable[TaskFolder]) -> list[Task]:
    """Return the tasks.

    Raises:
        TaskError: for the first folder without a valid task.
    """
    tasks = []
    for one in found:
        if one.task is None:
            raise TaskError(one.error)
        tasks.append(one.task)
    return tasks


def _folders(target: str) -> tuple[Path, ...]:
    if Path(target).expanduser().is_dir():
        return task_folders(target)
    names = sorted(folder.name for folder in task_folders(bundled_tasks()))
    if target in names:
        return (bundled_tasks() / target,)
    hint = nearest(target, names)
    advice = f"did you mean {hint!r}?" if hint else "'gem terminal list' shows those that come with the package"
    raise ArgumentError(f"{target!r} is neither a folder nor the name of a task; {advice}")


def _read(folder: Path) -> TaskFolder:
    try:
        return TaskFolder(folder, load_task(folder))
    except (TaskError, OSError) as error:
        return TaskFolder(folder, None, str(error))
