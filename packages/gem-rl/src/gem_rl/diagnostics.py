"""Whether training works: figures of a batch, and a monitor that says when it collapses."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gem.errors import ArgumentError
from gem_rl.advantages.statistics import group_statistics
from gem_rl.turn_batch import TurnBatch
from gem_rollout.trajectory.record import Trajectory

__all__ = ["BatchDiagnostics", "CollapseMonitor", "diagnose", "mutual_information"]


@dataclass(frozen=True)
class BatchDiagnostics:
    """Figures of one batch of episodes. NaN where nothing was there to count."""

    episodes: int
    """The number of episodes that count; failed and ungradable ones do not."""
    success: float
    """The share of episodes whose task was achieved; NaN if the environments do not say."""
    mean_return: float
    turns_of_won_episodes: float
    """The mean number of turns of successful episodes. That of all episodes also falls when the agent gives up."""
    malformed: float
    """The share of turns whose action the environment could not read."""
    entropy: float
    """The mean of −log π(token) in nats over all sampled tokens with log-probabilities."""
    within_group_spread: float
    """The mean standard deviation of returns within the groups that have at least two episodes."""
    constant_groups: float
    """The share of groups with at least two episodes whose returns are all equal, which teach group methods nothing."""
    constant: bool
    """Whether all returns of the batch are equal, so that no estimator with a baseline learns from it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name, as JSON values: None for NaN."""
        return {name: None if value != value else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, figures: Mapping[str, Any]) -> BatchDiagnostics:
        """Undo :meth:`to_dict`; other figures may stand beside."""
        values: dict[str, Any] = {one.name: figures[one.name] for one in fields(cls)}
        for name, value in values.items():
            values[name] = math.nan if value is None else value
        return cls(**values)


def diagnose(trajectories: Sequence[Trajectory]) -> BatchDiagnostics:
    """Return the figures of a batch of episodes."""
    whole = TurnBatch.from_trajectories(trajectories)
    episodes = [one for one, valid in zip(trajectories, whole.valid, strict=True) if valid]
    batch = TurnBatch.from_trajectories(episodes)
    turns = [turn for episode in episodes for turn in episode.transitions]
    successes = [episode.success for episode in episodes if episode.success is not None]
    groups = group_statistics(batch.returns, batch.groups, batch.valid)
    spreads = groups.deviations[groups.counts > 1]
    surprise = [-value for turn in turns for value in turn.logprobs or () if math.isfinite(value)]
    return BatchDiagnostics(
        episodes=len(episodes),
        success=_mean(successes),
        mean_return=_mean(batch.returns),
        turns_of_won_episodes=_mean([len(episode) for episode in episodes if episode.success]),
        malformed=_mean([turn.info.get("action_status") == "malformed" for turn in turns]),
        entropy=_mean(surprise),
        within_group_spread=_mean(spreads),
        constant_groups=_mean(spreads == 0),
        constant=batch.episodes > 1 and bool((batch.returns == batch.returns[0]).all()),
    )


def mutual_information(log_likelihoods: ArrayLike) -> float:
    """Return an estimate of the mutual information between prompts and reasoning, in nats, from 0 to log P.

    High entropy with low mutual information is template collapse: texts vary, but not with the prompt. With the P texts
    of P different prompts, each sampled from one of them, the estimate is the mean over i of
    log p(text i | prompt i) − log((1/P) Σ_j p(text i | prompt j)). Source: RAGEN-2, arXiv 2604.06268.

    Args:
        log_likelihoods: ``(P, P)``: log p(text i | prompt j) in nats, summed over the tokens of the text.

    Raises:
        ArgumentError: if the matrix is not square and finite, or empty.
    """
    matrix = np.asarray(log_likelihoods, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size or not np.isfinite(matrix).all():
        raise ArgumentError(f"a square matrix of finite log-likelihoods is needed, got the shape {matrix.shape}")
    largest = matrix.max(axis=1)
    marginal = largest + np.log(np.exp(matrix - largest[:, None]).mean(axis=1))
    return float((np.diag(matrix) - marginal).mean())


class CollapseMonitor:
    """Says in a sentence when training has collapsed.

    It looks at the last batches, and speaks if in all of them nearly every turn was malformed, every return was the
    same, or the entropy was below a bound while the success was too. The echo trap of RAGEN (arXiv 2504.20073) shows as
    spread and entropy that fall together: both must be below a share of their first values.

    Args:
        patience: the number of batches in a row that must show it.
        malformed: the share of malformed turns from which a batch counts.
        shrunk: the share of the first batches' values below which spread and entropy count as fallen.
        solved: the success from which low entropy and equal returns are no collapse.

    Raises:
        ArgumentError: if patience is below 1.
    """

    def __init__(
        self, patience: int = 5, *, malformed: float = 0.95, shrunk: float = 0.05, solved: float = 0.9
    ) -> None:
        if patience < 1:
            raise ArgumentError(f"patience must be at least 1, got {patience}")
        self.malformed = malformed
        self.shrunk = shrunk
        self.solved = solved
        self._first: deque[BatchDiagnostics] = deque()
        self._last: deque[BatchDiagnostics] = deque(maxlen=patience)

    def record(self, batch: BatchDiagnostics) -> str | None:
        """Take in the figures of a batch; return what has collapsed, or None."""
        if len(self._first) < (self._last.maxlen or 1):
            self._first.append(batch)
        self._last.append(batch)
        if len(self._last) < (self._last.maxlen or 1):
            return None
        number = len(self._last)
        if all(one.malformed >= self.malformed for one in self._last):
            return (
                f"collapse: in the last {number} batches at least {self.malformed:.0%} of the actions were malformed; "
                "lower the learning rate, or warm the policy up for longer"
            )
        if any(one.success >= self.solved for one in self._last):
            return None
        if all(one.constant for one in self._last):
            return (
                f"collapse: all returns of each of the last {number} batches were equal, so nothing can be learnt from "
                "them; use another task or reward, or more exploration"
            )
        if self._fell("entropy") and self._fell("within_group_spread"):
            return (
                f"collapse (echo trap): for {number} batches entropy and within-group spread have been below "
                f"{self.shrunk:.0%} of their first values, and the task is not solved; lower the learning rate, or "
                "keep only groups with spread"
            )
        return None

    def _fell(self, name: str) -> bool:
        first = _mean([getattr(one, name) for one in self._first])
        return all(getattr(one, name) < self.shrunk * first for one in self._last)


def _mean(values: Any) -> float:
    numbers = np.asarray(values, dtype=np.float64)
    return float(numbers.mean()) if numbers.size else math.nan
