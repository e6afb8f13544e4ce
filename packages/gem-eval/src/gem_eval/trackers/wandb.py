"""The run tracker ``wandb``: a run of Weights & Biases, on a server or (``WANDB_MODE=offline``) in the run folder."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_eval.trackers.tracker import (
    figures_by_name,
    flat_figures,
    needs_library,
    recorded_episodes,
    run_settings,
    service_run,
)
from gem_rollout.trajectory import Trajectory

__all__ = ["WandbTracker"]


class WandbTracker:
    """Logs the figures of each episode as ``ENVIRONMENT/return`` and so on, the run's settings and its summary.

    The figure ``episode`` is the number of the episode within the run, and the x-axis of the others. Server, key,
    project (``gem`` unless ``WANDB_PROJECT`` is set) and mode come from the variables of Weights & Biases; what it
    writes lies in the folder ``wandb`` of the run folder. A resumed run goes on in the same run there.

    Raises:
        MissingPluginError: if the library wandb is not installed.
        wandb.errors.Error: if Weights & Biases cannot begin a run, for example without a key.
    """

    def __init__(self, folder: Path) -> None:
        self.check()
        import wandb

        self._folder = folder
        self._step = recorded_episodes(folder)
        name = service_run(folder, "wandb", lambda known: known or uuid.uuid4().hex[:12])
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "gem"),
            id=name,
            name=folder.name,
            dir=folder,
            resume="allow",
            settings=wandb.Settings(console="off", silent=True, disable_git=True, save_code=False),
        )
        self._run.define_metric("*", step_metric="episode")
        self._run.define_metric("training/*", step_metric="update")
        self._told = False

    @staticmethod
    def check() -> None:
        """Raise MissingPluginError if the library is missing."""
        needs_library("wandb", "wandb")

    def episode(self, trajectory: Trajectory) -> None:
        self._log({"episode": self._step, **figures_by_name(trajectory)})
        self._step += 1

    def summary(self, figures: Mapping[str, Any]) -> None:
        self._run.summary.update({f"summary/{name}": value for name, value in flat_figures(figures)})

    def update(self, figures: Mapping[str, Any], step: int) -> None:
        """Log the figures of an update of training as ``training/success`` and so on, over ``update``."""
        self._log({"update": step, **{f"training/{name}": value for name, value in flat_figures(figures)}})

    def close(self) -> None:
        self._run.finish()

    def _log(self, figures: Mapping[str, float]) -> None:
        if not self._told and (settings := run_settings(self._folder)):
            self._run.config.update(settings, allow_val_change=True)
            self._told = True
        self._run.log(dict(figures))
