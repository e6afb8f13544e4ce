"""Plans of episodes: lists, groups, fair order, mixtures."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, ArgumentTypeError, UnknownEnvironmentError
from gem_rollout import Mixture, mixture, plan_episodes
from gem_rollout.plan import FairOrder
from gem_rollout.trajectory import EpisodeKey


def named(*labels: str) -> dict[str, str | EnvSpec]:
    return {label: EnvSpec(id="test:Any-v0", entry_point="builtins:object") for label in labels}


@given(
    labels=st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=4, unique=True),
    episodes=st.integers(1, 30),
    group=st.integers(1, 7),
    seed=st.integers(0, 1000),
)
def test_a_plan_has_every_key_once(labels: list[str], episodes: int, group: int, seed: int) -> None:
    """Each environment has its number of episodes, in whole groups but for the last; environments take turns."""
    plan = plan_episodes(named(*labels), episodes, group, seed)
    expected = [EpisodeKey(e, seed + k // group, k % group) for k in range(episodes) for e in labels]
    assert [request.key for request in plan] == expected
    assert len(set(expected)) == episodes * len(labels)


@given(
    counts=st.lists(st.integers(1, 10), min_size=1, max_size=4),
    concurrency=st.integers(1, 6),
    ends=st.lists(st.integers(0, 100), min_size=50, max_size=50),
)
def test_a_list_is_played_in_fair_order(counts: list[int], concurrency: int, ends: list[int]) -> None:
    """Whichever episodes end first, every request comes once, and no environment runs ahead of one that waits."""
    plans = [plan_episodes(named(str(label)), count) for label, count in enumerate(counts)]
    order = FairOrder([request for plan in plans for request in plan])
    running: list[str] = []
    seen: list[EpisodeKey] = []
    left = Counter({str(label): count for label, count in enumerate(counts)})
    for choice in ends:
        while len(running) < concurrency:
            request = order.next(Counter(running))
            if request is None:
                break
            label = request.key.env
            assert all(running.count(label) <= running.count(other) for other in left if left[other])
            running.append(label)
            seen.append(request.key)
            left[label] -= 1
        if running:
            running.pop(choice % len(running))
    assert len(set(seen)) == len(seen) == sum(counts)
    for label in left:
        seeds = [key.seed for key in seen if key.env == label]
        assert seeds == sorted(seeds)


@given(
    weights=st.dictionaries(st.sampled_from("abcd"), st.floats(0.05, 20), min_size=1),
    group=st.integers(1, 3),
    groups=st.integers(1, 200),
)
def test_a_mixture_keeps_its_shares(weights: dict[str, float], group: int, groups: int) -> None:
    """After any number of groups, each environment is less than one group per environment away from its share."""
    plan = mixture(weights, group=group, seed=7, specs=named(*weights))
    requests = list(islice(plan, groups * group))
    drawn = Counter(request.key.env for request in requests)
    for label, weight in weights.items():
        share = groups * weight / sum(weights.values())
        assert abs(drawn[label] / group - share) < max(1.0, len(weights) - 1) + 1e-6
    keys = [request.key for request in requests]
    assert len(set(keys)) == len(keys)
    for label in drawn:
        own = [(key.seed, key.repetition) for key in keys if key.env == label]
        assert own == [(7 + k // group, k % group) for k in range(len(own))]


def test_weights_change_while_a_mixture_runs() -> None:
    """The group that has begun is finished; weight zero ends an environment, and seeds go on where they were."""
    plan = mixture({"a": 1, "b": 0}, group=2, specs=named("a", "b"))
    assert next(plan).key == EpisodeKey("a", 0, 0)
    plan.weights = {"a": 0, "b": 5}
    assert [request.key for request in islice(plan, 3)] == [
        EpisodeKey("a", 0, 1),
        EpisodeKey("b", 0, 0),
        EpisodeKey("b", 0, 1),
    ]
    plan.weights = {"a": 1.0, "b": 0.0}
    assert next(iter(plan)).key == EpisodeKey("a", 1, 0)
    assert plan.weights == {"a": 1.0, "b": 0.0}


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ({"a": -1.0}, ArgumentError, "must be finite and not negative, got -1.0"),
        ({"a": float("inf")}, ArgumentError, "must be finite"),
        ({"a": float("nan")}, ArgumentError, "must be finite"),
        ({"a": 0, "b": 0}, ArgumentError, "needs an environment with a positive weight"),
        ({"alpha": 1}, ArgumentError, "no environment 'alpha'"),
        ({"a": "1"}, ArgumentTypeError, "must be a number, got str"),
        ({"a": True}, ArgumentTypeError, "must be a number, got bool"),
    ],
)
def test_impossible_weights_are_refused_and_change_nothing(
    weights: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The message names the environment; the mixture goes on with the weights that it had."""
    plan: Mixture = mixture({"a": 1, "b": 1}, specs=named("a", "b"))
    with pytest.raises(error, match=message):
        plan.weights = weights
    assert plan.weights == {"a": 1.0, "b": 1.0}


def test_wrong_plans_are_refused() -> None:
    """No environment, one that is named twice, unknown ids, numbers out of range."""
    spec = EnvSpec(id="test:Any-v0", entry_point="builtins:object")
    with pytest.raises(ArgumentError, match="at least one environment"):
        plan_episodes([], 1)
    with pytest.raises(ArgumentError, match="pass a dict from label to spec"):
        plan_episodes([spec, spec], 1)
    with pytest.raises(UnknownEnvironmentError):
        plan_episodes("nothing:Here-v0", 1)
    with pytest.raises(ArgumentError, match="group"):
        plan_episodes(spec, 1, group=0)
    with pytest.raises(ArgumentTypeError, match="weights must be a dict"):
        mixture(["a"])  # type: ignore[arg-type]
