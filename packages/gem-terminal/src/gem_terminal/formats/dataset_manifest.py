"""Harbor's ``dataset.toml``: the tasks of a data set with the sha256 digest of each.

The digest of a task is Harbor's: SHA-256 over the lines ``relative path NUL sha256 of the file LF``, sorted by path,
of ``task.toml``, ``instruction.md``, ``README.md``, ``trajectory.json`` and all files in ``environment/``, ``tests/``,
``solution/`` and ``steps/``, without the files that ``.gitignore`` names (or, without one, Harbor's usual ones) and
without ``.harborignore`` files. Patterns in ``.harborignore`` are not read, so a task that has any is not verified.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from gem_terminal.errors import TaskError
from gem_terminal.formats.fields import validated

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["MANIFEST", "ManifestTask", "locate", "read_manifest", "task_digest"]

MANIFEST = "dataset.toml"

_FILES = ("task.toml", "instruction.md", "README.md", "trajectory.json")
_FOLDERS = ("environment", "tests", "solution", "steps")
_IGNORED = ("__pycache__/", "*.pyc", ".DS_Store", "*.swp", "*.swo", "*~")
_IGNORE_FILE = ".harborignore"
_CACHE = Path("~/.cache/harbor/tasks/packages")
"""The folder in which Harbor keeps the packages that it has downloaded, by name and digest."""


class ManifestTask(BaseModel):
    """A reference to one task."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")
    """``organisation/name``."""
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")

    @property
    def short_name(self) -> str:
        return self.name.rpartition("/")[2]


class _About(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: str


class _Manifest(BaseModel):
    model_config = ConfigDict(extra="ignore")

    dataset: _About
    tasks: list[ManifestTask] = []


def read_manifest(folder: Path) -> tuple[ManifestTask, ...] | None:
    """Return the tasks that a folder's ``dataset.toml`` lists; None without such a file, or one of another program.

    Raises:
        TaskError: if the file is malformed.
    """
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TaskError(f"{path} is no TOML: {error}") from error
    if "dataset" not in content:
        return None
    return tuple(validated(_Manifest, content, path).tasks)


def locate(task: ManifestTask, folder: Path) -> Path | None:
    """Return the folder of a task: beside ``dataset.toml``, in ``tasks/``, or in the cache of Harbor's downloads."""
    digest = task.digest.partition(":")[2]
    places = (
        folder / task.short_name,
        folder / "tasks" / task.short_name,
        _CACHE.expanduser() / task.name / digest,
    )
    return next((place for place in places if (place / "task.toml").is_file()), None)


def task_digest(folder: Path) -> str | None:
    """Return the digest of a task, ``sha256:…``; None if the task has rules in a ``.harborignore``.

    Raises:
        OSError: if a file cannot be read.
    """
    from pathspec import GitIgnoreSpec  # only data sets with a dataset.toml need it

    ignore = folder / ".gitignore"
    lines = ignore.read_text(encoding="utf-8").splitlines() if ignore.is_file() else _IGNORED
    ignored = GitIgnoreSpec.from_lines(lines)
    digest = hashlib.sha256()
    for name in sorted(path.relative_to(folder).as_posix() for path in _published(folder)):
        if ignored.match_file(name):
            continue
        if name.rpartition("/")[2] == _IGNORE_FILE:
            if (folder / name).read_text(encoding="utf-8").strip():
                return None
            continue
        content = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        digest.update(f"{name}\0{content}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _published(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in _FILES if (folder / name).exists())
    for name in _FOLDERS:
        yield from _files_below(folder / name)


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a tree; links to files count, links to folders are not followed."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.is_file():
            yield path
        elif not path.is_symlink():
            yield from _files_below(path)
