"""The protocol of run trackers, and the figures that they track."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from gem.errors import MissingPluginError
from gem_eval.runs.episode_row import EpisodeRow
from gem_rollout.trajectory import Trajectory

__all__ = [
    "RunTracker",
    "episode_figures",
    "figures_by_name",
    "flat_figures",
    "needs_library",
    "recorded_episodes",
    "run_settings",
    "service_run",
]

_BLOCK = 1 << 20  # bytes


class RunTracker(Protocol):
    """Follows a run. Made with the run folder, which holds earlier episodes where a run goes on.

    A tracker may also have ``update(figures, step)``, which ``gem train`` calls after each update of the policy, and a
    static ``check()``, which raises where the tracker could not begin, and is called before there is a run folder.
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


def figures_by_name(trajectory: Trajectory) -> dict[str, float]:
    """Return :func:`episode_figures` by ``ENVIRONMENT/return`` and so on, as services name them."""
    env = trajectory.key.env or "unknown"
    return {f"{env}/{name}": value for name, value in episode_figures(trajectory).items()}


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


def run_settings(folder: Path) -> dict[str, str]:
    """Return the settings in ``run.json`` of a run folder that are set, by the path to each; none if there is no file.

    Of the environments only the labels are given, and of what is derived (versions, digests) nothing.
    """
    try:
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    kept = {name: value for name, value in record.items() if name not in _DERIVED}
    kept["environments"] = [item.get("label") or item.get("id") for item in record.get("environments", ())]
    return dict(_flat_texts(kept))


_DERIVED = ("schema", "packages", "sources", "resumed", "api_key_env")


def _flat_texts(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _flat_texts(item, f"{prefix}/{name}" if prefix else str(name))
    elif isinstance(value, list):
        if value:
            yield prefix, ", ".join(item if isinstance(item, str) else json.dumps(item) for item in value)
    elif value is not None and value != "":
        yield prefix, str(value)


def needs_library(tracker: str, *modules: str) -> None:
    """Raise MissingPluginError, with the line that installs it, if a library of one of our trackers is missing."""
    for module in modules:
        try:
            found = find_spec(module) is not None
        except ModuleNotFoundError:  # of a package that the module would lie in
            found = False
        if not found:
            raise MissingPluginError(
                f"the tracker {tracker} needs the library {module}; run: pip install 'gem-eval[{tracker}]'"
            )


def service_run(folder: Path, service: str, begin: Callable[[str | None], str]) -> str:
    """Return the id that a run has at a service, which a resumed run keeps: ``tracking/SERVICE`` of the run folder.

    Args:
        folder: the run folder.
        service: a name for the file.
        begin: goes on with the run of an id, or with None begins one; returns the id of the run.
    """
    path = folder / "tracking" / service
    known = path.read_text(encoding="utf-8").strip() if path.exists() else None
    run = begin(known or None)
    if run != known:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(run + "\n", encoding="utf-8")
    return run
