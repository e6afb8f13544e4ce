"""Several runs by what played in them: the figures of each model, and agent program, in each environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gem_eval.statistics.run_summary import EnvironmentSummary, summarize_environment

if TYPE_CHECKING:
    from gem_eval.runs.episode_row import EpisodeRow
    from gem_eval.runs.run_config import RunConfig

__all__ = ["Setup", "SetupSummary", "summarize_setups"]


class Setup(NamedTuple):
    """What played."""

    model: str
    """The model as its server names it, or the agent that is none."""
    harness: str | None
    """The agent program that played with it; None for the model alone."""

    @classmethod
    def of(cls, config: RunConfig) -> Setup:
        """Return what played in a run."""
        return cls(str(config.served_model or config.model or config.agent), config.harness)

    @property
    def name(self) -> str:
        """Both in one text."""
        return self.model if self.harness is None else f"{self.model} · {self.harness}"


@dataclass(frozen=True)
class SetupSummary:
    """The figures of one setup over all runs in which it played."""

    setup: Setup
    runs: tuple[int, ...]
    """Positions of these runs."""
    environments: tuple[EnvironmentSummary, ...]


def summarize_setups(runs: Sequence[tuple[Setup, Sequence[EpisodeRow]]]) -> list[SetupSummary]:
    """Return the figures of each setup, in order of first appearance.

    Where a setup played an environment in several runs, the episodes of a seed are one group of attempts.

    Args:
        runs: what played, and the settled rows of the run, one for each episode.
    """
    rows: dict[Setup, dict[str, list[EpisodeRow]]] = {}
    numbers: dict[Setup, list[int]] = {}
    for number, (setup, episodes) in enumerate(runs):
        numbers.setdefault(setup, []).append(number)
        by_env = rows.setdefault(setup, {})
        for row in episodes:
            by_env.setdefault(row.env, []).append(row)
    return [
        SetupSummary(
            setup,
            tuple(numbers[setup]),
            tuple(summarize_environment(env, members) for env, members in by_env.items()),
        )
        for setup, by_env in rows.items()
    ]
