"""Names by which runs that stand beside each other are told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gem_eval.runs.folder import RunFolder

__all__ = ["distinct_names"]


def distinct_names(runs: Sequence[RunFolder]) -> list[str]:
    """Return the runs' names; where several have the same, with the model or else with the folder."""
    names = [str(run.name) for run in runs]
    shared = Counter(names)
    with_agent = [f"{name}, {run.config.agent}" for name, run in zip(names, runs, strict=True)]
    of_agents = Counter(with_agent)
    return [
        name if shared[name] == 1 else longer if of_agents[longer] == 1 else f"{name}, {run.path}"
        for name, longer, run in zip(names, with_agent, runs, strict=True)
    ]
