"""The run tracker ``jsonl``: ``metrics.jsonl`` in the run folder, one line an episode."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_eval.trackers.tracker import episode_figures, recorded_episodes
from gem_rollout.trajectory import Trajectory

__all__ = ["JsonlTracker"]


class JsonlTracker:
    """Appends a line of figures for each episode, and one for the run at its end.

    ``{"step": 0, "time": …, "env": …, "seed": …, "repetition": …, "return": …}`` and ``{"time": …, "summary": {…}}``;
    ``step`` counts the episodes of the run, ``time`` is Unix time in seconds.
    """

    def __init__(self, folder: Path) -> None:
        self._step = recorded_episodes(folder)
        self._file = (folder / "metrics.jsonl").open("ab", buffering=0)

    def episode(self, trajectory: Trajectory) -> None:
        self._write({"step": self._step, **trajectory.key._asdict(), **episode_figures(trajectory)})
        self._step += 1

    def summary(self, figures: Mapping[str, Any]) -> None:
        self._write({"summary": dict(figures)})

    def close(self) -> None:
        self._file.close()

    def _write(self, record: dict[str, Any]) -> None:
        line = json.dumps({"time": time.time(), **record}, default=str, separators=(",", ":"))
        self._file.write(line.encode("ascii") + b"\n")
