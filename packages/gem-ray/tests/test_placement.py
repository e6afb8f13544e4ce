"""Which environments share an actor, without a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError, ArgumentTypeError
from gem_ray.placement import place_environments


def specs(*names: str) -> list[gem.EnvSpec]:
    """Return specs with these ids."""
    return [gem.EnvSpec(name, "json:loads") for name in names]


@given(count=st.integers(1, 300), most=st.integers(1, 70))
def test_actors_are_as_few_as_possible_and_about_equally_full(count: int, most: int) -> None:
    """Every environment is in one actor; the largest actor has at most one more than the smallest."""
    placements = place_environments(specs(*["a:B-v0"] * count), most, None)
    assert [index for placement in placements for index in placement.indices] == list(range(count))
    sizes = [len(placement.indices) for placement in placements]
    assert len(sizes) == -(-count // most)
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1
    assert all(dict(placement.options) == {"num_cpus": 1, "scheduling_strategy": "SPREAD"} for placement in placements)


def test_the_first_pattern_that_matches_counts() -> None:
    """Kinds of environments have actors of their own; an environment without a spec matches only the star."""
    resources = {"a:Big*": {"num_cpus": 4}, "a:*": {"resources": {"docker": 1}}, "*": {"num_cpus": 0.5}}
    members = [*specs("a:Small-v0", "a:Big-v0", "b:C-v0", "a:Small-v0"), None]
    found = place_environments(members, 64, resources)
    assert [(placement.indices, placement.options["num_cpus"]) for placement in found] == [
        ((0, 3), 1),
        ((1,), 4),
        ((2, 4), 0.5),
    ]
    assert found[0].options["resources"] == {"docker": 1}
    assert "resources" not in found[1].options
    assert place_environments([None], 64, {"a:*": {"num_cpus": 4}})[0].options["num_cpus"] == 1


@pytest.mark.parametrize(
    ("resources", "error", "text"),
    [
        ({"a:*": {"max_restarts": 3}}, ArgumentError, "'max_restarts', which gem-ray decides"),
        ({"a:*": {"resources": {"GPU": 1}}}, ArgumentError, "GPU is an option of its own"),
        ({"a:*": 3}, ArgumentTypeError, "got {'a:.*': 3}"),
        ([("a:*", {})], ArgumentTypeError, "must be a dict"),
    ],
)
def test_options_that_cannot_be_are_refused(resources: Mapping[str, Any], error: type[Exception], text: str) -> None:
    """The message has the pattern and the remedy."""
    with pytest.raises(error, match=text):
        place_environments(specs("a:B-v0"), 64, resources)
    with pytest.raises(ArgumentError, match="envs_per_actor"):
        place_environments(specs("a:B-v0"), 0, None)
