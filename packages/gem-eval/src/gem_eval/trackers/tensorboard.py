"""The run tracker ``tensorboard``: event files in the folder ``tensorboard`` of the run folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_eval.trackers.tracker import figures_by_name, flat_figures, needs_library, recorded_episodes
from gem_rollout.trajectory import Trajectory

__all__ = ["TensorboardTracker"]


class TensorboardTracker:
    """Writes the figures of each episode as scalars ``ENVIRONMENT/return`` and so on, and those of the run at its end.

    The step is the number of the episode within the run. Show them with ``tensorboard --logdir DIR``.

    Raises:
        MissingPluginError: if the library tensorboardX is not installed.
    """

    def __init__(self, folder: Path) -> None:
        self.check()
        from tensorboardX import SummaryWriter

        self._step = recorded_episodes(folder)
        self._writer = SummaryWriter(str(folder / "tensorboard"))

    @staticmethod
    def check() -> None:
        """Raise MissingPluginError if the library is missing."""
        needs_library("tensorboard", "tensorboardX")

    def episode(self, trajectory: Trajectory) -> None:
        for name, value in figures_by_name(trajectory).items():
            self._writer.add_scalar(name, value, self._step)
        self._step += 1

    def summary(self, figures: Mapping[str, Any]) -> None:
        for name, value in flat_figures(figures):
            self._writer.add_scalar(f"summary/{name}", value, self._step)

    def update(self, figures: Mapping[str, Any], step: int) -> None:
        """Write the figures of an update of training as scalars ``training/success`` and so on."""
        for name, value in flat_figures(figures):
            self._writer.add_scalar(f"training/{name}", value, step)

    def close(self) -> None:
        self._writer.close()
