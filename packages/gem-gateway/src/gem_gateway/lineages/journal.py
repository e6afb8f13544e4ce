"""The durable record of a session's calls: :class:`CallJournal`."""

from __future__ import annotations

import json
import os
from pathlib import Path

from gem.errors import TrajectoryError
from gem_rollout.lineages import LineageTree

__all__ = ["CallJournal", "read_journal"]


class CallJournal:
    """Appends records of calls to a file, a line each, in one write that has reached the system when it returns.

    So the record of an answer outlives the gateway's process, however that ends, before the program has the answer. A
    loss of power is another matter: nothing is synced to the disk.

    Args:
        path: the file; it is made, and must not exist, since digests chain from its first line.

    Raises:
        TrajectoryError: if it cannot be made.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("xb", buffering=0)
        except OSError as error:
            raise TrajectoryError(f"{self.path}: the journal cannot be made: {error.strerror or error}") from error

    def write(self, record: str) -> None:
        """Append a record, the JSON that :meth:`LineageTree.add` returns.

        Raises:
            TrajectoryError: if the disk takes it not, or not whole.
        """
        line = record.encode() + b"\n"
        try:
            written = self._file.write(line)
        except OSError as error:
            raise TrajectoryError(f"{self.path}: a call cannot be recorded: {error.strerror or error}") from error
        if written != len(line):
            raise TrajectoryError(f"{self.path}: a call was recorded in part; the disk is full")

    def close(self) -> None:
        """Close the file. Calling it again does nothing."""
        self._file.close()


def read_journal(path: str | os.PathLike[str]) -> LineageTree:
    """Return the calls of a journal; a last line that was cut off is left out, since its answer never left.

    Raises:
        TrajectoryError: if the file cannot be read, or a line is no record of a call.
    """
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise TrajectoryError(f"{path}: cannot be read: {error.strerror or error}") from error
    records = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise TrajectoryError(f"{path}, line {number}: {error}") from error
    try:
        return LineageTree.from_list(records)
    except TrajectoryError as error:
        raise TrajectoryError(f"{path}: {error}") from error
