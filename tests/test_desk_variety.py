"""The customers of the desks begin in many forms, and the measure of it tells forms from data."""

from __future__ import annotations

import desk_variety
import pytest

import gem
from gem_envs_desk.env import DeskEnv

ACTS = [env_id for env_id in desk_variety.IDS if env_id.endswith("-v1")]


@pytest.mark.parametrize("env_id", ACTS)
def test_customers_seldom_begin_in_the_same_form(env_id: str) -> None:
    """Of 30 seeds, at least 28 differ, names and data aside."""
    assert int(desk_variety.row(env_id, 30).split(" | ")[1]) >= 28


def test_the_measure_ignores_names_and_data() -> None:
    """The customers of version 0 begin in a few forms, whatever they are called and want it for."""
    with gem.make("desk:Telecom-v0") as env:
        inner = env.unwrapped
        assert isinstance(inner, DeskEnv)
        found = [desk_variety.first_message(inner, seed) for seed in range(30)]
    assert len({form for _, form in found}) <= 16
    with gem.make("desk:Retail-v0") as env:
        inner = env.unwrapped
        assert isinstance(inner, DeskEnv)
        found = [desk_variety.first_message(inner, seed) for seed in range(20)]
    assert len({form for _, form in found}) < len({message for message, _ in found})
