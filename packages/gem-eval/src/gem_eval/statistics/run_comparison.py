"""Two runs compared, environment by environment, and the result in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gem.errors import ArgumentError
from gem_eval.runs.episode_row import settle
from gem_eval.statistics.comparison import ComparedMeans, compare_means, mean_of_differences
from gem_eval.statistics.estimates import CONFIDENCE
from gem_eval.statistics.run_summary import by_seed, latest_attempts
from gem_rollout.trajectory.outcome import unknown_outcomes

if TYPE_CHECKING:
    from gem_eval.runs.episode_row import EpisodeRow

__all__ = ["METRICS", "ComparedEnvironment", "RunComparison", "compare_runs", "factor_in_words", "in_words"]

METRICS: dict[str, Callable[[EpisodeRow], float | None]] = {
    "success": lambda row: row.success,
    "return": lambda row: row.episode_return,
    "turns": lambda row: row.turns,
    "tool_calls": lambda row: row.tool_calls,
    "prompt_tokens": lambda row: row.prompt_tokens,
    "completion_tokens": lambda row: row.completion_tokens,
    "seconds": lambda row: row.seconds,
    "cost": lambda row: row.cost,
}
"""What an episode can be compared by; the names of rewards in ``scores`` come in addition."""


@dataclass(frozen=True)
class ComparedEnvironment:
    """One environment of two runs."""

    env: str
    metric: str
    result: ComparedMeans | None
    """None if one run has no episode with this metric."""
    notes: tuple[str, ...] = ()
    """What the episodes whose outcome is unknown could change, run by run."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        words = in_words(self.result, self.metric) if self.result is not None else None
        result = None if self.result is None else self.result.to_dict()
        return {"env": self.env, "metric": self.metric, "result": result, "words": words, "notes": list(self.notes)}


