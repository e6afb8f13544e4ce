"""The conformance kit on the environments of this package, and the promises of difficulty."""

from __future__ import annotations

import math
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import gem
import gem_envs_grid
from gem.discovery.manifest import read_specs
from gem_testing import EnvConformance

MANIFEST = Path(gem_envs_grid.__file__).with_name("environments.toml")
SPECS = {spec.id: spec for spec in read_specs(MANIFEST, "gem-envs-grid", gem_envs_grid.__version__)}
OWN = [env_id for env_id in SPECS if "BabyAI" not in env_id]
BY_DAY = ("bandit:TwoArmed-v0", "bandit:LuckyArm-v0-level3", "grid:FrozenLake-v0", "grid:Maze-v0-level1")
BUDGET = 20
"""Turns that all levels of a world get when they are compared."""


def play(env_id: str, agent: str, seeds: range, **kwargs: Any) -> list[float]:
    """Return the return of each episode."""
    env = gem.make(SPECS[env_id], **kwargs)
    policy = gem.make_policy(agent, env)
    returns = []
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            total, over = total + reward, terminated or truncated
        returns.append(total)
    return returns


def mean(returns: list[float]) -> float:
    return math.fsum(returns) / len(returns)


@pytest.mark.slow
class TestConformance(EnvConformance):
    """A bandit and a world keep every clause of the contract."""

    environments = tuple(SPECS[env_id] for env_id in BY_DAY[::2])


class TestConformanceOfTheOthers(EnvConformance):
    """Another bandit and another world keep the clauses that the code they share does not decide."""

    environments = tuple(SPECS[env_id] for env_id in BY_DAY[1::2])
    clauses = ("contract", "info", "state", "reward", "manifest", "determinism.instances", "determinism.reuse")


@pytest.mark.nightly
class TestConformanceByNight(EnvConformance):
    """And so does every other variant."""

    environments = tuple(SPECS[env_id] for env_id in OWN if env_id not in BY_DAY[::2])


def test_the_readme_lists_every_environment() -> None:
    """The table names each one once."""
    readme = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8").partition("## ")[0]
    rows = re.findall(r"^\| `((?:grid|bandit):[^`]+)` \|", readme, re.MULTILINE)
    assert rows == [env_id for env_id in SPECS if re.search(r"-v\d+$", env_id)]


@pytest.mark.parametrize("env_id", OWN)
def test_silence_earns_nothing(env_id: str) -> None:
    """Unreadable actions use up the turns, and the return is 0.0; with a format penalty they cost it each turn."""
    assert play(env_id, "null", range(3)) == [0.0] * 3
    turns = gem.make(SPECS[env_id]).max_turns
    assert play(env_id, "null", range(1), format_penalty=0.1)[0] == pytest.approx(-0.1 * turns)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("base", "agent", "episodes"),
    [
        ("bandit:LuckyArm-v0", "random", 150),
        ("bandit:LuckyArm-v0", "reference", 150),
        ("grid:FrozenLake-v0", "random", 300),
        ("grid:FrozenLake-v0", "reference", 100),
        ("grid:Maze-v0", "random", 60),
        ("grid:Maze-v0", "reference", 20),
    ],
)
def test_a_higher_level_is_harder(base: str, agent: str, episodes: int) -> None:
    """Within the same turns, random moves and the reference policy earn less from level to level, or nothing at all."""
    levels = sorted(env_id for env_id in SPECS if env_id.startswith(f"{base}-level"))
    assert len(levels) >= 3
    means = [mean(play(env_id, agent, range(episodes), max_turns=BUDGET)) for env_id in levels]
    assert all(low < high or low == high == 0.0 for high, low in pairwise(means)), means


@pytest.mark.sampled(8)
@pytest.mark.parametrize("env_id", OWN)
def test_random_moves_earn_less_than_a_fifth(env_id: str) -> None:
    """On every level, up to three standard errors of what 100 episodes show."""
    if "VisualMaze" in env_id:
        return  # the same mazes as those of grid:Maze-v0, and pictures cost time
    returns = play(env_id, "random", range(100))
    spread = math.sqrt(math.fsum((one - mean(returns)) ** 2 for one in returns)) / len(returns)
    assert mean(returns) < 0.2 + 3 * spread


def test_sixty_four_environments_in_threads_play_as_one_does() -> None:
    """The observations of an episode do not depend on what its neighbours do."""

    def episode(number: int) -> list[str]:
        env = gem.make(SPECS[OWN[number % len(OWN)]])
        seen = [str(env.reset(seed=number)[0])]
        for _ in range(5):
            observation, _, terminated, truncated, _ = env.step(env.sample_random_action())
            seen.append(str(observation))
            if terminated or truncated:
                break
        return seen

    with ThreadPoolExecutor(64) as pool:
        together = list(pool.map(episode, range(64)))
    assert together == [episode(number) for number in range(64)]


@pytest.mark.parametrize(
    ("env_id", "fields"),
    [
        ("bandit:LuckyArm-v0", ("names", "lucky_arm")),
        ("grid:FrozenLake-v0", ("lake",)),
        ("grid:Maze-v0", ("rows", "place")),
    ],
)
def test_no_task_is_in_both_splits(env_id: str, fields: tuple[str, ...]) -> None:
    """Of 150 tasks each, none is shared, and hardly one comes twice."""
    tasks = []
    for split in ("train", "test"):
        env = gem.make(SPECS[env_id], split=split)
        drawn = set()
        for seed in range(150):
            env.reset(seed=seed)
            drawn.add(repr([env.get_state()["episode"][field] for field in fields]))
        tasks.append(drawn)
    train, test = tasks
    assert not train & test
    assert min(len(train), len(test)) > 140
