"""Files of trajectories: JSON lines, one trajectory a line, each line with its schema version.

A writer only appends, each line in one write, so that several runs can share a file, and a file cut off at any byte
loses at most its last line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from gem.errors import TrajectoryError
from gem_rollout.trajectory.encoder import TrajectoryEncoder
from gem_rollout.trajectory.record import Trajectory

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TrajectoryWriter", "read_trajectories"]


class TrajectoryWriter:
    """Appends trajectories to a JSONL file; a context manager.

    It first repairs a file whose last line was cut off: the broken line stays, closed by a newline, and readers
    skip it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._encoder = TrajectoryEncoder()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered and in append mode: every write reaches the end of the file in one piece.
        self._file = self.path.open("ab", buffering=0)
        if self.path.stat().st_size and not self._ends_with_newline():
            self._file.write(b"\n")

    def write(self, trajectory: Trajectory) -> None:
        """Append one trajectory.

        Raises:
            TrajectoryError: if it is not JSON-serialisable; the file is then unchanged.
        """
        self._file.write(self._encoder.line(trajectory))

    def close(self) -> None:
        """Close the file. Calling it again does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ends_with_newline(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def read_trajectories(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Trajectory]:
    """Yield the trajectories of a JSONL file in order, reading one line at a time.

    A crash can leave lines that are not JSON; they are skipped.

    Args:
        path: the file.
        strict: raise for such lines as well.

    Raises:
        TrajectoryError: if the file cannot be opened, or a line is JSON but not a trajectory; the message
            names file and line.
    """
    for number, line in _lines(Path(path)):
        try:
            record = json.loads(line)
        except ValueError as error:
            if strict and line.strip():
                raise TrajectoryError(f"{path}, line {number}: {error}") from error
            continue
        try:
            yield Trajectory.from_dict(record)
        except TrajectoryError as error:
            raise TrajectoryError(f"{path}, line {number}: {error}") from error


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            yield from enumerate(file, start=1)
    except OSError as error:
        raise TrajectoryError(f"{path}: cannot be read: {error.strerror or error}") from error
