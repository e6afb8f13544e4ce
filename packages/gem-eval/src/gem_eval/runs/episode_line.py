"""A finished episode as a run folder takes it, which may come from another process: :class:`EpisodeLine`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gem_eval.runs.episode_row import EpisodeRow, Prices
from gem_eval.runs.index import decode, encode
from gem_eval.runs.lines import parse_line
from gem_rollout.trajectory import Trajectory
from gem_rollout.trajectory.encoder import TrajectoryEncoder

__all__ = ["EpisodeLine", "packed", "unpacked"]


@dataclass(frozen=True, slots=True)
class EpisodeLine:
    """An episode that is encoded, with what is asked of it when it is written."""

    line: bytes
    """As ``episodes.jsonl`` holds it, with its newline."""
    row: EpisodeRow
    """Its figures, with any offset."""
    message: str = ""
    """Why the episode failed."""
    begun_again: str | None = None
    """Why it was not continued after its last turn; None unless it was to be."""

    @classmethod
    def of(
        cls, trajectory: Trajectory, encoder: TrajectoryEncoder, prices: Prices | None, offset: int = 0
    ) -> EpisodeLine:
        """Return an episode as a line.

        Raises:
            TrajectoryError: if it cannot be written as JSON.
        """
        line = encoder.line(trajectory)
        row = EpisodeRow.of_trajectory(trajectory, offset, len(line), prices)
        return cls(line, row, trajectory.error or "", trajectory.metadata.get("begun_again"))

    def trajectory(self) -> Trajectory:
        """Return the episode."""
        return Trajectory.from_dict(parse_line(self.line))


def packed(episodes: Iterable[EpisodeLine]) -> tuple[list[dict[str, Any]], bytes]:
    """Return episodes as values for JSON and as bytes, for another process."""
    described, parts = [], []
    for episode in episodes:
        row = encode(episode.row)
        parts += [row, episode.line]
        described.append({"sizes": [len(row), len(episode.line)], "message": episode.message})
        if episode.begun_again is not None:
            described[-1]["begun_again"] = episode.begun_again
    return described, b"".join(parts)


def unpacked(described: Iterable[Mapping[str, Any]], body: bytes) -> Iterator[EpisodeLine]:
    """Undo :func:`packed`."""
    begin = 0
    for item in described:
        middle = begin + item["sizes"][0]
        end = middle + item["sizes"][1]
        row = decode(body[begin:middle])
        yield EpisodeLine(body[middle:end], row, item["message"], item.get("begun_again"))
        begin = end
