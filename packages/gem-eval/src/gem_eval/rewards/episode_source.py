"""Where recorded episodes are read from: a run folder, or a file alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from gem_eval.runs.episode_row import EpisodeRow
from gem_eval.runs.errors import RunFolderError
from gem_eval.runs.folder import RunFolder
from gem_eval.runs.lines import end_of_lines, parse_line, scan
from gem_eval.runs.score_files import SCORES_FOLDER
from gem_rollout.trajectory import Trajectory

__all__ = ["EpisodeFile", "EpisodeSource", "open_episodes"]


class EpisodeSource(Protocol):
    """Where episodes are read from: a :class:`gem_eval.runs.RunFolder`, or an :class:`EpisodeFile`."""

    def rows(self) -> list[EpisodeRow]:
        """Return the rows of the episodes."""
        ...

    def episode(self, row: EpisodeRow) -> Trajectory:
        """Return the episode of a row."""
        ...


class EpisodeFile:
    """A file of episodes without a run around it, as ``gem rollout --out`` writes it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def rows(self) -> list[EpisodeRow]:
        latest = {row.key: row for row in scan(self.path, 0, end_of_lines(self.path))}
        return sorted(latest.values(), key=lambda row: row.offset)

    def episode(self, row: EpisodeRow) -> Trajectory:
        with self.path.open("rb") as file:
            file.seek(row.offset)
            return Trajectory.from_dict(parse_line(file.read(row.length)))


def open_episodes(path: str | os.PathLike[str]) -> tuple[EpisodeSource, Path]:
    """Return the episodes of a run folder or of a JSONL file, and the folder for their scores.

    The scores of a run are in ``scores`` within its folder, those of ``NAME.jsonl`` in ``NAME.scores`` beside it.

    Raises:
        RunFolderError: if there are neither.
    """
    place = Path(path)
    if place.is_dir():
        return RunFolder.open(place), place / SCORES_FOLDER
    if not place.is_file():
        raise RunFolderError(f"{str(place)!r} is neither a run folder nor a file of episodes")
    return EpisodeFile(place), place.with_suffix(".scores")
