"""What has been played of an update that is not done: :class:`UpdateJournal`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from gem_rollout import TurnJournal
from gem_rollout.trajectory import EpisodeKey, Trajectory, TrajectoryWriter, read_trajectories

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["UpdateJournal"]

_PLAYED = "played.jsonl"
_UNFINISHED = "unfinished.jsonl"


class UpdateJournal:
    """The finished episodes of an update and the turns of the others, each on disk before the next turn begins.

    No two updates of a run have an episode in common, so what is left of another one is not taken for this one's, and
    goes. A context manager.

    Args:
        folder: of the run.
        keys: of the episodes of the update.

    Attributes:
        finished: the episodes that an earlier process finished.
        turns: those of unfinished episodes.
    """

    def __init__(self, folder: Path, keys: Collection[EpisodeKey]) -> None:
        path = folder / _PLAYED
        played = read_trajectories(path) if path.exists() else ()
        self.finished = {one.key: one for one in played if one.key in keys}
        if not self.finished:
            path.unlink(missing_ok=True)
        self._writer = TrajectoryWriter(path)
        self.turns = TurnJournal(folder / _UNFINISHED)
        for key in self.turns.unfinished:
            if key in self.finished or key not in keys:
                self.turns.settle(key)

    @staticmethod
    def remove(folder: Path) -> None:
        """Remove the files of a run that has ended."""
        for name in (_PLAYED, _UNFINISHED):
            (folder / name).unlink(missing_ok=True)

    def unfinished(self) -> dict[EpisodeKey, Trajectory]:
        """Return the episodes that an earlier process began and did not finish, as far as they were played."""
        played = {key: self.turns.played(key) for key in self.turns.unfinished}
        return {key: episode for key, episode in played.items() if episode is not None}

    def keep(self, episode: Trajectory) -> None:
        """Write down an episode that has ended."""
        self._writer.write(episode)
        self.turns.settle(episode.key)

    def close(self) -> None:
        """Close the files; calling it again does nothing."""
        self._writer.close()
        self.turns.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
