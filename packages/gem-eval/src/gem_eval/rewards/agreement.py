"""How far rewards that scored the same episodes agree, each pair of them: :func:`pairwise_agreement`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from gem_eval.rewards.calibration import Calibration, LabelledScore, calibration
from gem_questions.rewards import Score

if TYPE_CHECKING:
    from gem_eval.runs.episode_row import EpisodeRow

__all__ = ["PairAgreement", "pairwise_agreement"]

_MOST_REWARDS = 12


class PairAgreement(NamedTuple):
    """Two rewards on the episodes of an environment that both could score."""

    env: str
    one: str
    other: str
    result: Calibration
    """Of the second reward, with the scores of the first as labels: agreement and kappa at 0.5, rank correlation."""


def pairwise_agreement(rows: Sequence[EpisodeRow], threshold: float = 0.5) -> Iterator[PairAgreement]:
    """Yield the agreement of each two rewards, environment by environment.

    Args:
        rows: of the episodes.
        threshold: from where on scores are positive.
    """
    by_env: dict[str, list[EpisodeRow]] = {}
    for row in rows:
        if row.scores:
            by_env.setdefault(row.env, []).append(row)
    for env, members in by_env.items():
        names = list(dict.fromkeys(name for row in members for name in row.scores))[:_MOST_REWARDS]
        for one, other in combinations(names, 2):
            pairs = [
                LabelledScore(row.key, first, Score(second))
                for row in members
                if (first := row.scores.get(one)) is not None and (second := row.scores.get(other)) is not None
            ]
            if pairs:
                yield PairAgreement(env, one, other, calibration(pairs, threshold=threshold))
