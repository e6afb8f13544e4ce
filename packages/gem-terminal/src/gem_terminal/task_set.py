"""A folder of tasks, with those that cannot be used: :func:`load_task_set`.

A process parses a folder once, however many environments use it, and again after its files have changed.
"""

from __future__ import annotations

import os
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from gem.arguments import choice, integer, nearest, string
from gem.errors import ArgumentError, ArgumentTypeError
from gem.fork_hooks import after_fork_in_child
from gem_terminal.errors import TaskError
from gem_terminal.formats import bundled_tasks, load_task, task_folders
from gem_terminal.formats.dataset_manifest import MANIFEST, ManifestTask, locate, read_manifest, task_digest
from gem_terminal.task import Task
from gem_terminal.task_filter import matching
from gem_terminal.warnings_once import warn_once

__all__ = ["TaskFolder", "TaskSet", "chosen_index", "chosen_tasks", "load_task_set"]

_MOST_SETS = 16
"""Folders whose tasks a process remembers; the one used longest ago is forgotten first."""
_PARTS = (
    "", "task.toml", "task.yaml", "instruction.md", "docker-compose.yaml", "docker-compose.yml", "environment", "tests",
    "solution",
)  # fmt: skip
"""The files that a task is made of, and the folders whose lists of files it depends on."""
_STEP_PARTS = ("instruction.md", "tests", "tests/test.sh", "solution", "workdir")
_EXAMPLES = 3


@dataclass(frozen=True)
class TaskFolder:
    """A folder with a task, or with one that cannot be used."""

    folder: Path
    task: Task | None
    error: str | None = None
    """The reason for a missing task: it is malformed or unsupported."""
    need: str | None = None
    """The unsupported feature that the task needs; see :class:`~gem_terminal.errors.TaskError`."""

    @property
    def name(self) -> str:
        return self.folder.name if self.task is None else self.task.name


