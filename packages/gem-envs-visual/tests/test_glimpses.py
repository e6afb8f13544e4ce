"""The bounded reader, and the levels that it tells apart."""

from __future__ import annotations

import pytest

import gem
from gem.errors import ArgumentError
from gem_envs_visual.glimpses import GlimpsePolicy

TASKS = ("Charts", "Tables", "Gauges", "Jigsaw", "OddOneOut", "Routes", "Circuits", "Northcott", "Form")


def mean_return(env_id: str, hidden: float, seeds: int) -> float:
    """Return the mean return of a reader that overlooks a share of each picture."""
    total = 0.0
    with gem.make(env_id) as env:
        policy = GlimpsePolicy(env, hidden)
        for seed in range(seeds):
            observation, info = env.reset(seed=seed)
            policy.seed_episode(seed, 0)
            policy.reset(observation, info)
            over = False
            while not over:
                observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
                total, over = total + reward, terminated or truncated
    return total / seeds


def test_who_overlooks_nothing_is_the_reference_and_who_overlooks_all_guesses() -> None:
    """The share decides between everything and chance."""
    assert mean_return("visual:Tables-v0-easy", 0.0, 3) == 1.0
    assert mean_return("visual:Tables-v0-easy", 1.0, 20) <= 0.1
    with gem.make("visual:Tables-v0") as env, pytest.raises(ArgumentError):
        GlimpsePolicy(env, 1.5)


@pytest.mark.nightly
@pytest.mark.parametrize("task", TASKS)
def test_a_bounded_reader_earns_less_at_each_level(task: str) -> None:
    """A reader that overlooks 2 % of each picture earns less and less from easy to hard, in 100 episodes of each."""
    easy, medium, hard = (mean_return(f"visual:{task}-v0{level}", 0.02, 100) for level in ("-easy", "", "-hard"))
    assert 1.0 > easy > medium > hard
