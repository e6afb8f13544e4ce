"""The figures of a result, by the one place that has statistics: its episodes as rows of a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from gem_eval.runs.episode_row import EpisodeRow, settle
from gem_eval.statistics.estimates import Estimate
from gem_eval.statistics.run_summary import EnvironmentSummary, summarize_run
from gem_hub_client.results.record import OUTCOMES, ResultEpisode, ResultError, ResultRecord
from gem_rollout.trajectory import Outcome

__all__ = ["environment_summary", "episode_of", "rows_of", "summary_difference", "summary_of"]

_CLOSE = 1e-9
"""Relative tolerance for figures that another machine's floating point reckoned."""


def rows_of(record: ResultRecord) -> list[EpisodeRow]:
    """Return the episodes of a result as rows, for the statistics of runs."""
    return [_row(record, episode) for episode in record.episodes]


def episode_of(row: EpisodeRow, sha256: str) -> ResultEpisode:
    """Return a row as a result lists it; undoes :func:`rows_of` for what a result holds."""
    return ResultEpisode(
        seed=row.seed,
        repetition=row.repetition,
        outcome=row.outcome,
        episode_return=row.episode_return,
        turns=row.turns,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        cost=row.cost,
        failure=None if row.failure is None else f"{row.failure['source']}:{row.failure['kind']}",
        sha256=sha256,
    )


def environment_summary(rows: Sequence[EpisodeRow]) -> EnvironmentSummary:
    """Return the figures of the episodes of one environment."""
    (summary,) = summarize_run(rows).environments
    return summary


def summary_of(rows: Sequence[EpisodeRow]) -> dict[str, Any]:
    """Return the figures that a result states: means with intervals, bounds over unknown episodes, tokens and price."""
    figures = environment_summary(rows)
    counts = Counter(row.outcome for row in rows)
    return {
        "outcomes": {outcome: counts[cast("Outcome", outcome)] for outcome in OUTCOMES},
        "success": _stated(figures.success),
        "success_bounds": None if figures.success_bounds is None else list(figures.success_bounds),
        "mean_return": _stated(figures.mean_return),
        "prompt_tokens": _total(row.prompt_tokens for row in rows),
        "completion_tokens": _total(row.completion_tokens for row in rows),
        "cost": figures.cost,
    }


def summary_difference(record: ResultRecord) -> str:
    """Return in what the stated figures differ from those of the listed episodes; empty if in nothing.

    Raises:
        ResultError: if the outcomes contradict each other, as no run leaves them.
    """
    rows = rows_of(record)
    if settle(rows) != rows:
        raise ResultError(
            "the outcomes contradict each other: where one episode tells whether it succeeded, none is untold"
        )
    return _difference(summary_of(rows), record.summary, "summary")


def _row(record: ResultRecord, episode: ResultEpisode) -> EpisodeRow:
    source, _, kind = (episode.failure or "").partition(":")
    return EpisodeRow(
        offset=0,
        length=0,
        env=record.environment,
        seed=episode.seed,
        repetition=episode.repetition,
        episode_return=episode.episode_return,
        outcome=cast("Outcome", episode.outcome),
        turns=episode.turns,
        prompt_tokens=episode.prompt_tokens,
        completion_tokens=episode.completion_tokens,
        seconds=None,
        act_seconds=0.0,
        step_seconds=0.0,
        tool_calls=0,
        stop_reason=None,
        failure={"source": source, "kind": kind} if episode.failure else None,
        malformed=0,
        cut=0,
        empty=0,
        answer=None,
        agent=record.label,
        started_at=None,
        cost=episode.cost,
    )


def _stated(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "groups", "episodes", "method")}


def _total(values: Any) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _difference(reckoned: Any, stated: Any, where: str) -> str:
    if isinstance(reckoned, Mapping) and isinstance(stated, Mapping):
        if reckoned.keys() != stated.keys():
            return f"{where} must have {', '.join(reckoned)}"
        return next(filter(None, (_difference(reckoned[key], stated[key], f"{where}.{key}") for key in reckoned)), "")
    if isinstance(reckoned, list) and isinstance(stated, list) and len(reckoned) == len(stated):
        pairs = enumerate(zip(reckoned, stated, strict=True))
        return next(filter(None, (_difference(*pair, f"{where}[{number}]") for number, pair in pairs)), "")
    if _is_number(reckoned) and _is_number(stated):
        close = math.isclose(reckoned, stated, rel_tol=_CLOSE, abs_tol=_CLOSE)
    else:
        close = reckoned == stated and type(reckoned) is type(stated)
    return "" if close else f"{where} is stated as {stated!r:.60}, and the episodes give {reckoned!r}"


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)
