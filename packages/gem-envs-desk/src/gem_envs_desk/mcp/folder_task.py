"""A task on a folder: :class:`FolderTask`, and the calls that achieve it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from gem_envs_desk.mcp.folder_workspace import FileTree

__all__ = ["FolderFamily", "FolderTask", "calls_between"]


class FolderTask(NamedTuple):
    """What an environment knows of its episode."""

    start: FileTree
    text: str
    end: FileTree
    """The right end; the start itself for a question."""
    answer: tuple[str, ...] | None = None
    """The values of the right answer to a question."""
    family: str = ""

    @property
    def solution(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Calls of tools that achieve the task, each of which is necessary."""
        return calls_between(self.start, self.end)


class FolderFamily(NamedTuple):
    """Tasks of one kind."""

    draw: Callable[[Random], FolderTask | None]
    """None if chance made the task trivial."""
    kind: str
    """``reading`` or ``changing``."""


def calls_between(start: FileTree, end: FileTree) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return the calls that lead from one tree to the other: folders, moves, texts, deletions from the inside out."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("create_directory", {"path": path}) for path in sorted(end) if end[path] is None and path not in start
    ]
    gone = {path: content for path, content in start.items() if path not in end}
    for path in sorted(path for path in end if end[path] is not None and end[path] != start.get(path)):
        content = end[path]
        source = next((old for old in sorted(gone) if gone[old] == content), None) if path not in start else None
        if source is None:
            calls.append(("write_file", {"path": path, "content": content}))
        else:
            del gone[source]
            calls.append(("move_file", {"source": source, "destination": path}))
    calls += [("delete_file", {"path": path}) for path in sorted(gone, reverse=True)]
    return tuple(calls)
