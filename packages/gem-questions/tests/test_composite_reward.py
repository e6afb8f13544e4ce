"""The reward composite."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, ArgumentTypeError
from gem_questions.rewards import (
    Reward,
    RewardContext,
    Score,
    close_reward,
    make_reward,
    score_episode,
    score_episode_async,
)
from gem_rollout.trajectory import Trajectory, Transition

EPISODE = Trajectory(None, 0, [Transition("o", "a", 0.5, True, False)])


class Fixed(Reward):
    """Always the same value; counts its calls."""

    def __init__(self, *, value: float | None = 1.0) -> None:
        self.value = value
        self.calls: list[str] = []

    def score(self, trajectory: Trajectory) -> Score:
        self.calls.append("score")
        if self.value is None:
            return Score.unreadable("no idea", "timeout")
        return Score(self.value, reasons=["fixed"])

    def begin(self, context: RewardContext) -> None:
        self.calls.append(f"begin {context.folder}")

    def close(self) -> None:
        self.calls.append("close")


class FixedLater(Reward):
    """The same as a coroutine."""

    def __init__(self, *, value: float | None = 1.0) -> None:
        self.value = value
        self.calls: list[str] = []

    async def score(self, trajectory: Trajectory) -> Score:
        await asyncio.sleep(0)
        self.calls.append("score")
        return Score.unreadable("no idea", "timeout") if self.value is None else Score(self.value, reasons=["fixed"])

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.calls.append("close")


def part(value: float | None, label: str, kind: type[Any] = Fixed, **more: Any) -> dict[str, Any]:
    """Return the specification of a part."""
    return {"name": f"{__name__}:{kind.__name__}", "value": value, "label": label, **more}


def score_of(parts: list[Any], **arguments: Any) -> Score:
    """Return the score of a composite, which must be the same with async parts."""
    score = score_episode(make_reward("composite", of=parts, **arguments), EPISODE)
    later = [{**item, "name": f"{__name__}:FixedLater"} for item in parts]
    assert score_episode(make_reward("composite", of=later, **arguments), EPISODE) == score
    mixed = [*later[:1], *parts[1:]]
    composite = make_reward("composite", of=mixed, **arguments)
    assert asyncio.run(score_episode_async(composite, EPISODE)) == score
    return score


values = st.floats(-1e6, 1e6)
weights = st.just(0.0) | st.floats(1e-6, 100)


@given(st.lists(st.tuples(values, weights), min_size=1, max_size=6).filter(lambda parts: any(w for _, w in parts)))
def test_the_combinations_are_what_they_are_called(pairs: list[tuple[float, float]]) -> None:
    """Mean and sum are weighted; the least and the greatest leave out parts without a weight."""
    parts = [part(value, str(i), weight=weight) for i, (value, weight) in enumerate(pairs)]
    counted = [value for value, weight in pairs if weight]
    total = sum(value * weight for value, weight in pairs)

    def value_by(combine: str) -> float:
        return score_episode(make_reward("composite", of=parts, combine=combine), EPISODE).value

    assert value_by("sum") == pytest.approx(total)
    mean = value_by("mean")
    assert mean == pytest.approx(total / sum(weight for _, weight in pairs), abs=1e-6)
    assert min(counted) <= mean <= max(counted)
    assert value_by("min") == min(counted)
    assert value_by("max") == max(counted)


def test_a_mean_of_equal_values_is_that_value() -> None:
    """Rounding lifts it above none: three times 0.1 is 0.1."""
    assert score_of([part(0.1, name) for name in "abc"]).value == 0.1


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.5, 1.0, 2.0])), min_size=1, max_size=5))
def test_the_product_is_geometric(pairs: list[tuple[float, float]]) -> None:
    """Values to the power of their weights; a part of 0 makes it 0, and it stays within 0 and 1."""
    parts = [part(value, str(i), weight=weight) for i, (value, weight) in enumerate(pairs)]
    value = score_of(parts, combine="product").value
    assert value == pytest.approx(math.prod(value**weight for value, weight in pairs))
    assert 0.0 <= value <= 1.0


@given(st.permutations([(0.1, 1.0), (0.9, 2.0), (0.4, 0.0), (-0.3, 0.7)]), st.sampled_from(["mean", "sum", "min"]))
def test_the_order_of_parts_does_not_count(order: list[tuple[float, float]], combine: str) -> None:
    """Without gates a composite is a function of the set of its parts."""
    parts = [part(value, str(value), weight=weight) for value, weight in order]
    assert score_of(parts, combine=combine).value == pytest.approx(
        score_of(sorted(parts, key=lambda item: item["label"]), combine=combine).value
    )


def test_the_score_shows_its_parts() -> None:
    """Values, reasons and the whole scores of the parts are in it."""
    score = score_of([part(0.5, "one"), part(1.0, "two", weight=3.0)])
    assert (score.value, score.parts) == (0.875, {"one": 0.5, "two": 1.0})
    assert score.reasons == ["one: fixed", "two: fixed"]
    assert Score.from_dict(score.metadata["parts"]["two"]).value == 1.0
    json.dumps(score.to_dict())


@pytest.mark.parametrize("combine", ["mean", "sum", "product", "min", "max"])
def test_an_unreadable_part_makes_it_unreadable(combine: str) -> None:
    """The kind of the fault is passed on; a part without a weight does not matter."""
    score = score_of([part(1.0, "one"), part(None, "two")], combine=combine)
    assert (score.value, score.metadata["unreadable"]) == (0.0, "timeout")
    assert "two: no idea" in score.reasons[0]
    assert score_of([part(1.0, "one"), part(None, "two", weight=0.0)], combine=combine).readable


def test_a_closed_gate_ends_the_scoring() -> None:
    """The composite pays what stands for it, and the parts after the gate are not asked."""
    gate, later = part(0.4, "gate", gate=0.5), Fixed(value=1.0)
    composite = make_reward("composite", of=[later, gate], closed=-1.0)
    score = score_episode(composite, EPISODE)
    assert (score.value, score.parts, score.metadata["closed_by"]) == (-1.0, {"gate": 0.4}, "gate")
    assert later.calls == []
    assert score_of([part(None, "other"), gate]).readable
    assert score_of([part(1.0, "other"), part(0.5, "gate", gate=0.5)]).value == 0.75


def test_an_unreadable_gate_is_not_closed() -> None:
    """What could not be told decides nothing: the composite is unreadable."""
    for weight in (1.0, 0.0):
        assert not score_of([part(1.0, "other"), part(None, "gate", gate=0.5, weight=weight)]).readable


def test_a_negative_part_has_no_place_in_a_product() -> None:
    """Two negative parts would make a good score of two bad ones."""
    assert score_of([part(-1.0, "a"), part(-1.0, "b")], combine="product").metadata["unreadable"] == "negative"
    huge = [part(1e300, "a", weight=1e300), part(1e300, "b")]
    assert score_of(huge, combine="sum").metadata["unreadable"] == "overflow"
    assert score_of(huge, combine="product").metadata["unreadable"] == "overflow"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"of": []}, ArgumentError, "at least one part"),
        ({"of": "exact"}, ArgumentTypeError, "list of rewards"),
        ({"of": [part(1.0, "a"), part(2.0, "a")]}, ArgumentError, "label 'a'"),
        ({"of": [part(1.0, "a", weight=-1.0)]}, ArgumentError, "weights"),
        ({"of": [part(1.0, "a", weight=0.0)]}, ArgumentError, "one above 0"),
        ({"of": [part(1.0, "a", gate="high")]}, ArgumentTypeError, "gate"),
        ({"of": [part(1.0, "a")], "combine": "median"}, ArgumentError, "combine must be one of"),
    ],
)
def test_a_wrong_composite_is_refused(arguments: Any, error: type[Exception], message: str) -> None:
    """When it is made, not when it scores."""
    with pytest.raises(error, match=message):
        make_reward("composite", **arguments)


def test_the_configuration_makes_it_again() -> None:
    """Gates, weights, labels and composites inside composites survive JSON."""
    inner = {"name": "composite", "label": "inner", "of": [part(0.2, "c")], "combine": "min"}
    composite = make_reward("composite", of=[part(0.5, "a", weight=2.0, gate=0.1), Fixed(value=0.5), inner])
    config = json.loads(json.dumps(composite.config))
    again = make_reward(config)
    assert again.config == config
    assert score_episode(again, EPISODE).value == score_episode(composite, EPISODE).value


def test_the_configuration_names_the_judge_of_the_run() -> None:
    """Scores of two judges are not taken for those of one."""
    composite = make_reward("composite", of=["exact", {"name": "rubric", "criteria": ["style"]}])
    composite.begin(RewardContext(judge={"model": "m", "base_url": "http://localhost:1/v1"}))
    assert composite.config["of"][1]["judge"]["model"] == "m"


def test_a_slow_grader_does_not_hold_up_the_judge() -> None:
    """Beside an async part, a sync one runs in a thread."""
    done = threading.Event()

    class Waits(Reward):
        def score(self, trajectory: Trajectory) -> Score:
            return Score(float(done.wait(30)))

    class Ends(Reward):
        async def score(self, trajectory: Trajectory) -> Score:
            done.set()
            return Score(1.0)

    assert score_episode(make_reward("composite", of=[Waits(), Ends()], combine="min"), EPISODE).value == 1.0


def test_it_begins_and_closes_its_parts() -> None:
    """Sync and async parts get what the run has for them."""
    one, two = Fixed(value=0.0), FixedLater(value=0.0)
    composite = make_reward("composite", of=[one, two])
    composite.begin(RewardContext())
    close_reward(composite)
    assert (one.calls, two.calls) == (["begin None", "close"], ["close"])
