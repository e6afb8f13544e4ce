"""The statistics that a run has in common with the same run, disturbed or not."""

from __future__ import annotations

from typing import Any

from gem_eval.runs import RunFolder
from gem_eval.statistics.run_summary import summarize_run

__all__ = ["figures"]

UNSTEADY = ("seconds", "share", "cache", "first_token")
"""Words in the names of figures that depend on the clock, and on what the server has in its cache."""


def figures(run: RunFolder) -> dict[str, Any]:
    """Return the statistics of a run that two runs have in common."""
    planned = {item.label: item.episodes for item in run.config.environments}
    (environment,) = summarize_run(run.rows(), name="", agent="", planned=planned).to_dict()["environments"]
    return {name: value for name, value in environment.items() if not any(word in name for word in UNSTEADY)}
