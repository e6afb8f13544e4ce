"""The protocol of run trackers, and the figures that they track."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from gem_eval.runs.episode_row import EpisodeRow
from gem_rollout.trajectory import Trajectory

__all__ = ["RunTracker", "episode_figures", "flat_figures", "recorded_episodes"]

_BLOCK = 1 << 20  # bytes


class RunTracker(Protocol):
    """Follows a run. Made with the run folder, which holds earlier episodes where a run goes on.

    A tracker may also have ``update(figures, step)``, which ``gem train`` calls after each update of the policy.
    """

    def episode(self, trajectory: Trajectory) -> None:
        """Take a recorded episode, finished or failed, in the order in which they end."""

    def summary(self, figures: Mapping[str, Any]) -> None:
        """Take the figures of the whole run at its end, as :meth:`gem_eval.statistics.RunSummary.to_dict` has them."""

    def close(self) -> None:
        """Write what is still to be written."""


def episode_figures(trajectory: Trajectory) -> dict[str, float]:
    """Return the figures of an episode that are known: ``return``, ``success``, ``turns``, tokens, times, scores."""
    row = EpisodeRow.of_trajectory(trajectory)
    figures: dict[str, Any] = {
        "return": row.episode_return,
        "success": row.success,
        "turns": row.turns,
        "prompt_tokens": row.prompt_tokens,
        "completion_tokens": row.completion_tokens,
        "seconds": row.seconds,
        "act_seconds": row.act_seconds,
        "step_seconds": row.step_seconds,
        "tool_calls": row.tool_calls,
        "failed": row.failed,
        **{f"score/{name}": value for name, value in row.scores.items()},
    }
    return {name: float(value) for name, value in figures.items() if value is not None and math.isfinite(value)}


def flat_figures(figures: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield all finite numbers in nested figures, by the path to each: ``environments/game:Sudoku-v0/success/value``.

    In a list, an object with ``env`` or ``name`` goes by that, any other by its position.
    """
    if isinstance(figures, (bool, int, float)):
        if math.isfinite(figures):
            yield prefix, float(figures)
    elif isinstance(figures, Mapping):
        for name, value in figures.items():
            yield from flat_figures(value, f"{prefix}/{name}" if prefix else str(name))
    elif isinstance(figures, Sequence) and not isinstance(figures, (str, bytes)):
        for position, value in enumerate(figures):
            named = value.get("env") or value.get("name") if isinstance(value, Mapping) else None
            yield from flat_figures(value, f"{prefix}/{named or position}")


def recorded_episodes(folder: Path) -> int:
    """Return how many lines ``episodes.jsonl`` of a run folder has, where the next episode continues the count."""
    count = 0
    try:
        with (folder / "episodes.jsonl").open("rb") as file:
            while block := file.read(_BLOCK):
                count += block.count(b"\n")
    except OSError:
        return 0
    return count