@dataclass(frozen=True)
class TaskSet:
    """The tasks of a folder."""

    folder: Path
    entries: tuple[TaskFolder, ...]
    """All tasks, also those that cannot be used, sorted by folder."""

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The usable tasks."""
        return tuple(entry.task for entry in self.entries if entry.task is not None)

    @cached_property
    def skipped(self) -> tuple[TaskFolder, ...]:
        """The tasks that cannot be used, with the reasons."""
        return tuple(entry for entry in self.entries if entry.task is None)

    def summary(self) -> str:
        """Return a sentence on the tasks that cannot be used: how many for which reason, and examples."""
        needs = Counter(entry.need or "malformed files" for entry in self.skipped)
        counts = ", ".join(f"{need} ({count})" for need, count in needs.most_common())
        examples = "; ".join(f"{entry.name}: {entry.error}" for entry in self.skipped[:_EXAMPLES])
        return (
            f"{len(self.skipped)} of {len(self.entries)} tasks in {self.folder} cannot be used: {counts}. "
            f"For example {examples}"
        )

    def select(
        self,
        tasks: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002
        split: str | None = None,
    ) -> TaskSet:
        """Return the part of the set that all given criteria select.

        See :func:`load_task_set`; ``split`` is here the value in the metadata.
        """
        chosen = self if tasks is None else self._named(tasks)
        if split is not None:
            chosen = chosen._of_split(string("split", split))
        if filter is not None:
            accepted = {id(task) for task in matching(string("filter", filter), chosen.tasks)}
            chosen = replace(chosen, entries=tuple(entry for entry in chosen.entries if id(entry.task) in accepted))
        if not chosen.entries:
            raise ArgumentError(f"no task in {self.folder} meets filter={filter!r}, split={split!r}, tasks={tasks!r}")
        return chosen

    def _named(self, names: Sequence[str]) -> TaskSet:
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ArgumentTypeError(f"tasks must be a list of names, got {names!r:.80}")
        by_name: dict[str, list[TaskFolder]] = {}
        for entry in self.entries:
            for name in dict.fromkeys((entry.name, entry.folder.name)):
                by_name.setdefault(name, []).append(entry)
        chosen: dict[Path, TaskFolder] = {}
        for name in names:
            if name not in by_name:
                hint = nearest(name, by_name)
                advice = f"did you mean {hint!r}?" if hint else "'gem terminal list' shows its tasks"
                raise ArgumentError(f"tasks: {self.folder} has no task {name!r}; {advice}")
            chosen.update((entry.folder, entry) for entry in by_name[name])
        return replace(self, entries=tuple(chosen.values()))

    def _of_split(self, split: str) -> TaskSet:
        splits = sorted({str(task.metadata["split"]) for task in self.tasks if "split" in task.metadata})
        if split not in splits:
            known = f"its splits are {', '.join(splits)}" if splits else "neither subfolders nor metadata name splits"
            raise ArgumentError(f"{self.folder} has no split {split!r}; {known}")
        return replace(
            self, entries=tuple(one for one in self.entries if one.task and one.task.metadata.get("split") == split)
        )


_Fingerprint = tuple[object, ...]
_KEPT: OrderedDict[Path, tuple[_Fingerprint, TaskSet]] = OrderedDict()
_LOCK = Lock()


def chosen_tasks(
    task: str | None,
    path: str | Path | None,
    tasks: Sequence[str] | None,
    condition: str | None,
    split: str | None,
    skip_unsupported: bool,
) -> TaskSet:
    """Return the tasks that an environment's arguments of these names choose; warns of those that cannot be used.

    Raises:
        ArgumentError: if the arguments contradict each other, or nothing has these names.
        TaskError: if no task can be used, or one cannot and ``skip_unsupported`` is false.
    """
    if (task is None) == (path is None):
        raise ArgumentError("pass either task (a name) or path (a folder)")
    if path is None:
        if not tasks is condition is split is None:
            raise ArgumentError("tasks, filter and split select from a folder of tasks; pass them with path")
        names = sorted(child.name for child in bundled_tasks().iterdir())
        path = bundled_tasks() / str(choice("task", task, names))
    found = load_task_set(path, tasks, condition, split)
    if found.skipped and not (skip_unsupported and found.tasks):
        raise TaskError(found.skipped[0].error or "", found.skipped[0].need)
    if found.skipped:
        warn_once(found.summary())
    return found


def chosen_index(tasks: Sequence[Task], options: Mapping[str, Any]) -> int:
    """Return the index of the task that the options of a reset choose: ``{"index": i}`` or ``{"task": name}``.

    Raises:
        ArgumentError: if there is no such task, or for other options.
    """
    names = [task.name for task in tasks]
    if options.keys() == {"index"}:
        return integer("index", options["index"], minimum=0, maximum=len(names) - 1)
    if options.keys() == {"task"}:
        return names.index(choice("task", options["task"], names))
    raise ArgumentError(f"TerminalEnv has the reset options 'index' and 'task', one of them, got {sorted(options)}")


def load_task_set(
    folder: str | Path,
    tasks: Sequence[str] | None = None,
    filter: str | None = None,  # noqa: A002
    split: str | None = None,
) -> TaskSet:
    """Return the tasks of a folder, or of a folder that is one task, or the part of them that all criteria select.

    If a ``dataset.toml`` of Harbor is in the folder, its tasks are meant; a task whose files differ from its digest
    cannot be used.

    Args:
        folder: the folder.
        tasks: names of tasks or of their folders.
        filter: a condition; see :func:`~gem_terminal.task_filter.matching`. Unusable tasks meet no condition.
        split: a subfolder, or the value of ``split`` in the metadata of the tasks.

    Raises:
        ArgumentError: if there is no task in the folder, a name, a key or the split does not exist, or nothing is left.
        TaskError: if the ``dataset.toml`` is malformed.
    """
    path = Path(folder).expanduser()
    if not path.is_dir() and _is_registered(str(folder)):
        raise ArgumentError(
            f"path must be a folder of tasks, but {str(folder)!r} is a name in Harbor's registry, which GEM does not "
            "download from; download it with 'harbor dataset download' and pass the folder"
        )
    if split is not None and (path / string("split", split)).is_dir():
        path, split = path / split, None
    found = _loaded(path.resolve())
    if (tasks, filter, split) == (None, None, None):
        return found
    return found.select(tasks, filter, split)


def _loaded(path: Path) -> TaskSet:
    if not path.is_dir():
        task_folders(path)  # raises
    with _LOCK:  # the first of many environments parses for all
        manifest = read_manifest(path)
        fingerprint = tuple(_fingerprint(path, manifest))
        kept = _KEPT.get(path)
        if kept is None or kept[0] != fingerprint:
            kept = _KEPT[path] = fingerprint, TaskSet(path, tuple(_entries(path, manifest)))
        _KEPT.move_to_end(path)
        while len(_KEPT) > _MOST_SETS:
            _KEPT.popitem(last=False)
    return kept[1]


def _read_task_folder(folder: Path) -> TaskFolder:
    """Read a task; the result has the reason if it cannot be used."""
    try:
        return TaskFolder(folder, load_task(folder))
    except TaskError as error:
        return TaskFolder(folder, None, str(error), error.need)
    except OSError as error:
        return TaskFolder(folder, None, str(error))


def _entries(path: Path, manifest: Sequence[ManifestTask] | None) -> Iterator[TaskFolder]:
    if manifest is None:
        yield from map(_read_task_folder, task_folders(path))
        return
    for listed in sorted(manifest, key=lambda task: task.name):
        folder = locate(listed, path)
        if folder is None:
            error = f"{path / MANIFEST}: {listed.name} is not here; Harbor downloads it, GEM does not"
            yield TaskFolder(path / listed.short_name, None, error, "a download")
        else:
            yield _verified(folder, listed)


def _verified(folder: Path, listed: ManifestTask) -> TaskFolder:
    try:
        digest = task_digest(folder)
    except (OSError, ValueError) as error:
        return TaskFolder(folder, None, f"{folder} cannot be read: {error}")
    if digest not in (None, listed.digest):
        why = f"{folder}: the digest is {digest}, but {MANIFEST} says {listed.digest}"
        return TaskFolder(folder, None, why, "other files than its digest")
    return _read_task_folder(folder)


def _fingerprint(path: Path, manifest: Sequence[ManifestTask] | None) -> Iterator[object]:
    """Yield what the tasks of a folder depend on: the state of their files, and this process's variables."""
    yield hash(frozenset(os.environ.items()))
    if manifest is not None:  # digests depend on every file
        yield manifest
        for listed in manifest:
            if (folder := locate(listed, path)) is not None:
                yield folder
                for parent, _, names in os.walk(folder):
                    yield from (_state(os.path.join(parent, name)) for name in names)  # noqa: PTH118  # many files
        return
    for place in (str(path), *sorted(entry.path for entry in os.scandir(path) if entry.is_dir())):
        yield place
        yield from (_state(f"{place}/{part}") for part in _PARTS)
        if steps := _state(f"{place}/steps"):
            yield steps
            for step in sorted(entry.path for entry in os.scandir(f"{place}/steps") if entry.is_dir()):
                yield step
                yield from (_state(f"{step}/{part}") for part in _STEP_PARTS)


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116  # pathlib takes twice as long, and a data set has tens of thousands
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _is_registered(name: str) -> bool:
    """Whether a text looks like a name of Harbor's registry: ``terminal-bench@2.0``, ``org/name@latest``."""
    return "@" in name.rpartition("/")[2] and name.count("/") <= 1


@after_fork_in_child
def _reset_after_fork() -> None:
    """Another thread of the parent may have held the lock."""
    global _LOCK
    _LOCK = Lock()
