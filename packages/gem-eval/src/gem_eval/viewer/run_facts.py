"""What the page says of a run as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gem_eval.runs import EpisodeRow, RunFolder
from gem_eval.runs.names import distinct_names
from gem_eval.statistics import EnvironmentSummary, Estimate, summarize_run
from gem_eval.statistics.run_summary import GroupMean
from gem_eval.viewer.columns import short_text
from gem_rollout.trajectory.outcome import counted_text

__all__ = ["environment_figures", "facts_of", "mean_figures", "run_facts", "run_figures"]

_MOST = 500
"""Environments and settings that are sent at most."""

_UNSET: tuple[Any, ...] = (None, False, {}, [], "")
"""What no one has set; a number is always shown, 0 like any other: a temperature of 0.0 is a choice."""


def facts_of(folders: Sequence[RunFolder]) -> list[dict[str, Any]]:
    """Return :func:`run_facts` of runs that stand beside each other, with names that tell them apart."""
    names = distinct_names(folders)
    return [{**run_facts(folder), "name": short_text(name)} for folder, name in zip(folders, names, strict=True)]


def run_facts(folder: RunFolder) -> dict[str, Any]:
    """Return what the page shows of a run's configuration, JSON-serialisable and each of a known type."""
    config = folder.config
    wrappers = dict.fromkeys(name for item in config.environments for name in item.wrappers or config.wrappers or ())
    return {
        "name": short_text(str(folder.name)),
        "folder": short_text(str(folder.path)),
        "agent": _text(config.agent),
        "model": _text(config.served_model) or _text(config.model),
        "gem": _text(config.gem),
        "started_at": config.started_at if isinstance(config.started_at, int | float) else None,
        "wrappers": short_text(", ".join(map(str, wrappers))) or None,
        "environments": [short_text(str(item.label)) for item in config.environments[:_MOST]],
        "settings": {**_settings(config.sampling), **_settings(config.limits)},
    }


def run_figures(rows: Sequence[EpisodeRow]) -> dict[str, Any]:
    """Return what the command line prints of all episodes of a run: the figures of each environment, and the hints."""
    summary = summarize_run(rows)
    return {
        "figures": [environment_figures(item) for item in summary.environments[:_MOST]],
        "overall": mean_figures(summary.together),
        "hints": [short_text(hint) for hint in summary.hints],
    }


def environment_figures(item: EnvironmentSummary) -> dict[str, Any]:
    """Return the figures of one environment, JSON-serialisable."""
    judged = 0 if item.success is None else item.success.episodes
    return {
        "env": short_text(item.env),
        "episodes": item.episodes,
        "failed": item.failed,
        "success": _estimate(item.success),
        "solved": item.success_count,
        "judged": judged,
        "unknown": item.success_unknown,
        "bounds": item.success_bounds,
        "counted": counted_text(item.success_count, judged, item.success_unknown),
        "return": _estimate(item.mean_return),
        "calls": item.calls,
        "cache": None if item.cache is None else vars(item.cache),
        "first_token": None if item.first_token is None else vars(item.first_token),
        "answers": [] if item.answers is None else [list(part) for part in item.answers.parts()],
        "notes": [short_text(note) for note in item.notes],
    }


def mean_figures(mean: GroupMean) -> dict[str, Any] | None:
    """Return the mean success of several environments with its counts, JSON-serialisable; None where there is none."""
    estimate = _estimate(mean.estimate)
    return None if estimate is None else {**estimate, "counted": mean.counted}


def _estimate(estimate: Estimate | None) -> dict[str, float | None] | None:
    if estimate is None:
        return None
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _settings(group: Any) -> dict[str, str]:
    """Return the settings that are set, as text; of those that are simply on, only the name."""
    if not isinstance(group, Mapping):
        return {}
    shown = [(name, value) for name, value in group.items() if value not in _UNSET or type(value) in (int, float)]
    return {short_text(str(name)): "" if value is True else short_text(str(value)) for name, value in shown[:_MOST]}


def _text(value: Any) -> str | None:
    return short_text(value) if isinstance(value, str) and value else None
