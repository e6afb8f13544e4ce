"""Files of tests that are no valid programs: :func:`unparsable_tests`."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

from gem_terminal.task import Task

__all__ = ["scripts_of", "unparsable_tests"]

LONGEST = 1 << 20
"""Bytes of a script that are read."""
_SCRIPTS = (".sh", ".py", ".js", ".ts", ".rb", ".pl", "")


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
        if path.suffix == ".py" and path.name.startswith("test"):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SyntaxWarning)
                    ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                found[path.name] = str(error)
    return found
