"""Tournaments of runs: every pair of runs is compared on the seeds that both have."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from gem_eval.rewards.episode_source import EpisodeSource
from gem_eval.rewards.judge import JudgeError
from gem_eval.rewards.pairwise import Comparison, PairwiseReward
from gem_eval.runs.episode_row import EpisodeRow
from gem_eval.statistics.ratings import strengths

__all__ = ["PairedMatch", "TournamentResult", "bradley_terry", "tournament", "win_rates"]


@dataclass(frozen=True)
class PairedMatch:
    """The comparison of two runs on one episode."""

    one: str
    other: str
    value: float
    """1.0 if ``one`` is better, 0.5 for a tie, 0.0 if ``other`` is."""


@dataclass
class TournamentResult:
    """The standing of all runs."""

    matches: list[PairedMatch] = field(default_factory=list)
    unreadable: int = 0
    """Comparisons to which the judge gave no answer."""
    inconsistent: int = 0
    """Comparisons whose result depended on the order."""
    first_shown: float | None = None
    """Mean value of the episode that is shown first: 0.5 for a judge without a bias for a position."""

    @property
    def win_rates(self) -> dict[str, float]:
        """See :func:`win_rates`."""
        return win_rates(self.matches)

    @property
    def strengths(self) -> dict[str, float]:
        """See :func:`bradley_terry`."""
        return bradley_terry(self.matches)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "matches": len(self.matches),
            "unreadable": self.unreadable,
            "inconsistent": self.inconsistent,
            "first_shown": self.first_shown,
            "win_rates": self.win_rates,
            "strengths": self.strengths,
        }


async def tournament(
    runs: Mapping[str, EpisodeSource], reward: PairwiseReward, *, concurrency: int = 16
) -> TournamentResult:
    """Compare every pair of runs on the episodes that both have.

    Args:
        runs: name → episodes; of each key (environment, seed, repetition) one that did not fail.
        reward: how to compare; the caller closes it.
        concurrency: comparisons at the same time.
    """
    rows = {name: {row.key: row for row in run.rows() if not row.failed} for name, run in runs.items()}
    pairs = [
        (one, other, rows[one][key], rows[other][key])
        for one, other in combinations(runs, 2)
        for key in rows[one]
        if key in rows[other]
    ]
    limit = asyncio.Semaphore(concurrency)
    result = TournamentResult()
    compared: list[Comparison] = []

    async def play(one: str, other: str, row: EpisodeRow, other_row: EpisodeRow) -> None:
        async with limit:
            try:
                comparison = await reward.compare(runs[one].episode(row), runs[other].episode(other_row))
            except JudgeError:
                result.unreadable += 1
                return
            compared.append(comparison)
            result.matches.append(PairedMatch(one, other, comparison.value))

    await asyncio.gather(*(play(*pair) for pair in pairs))
    result.inconsistent = sum(not item.consistent for item in compared)
    if compared:
        # Each comparison shows one episode first, and then the other one.
        result.first_shown = math.fsum((item.shown_first + 1.0 - item.shown_second) / 2 for item in compared) / len(
            compared
        )
    return result


def win_rates(matches: Iterable[PairedMatch]) -> dict[str, float]:
    """Return the mean value of each run over its matches; a tie is half a win."""
    values: dict[str, list[float]] = {}
    for match in matches:
        values.setdefault(match.one, []).append(match.value)
        values.setdefault(match.other, []).append(1.0 - match.value)
    return {name: math.fsum(given) / len(given) for name, given in values.items()}


def bradley_terry(matches: Iterable[PairedMatch], *, prior: float = 0.5) -> dict[str, float]:
    """Return the strength of each run; see :func:`gem_eval.statistics.strengths`. A tie is half a win.

    Args:
        matches: the results.
        prior: wins and losses of each run against a run of strength 0.
    """
    wins: dict[tuple[str, str], float] = {}
    for match in matches:
        for pair, value in (((match.one, match.other), match.value), ((match.other, match.one), 1.0 - match.value)):
            wins[pair] = wins.get(pair, 0.0) + value
    return strengths(wins, prior)
