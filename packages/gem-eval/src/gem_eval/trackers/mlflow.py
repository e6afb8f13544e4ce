"""The run tracker ``mlflow``: a run of MLflow, on the server or in the database that its variables name."""

from __future__ import annotations

import os
import time
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

__all__ = ["MlflowTracker"]

_BATCH = 1000
"""Most metrics in a request, a limit of MLflow's REST API."""
_LONGEST = 6000
"""Most characters of a parameter, the same."""


class MlflowTracker:
    """Logs the figures of each episode as metrics ``ENVIRONMENT/return`` and so on, and the settings as parameters.

    The step of a metric is the number of the episode within the run. ``MLFLOW_TRACKING_URI`` names the server or the
    database, ``MLFLOW_EXPERIMENT_NAME`` the experiment (``gem`` unless set); both are MLflow's own. A resumed run goes
    on in the same run of MLflow.

    Raises:
        MissingPluginError: if the library mlflow is not installed.
        mlflow.exceptions.MlflowException: if MLflow's store cannot be reached.
    """

    def __init__(self, folder: Path) -> None:
        self.check()
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")  # where the results of a command go
        from mlflow import MlflowClient

        self._folder = folder
        self._client = MlflowClient()
        self._run = service_run(folder, "mlflow", self._begin)
        self._step = recorded_episodes(folder)
        self._waiting: list[Any] = []
        self._told = False

    @staticmethod
    def check() -> None:
        """Raise MissingPluginError if the library is missing."""
        needs_library("mlflow", "mlflow.tracking")

    def episode(self, trajectory: Trajectory) -> None:
        self._log(figures_by_name(trajectory), self._step)
        self._step += 1

    def summary(self, figures: Mapping[str, Any]) -> None:
        self._log({f"summary/{name}": value for name, value in flat_figures(figures)}, self._step)
        self._send()

    def update(self, figures: Mapping[str, Any], step: int) -> None:
        """Log the figures of an update of training as metrics ``training/success`` and so on."""
        self._log({f"training/{name}": value for name, value in flat_figures(figures)}, step)
        self._send()

    def close(self) -> None:
        self._send()
        self._client.set_terminated(self._run, "FINISHED")

    def _begin(self, known: str | None) -> str:
        if known is not None:
            self._client.set_terminated(known, "RUNNING")
            return known
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "gem")
        experiment = self._client.get_experiment_by_name(name)
        number = self._client.create_experiment(name) if experiment is None else experiment.experiment_id
        return str(self._client.create_run(number, run_name=self._folder.name).info.run_id)

    def _log(self, figures: Mapping[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        self._waiting += [Metric(_allowed(name), value, now, step) for name, value in figures.items()]
        if len(self._waiting) >= _BATCH:
            self._send()

    def _send(self) -> None:
        from mlflow.entities import Param

        if not self._told and (settings := run_settings(self._folder)):
            parameters = [Param(_allowed(name), value[:_LONGEST]) for name, value in settings.items()]
            self._client.log_batch(self._run, params=parameters)
            self._told = True
        while self._waiting:
            self._client.log_batch(self._run, metrics=self._waiting[:_BATCH])
            del self._waiting[:_BATCH]


def _allowed(name: str) -> str:
    """Return a name with ``_`` for each character that MLflow's names cannot have."""
    return "".join(character if character.isalnum() or character in "_-. :/" else "_" for character in name)
