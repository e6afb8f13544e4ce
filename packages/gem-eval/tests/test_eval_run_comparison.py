"""Comparisons of runs by their rows, and what they say in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gem.errors import ArgumentError
from gem_eval.runs import EpisodeRow
from gem_eval.statistics import ComparedMeans, compare_means, compare_runs, in_words
from gem_rollout.trajectory import Outcome

RESULT = ComparedMeans(
    mean_a=0.5,
    mean_b=0.542,
    difference=0.042,
    low=-0.01,
    high=0.094,
    p_value=0.1129,
    standard_error=0.0262,
    df=99.0,
    detectable=0.0712,
    groups=100,
    groups_a=100,
    groups_b=100,
    common=100,
    method="paired-t",
)


OUTCOMES: dict[bool | None, Outcome] = {True: "succeeded", False: "unsuccessful", None: "untold"}


def row(seed: int, success: bool | None = True, **values: Any) -> EpisodeRow:
    """Return the row of an episode."""
    figures: dict[str, Any] = {
        "offset": 0,
        "length": 0,
        "env": "game:A-v0",
        "repetition": 0,
        "episode_return": float(bool(success)),
        "turns": 3,
        "prompt_tokens": None,
        "completion_tokens": None,
        "seconds": 2.0,
        "act_seconds": 1.5,
        "step_seconds": 0.5,
        "tool_calls": 0,
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
    return EpisodeRow(seed=seed, **figures)


def test_a_difference_in_words() -> None:
    """Points, interval, p-value, and the difference that would have been seen."""
    assert in_words(RESULT, "success") == (
        "B solves 4.2 points more (95 %: −1.0 … 9.4, p = 0.113); with these 100 seeds a difference of 7.1 points would "
        "have been seen four times out of five."
    )


@pytest.mark.parametrize(
    ("changes", "metric", "expected"),
    [
        ({"difference": -0.042, "low": -0.094, "high": 0.01}, "success", "B solves 4.2 points less (95 %: −9.4 … 1.0"),
        ({"difference": 0.0, "low": -0.0001, "high": 0.02}, "success", "A and B solve the same share (95 %: 0.0 … 2.0"),
        ({"p_value": 0.0004}, "success", "p < 0.001)"),
        (
            {"difference": -3.5, "low": -5.25, "high": -1.75},
            "turns",
            "mean number of turns is 3.5 lower (95 %: −5.25 … −1.75",
        ),
        (
            {"difference": 1234.0, "low": 1000.0, "high": 1468.0},
            "prompt_tokens",
            "tokens is 1,234 higher (95 %: 1,000 … 1,468",
        ),
        ({"difference": 0.0}, "return", "The mean return is the same ("),
        ({"detectable": 0.01}, "success", "a difference of 1.0 point would"),
        ({"detectable": 1.2}, "success", "these 100 seeds are too few to see any difference four times out of five."),
        ({"method": "welch-t", "groups_b": 40}, "success", "with these 100 and 40 seeds a difference"),
        ({"confidence": 0.995}, "success", "(99.5 %: "),
        (
            {"low": None, "high": None, "p_value": None},
            "success",
            "B solves 4.2 points more; the data give no interval.",
        ),
        ({"detectable": 0.5}, "judge", "a difference of 0.5 would have been seen"),
    ],
)
def test_other_differences_in_words(changes: dict[str, Any], metric: str, expected: str) -> None:
    """The sentence fits the sign, the unit, the kind of comparison and what is known."""
    assert expected in in_words(replace(RESULT, **changes), metric)


def test_each_environment_has_its_metric() -> None:
    """Success where both runs know it, the return elsewhere; then there is no overall difference."""
    a = [row(seed, seed % 2 == 0) for seed in range(20)]
    b = [row(seed, seed % 3 == 0) for seed in range(20)]
    more_a = [row(seed, None, env="game:B-v0", episode_return=seed) for seed in range(20)]
    more_b = [row(seed, True, env="game:B-v0", episode_return=seed % 7) for seed in range(20)]
    comparison = compare_runs([*a, *more_a], [*b, *more_b])
    assert [(item.env, item.metric) for item in comparison.environments] == [
        ("game:A-v0", "success"),
        ("game:B-v0", "return"),
    ]
    assert comparison.overall is None
    third = [row(seed, seed % 5 == 0, env="game:C-v0") for seed in range(20)]
    overall = compare_runs([*a, *third], [*b, *third]).overall
    assert overall is not None
    assert overall.groups == 40
    assert compare_runs([*a, *third, *more_a], [*b, *third, *more_b]).overall is None


def test_an_environment_without_the_metric() -> None:
    """A run whose server reports no tokens has nothing to compare, and that is no error."""
    a, b = ([row(seed, prompt_tokens=tokens) for seed in range(5)] for tokens in (None, 10))
    (environment,) = compare_runs(a, b, "prompt_tokens").environments
    assert environment.result is None
    assert environment.to_dict()["words"] is None


def test_rewards_are_metrics() -> None:
    """A reward that was applied to the episodes can be compared by its name; others are refused."""
    a = [row(seed, scores={"judge": seed % 3}) for seed in range(20)]
    b = [row(seed, scores={"judge": seed % 3 + seed % 2}) for seed in range(20)]
    (environment,) = compare_runs(a, b, "judge").environments
    assert environment.result is not None
    assert environment.result.difference == pytest.approx(0.5)
    with pytest.raises(ArgumentError, match=r"'jury'; there are: success, .*, judge"):
        compare_runs(a, b, "jury")


def test_the_last_attempt_counts() -> None:
    """An episode that was played anew is compared with its last result."""
    a = [row(0, False), *(row(seed) for seed in range(6))]
    (environment,) = compare_runs(a, [row(seed) for seed in range(6)]).environments
    expected = compare_means({s: [1.0] for s in range(6)}, {s: [1.0] for s in range(6)}, share=True)
    assert environment.result == expected
