"""What the scripts of tests say: :func:`unparsable_tests` and :func:`landings_of`."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gem_terminal.task import Task
from gem_terminal.verdicts.carried_kinds import is_test_source

__all__ = ["landings_of", "scripts_of", "unparsable_tests"]

LONGEST = 1 << 20
"""Bytes of a script that are read."""
_SCRIPTS = (".sh", ".py", ".js", ".ts", ".rb", ".pl", "")
_COPIES = re.compile(r"\b(?:cp|mv|install|rsync|ln)\s([^\n;&|<>()]*)")
_CHANGES_FOLDER = re.compile(r"\b(?:cd|pushd|WORKDIR)\s+([^\s;&|<>()]+)")


def landings_of(task: Task, workdir: PurePosixPath) -> frozenset[PurePosixPath]:
    """Return the folders into which the commands of a task's tests copy something, as far as their texts say it.

    A relative path counts from each folder that a script changes to. Paths with variables are left out.

    Args:
        task: the task.
        workdir: the folder in which the tests begin.
    """
    found: set[PurePosixPath] = set()
    shells = (text for path, text in scripts_of(task) if path.suffix in ("", ".sh"))
    for text in (task.tests.command, *shells):
        joined = text.replace("\\\n", " ")
        folders = [workdir, *(workdir / name for name in map(_plain, _CHANGES_FOLDER.findall(joined)) if name)]
        for words in map(str.split, _COPIES.findall(joined)):
            paths = [path for path in map(_plain, words) if not path.startswith("-")]
            if len(paths) > 1 and paths[-1]:
                place = PurePosixPath(paths[-1])
                found.update(folder / (place.parent if place.suffix else place) for folder in folders)
    return frozenset(found)


def _plain(word: str) -> str:
    """Return a word of a script without quotes; nothing for one that depends on variables."""
    bare = word.strip("\"'")
    return "" if re.search(r"[$`*?]", bare) else bare


def scripts_of(task: Task) -> Iterator[tuple[Path, str]]:
    """Yield the scripts among a task's tests, and their texts."""
    for source in task.tests.sources:
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if path.suffix in _SCRIPTS and path.is_file():
                with path.open("rb") as file:
                    yield path, file.read(LONGEST).decode(errors="replace")


def unparsable_tests(task: Task) -> dict[str, str]:
    """Return the names of test modules in Python that do not parse → why; helpers and data do not count.

    This Python decides: tests in the syntax of a newer one are told as well.
    """
    found = {}
    for path, text in scripts_of(task):
        if path.suffix == ".py" and (is_test_source(PurePosixPath(path.name)) or path.stem == "conftest"):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SyntaxWarning)
                    ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                found[path.name] = str(error)
    return found
