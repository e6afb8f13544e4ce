"""Installed games give the same episodes in every vectorization mode."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import pytest

import gem
from gem.entry_points import name_of
from gem.env_spec import EnvSpec
from gem.errors import NotSupportedError
from gem.vector import make_vec

NUM_ENVS = 6
STEPS = 12

PLAYABLE = [
    spec
    for spec in gem.all_specs("game")
    if not spec.requires and find_spec(name_of(spec.entry_point).partition(":")[0]) is not None
]


def trace(spec: EnvSpec, mode: str) -> list[Any]:
    """Return all results of a short run."""
    with make_vec(spec, num_envs=NUM_ENVS, mode=mode, seed=17) as envs:
        observations, infos = envs.reset()
        seen: list[Any] = [(observations, infos)]
        for _ in range(STEPS):
            actions = []
            for env in envs.envs:
                try:
                    actions.append(env.sample_random_action())
                except NotSupportedError:
                    actions.append("\\boxed{1 1 1}")
            observations, rewards, terminations, truncations, infos = envs.step(actions)
            seen.append((observations, rewards.tolist(), terminations.tolist(), truncations.tolist(), infos))
    return seen


@pytest.mark.parametrize("spec", PLAYABLE, ids=lambda spec: spec.id)
def test_the_same_seeds_give_the_same_episodes_in_every_mode(spec: EnvSpec) -> None:
    """Sync twice, thread and auto once agree in everything, with threads switching all the time."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        expected = trace(spec, "sync")
        assert trace(spec, "sync") == expected
        assert trace(spec, "thread") == expected
        assert trace(spec, "auto") == expected
    finally:
        sys.setswitchinterval(interval)
