"""The figures of a set of episodes: :func:`summarize`."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gem_rollout.seating import evaluated_part, evaluated_return
from gem_rollout.trajectory import Outcome, Trajectory
from gem_rollout.trajectory.outcome import count_outcomes

__all__ = ["Summary", "summarize"]


@dataclass(frozen=True)
class Summary:
    """The figures of a set of episodes of one environment.

    Where a policy is evaluated among others (:class:`gem_rollout.Seating`), they are its own. Failed episodes count in
    ``errors``, and in ``success_rate`` where the agent itself failed.
    """

    env_id: str
    episodes: int
    mean_return: float
    standard_error: float
    """Standard error of the mean: the sample standard deviation over √episodes; 0.0 for fewer than two."""
    success_rate: float | None
    """Share of successes among the episodes whose outcome is known, those that a limit ended included; None if the
    environment knows no success."""
    mean_turns: float
    errors: int
    successes: int = 0
    judged: int = 0
    """Episodes whose outcome is known."""
    unknown: int = 0
    """Episodes whose outcome is unknown: something other than the agent failed."""


@dataclass
class _Figures:
    """The figures of one environment's episodes: a few numbers each, so that no trajectory stays in memory."""

    returns: list[float] = field(default_factory=list)
    outcomes: Counter[tuple[Outcome, str | None]] = field(default_factory=Counter)
    turns: int = 0
    errors: int = 0

    def add(self, trajectory: Trajectory) -> None:
        played = evaluated_part(trajectory)
        self.outcomes[played.outcome, played.stop_reason] += 1
        if trajectory.error is not None:
            self.errors += 1
            return
        self.returns.append(evaluated_return(trajectory))
        self.turns += len(played)

    def summary(self, env_id: str) -> Summary:
        episodes = len(self.returns)
        solved, judged, unknown = count_outcomes(self.outcomes)
        return Summary(
            env_id=env_id,
            episodes=episodes,
            mean_return=statistics.fmean(self.returns) if episodes else float("nan"),
            standard_error=statistics.stdev(self.returns) / episodes**0.5 if episodes > 1 else 0.0,
            success_rate=solved / judged if judged else None,
            mean_turns=self.turns / episodes if episodes else float("nan"),
            errors=self.errors,
            successes=solved,
            judged=judged,
            unknown=unknown,
        )


def summarize(trajectories: Iterable[Trajectory]) -> list[Summary]:
    """Return one summary for each environment, in order of first appearance.

    Takes the trajectories one by one and keeps none of them.
    """
    by_id: dict[str, _Figures] = {}
    for trajectory in trajectories:
        by_id.setdefault(trajectory.spec.id if trajectory.spec else "unknown", _Figures()).add(trajectory)
    return [figures.summary(env_id) for env_id, figures in by_id.items()]
