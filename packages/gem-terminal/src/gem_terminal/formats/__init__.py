"""Readers of unmodified task folders: Harbor, Terminal-Bench 2 and Terminal-Bench 1."""

from __future__ import annotations

from importlib import import_module
from importlib.resources import files
from pathlib import Path

from gem.errors import ArgumentError
from gem_terminal.task import Task

__all__ = ["bundled_tasks", "load_task", "load_tasks", "task_folders"]

_FORMATS = {"task.toml": "harbor", "task.yaml": "terminal_bench"}
"""The file that identifies a format → the module that reads the format, imported on first use."""


def load_task(folder: str | Path) -> Task:
    """Read one task.

    Args:
        folder: holds ``task.toml`` (Harbor, Terminal-Bench 2) or ``task.yaml`` (Terminal-Bench 1).

    Raises:
        TaskError: if the folder holds no task, or the task is malformed or unsupported; the message names the file and
            the reason.
    """
    path = _folder(folder)
    for name, reader in _FORMATS.items():
        if (path / name).is_file():
            task: Task = import_module(f"gem_terminal.formats.{reader}").load(path)
            return task
    raise ArgumentError(f"{path} holds no task: it has neither {' nor '.join(_FORMATS)}")


def load_tasks(folder: str | Path) -> tuple[Task, ...]:
    """Read a folder of tasks, or a folder that is one task, and return the tasks sorted by name.

    Raises:
        TaskError: as :func:`load_task`, for the first task that is malformed.
        ArgumentError: if there is no task in it.
    """
    return tuple(load_task(child) for child in task_folders(folder))


def task_folders(folder: str | Path) -> tuple[Path, ...]:
    """Return the task folders in a folder, or the folder itself if it is a task, without reading them.

    Where a folder has no tasks, they may lie one folder further in, by category.

    Raises:
        ArgumentError: if there is no task in it.
    """
    path = _folder(folder)
    if any((path / name).is_file() for name in _FORMATS):
        return (path,)
    for pattern in ("*", "*/*"):
        if folders := sorted(
            {found.parent for name in _FORMATS for found in path.glob(f"{pattern}/{name}") if found.is_file()}
        ):
            return tuple(folders)
    raise ArgumentError(
        f"{path} holds no task: neither the folder nor its subfolders, nor theirs, have {' or '.join(_FORMATS)}"
    )


def bundled_tasks() -> Path:
    """Return the folder of the bundled tasks."""
    return Path(str(files("gem_terminal") / "tasks"))


def _folder(folder: str | Path) -> Path:
    path = Path(folder).expanduser().resolve()
    if not path.is_dir():
        raise ArgumentError(f"path must be a folder of tasks, but {str(folder)!r} is none")
    return path
