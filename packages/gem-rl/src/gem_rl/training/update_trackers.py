"""The figures of updates on their way to run trackers: :class:`UpdateTrackers`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.errors import ArgumentError, GemError, PluginWarning
from gem.plugins import lookup

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["UpdateTrackers"]


class UpdateTrackers:
    """Run trackers that follow a training run; a context manager.

    A tracker is made with the run folder. It gets ``update(figures, step)`` if it has that method, and otherwise
    ``summary(figures)`` once at the end, as after an evaluation. One that raises is not called again, causes a
    :class:`gem.errors.PluginWarning`, and never ends the run.

    Args:
        names: names of the hook ``gem_run_trackers``.
        folder: the run folder.

    Raises:
        MissingPluginError: if nothing installed has one of the names, or its library is missing.
        ArgumentError: if a tracker cannot begin.
    """

    def __init__(self, names: Iterable[str], folder: Path) -> None:
        makers = {name: lookup("gem_run_trackers", name, "run tracker", _PROVIDERS) for name in dict.fromkeys(names)}
        folder.mkdir(parents=True, exist_ok=True)
        self._last: Mapping[str, Any] = {}
        self._trackers: dict[str, Any] = {}
        for name, maker in makers.items():
            try:
                self._trackers[name] = maker(folder)
            except GemError:
                raise
            except Exception as error:  # of the service's own library
                raise ArgumentError(
                    f"run tracker {name} cannot begin: {type(error).__name__}: {error}"[:500]
                ) from error

    def update(self, figures: Mapping[str, Any]) -> None:
        """Pass the figures of an update on; ``figures["update"]`` is its number."""
        self._last = figures
        for name, tracker in list(self._trackers.items()):
            if hasattr(tracker, "update"):
                self._attempt(name, partial(tracker.update, figures, figures["update"]))

    def close(self) -> None:
        """Close the trackers."""
        for name, tracker in list(self._trackers.items()):
            if self._last and not hasattr(tracker, "update"):
                self._attempt(name, partial(tracker.summary, self._last))
            self._attempt(name, tracker.close)
        self._trackers = {}

    def _attempt(self, name: str, call: Callable[[], Any]) -> None:
        try:
            call()
        except Exception as error:  # a tracker may raise anything
            self._trackers.pop(name, None)
            warnings.warn(
                f"run tracker {name} failed, and is not called again: {type(error).__name__}: {error}"[:500],
                PluginWarning,
                stacklevel=3,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


_PROVIDERS = dict.fromkeys(("jsonl", "mlflow", "opentelemetry", "tensorboard", "wandb"), "gem-eval")
