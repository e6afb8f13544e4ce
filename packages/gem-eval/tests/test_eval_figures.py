"""Figures of runs: their values, their drawing, their CSV; models by environments; agreement of rewards."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gem_eval.figures.binning import bins_of
from gem_eval.figures.drawing import drawn, to_svg
from gem_eval.figures.figure import FigurePoint, FigureSeries, RunFigure, to_csv
from gem_eval.figures.of_runs import RunRows, figures_of_runs
from gem_eval.figures.ticks import ticks
from gem_eval.rewards.agreement import pairwise_agreement
from gem_eval.runs import EpisodeRow, RunConfig
from gem_eval.statistics import summarize_run
from gem_eval.statistics.setups import Setup, summarize_setups
from gem_rollout.trajectory import Failure, Trajectory

MakeTrajectory = Callable[..., Trajectory]
ENV = "game:GuessTheNumber-v0-easy"


def rows_of(make: MakeTrajectory, count: int, **values: object) -> list[EpisodeRow]:
    """Return the rows of made-up episodes of seeds 0, 1, …"""
    return [EpisodeRow.of_trajectory(make(seed=seed, **values)) for seed in range(count)]


def by_kind(*runs: RunRows) -> dict[str, RunFigure]:
    """Return the figures of runs of one environment by their kind."""
    return {figure.kind: figure for figure in figures_of_runs(runs)}


@given(values=st.lists(st.integers(0, 12) | st.floats(-5, 5), max_size=60), most=st.integers(1, 8))
def test_bins_part_the_episodes_and_never_equal_values(values: list[float], most: int) -> None:
    """Every episode is in one bin, bins are in order, and there are at most as many as asked for."""
    bins = bins_of([(value, number) for number, value in enumerate(values)], most)  # type: ignore[misc]
    assert sorted(number for one in bins for number in one.rows) == list(range(len(values)))
    assert len(bins) <= most
    assert all(one.high < other.low for one, other in pairwise(bins))
    for one in bins:
        assert one.low - 1e-9 <= one.mean <= one.high + 1e-9
        assert {values[number] for number in one.rows} >= {one.low, one.high}


@given(low=st.floats(-1e6, 1e6), width=st.floats(1e-6, 1e6))
@example(low=879609.9999999999, width=1e-6)
def test_ticks_are_round_and_within_the_axis(low: float, width: float) -> None:
    """Between two and eleven of them, evenly apart."""
    high = low + width
    found = ticks(low, high)
    assert 2 <= len(found) <= 11
    slack = width * 1e-6 + 4 * math.ulp(max(abs(low), abs(high)))  # a narrow axis far from zero has few numbers
    assert all(low - slack <= value <= high + slack for value in found)


def test_success_by_turns_is_a_count_by_hand(make_trajectory: MakeTrajectory) -> None:
    """Each point pools the episodes of its number of turns; unknown outcomes are counted and in no share."""
    rows = rows_of(make_trajectory, 40)
    rows += [
        EpisodeRow.of_trajectory(make_trajectory(seed=90, turns=3, failure=Failure("endpoint", "timeout", "late", 3)))
    ]
    figure = by_kind(RunRows("one", rows))["success-by-turns"]
    (series,) = figure.series
    assert [point.x for point in series.points] == [1, 2, 3, 4, 5, 6]
    for point in series.points:
        same = [row.success for row in rows if row.turns == point.x and row.success is not None]
        assert (point.y, point.count) == (pytest.approx(sum(same) / len(same)), len(same))
        assert point.unknown == (point.x == 3)
        assert f"{sum(same)} of {len(same)}" in point.about
    assert "+ 1 unknown: " in series.points[2].about


def test_faults_by_turn_are_counts_by_hand(make_trajectory: MakeTrajectory) -> None:
    """Of the turns of each number, the share that could not be read, was cut, or filled the context."""
    episodes = [make_trajectory(seed=seed, turns=1 + seed % 4) for seed in range(12)]
    for episode in episodes:
        for number, turn in enumerate(episode.transitions):
            if (episode.seed + number) % 3 == 0:
                turn.info["action_status"] = "malformed"
        if episode.seed == 7:
            episode.transitions[-1].finish_reason = "length"
            episode.stop_reason = "context"
    rows = [EpisodeRow.of_trajectory(episode) for episode in episodes]
    figures = by_kind(RunRows("one", rows))
    points = {point.x: point for point in figures["malformed-by-turn"].series[0].points}
    for turn in range(1, 5):
        longer = [episode for episode in episodes if len(episode.transitions) >= turn]
        faulty = [one for one in longer if one.transitions[turn - 1].info.get("action_status") == "malformed"]
        assert (points[turn].y, points[turn].count) == (pytest.approx(len(faulty) / len(longer)), len(longer))
    for kind in ("cut-by-turn", "context-by-turn"):
        (series,) = figures[kind].series
        assert [round(point.y * point.count) for point in series.points] == [0, 0, 0, 1]


def test_a_training_run_has_a_learning_curve_and_others_a_course_of_time(make_trajectory: MakeTrajectory) -> None:
    """The step is that of the episode's metadata, else the version of its weights; a series is a run."""
    trained = [
        EpisodeRow.of_trajectory(make_trajectory(seed=seed, metadata={"update": seed // 8}, skill=seed / 40))
        for seed in range(40)
    ]
    versioned = make_trajectory(seed=3)
    versioned.transitions[-1].version = 4
    assert EpisodeRow.of_trajectory(versioned).update == 4
    versioned.transitions[-1].version = "step-4"
    assert EpisodeRow.of_trajectory(versioned).update is None
    figure = by_kind(RunRows("one", trained), RunRows("other", rows_of(make_trajectory, 5)))["learning-curve"]
    assert [series.name for series in figure.series] == ["one", "other"]
    assert [(point.x, point.count) for point in figure.series[0].points] == [(update, 8) for update in range(5)]
    assert not figure.series[1].points
    assert "Left out, without a value" in figure.caption
    assert "5 episodes" in figure.caption
    course = by_kind(RunRows("one", rows_of(make_trajectory, 30), started_at=1_750_000_000.0))["over-time"]
    assert course.x_label == "seconds from the start of the run to the end of the episode"
    assert sum(point.count for point in course.series[0].points) == 30


def test_the_course_of_time_goes_by_the_ends_of_episodes(make_trajectory: MakeTrajectory) -> None:
    """Episodes that are played at the same time begin at once, and each counts where it ended."""
    began = 1_750_000_000.0
    rows = [
        replace(row, started_at=began + 0.5, seconds=10.0 * number)
        for number, row in enumerate(rows_of(make_trajectory, 4), 1)
    ]
    course = by_kind(RunRows("one", rows, started_at=began))["over-time"]
    assert [point.x for point in course.series[0].points] == [10.5, 20.5, 30.5, 40.5]


def test_confidence_is_the_geometric_mean_of_the_probabilities(make_trajectory: MakeTrajectory) -> None:
    """Over all sampled tokens; an episode with a token of probability 0, or without a number, has none."""
    episode = make_trajectory(seed=1, turns=2)
    logprobs = [value for turn in episode.transitions for value in turn.logprobs or ()]
    assert EpisodeRow.of_trajectory(episode).mean_logprob == pytest.approx(sum(logprobs) / len(logprobs))
    episode.transitions[0].logprobs = 7  # type: ignore[assignment]
    assert EpisodeRow.of_trajectory(episode).mean_logprob is None
    for odd in (-math.inf, math.nan, None):
        episode.transitions[0].logprobs = [odd, *logprobs]  # type: ignore[list-item]
        assert EpisodeRow.of_trajectory(episode).mean_logprob is None
    sure = [replace(row, mean_logprob=math.log(0.9), outcome="succeeded") for row in rows_of(make_trajectory, 30)]
    unsure = [replace(row, mean_logprob=math.log(0.3), outcome="unsuccessful") for row in rows_of(make_trajectory, 30)]
    figure = by_kind(RunRows("one", [*sure, *(replace(row, seed=row.seed + 30) for row in unsure)]))["calibration"]
    assert [(round(point.x, 6), point.y) for point in figure.series[0].points] == [(0.3, 0.0), (0.9, 1.0)]
    assert "one 0.200 over 60 episodes" in figure.caption  # the mean of 0.3 and 0.1


def test_an_environment_without_success_shows_returns(make_trajectory: MakeTrajectory) -> None:
    """The mean return takes the place of the share, on an axis of its own."""
    rows = [replace(row, outcome="untold", episode_return=float(row.turns)) for row in rows_of(make_trajectory, 20)]
    figure = by_kind(RunRows("one", rows))["return-by-turns"]
    assert not figure.is_share
    assert all(point.y == pytest.approx(point.x) for point in figure.series[0].points)


@given(name=st.text(max_size=40), env=st.text(max_size=40))
def test_a_drawing_is_well_formed_whatever_the_names_are(name: str, env: str) -> None:
    """It has shapes and text alone, and the words of others only as text."""
    points = (FigurePoint(0.0, 0.25, 0.1, 0.5, 8, 1, f"{name} <b>"), FigurePoint(2.0, 0.5, None, None, 1))
    figure = RunFigure("a-kind", "Title", env, "x", "y", "c", (FigureSeries(name, points), FigureSeries("other", ())))
    root = Xml.fromstring(to_svg(figure))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "style", "rect", "g", "line", "polyline", "polygon", "circle", "text"}
    assert not any(key.startswith("on") or "href" in key for element in root.iter() for key in element.attrib)
    assert sum(element.tag.endswith("circle") for element in root.iter()) == 3  # two points, and the legend
    assert figure.file_name.replace("-", "").isalnum()
    assert figure.file_name.isascii()
    assert drawn(figure)[1]["class"] == "figure"


def test_the_csv_of_a_figure_has_its_numbers_and_runs_no_formula() -> None:
    """One line a point, with the count, what it counts, and the unknown ones."""
    points = (FigurePoint(1.0, 0.25, 0.1, 0.5, 8, 1), FigurePoint(2.0, 0.5, None, None, 1))
    figure = RunFigure("k", "T", "=cmd()", "x", "y", "c", (FigureSeries("@run", points),), unit="turns")
    lines = list(csv.DictReader(io.StringIO(to_csv([figure]))))
    assert [(line["environment"], line["series"]) for line in lines] == [("'=cmd()", "'@run")] * 2
    assert [(line["x"], line["y"], line["low"], line["count"], line["of"], line["unknown"]) for line in lines] == [
        ("1.0", "0.25", "0.1", "8", "turns", "1"),
        ("2.0", "0.5", "", "1", "turns", "0"),
    ]


def test_setups_pool_the_runs_in_which_they_played(
    make_trajectory: MakeTrajectory, make_config: Callable[..., RunConfig]
) -> None:
    """A seed that a model played in two runs is one group; another agent program is another setup."""
    rows = rows_of(make_trajectory, 6)
    again = rows_of(make_trajectory, 6, salt=1)
    strong, program = (Setup.of(make_config(harness=harness)) for harness in (None, "codex"))
    assert (strong.name, program.name) == ("made-up-model", "made-up-model · codex")
    first, second = summarize_setups([(strong, rows), (program, rows), (strong, again)])
    assert (first.setup, first.runs, second.runs) == (strong, (0, 2), (1,))
    (cell,) = first.environments
    assert (cell.groups, cell.episodes, cell.group_size) == (6, 12, 2)
    assert second.environments == summarize_run(rows).environments


def test_the_agreement_of_rewards_is_that_of_their_calibration(make_trajectory: MakeTrajectory) -> None:
    """Each pair on the episodes that both could score, environment by environment."""
    rows = rows_of(make_trajectory, 8)
    scores: list[dict[str, float | None]] = [
        {"a": 1.0, "b": 1.0},
        {"a": 0.0, "b": 1.0},
        {"a": 0.0, "b": 0.0},
        {"a": None, "b": 1.0},
    ] * 2
    scored = [replace(row, scores=each) for row, each in zip(rows, scores, strict=True)]
    (pair,) = pairwise_agreement([*scored, *rows])
    assert (pair.env, pair.one, pair.other) == (ENV, "a", "b")
    assert pair.result.labelled == 6
    assert pair.result.agreement == pytest.approx(4 / 6)
    assert pair.result.kappa == pytest.approx((4 / 6 - 4 / 9) / (1 - 4 / 9))


def test_runs_stand_against_what_they_cost(make_trajectory: MakeTrajectory) -> None:
    """A point a run, with its share and the mean price, else the mean tokens, of its episodes."""
    rows = rows_of(make_trajectory, 12)
    dear = [replace(row, cost=2.0 + row.seed % 2, outcome="succeeded") for row in rows]
    cheap = [replace(row, cost=0.5) for row in rows]
    figure = by_kind(RunRows("dear", dear), RunRows("cheap", cheap))["score-against-effort"]
    points = [point for series in figure.series for point in series.points]
    assert figure.x_label == "mean cost of an episode"
    assert [point.x for point in points] == [2.5, 0.5]
    estimate = summarize_run(cheap).environments[0].success
    assert estimate is not None
    assert [point.y for point in points] == [1.0, estimate.value]
    unpriced = by_kind(RunRows("dear", dear), RunRows("free", rows))["score-against-effort"]
    assert unpriced.x_label == "mean sampled tokens of an episode"
    assert "score-against-effort" not in by_kind(RunRows("alone", dear))
