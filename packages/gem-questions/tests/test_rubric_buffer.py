"""RubricBuffer: which items of a task score, and what they pay."""

from __future__ import annotations

import json
from statistics import pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_questions.rewards.rubric_buffer import RubricBuffer, RubricItem, rubric_value


def items(*names: str, positive: bool = True) -> list[RubricItem]:
    return [RubricItem(name, positive=positive, check={"by": name}) for name in names]


def active(buffer: RubricBuffer) -> list[str]:
    return [item.name for item in buffer.active]


def test_items_that_tell_samples_apart_stay_and_others_retire() -> None:
    """By the standard deviation of their shares; one that all samples meet alike goes, however many places are left."""
    buffer = RubricBuffer(2)
    shares = [{"a": 1.0, "b": 1.0, "c": 0.4}, {"a": 1.0, "b": 0.0, "c": 0.6}]
    buffer.evolve(shares, items("a", "b", "c"))
    assert active(buffer) == ["b", "c"]
    buffer.evolve([{"b": 1.0, "c": 0.1, "d": 0.2}, {"b": 1.0, "c": 0.0, "d": 0.9}], items("d"))
    assert (active(buffer), list(buffer.retired), buffer.generation) == (["d", "c"], ["b"], 2)
    buffer.evolve([{"b": 0.0, "c": 0.0, "d": 0.0}, {"b": 1.0, "c": 0.0, "d": 0.0}], items("b"))
    assert (active(buffer), sorted(buffer.retired)) == (["b"], ["c", "d"])


def test_an_item_that_was_not_tried_is_tried() -> None:
    """Before those that discriminate less than any can; then it counts like others."""
    buffer = RubricBuffer(1)
    buffer.evolve([{"a": 0.0}, {"a": 0.9}], items("a"))
    buffer.evolve([{"a": 0.0}, {"a": 0.9}], [RubricItem("prose")])
    assert active(buffer) == ["prose"]
    buffer.evolve([{"prose": 1.0, "a": 0.0}, {"prose": 1.0, "a": 0.9}], items("a"))
    assert active(buffer) == ["a"]


def test_what_games_the_reward_has_places_of_its_own() -> None:
    """Positive items never crowd it out."""
    buffer = RubricBuffer(2)
    shares = [{"a": 1.0, "b": 1.0, "c": 1.0, "x": 0.1}, {"a": 0.0, "b": 0.0, "c": 0.0, "x": 0.0}]
    buffer.evolve(shares, [*items("a", "b", "c"), *items("x", positive=False)])
    assert active(buffer) == ["a", "b", "x"]


@given(
    st.lists(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 1)), min_size=2, max_size=6),
    st.permutations("abcdefgh"),
    st.integers(1, 4),
)
def test_no_retired_item_tells_more_than_one_that_stays(
    shares: list[dict[str, float]], proposed: list[str], most: int
) -> None:
    """Of either kind at most ``most``, all of them telling; and the same through JSON."""
    buffer = RubricBuffer(most)
    made = [RubricItem(name, positive=name < "e", check={}) for name in proposed]
    buffer.evolve(shares, made)
    ranks = {
        name: pstdev(measured) if (measured := [one[name] for one in shares if name in one]) else 0.5
        for name in proposed
    }
    for positive in (True, False):
        kept = [item.name for item in buffer.active if item.positive is positive]
        left = [item.name for item in made if item.positive is positive and item.name not in kept]
        assert len(kept) <= most
        assert all(ranks[name] > 0 for name in kept)
        if len(kept) == most:
            assert max((ranks[name] for name in left), default=0) <= min(ranks[name] for name in kept)
        else:
            assert not any(ranks[name] for name in left)
    again = RubricBuffer.from_dict(json.loads(json.dumps(buffer.to_dict())), most)
    assert (again.active, again.retired, again.generation) == (buffer.active, buffer.retired, buffer.generation)


def test_silence_earns_nothing_and_misdeeds_cost() -> None:
    """A negative item takes its share away, a judged one half of it; to do nothing wrong is worth nothing by itself."""
    rubric = [*items("a", "b"), *items("x", positive=False)]
    assert rubric_value(rubric, {"a": 0.0, "b": 0.0, "x": 0.0}, own=0.0, own_weight=3) == 0.0
    assert rubric_value(rubric, {"a": 1.0, "b": 1.0, "x": 0.0}, own=1.0, own_weight=3) == 1.0
    assert rubric_value(rubric, {"a": 1.0, "b": 1.0, "x": 1.0}, own=1.0, own_weight=3) == 0.0
    assert rubric_value(rubric, {"a": 1.0, "b": 0.0, "x": 0.25}, own=1.0, own_weight=3) == pytest.approx(0.8 * 0.75)
    judged = [RubricItem("x", positive=False)]
    assert rubric_value(judged, {"x": 1.0}, own=1.0, own_weight=3) == 0.5
    assert rubric_value(rubric, {"a": 0.0, "b": 0.0, "x": 1.0}, own=0.0, own_weight=3) == 0.0
    assert rubric_value([], {}, own=0.25, own_weight=3) == 0.25
    assert rubric_value([], {}, own=1.0, own_weight=0) == 0.0


@pytest.mark.parametrize("record", [{"name": ""}, {"name": "a", "positive": 1}, {"name": "a", "weight": 2}])
def test_a_record_that_is_no_item_is_refused(record: dict[str, object]) -> None:
    """With what is wrong."""
    with pytest.raises((ArgumentError, TypeError)):
        RubricItem.from_dict(record)
