"""What the author of a task says about the files that count: :class:`Declarations`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from gem_terminal.task import Task
from gem_terminal.verdicts.paths import within

__all__ = ["COMMON_FOLDERS", "Declarations", "declarations_of", "home_of"]

COMMON_FOLDERS = ("/app", "/data", "/home", "/mnt", "/output", "/srv", "/var/www", "/workspace")
"""Folders that are declared for every task, beside its working folder and the home of its agent."""

_NEVER = tuple(
    map(
        PurePosixPath,
        (
            "/bin", "/boot", "/dev", "/lib", "/lib32", "/lib64", "/libx32", "/logs", "/proc", "/run", "/sbin",
            "/solution", "/sys", "/tests", "/usr", "/etc/alternatives", "/etc/bash.bashrc", "/etc/environment",
            "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/passwd",
            "/etc/profile", "/etc/profile.d", "/etc/shadow", "/etc/sudoers",
        ),
    )
)  # fmt: skip
"""Paths that a mention in an instruction does not declare: tools, places of the tests, and what every shell reads."""
_BROAD = frozenset(map(PurePosixPath, ("/", "/etc", "/opt", "/root", "/tmp", "/var", "/var/lib")))  # noqa: S108
"""Folders whose mention is no declaration; that of a path inside them is."""
_PATH = re.compile(r"(?:^|(?<=[\s`'\"(\[=,:]))(?:/[\w.+@-]+)+", re.MULTILINE)
_PATH_AT_HOME = re.compile(r"(?:^|(?<=[\s`'\"(\[=,:]))~(?:/[\w.+@-]+)+", re.MULTILINE)
_WORD = re.compile(r"[\w+@.-]+")


class Declarations(NamedTuple):
    """What the author of a task says about the files that count."""

    stated: tuple[PurePosixPath, ...] = ()
    """Paths in ``pristine_paths`` of the metadata: carried whatever they are. What is in such a folder is carried too,
    unless its name is reserved for programs that run tests."""
    patterns: tuple[str, ...] = ()
    """Patterns there, with ``*``, ``?`` and ``**``: what fits is carried whatever it is."""
    paths: tuple[PurePosixPath, ...] = ()
    """Paths that the instruction mentions."""
    names: frozenset[str] = frozenset()
    """Words of the instruction, which may be names of files."""

    @property
    def places(self) -> tuple[PurePosixPath, ...]:
        """The paths and folders that this declares."""
        folders = [PurePosixPath(re.split(r"/[^/]*[*?]", pattern, maxsplit=1)[0] or "/") for pattern in self.patterns]
        return tuple(dict.fromkeys((*self.stated, *folders, *self.paths)))


def declarations_of(task: Task, home: PurePosixPath | None = None) -> Declarations:
    """Return what a task's author declares: in ``pristine_paths`` of its metadata, and in the instruction.

    Args:
        task: the task.
        home: the meaning of ``~``.
    """
    given = task.metadata.get("pristine_paths")
    stated = (
        [path for path in given if isinstance(path, str) and path.startswith("/")] if isinstance(given, list) else []
    )
    text = "\n".join([task.instruction, *(step.instruction for step in task.steps)])
    mentioned = [PurePosixPath(found.rstrip(".")) for found in _PATH.findall(text)]
    if home is not None:
        mentioned += [home / found.rstrip(".").lstrip("~/") for found in _PATH_AT_HOME.findall(text)]
    is_pattern = re.compile(r"[*?]").search
    return Declarations(
        tuple(PurePosixPath(path) for path in stated if not is_pattern(path)),
        tuple(path for path in stated if is_pattern(path)),
        tuple(
            dict.fromkeys(
                path
                for path in mentioned
                if ".." not in path.parts and path not in _BROAD and not any(within(path, never) for never in _NEVER)
            )
        ),
        frozenset(word.rstrip(".") for word in _WORD.findall(text)),
    )


def home_of(passwd: Sequence[str], user: str | None) -> PurePosixPath | None:
    """Return the home of a user, given by name or number, from the lines of ``/etc/passwd``."""
    for line in passwd:
        fields = line.split(":")
        if len(fields) >= 6 and (user or "root") in (fields[0], fields[2]) and fields[5].startswith("/"):
            return PurePosixPath(fields[5])
    return None
