"""The figures of runs beside each other, from the rows of their episodes; all values are from ``gem_eval.statistics``.

A series is a run, and a figure is of one environment, since a mean over several hides which one it comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gem_eval.figures.binning import Bin, bins_of
from gem_eval.figures.figure import FigurePoint, FigureSeries, RunFigure
from gem_eval.statistics.estimates import Estimate, estimate_mean, estimate_share
from gem_eval.statistics.run_summary import by_seed, usable
from gem_rollout.trajectory.outcome import counted_text

if TYPE_CHECKING:
    from gem_eval.runs.episode_row import EpisodeRow

__all__ = ["RunRows", "figures_of_runs"]

_MOST_POINTS, _FEWEST = 12, 15
"""Points of a series, and about how many episodes each has at least where it pools several values."""

_MOST_TURNS = 60
"""Turns of the figures by turn; later ones are left out, and the caption says so."""


@dataclass(frozen=True)
class RunRows:
    """A run as figures see it."""

    name: str
    rows: Sequence[EpisodeRow]
    """Settled, one for each episode."""
    started_at: float | None = None
    """Unix time in seconds."""


def figures_of_runs(runs: Sequence[RunRows], envs: Sequence[str] | None = None) -> Iterator[RunFigure]:
    """Yield the figures that the runs have data for, environment by environment.

    Args:
        runs: the series.
        envs: environments, in this order; all, if not given.
    """
    by_env: dict[str, list[list[EpisodeRow]]] = {}
    for number, run in enumerate(runs):
        for row in run.rows:
            by_env.setdefault(row.env, [[] for _ in runs])[number].append(row)
    for env in by_env if envs is None else envs:
        parts = [RunRows(run.name, rows, run.started_at) for run, rows in zip(runs, by_env.get(env, ()), strict=False)]
        parts = [part for part in parts if part.rows]
        for figure in _figures_of_environment(env, parts):
            if any(series.points for series in figure.series):
                yield figure


def _figures_of_environment(env: str, runs: Sequence[RunRows]) -> Iterator[RunFigure]:
    knows = any(row.success is not None for run in runs for row in run.rows)
    score = "success" if knows else "mean return"
    if any(row.update is not None for run in runs for row in run.rows):
        yield _pooled(env, runs, "learning-curve", "over training", "training step", lambda run, row: row.update, knows)
    elif any(run.started_at is not None for run in runs):
        name, seconds = _unit_of_time(runs)
        label = f"{name} from the start of the run to the end of the episode"
        yield _pooled(env, runs, "over-time", "over time", label, _since_start(seconds), knows)
    quantities: dict[str, tuple[str, Callable[[EpisodeRow], float | None]]] = {
        "turns": ("turns of the episode", lambda row: row.turns),
        "tokens": ("sampled tokens of the episode", lambda row: row.completion_tokens),
        "cost": ("cost of the episode", lambda row: row.cost),
    }
    for name, (label, quantity) in quantities.items():
        yield _pooled(env, runs, f"{score.split()[-1]}-by-{name}", f"by {name}", label, _of_row(quantity), knows)
    if len(runs) > 1:
        yield from _scores_against_effort(env, runs, knows, quantities)
    yield from _faults_by_turn(env, runs)
    if knows:
        yield _calibration(env, runs)


def _scores_against_effort(
    env: str,
    runs: Sequence[RunRows],
    knows: bool,
    quantities: Mapping[str, tuple[str, Callable[[EpisodeRow], float | None]]],
) -> Iterator[RunFigure]:
    """Yield the score of each run against the mean price of its episodes, or their mean tokens or turns."""
    known = {
        name: [[x for row in run.rows if (x := quantity(row)) is not None and usable(x)] for run in runs]
        for name, (_, quantity) in quantities.items()
    }
    name = next((name for name in ("cost", "tokens", "turns") if all(known[name])), None)
    if name is None:
        return
    label = f"mean {quantities[name][0].replace(' of the episode', '')} of an episode"
    series = [
        FigureSeries(run.name, tuple(_points([Bin(x, x, x, tuple(run.rows))], knows, label)))
        for run, values in zip(runs, known[name], strict=True)
        for x in [math.fsum(values) / len(values)]
    ]
    y_label = "success" if knows else "mean return"
    caption = f"A point is a run: its {y_label} with its 95 % interval, which counts seeds, and its {label}."
    title = f"{y_label.capitalize()} against {name}, run by run"
    yield RunFigure("score-against-effort", title, env, label, y_label, caption, tuple(series), knows, joined=False)


def _of_row(quantity: Callable[[EpisodeRow], float | None]) -> Callable[[RunRows, EpisodeRow], float | None]:
    return lambda run, row: quantity(row)


def _since_start(unit: float) -> Callable[[RunRows, EpisodeRow], float | None]:
    def ended(run: RunRows, row: EpisodeRow) -> float | None:
        # Of many episodes at a time most begin at once.
        if run.started_at is None or row.started_at is None or row.seconds is None:
            return None
        return (row.started_at + row.seconds - run.started_at) / unit

    return ended


def _unit_of_time(runs: Sequence[RunRows]) -> tuple[str, float]:
    """Return the largest unit of which the longest run has at least five, and its seconds."""
    seconds = _since_start(1.0)
    longest = max((seconds(run, row) or 0.0 for run in runs for row in run.rows), default=0.0)
    return next(
        (unit for unit in (("hours", 3600.0), ("minutes", 60.0)) if longest >= 5 * unit[1]),
        ("seconds", 1.0),
    )


def _pooled(
    env: str,
    runs: Sequence[RunRows],
    kind: str,
    against: str,
    x_label: str,
    quantity: Callable[[RunRows, EpisodeRow], float | None],
    knows: bool,
) -> RunFigure:
    """Return success, or the mean return, of episodes pooled by a quantity."""
    series = []
    for run in runs:
        known = [(x, row) for row in run.rows if (x := quantity(run, row)) is not None and usable(x)]
        series.append(FigureSeries(run.name, tuple(_points(_bins(known), knows, x_label))))
    left_out = sum(len(run.rows) for run in runs) - sum(
        point.count + point.unknown for each in series for point in each.points
    )
    caption = (
        f"A point pools the episodes of one value or, beyond {_MOST_POINTS} values, of neighbouring ones in parts of "
        "about equal size; there is no other smoothing. Seeds weigh the same, and the bands are 95 % intervals that "
        "count seeds."
    )
    if left_out:
        caption += f" Left out, without a value or with an episode that counts in no mean: {left_out} episodes."
    y_label = "success" if knows else "mean return"
    return RunFigure(kind, f"{y_label.capitalize()} {against}", env, x_label, y_label, caption, tuple(series), knows)


def _bins(known: Sequence[tuple[float, EpisodeRow]]) -> list[Bin]:
    return bins_of(known, max(3, min(_MOST_POINTS, len(known) // _FEWEST)), apart=_MOST_POINTS)


def _points(bins: Sequence[Bin], knows: bool, x_label: str) -> Iterator[FigurePoint]:
    for one in bins:
        if knows:
            groups = by_seed(one.rows, lambda row: row.success)
            estimate: Estimate | None = estimate_share(groups)
        else:
            estimate = estimate_mean(by_seed(one.rows, lambda row: row.episode_return))
        if estimate is None:
            continue
        unknown = sum(row.outcome == "unknown" for row in one.rows)
        where = f"{x_label} {one.low:.4g}" + ("" if one.low == one.high else f" to {one.high:.4g}")
        if knows:
            solved = int(sum(map(sum, groups.values())))
            counts = counted_text(solved, estimate.episodes, unknown)
            about = f"{where}: {100 * estimate.value:.1f} %, {counts}; {estimate.groups} seeds"
        else:
            about = f"{where}: {estimate.value:.4g} over {estimate.episodes} episodes"
        yield FigurePoint(one.mean, estimate.value, estimate.low, estimate.high, estimate.episodes, unknown, about)


def _faults_by_turn(env: str, runs: Sequence[RunRows]) -> Iterator[RunFigure]:
    """Yield, for each fault that occurs, the share of the turns of a number that had it."""
    faults: dict[str, tuple[str, Callable[[EpisodeRow], Sequence[int]]]] = {
        "malformed": ("malformed turns", lambda row: row.malformed_at),
        "cut": ("turns cut by the token limit", lambda row: row.cut_at),
        "context": (
            "episodes that filled the context",
            lambda row: (row.turns,) if row.stop_reason == "context" else (),
        ),
    }
    for name, (words, turns_of) in faults.items():
        if not any(turns_of(row) for run in runs for row in run.rows):
            continue
        last = max(row.turns for run in runs for row in run.rows)
        series = [FigureSeries(run.name, tuple(_by_turn(run.rows, turns_of, words))) for run in runs]
        caption = (
            "Of the turns of this number, the share that was so; longer episodes alone have the later ones. "
            "Bands are 95 % intervals that count seeds."
        )
        if last > _MOST_TURNS:
            caption += f" Turns after the {_MOST_TURNS}th are left out; the longest episode has {last}."
        title = f"{words[0].upper()}{words[1:]}, by turn"
        yield RunFigure(f"{name}-by-turn", title, env, "turn", "share of turns", caption, tuple(series), unit="turns")


def _by_turn(
    rows: Sequence[EpisodeRow], turns_of: Callable[[EpisodeRow], Sequence[int]], words: str
) -> Iterator[FigurePoint]:
    scored = [row for row in rows if row.counts]
    faulty = {id(row): frozenset(turns_of(row)) for row in scored}
    for turn in range(1, min(_MOST_TURNS, max((row.turns for row in scored), default=0)) + 1):
        scored = [row for row in scored if row.turns >= turn]
        groups = by_seed(scored, lambda row, at=turn: float(at in faulty[id(row)]))  # type: ignore[misc]
        estimate = estimate_share(groups)
        if estimate is None:
            return
        count = int(sum(map(sum, groups.values())))
        about = f"turn {turn}: {count} of {estimate.episodes} {words}"
        yield FigurePoint(turn, estimate.value, estimate.low, estimate.high, estimate.episodes, 0, about)


def _calibration(env: str, runs: Sequence[RunRows]) -> RunFigure:
    series, errors = [], []
    for run in runs:
        known = [
            (math.exp(row.mean_logprob), row)
            for row in run.rows
            if row.mean_logprob is not None and row.success is not None
        ]
        points = tuple(_points(_bins(known), True, "probability of a token"))
        series.append(FigureSeries(run.name, points))
        total = sum(point.count for point in points)
        if total:
            error = sum(point.count * abs(point.y - point.x) for point in points) / total
            errors.append(f"{run.name} {error:.3f} over {total} episodes")
    caption = (
        "An episode's confidence is the geometric mean of the probabilities of its sampled tokens, as the model's "
        "server reports them. On the diagonal, confidence and success agree. Expected calibration error (the mean "
        f"distance from it, weighted by episodes): {'; '.join(errors)}."
    )
    return RunFigure(
        "calibration",
        "Success by confidence",
        env,
        "geometric mean probability of a token",
        "success",
        caption,
        tuple(series),
        joined=False,
        diagonal=True,
    )
