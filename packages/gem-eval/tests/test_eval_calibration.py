"""Calibration against labels, and tournaments."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_eval.clients import ScriptedClient
from gem_eval.rewards.calibration import LabelledScore, calibrate, calibration, read_labels
from gem_eval.rewards.episode_source import open_episodes
from gem_eval.rewards.pairwise import PairwiseReward
from gem_eval.rewards.tournament import PairedMatch, bradley_terry, tournament, win_rates
from gem_questions.rewards import Reward, Score
from gem_rollout.trajectory import EpisodeKey, Trajectory, TrajectoryWriter, Transition

Pairs = list[tuple[float, float]]


def scored(*pairs: tuple[float | None, float], lengths: list[int] | None = None) -> list[LabelledScore]:
    """Return scores beside labels; None is an unreadable score."""
    return [
        LabelledScore(
            EpisodeKey("e", number),
            label,
            Score.unreadable("no") if value is None else Score(value),
            0 if lengths is None else lengths[number],
        )
        for number, (value, label) in enumerate(pairs)
    ]


def test_agreement_and_kappa_are_as_in_the_textbook() -> None:
    """Cohen's example of 1960 in counts: 20, 5, 10, 15 give an agreement of 0.7 and a kappa of 0.4."""
    found = calibration(scored(*[(1, 1)] * 20, *[(1, 0)] * 5, *[(0, 1)] * 10, *[(0, 0)] * 15))
    assert (found.true_positive, found.false_positive, found.false_negative, found.true_negative) == (20, 5, 10, 15)
    assert found.agreement == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.kappa_interval is not None
    low, high = found.kappa_interval
    assert (low, high) == pytest.approx(
        (0.4 - 1.96 * math.sqrt(0.21 / 50) / 0.5, 0.4 + 1.96 * math.sqrt(0.21 / 50) / 0.5), abs=1e-3
    )
    assert found.bias == pytest.approx(-0.1)


def test_ties_share_their_mean_rank() -> None:
    """Spearman's correlation of 1, 1, 2, 3 with 1, 2, 3, 4 is 4.5 over the root of 22.5."""
    found = calibration(scored((0.1, 0.1), (0.1, 0.2), (0.2, 0.3), (0.3, 0.4)))
    assert found.correlation == pytest.approx(4.5 / math.sqrt(22.5))


def test_perfect_agreement_and_chance() -> None:
    """Kappa is 1 for the first, 0 for the second, -1 for the opposite, and undefined where nothing varies."""
    assert calibration(scored((1, 1), (0, 0))).kappa == 1.0
    assert calibration(scored((1, 1), (1, 0), (0, 1), (0, 0))).kappa == 0.0
    assert calibration(scored((1, 0), (0, 1))).kappa == -1.0
    assert calibration(scored((1, 1), (1, 1))).kappa is None
    empty = calibration([])
    assert (empty.labelled, empty.agreement, empty.kappa, empty.bias, empty.correlation) == (0, None, None, None, None)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=30))
def test_calibration_is_symmetric_and_bounded(pairs: Pairs) -> None:
    """Exchanging scores and labels keeps agreement, kappa and correlation, and turns the bias round."""
    one, other = calibration(scored(*pairs)), calibration(scored(*[(label, value) for value, label in pairs]))
    assert one.agreement == other.agreement
    for name in ("kappa", "correlation"):
        first, second = getattr(one, name), getattr(other, name)
        assert (first is None) == (second is None)
        if first is not None:
            assert first == pytest.approx(second)
            assert -1 <= first <= 1
    if one.bias is not None and other.bias is not None:
        assert one.bias == pytest.approx(-other.bias)
    json.dumps(one.to_dict())


def test_unreadable_scores_are_counted_apart() -> None:
    """They say nothing about the agreement."""
    found = calibration(scored((None, 1), (1, 1), (0, 0)))
    assert (found.labelled, found.unreadable, found.agreement) == (2, 1, 1.0)


def test_a_bias_for_length_is_seen() -> None:
    """A reward that pays long texts too much correlates its error with the length; a fair one does not."""
    lengths = [10, 20, 30, 40, 50, 60]
    labels = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    generous = calibration(
        scored(*[(length / 60, label) for length, label in zip(lengths, labels, strict=True)], lengths=lengths)
    )
    assert generous.length_bias is not None
    assert generous.length_bias > 0.5
    fair = calibration(scored(*[(label, label) for label in labels], lengths=lengths))
    assert fair.length_bias is None


def test_a_bias_for_a_position_is_seen() -> None:
    """From the parts of pairwise scores."""
    items = [
        LabelledScore(EpisodeKey("e", n), 1.0, Score(0.5, {"shown_first": 1.0, "shown_second": 0.0})) for n in range(4)
    ]
    assert calibration(items).position_bias == 1.0
    assert calibration(scored((1, 1))).position_bias is None


def test_disagreements_are_listed_worst_first() -> None:
    """With key, label and whole score."""
    found = calibration(scored((0.6, 0.4), (1.0, 0.0), (1.0, 1.0)))
    assert [item.key.seed for item in found.disagreements] == [1, 0]
    assert found.to_dict()["disagreements"][0]["score"]["value"] == 1.0


