"""A run folder as the viewer reads it: rows that only grow, and the record of one episode."""

from __future__ import annotations

import json
import os
from threading import Lock
from typing import Any

from gem.errors import GemError, TrajectoryError
from gem_eval.runs import EpisodeRow, RunFolder, RunFolderError
from gem_eval.runs.lines import parse_line
from gem_rollout.lineages.kinds import lineage_kinds
from gem_rollout.lineages.tree import lineages_in
from gem_rollout.trajectory import SCHEMA, Trajectory

__all__ = ["RunReadError", "ViewedRun", "as_read_by_page"]

_LONGEST_RECORD = 2**29
"""Bytes of one episode's record that are read at most; a browser holds no longer text."""


class RunReadError(GemError, ValueError):
    """An episode that a page asks for does not exist or cannot be read."""


class ViewedRun:
    """A run, with its rows numbered in the order of the file. Several threads may call it.

    Args:
        path: a run folder.

    Raises:
        RunFolderError: if it holds no run.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.folder = RunFolder(path)
        self.rows: list[EpisodeRow] = []
        """All lines of the run, those of failed attempts that were repeated included."""
        self.generation = 0
        """Counts how often the rows were replaced by others; in between they are only added to."""
        self._scores_version = 0
        self._lock = Lock()

    def refresh(self) -> None:
        """Read what the run has gained since the last call."""
        with self._lock:
            rows = self.folder.rows(attempts=True)
            known = len(self.rows)
            rescored = self.folder.scores_version != self._scores_version
            if known and (rescored or rows[:known] != self.rows):  # another run, or outcomes that new rows settle
                self.generation += 1
            self.rows, self._scores_version = rows, self.folder.scores_version

    def live(self) -> dict[str, Any] | None:
        """Return the last progress of the process that writes the run; None if there is none."""
        return self.folder.live

    def record(self, number: int) -> bytes:
        """Return the record of an episode as JSON.

        Args:
            number: the position of its row.

        Raises:
            RunReadError: if there is no such episode, or its record is damaged.
        """
        rows = self.rows
        if not 0 <= number < len(rows):
            raise RunReadError(f"{self.folder.path} has no episode {number}; it has {len(rows)}")
        row = rows[number]
        if row.length > _LONGEST_RECORD:
            raise RunReadError(f"the record of episode {number} has {row.length:,} bytes, too many for a page")
        try:
            return as_read_by_page(self.folder.record(row))
        except (RunFolderError, TrajectoryError, ValueError, RecursionError) as error:
            raise RunReadError(f"episode {number} of {self.folder.path} cannot be read: {error}") from error


def as_read_by_page(line: bytes) -> bytes:
    """Return a record in the form that the page reads: schema 2, with edits only where the page can apply them.

    Where an agent program played, ``lineage_kinds`` says what part each lineage of its model calls had, by the index
    of its first call, or ``lineage_fault`` why the record of the calls cannot be read.

    Raises:
        TrajectoryError: if the line holds no trajectory.
        ValueError: if it is not JSON.
    """
    record = parse_line(line)
    changed = not (isinstance(record, dict) and record.get("schema") == SCHEMA and not _has_parsed_arguments(record))
    if changed:
        record = Trajectory.from_dict(record).to_dict(whole=_has_parsed_arguments(record))
    about = _about_lineages(record.get("metadata"))
    return json.dumps({**record, **about}).encode("ascii") if changed or about else line


def _about_lineages(metadata: Any) -> dict[str, Any]:
    try:
        tree = lineages_in(metadata)
    except TrajectoryError as error:
        return {"lineage_fault": str(error)}
    return {} if tree is None else {"lineage_kinds": lineage_kinds(tree)}


def _has_parsed_arguments(record: dict[str, Any]) -> bool:
    """Whether a tool call has arguments that are not text, which edits quote as Python writes them as JSON."""
    transitions = record.get("transitions")
    for transition in transitions if isinstance(transitions, list) else ():
        action = transition.get("action") if isinstance(transition, dict) else None
        calls = action.get("tool_calls") if isinstance(action, dict) else None
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and not isinstance(function.get("arguments", ""), str):
                return True
    return False