@dataclass(frozen=True)
class RunComparison:
    """Two runs, compared in the environments that both have."""

    environments: tuple[ComparedEnvironment, ...]
    only_a: tuple[str, ...]
    """Environments of A alone."""
    only_b: tuple[str, ...]
    overall: ComparedMeans | None
    """The mean difference of success over environments, each weighing the same; None with fewer than two."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "environments": [item.to_dict() for item in self.environments],
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "overall": None if self.overall is None else self.overall.to_dict(),
            "notes": list(self.notes),
        }


def compare_runs(
    rows_a: Iterable[EpisodeRow],
    rows_b: Iterable[EpisodeRow],
    metric: str | None = None,
    confidence: float = CONFIDENCE,
) -> RunComparison:
    """Compare two runs in every environment that both have, paired where they played the same seeds.

    An overall difference is given for success alone, where all environments have it: returns, tokens and scores have
    another scale in each environment, and their mean would be that of the largest.

    Args:
        rows_a: rows of the first run's index.
        rows_b: rows of the second's.
        metric: one of :data:`METRICS` or the name of a reward that both runs applied; by default success where both
            runs know it, and return elsewhere.
        confidence: of all intervals.

    Raises:
        ArgumentError: if no episode has this metric.
    """
    a, b = _by_env(rows_a), _by_env(rows_b)
    names = [env for env in a if env in b]
    if metric is not None and metric not in METRICS:
        _check_reward(metric, [*a.values(), *b.values()])
    environments = tuple(_compare(env, a[env], b[env], metric, confidence) for env in names)
    notes = []
    tested = sum(item.result is not None and item.result.p_value is not None for item in environments)
    if tested > 1:
        notes.append(
            f"of {tested} environments without any difference, at least one would show p < {1 - confidence:.2g} with "
            f"a chance of {100 * (1 - confidence**tested):.0f} %"
        )
    overall = None
    results = [item.result for item in environments if item.metric == "success" and item.result is not None]
    if results and len(results) == len(environments):
        overall = mean_of_differences(results)
    return RunComparison(
        environments,
        tuple(env for env in a if env not in b),
        tuple(env for env in b if env not in a),
        overall,
        tuple(notes),
    )


def in_words(result: ComparedMeans, metric: str) -> str:
    """Return the difference, what chance has to do with it, and the difference that would have been seen."""
    number = _points if metric == "success" else _plain
    size = number(abs(result.difference))
    if result.difference == 0:
        sentence = {"success": "A and B solve the same share"}.get(metric, f"The mean {_noun(metric)} is the same")
    elif metric == "success":
        sentence = f"B solves {size} points {'more' if result.difference > 0 else 'less'}"
    else:
        sentence = f"B's mean {_noun(metric)} is {size} {'higher' if result.difference > 0 else 'lower'}"
    interval = _interval(result, number)
    if interval is None or result.detectable is None:
        return f"{sentence}; the data give no interval."
    unit = f" {'point' if number(result.detectable) == '1.0' else 'points'}" if metric == "success" else ""
    seeds = f"these {result.groups} seeds" if result.paired else f"these {result.groups_a} and {result.groups_b} seeds"
    if metric == "success" and result.detectable > 1:
        return f"{sentence} {interval}; {seeds} are too few to see any difference four times out of five."
    return (
        f"{sentence} {interval}; with {seeds} a difference of {number(result.detectable)}{unit} would have "
        "been seen four times out of five."
    )


def factor_in_words(result: ComparedMeans, metric: str, a: str, b: str, model: str) -> str:
    """Return the difference between two levels of a factor as a sentence about them, with the tasks that both played.

    Args:
        result: a paired comparison.
        metric: what it compares.
        a: the level of run A, such as the name of a harness.
        b: that of run B.
        model: the model of both.
    """
    number = _points if metric == "success" else _plain
    size = number(abs(result.difference))
    if metric == "success":
        more = f"succeeds {size} points {'more' if result.difference > 0 else 'less'} often than {a}"
        sentence = f"{a} and {b} succeed equally often" if result.difference == 0 else f"{b} {more}"
    else:
        more = f"is {size} {'higher' if result.difference > 0 else 'lower'} than that of {a}"
        level = f"The mean {_noun(metric)} of {b}"
        sentence = f"{level} equals that of {a}" if result.difference == 0 else f"{level} {more}"
    interval = _interval(result, number) or "(the data give no interval)"
    return f"{sentence} {interval} on {result.common} tasks that both played, same model {model}."


def _interval(result: ComparedMeans, number: Callable[[float], str]) -> str | None:
    """Return the interval of a difference and the part of chance; None if the data give none."""
    if result.low is None or result.high is None or result.p_value is None:
        return None
    chance = f"p = {result.p_value:.3f}" if result.p_value >= 0.001 else "p < 0.001"
    bounds = f"{_signed(number, result.low)} … {_signed(number, result.high)}"
    return f"({100 * result.confidence:.3g} %: {bounds}, {chance})"


def _compare(
    env: str, a: Sequence[EpisodeRow], b: Sequence[EpisodeRow], metric: str | None, confidence: float
) -> ComparedEnvironment:
    if metric is None:
        both = all(by_seed(rows, METRICS["success"]) for rows in (a, b))
        metric = "success" if both else "return"
    value = METRICS.get(metric) or _of_reward(metric)
    result = compare_means(by_seed(a, value), by_seed(b, value), share=metric == "success", confidence=confidence)
    runs = (("A", a), ("B", b)) if metric == "success" else ()
    return ComparedEnvironment(env, metric, result, tuple(note for name, rows in runs for note in _unknown(name, rows)))


def _unknown(name: str, rows: Sequence[EpisodeRow]) -> Iterator[str]:
    """Yield what the episodes of a run whose outcome is unknown could change; nothing where there are none."""
    judged = [row.success for row in rows if row.counts and row.success is not None]
    unknown = sum(row.outcome == "unknown" for row in rows)
    if judged and unknown:
        yield f"{name}: {unknown_outcomes(sum(judged), len(judged), unknown)}"


def _of_reward(name: str) -> Callable[[EpisodeRow], float | None]:
    return lambda row: row.scores.get(name)


def _check_reward(metric: str, runs: Iterable[Sequence[EpisodeRow]]) -> None:
    rewards = sorted({name for rows in runs for row in rows for name in row.scores})
    if metric not in rewards:
        raise ArgumentError(f"no episode has the metric {metric!r}; there are: {', '.join([*METRICS, *rewards])}")


def _by_env(rows: Iterable[EpisodeRow]) -> dict[str, list[EpisodeRow]]:
    found: dict[str, list[EpisodeRow]] = {}
    for row in settle(latest_attempts(rows)):
        found.setdefault(row.env, []).append(row)
    return found


def _noun(metric: str) -> str:
    return {
        "turns": "number of turns",
        "tool_calls": "number of tool calls",
        "prompt_tokens": "number of prompt tokens",
        "completion_tokens": "number of completion tokens",
        "seconds": "time in seconds",
    }.get(metric, metric)


def _points(value: float) -> str:
    return f"{100 * value:.1f}"


def _plain(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _signed(number: Callable[[float], str], value: float) -> str:
    text = number(abs(value))
    return f"−{text}" if value < 0 and text.strip("0.,") else text