def test_calibrate_scores_the_episodes() -> None:
    """Sync and async rewards, with the length of what the agent wrote."""

    class ByLength(Reward):
        async def score(self, trajectory: Trajectory) -> Score:
            return Score(float(len(trajectory.transitions[0].action) > 3))

    episodes = [Trajectory(None, n, [Transition("o", "x" * n, 0.0, True, False)]) for n in range(1, 7)]
    found = asyncio.run(calibrate(ByLength(), [(item, item.seed > 3) for item in episodes if item.seed]))
    assert (found.agreement, found.kappa, found.labelled) == (1.0, 1.0, 6)
    with pytest.raises(ArgumentError, match="label"):
        asyncio.run(calibrate(ByLength(), [(episodes[0], 3.0)]))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("l.jsonl", '{"seed": 1, "label": true}\n\n{"env": "e", "seed": 2, "repetition": 1, "label": 0.25}\n'),
        ("l.csv", "env,seed,repetition,label\n,1,,pass\ne,2,1,0.25\n"),
        ("l.csv", "\ufeffseed,label,env,repetition,note\n1,Yes,,0,x\n2,.25,e,1,\n"),
    ],
)
def test_labels_are_read(tmp_path: Path, name: str, content: str) -> None:
    """From JSON lines and from spreadsheets."""
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert read_labels(tmp_path / name) == {(None, 1, 0): 1.0, ("e", 2, 1): 0.25}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("l.jsonl", "", "no labels"),
        ("l.jsonl", "{", "cannot be read"),
        ("l.jsonl", '{"seed": 1}', "label 1"),
        ("l.jsonl", "[1]", "label 1"),
        ("l.jsonl", '{"seed": 1, "label": 1}\n{"seed": "x", "label": 1}', "label 2"),
        ("l.jsonl", '{"seed": 1, "label": 7}', "label 1"),
        ("l.jsonl", '{"seed": 1, "label": "so-so"}', "label 1"),
        ("l.jsonl", '{"seed": 1, "label": null}', "label 1"),
        ("l.csv", "a,b\n1,2\n", "label 1"),
    ],
)
def test_wrong_labels_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    """By file and number."""
    (tmp_path / name).write_text(content)
    with pytest.raises(ArgumentError, match=message):
        read_labels(tmp_path / name)
    with pytest.raises(ArgumentError, match="cannot be read"):
        read_labels(tmp_path / "missing.jsonl")


# Tournaments.


def test_bradley_terry_finds_the_strengths_that_made_the_results() -> None:
    """With results in the model's own proportions, the fit returns its strengths."""
    true = {"a": 1.0, "b": 0.0, "c": -1.0}
    matches = []
    for one, other in (("a", "b"), ("a", "c"), ("b", "c")):
        share = 1 / (1 + math.exp(true[other] - true[one]))
        matches += [PairedMatch(one, other, share)] * 100_000
    found = bradley_terry(matches)
    assert found == pytest.approx(true, abs=1e-3)


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from([0.0, 0.5, 1.0])).filter(
            lambda match: match[0] != match[1]
        ),
        max_size=30,
    )
)
def test_bradley_terry_is_finite_and_ordered(results: list[tuple[str, str, float]]) -> None:
    """Whatever the results, strengths are finite with mean 0; one more win never weakens."""
    matches = [PairedMatch(*result) for result in results]
    found = bradley_terry(matches)
    assert all(map(math.isfinite, found.values()))
    assert math.fsum(found.values()) == pytest.approx(0.0, abs=1e-9)
    if matches:
        one, other = matches[0].one, matches[0].other
        more = bradley_terry([*matches, PairedMatch(one, other, 1.0)])
        assert more[one] - more[other] > found[one] - found[other] - 1e-6
    rates = win_rates(matches)
    assert math.fsum(rates.values()) <= len(rates)


def test_a_tournament_ranks_runs(tmp_path: Path) -> None:
    """Every pair on the seeds that both have; the judge prefers the longer text, and of equals the first."""

    def write(name: str, lengths: dict[int, int]) -> Path:
        path = tmp_path / f"{name}.jsonl"
        with TrajectoryWriter(path) as writer:
            for seed, length in lengths.items():
                turn = Transition("o", "§" * length, 0.0, True, False)
                writer.write(Trajectory(None, seed, [turn], metadata={"label": "e"}))
        return path

    def judge(messages: Any) -> str:
        first, second = messages[1]["content"].split("The second record:")
        return json.dumps({"better": "first" if first.count("§") >= second.count("§") else "second"})

    runs = {
        name: open_episodes(write(name, lengths))[0]
        for name, lengths in {
            "short": {0: 1, 1: 1, 2: 1},
            "long": {0: 3, 1: 3, 2: 3, 3: 9},
            "mixed": {0: 1, 1: 3, 2: 2},
        }.items()
    }
    result = asyncio.run(tournament(runs, PairwiseReward(judge=ScriptedClient(judge))))
    assert len(result.matches) == 9
    assert result.unreadable == 0
    assert result.inconsistent == 2  # short and mixed on seed 0, long and mixed on seed 1
    assert result.win_rates["long"] == pytest.approx(5.5 / 6)
    assert sorted(result.strengths, key=result.strengths.__getitem__) == ["short", "mixed", "long"]
    assert result.first_shown == pytest.approx(0.5 + 2 * 0.5 / 9)
    json.dumps(result.to_dict())


def test_a_tournament_counts_what_the_judge_left_open(tmp_path: Path) -> None:
    """Without answers there are no matches."""
    path = tmp_path / "a.jsonl"
    with TrajectoryWriter(path) as writer:
        writer.write(Trajectory(None, 0, [Transition("o", "x", 0.0, True, False)]))
    runs = {"a": open_episodes(path)[0], "b": open_episodes(path)[0]}
    result = asyncio.run(tournament(runs, PairwiseReward(judge=ScriptedClient(lambda m: "?"))))
    assert (result.unreadable, result.matches, result.first_shown, result.strengths) == (1, [], None, {})
