"""Summaries of runs, from the rows of their index."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_eval.runs import EpisodeRow
from gem_eval.statistics import EnvironmentSummary, RunSummary, estimate_share, summarize_run
from gem_eval.statistics.answer_health import AnswerHealth, Hint, give_hints
from gem_eval.statistics.run_summary import by_seed
from gem_rollout.trajectory import Outcome

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "evaluation.md"
OUTCOMES: dict[bool | None, Outcome] = {True: "succeeded", False: "unsuccessful", None: "untold"}


def row(seed: int = 0, repetition: int = 0, success: bool | None = True, **values: Any) -> EpisodeRow:
    """Return the row of an episode."""
    given_values = {
        "offset": 0,
        "length": 0,
        "env": "game:A-v0",
        "episode_return": float(bool(success)),
        "turns": 3,
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "seconds": 2.0,
        "act_seconds": 1.5,
        "step_seconds": 0.5,
        "tool_calls": 1,
        "stop_reason": "terminated",
        "failure": None,
        "malformed": 0,
        "cut": 0,
        "empty": 0,
        "answer": None,
        "agent": "model",
        "started_at": 1.0,
        "outcome": OUTCOMES[success],
        **values,
    }
    return EpisodeRow(seed=seed, repetition=repetition, **given_values)


def failed(seed: int, source: str = "endpoint", kind: str = "timeout", **values: Any) -> EpisodeRow:
    """Return the row of a failed episode."""
    failure = {"source": source, "kind": kind}
    figures = {"stop_reason": None, "failure": failure, "outcome": "unknown", "episode_return": -99.0, **values}
    return row(seed, success=None, **figures)


def only(summary: RunSummary) -> EnvironmentSummary:
    """Return the one environment of a summary."""
    (environment,) = summary.environments
    return environment


def test_the_figures_of_a_run() -> None:
    """Every figure is that of a hand count."""
    rows = [
        row(seed, n, (seed + n) % 2 == 0, turns=seed + 1, scores={"judge": 0.5 + n})
        for seed in range(6)
        for n in (0, 1)
    ]
    summary = only(summarize_run(rows))
    assert (summary.episodes, summary.failed, summary.groups, summary.group_size) == (12, 0, 6, 2)
    assert summary.success is not None
    assert summary.success.value == 0.5
    assert summary.mean_return is not None
    assert summary.mean_return.value == 0.5
    assert {k: estimate.value for k, estimate in summary.pass_at_k.items()} == {1: 0.5, 2: 1.0}
    assert {k: estimate.value for k, estimate in summary.pass_all_k.items()} == {1: 0.5, 2: 0.0}
    assert summary.scores["judge"].value == 1.0
    assert summary.turns is not None
    assert (summary.turns.mean, summary.turns.p50, summary.turns.p95, summary.turns.total) == (3.5, 3, 6, 42)
    assert summary.prompt_tokens is not None
    assert summary.prompt_tokens.total == 1200
    assert summary.tool_calls is not None
    assert summary.tool_calls.mean == 1
    assert (summary.act_seconds, summary.step_seconds) == (18.0, 6.0)
    assert summary.stop_reasons == {"terminated": 12}
    assert summary.cost is None


def test_quantiles_are_values_that_occurred() -> None:
    """The 95th percentile is the smallest value that 95 % of the episodes do not exceed."""
    turns = only(summarize_run([row(seed, turns=2 * seed) for seed in range(1, 41)])).turns
    assert turns is not None
    assert (turns.p50, turns.p95) == (40, 76)


def test_failed_episodes_count_in_no_mean_but_in_the_totals() -> None:
    """Their returns, turns and tokens change no mean; their time and price were spent."""
    good = [row(seed, cost=1.0) for seed in range(4)]
    bad = [failed(4, cost=2.0), failed(5), failed(6, "environment", "exception"), failed(7)]
    with_failures, without = only(summarize_run([*good, *bad])), only(summarize_run(good))
    for name in (
        "episodes",
        "mean_return",
        "success",
        "pass_at_k",
        "turns",
        "prompt_tokens",
        "seconds",
        "stop_reasons",
    ):
        assert getattr(with_failures, name) == getattr(without, name), name
    assert with_failures.failed == 4
    assert [(f.source, f.kind, f.count) for f in with_failures.failures] == [
        ("endpoint", "timeout", 3),
        ("environment", "exception", 1),
    ]
    assert (with_failures.cost, without.cost) == (6.0, 4.0)
    assert with_failures.act_seconds == without.act_seconds + 6.0
    assert any(note.startswith("4 of 8 episodes failed by no fault") for note in summarize_run([*good, *bad]).notes)
    assert (with_failures.success_unknown, with_failures.success_bounds) == (4, (0.5, 1.0))


def test_a_failure_of_the_agent_itself_is_no_success() -> None:
    """It counts in every mean with the return that it has, and is listed among the failures."""
    crash = failed(1, "agent", "exception", outcome="incomplete", episode_return=0.5)
    summary = only(summarize_run([row(0), crash]))
    assert (summary.episodes, summary.failed, summary.success_unknown) == (2, 0, 0)
    assert summary.success is not None
    assert summary.mean_return is not None
    assert (summary.success.value, summary.mean_return.value) == (0.5, 0.75)
    assert [(f.source, f.kind, f.count) for f in summary.failures] == [("agent", "exception", 1)]


def test_the_last_attempt_at_an_episode_counts() -> None:
    """An episode that failed and was played anew is one episode, which succeeded."""
    summary = only(summarize_run([failed(0), row(1), row(0)]))
    assert (summary.episodes, summary.failed) == (2, 0)


def test_unfinished_runs_say_so() -> None:
    """Missing episodes are counted against the plan, of environments without a row as well."""
    plan = {"game:A-v0": 4, "game:B-v0": 2}
    summary = summarize_run([row(0), row(1), failed(2)], planned=plan)
    assert [item.env for item in summary.environments] == ["game:A-v0", "game:B-v0"]
    assert (summary.episodes, summary.failed, summary.planned, summary.missing) == (2, 1, 6, 4)
    assert not summary.finished
    assert any("not finished: 3 of 6 episodes have not been played" in note for note in summary.notes)
    running = summarize_run([row(0)], planned=plan, running=True)
    assert not running.finished
    assert running.notes == ("the run goes on; these are the figures so far",)
    whole = summarize_run(
        [*(row(s) for s in range(4)), row(0, env="game:B-v0"), failed(1, env="game:B-v0")], planned=plan
    )
    assert whole.finished
    assert not any("not finished" in note for note in whole.notes)


def test_episodes_that_do_not_say_whether_they_succeeded() -> None:
    """They count in the mean return; their success is unknown, and the share has the bounds that they leave open."""
    summary = only(summarize_run([row(0), row(1, success=False), row(2, success=None), row(3, success=None)]))
    assert summary.success is not None
    assert (summary.success.value, summary.success.groups) == (0.5, 2)
    assert (summary.success_count, summary.success_unknown, summary.success_bounds) == (1, 2, (0.25, 0.75))
    assert summary.mean_return is not None
    assert summary.mean_return.groups == 4
    assert any("the outcome of 2 of 4 episodes is unknown" in note for note in summary.notes)
    assert any("between 25.0 % and 75.0 %" in note for note in summary.notes)
    silent = only(summarize_run([row(seed, success=None) for seed in range(3)]))
    assert silent.success is None
    assert not silent.pass_at_k
    assert silent.notes == (
        "the environment does not say whether its task was achieved, so there is no share of successes",
    )


def test_grades_that_are_unreadable_are_counted() -> None:
    """Of all answers, without failed episodes; a hint speaks of those that had the form asked for."""
    verdicts = ["same", "different", "unreadable", "unreadable", None]
    rows = [
        row(seed, success=verdict == "same", grade=verdict, answer=f"answer {seed}")
        for seed, verdict in enumerate(verdicts)
    ]
    whole = summarize_run([*rows, failed(5, grade="unreadable")])
    summary = only(whole)
    assert summary.answers is not None
    assert (summary.answers.unreadable, summary.answers.answered) == (2, 5)
    assert whole.to_dict()["environments"][0]["answers"]["unreadable"] == 2
    (hint,) = whole.hints
    assert hint.startswith("2 of 5 answers had the form asked for")
    assert not summarize_run([row(0, grade="same"), row(1, grade="different")]).hints


def test_an_answer_without_the_form_is_malformed_and_not_misread() -> None:
    """What a hint on the form explains is no fault of the grader."""
    rows = [row(seed, success=False, grade="unreadable", turns=1, malformed=1, answer="?") for seed in range(4)]
    (hint,) = summarize_run(rows).hints
    assert "4 of 4 turns were malformed" in hint


def test_a_fault_of_several_environments_is_one_hint() -> None:
    """Its counts are summed over those where it is frequent; it says in how many that is unless it is in all."""
    counts = {"game:A-v0": 4, "game:B-v0": 2, "game:C-v0": 0}
    rows = [
        row(seed, env=env, turns=1, malformed=int(seed < count), cut=1)
        for env, count in counts.items()
        for seed in range(4)
    ]
    malformed, cut = summarize_run(rows).hints
    assert malformed.startswith("6 of 8 turns in 2 of 3 environments were malformed")
    assert cut.startswith("12 of 12 turns were cut")


@pytest.mark.skipif(not GUIDE.is_file(), reason="needs the repository, of which docs/ is a part")
def test_the_guide_shows_hints_as_they_are_printed() -> None:
    """Each hint in the recorded outputs is a sentence that the code gives today."""
    everything = AnswerHealth(
        **dict.fromkeys(("episodes", "turns", "malformed", "cut", "empty", "context_full", "answered"), 9),
        distinct=1,
        unreadable=9,
        misread=9,
    )
    faults = [hint.fault for hint in give_hints(everything)]
    assert len(faults) == 6
    shown = re.findall(
        r"^hint: ((\d+) of (\d+) \w+ (?:in (\d+) of (\d+) environments )?.*)$", GUIDE.read_text("utf-8"), re.MULTILINE
    )
    assert shown
    for line, count, of, within, environments in shown:
        hints = [Hint(fault, int(count), int(of), int(within or 1)) for fault in faults]
        assert line in [hint.sentence(int(environments or 1)) for hint in hints]


def test_a_run_without_episodes() -> None:
    """No row, and none but failed ones, give a summary with nothing in it."""
    assert summarize_run([]).environments == ()
    summary = only(summarize_run([failed(0), failed(1)]))
    assert (summary.episodes, summary.failed, summary.groups) == (0, 2, 0)
    assert summary.mean_return is summary.success is summary.turns is None
    assert only(summarize_run([], planned={"game:A-v0": 5})).missing == 5


def test_groups_of_uneven_size() -> None:
    """pass@k goes up to the largest group, and leaves out smaller ones aloud."""
    rows = [row(seed, n, n == 0) for seed in range(5) for n in range(5 if seed else 2)]
    summary = only(summarize_run(rows))
    assert list(summary.pass_at_k) == [1, 2, 4]
    assert summary.pass_at_k[4].groups == 4
    assert "left out, with fewer than 4 episodes: 1 of 5 seeds" in summary.pass_at_k[4].notes
    assert summary.success is not None
    assert summary.success.value == pytest.approx(fmean([1 / 2, *[1 / 5] * 4]))  # each seed weighs the same


def test_the_mean_over_environments_weighs_them_alike() -> None:
    """A large environment does not outweigh a small one, and independent errors add in squares."""
    a = [row(seed, success=seed % 2 == 0) for seed in range(100)]
    b = [row(seed, success=seed % 4 == 0, env="game:B-v0") for seed in range(40)]
    summary = summarize_run([*a, *b])
    overall = summary.overall
    assert overall is not None
    assert overall.value == pytest.approx((0.5 + 0.25) / 2)
    first, second = (item.success for item in summary.environments)
    assert first is not None
    assert second is not None
    assert first.low is not None
    assert second.low is not None
    assert overall.low is not None
    assert overall.value - overall.low == pytest.approx(math.hypot(0.5 - first.low, 0.25 - second.low) / 2)
    assert summarize_run(a).overall is None
    assert summarize_run([*a, row(0, success=None, env="game:C-v0")]).overall is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300])
def test_returns_that_are_no_numbers_are_left_out_aloud(value: float) -> None:
    """A return that no mean can hold breaks nothing, and a note counts it."""
    summary = only(summarize_run([row(0), row(1), row(2, episode_return=value)]))
    assert summary.mean_return is not None
    assert summary.mean_return.value == 1.0
    assert any("no finite number: 1 of 3 episodes" in note for note in summary.notes)


def test_a_summary_is_json() -> None:
    """The dict holds no value that JSON lacks, with failures, scores, and hostile names."""
    rows = [row(0, env="\x1b[31m\ud800", scores={"a\n": 1.0}), row(1, seconds=None, prompt_tokens=None), failed(3)]
    record = json.loads(json.dumps(summarize_run(rows, name="x").to_dict(), allow_nan=False))
    assert {"name", "environments", "episodes", "failed", "missing", "finished", "notes"} <= set(record)
    assert record["environments"][1]["pass_at_k"]["1"]["method"]


@given(
    st.lists(
        st.builds(
            row,
            seed=st.integers(0, 5),
            repetition=st.integers(0, 9),
            success=st.sampled_from([True, False, None]),
            turns=st.integers(0, 50),
            episode_return=st.floats(-10, 10),
            env=st.sampled_from(["a", "b"]),
            failure=st.sampled_from(
                [None, None, *({"source": one, "kind": "timeout"} for one in ("agent", "endpoint"))]
            ),
        ),
        max_size=60,
    )
)
def test_any_rows_agree_with_the_slow_count(rows: list[EpisodeRow]) -> None:
    """Counts, means, medians and shares are those of plain loops over the last attempts."""
    summary = summarize_run(rows)
    for item in summary.environments:
        last = {(r.seed, r.repetition): r for r in rows if r.env == item.env}
        scored = [r for r in last.values() if r.failure is None or r.failure["source"] == "agent"]
        assert (item.episodes, item.failed) == (len(scored), len(last) - len(scored))
        seeds = {r.seed for r in scored}
        if scored:
            means = [fmean(r.episode_return for r in scored if r.seed == seed) for seed in seeds]
            assert item.mean_return is not None
            assert item.mean_return.value == pytest.approx(fmean(means), abs=1e-9)
            assert item.turns is not None
            assert item.turns.mean == pytest.approx(fmean(r.turns for r in scored))
            assert item.turns.p50 in {r.turns for r in scored}
            assert abs(item.turns.p50 - median(r.turns for r in scored)) <= 25
        told = [r for r in scored if r.success is not None]
        assert item.success == estimate_share(by_seed(told, lambda r: r.success))
        assert item.success_count == sum(bool(r.success) for r in told)
        assert sum(item.stop_reasons.values()) == len(scored)
