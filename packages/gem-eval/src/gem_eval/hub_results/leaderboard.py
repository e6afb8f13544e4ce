"""Leaderboards: results on the same wheel, environment and seeds, compared seed by seed.

A table never shows a mean alone. Each agent's own mean has its interval over seeds, and each agent its paired
difference to the table's best reviewed one (:func:`gem_eval.statistics.compare_means`), in which the difficulty of the
seeds drops out. Agents that this difference does not tell apart from the best say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gem_eval.hub_results.figures import environment_summary, rows_of
from gem_eval.runs.episode_row import EpisodeRow
from gem_eval.statistics.comparison import ComparedMeans, compare_means
from gem_eval.statistics.estimates import Estimate
from gem_eval.statistics.run_comparison import METRICS
from gem_eval.statistics.run_summary import EnvironmentSummary, by_seed
from gem_hub_client.results.record import ResultRecord

__all__ = ["Leaderboard", "LeaderboardEntry", "ListedResult", "leaderboards"]

Metric = Literal["success", "return"]


@dataclass(frozen=True)
class ListedResult:
    """A result as a hub lists it."""

    id: str
    record: ResultRecord
    status: Literal["admitted", "unreviewed", "withdrawn"]
    by: str = ""
    """Who admitted or withdrew it."""
    reason: str = ""
    """Why it was withdrawn."""
    episodes_path: str = ""
    """Where the hub has the lines of its episodes; empty if it does not."""


@dataclass(frozen=True)
class LeaderboardEntry:
    """A row of a leaderboard."""

    listed: ListedResult
    figures: EnvironmentSummary
    estimate: Estimate | None
    """Of the table's metric; None where no episode has it."""
    difference: ComparedMeans | None
    """To the best reviewed agent; None for that one, and where nothing can be compared."""

    @property
    def record(self) -> ResultRecord:
        """What was played."""
        return self.listed.record

    @property
    def is_apart(self) -> bool:
        """Whether the difference to the best leaves out zero."""
        return self.difference is not None and self.difference.significant

    @property
    def tokens(self) -> float | None:
        """Mean tokens of an episode, prompts and completions; None where none were reported."""
        parts = [part.mean for part in (self.figures.prompt_tokens, self.figures.completion_tokens) if part is not None]
        return sum(parts) if parts else None

    @property
    def cost(self) -> float | None:
        """Mean price of an episode; None without prices."""
        played = self.figures.episodes + self.figures.failed
        return None if self.figures.cost is None or not played else self.figures.cost / played

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        record = self.record
        return {
            "id": self.listed.id,
            "status": self.listed.status,
            "by": self.listed.by,
            "publisher": record.publisher,
            "agent": record.agent,
            "model": record.model,
            "harness": record.harness,
            "sampling": dict(record.sampling),
            "estimate": None if self.estimate is None else self.estimate.to_dict(),
            "success_bounds": self.figures.success_bounds,
            "difference": None if self.difference is None else self.difference.to_dict(),
            "episodes": self.figures.episodes,
            "failed": self.figures.failed,
            "unknown": self.figures.success_unknown,
            "failures": [asdict(failure) for failure in self.figures.failures],
            "tokens": self.tokens,
            "cost": self.cost,
            "episodes_path": self.listed.episodes_path,
        }


@dataclass(frozen=True)
class Leaderboard:
    """The results on one wheel, environment and set of seeds."""

    environment: str
    version: str
    wheel: str
    """SHA-256 of the wheel; empty for a package without a release."""
    code: str
    setting: str
    """Arguments, wrappers and limits that the run set, in words; empty if none."""
    seed: int
    seeds: int
    group: int
    metric: Metric
    """``success`` where every reviewed result knows it, else ``return``; what nobody has reviewed has no say."""
    entries: tuple[LeaderboardEntry, ...]
    """Reviewed ones first, each part by the metric."""

    @property
    def groups(self) -> list[tuple[str, str, list[LeaderboardEntry]]]:
        """Harness, model or agent, and entries, in the order of the best entry of each."""
        found: dict[tuple[str, str], list[LeaderboardEntry]] = {}
        for entry in self.entries:
            found.setdefault((entry.record.harness, entry.record.label), []).append(entry)
        return [(*names, members) for names, members in found.items()]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "entries"}
        return {**values, "entries": [entry.to_dict() for entry in self.entries]}


def leaderboards(results: Iterable[ListedResult]) -> list[Leaderboard]:
    """Return the tables of results, the largest of each environment first; withdrawn results stand in none.

    Args:
        results: of any packages; those whose :attr:`ResultRecord.setting` differs stand in different tables.
    """
    tables: dict[str, list[ListedResult]] = {}
    for listed in results:
        if listed.status != "withdrawn":
            tables.setdefault(listed.record.setting, []).append(listed)
    boards = [_table(members) for members in tables.values()]
    return sorted(boards, key=lambda board: (board.environment, -len(board.entries), board.code, board.setting))


def _table(results: Sequence[ListedResult]) -> Leaderboard:
    rows = {listed.id: rows_of(listed.record) for listed in results}
    deciding = [listed.id for listed in results if listed.status == "admitted"] or list(rows)
    knows = all(by_seed(rows[name], METRICS["success"]) for name in deciding)
    metric: Metric = "success" if knows else "return"
    summaries = {name: environment_summary(played) for name, played in rows.items()}
    estimates = {
        name: figures.success if metric == "success" else figures.mean_return for name, figures in summaries.items()
    }

    def rank(listed: ListedResult) -> tuple[bool, bool, float, str]:
        estimate = estimates[listed.id]
        value = 0.0 if estimate is None else -estimate.value
        return listed.status != "admitted", estimate is None, value, listed.id

    ordered = sorted(results, key=rank)
    best = ordered[0].id
    entries = tuple(
        LeaderboardEntry(
            listed,
            summaries[listed.id],
            estimates[listed.id],
            None if listed.id == best else _compared(rows[best], rows[listed.id], metric),
        )
        for listed in ordered
    )
    record = ordered[0].record
    return Leaderboard(
        environment=record.environment,
        version=record.version,
        wheel=record.wheel,
        code=record.code,
        setting=_in_words(record),
        seed=record.seed,
        seeds=record.planned // record.group,
        group=record.group,
        metric=metric,
        entries=entries,
    )


def _compared(best: Sequence[EpisodeRow], other: Sequence[EpisodeRow], metric: Metric) -> ComparedMeans | None:
    value = METRICS[metric]
    return compare_means(by_seed(best, value), by_seed(other, value), share=metric == "success")


def _in_words(record: ResultRecord) -> str:
    parts = [f"{name} = {value!r}" for name, value in {**record.kwargs, **record.limits}.items()]
    names = [item if isinstance(item, str) else str(item.get("name")) for item in record.wrappers]
    return "; ".join(filter(None, [", ".join(parts), f"wrappers {', '.join(names)}" if names else ""]))
