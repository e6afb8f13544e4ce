"""FrozenLake: Gymnasium's own transition table and value iteration over it confirm rules and optimum."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError, StateError
from gem_envs_grid.frozen_lake import FrozenLakeEnv, draw_lake, way_length
from gem_envs_grid.frozen_lake_optimum import DIRECTIONS, frozen_lake_optimum, neighbours, outcomes
from gem_envs_grid.grid_game import probability_from_words, probability_in_words

RATES = st.sampled_from([1 / 3, 0.0, 0.6, 0.8, 1.0])


def gymnasium_table(lake: tuple[str, ...], rate: float) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
    """Gymnasium's transition probabilities of a lake: cell → action → (probability, cell, reward, terminated)."""
    toy_text = pytest.importorskip("gymnasium.envs.toy_text.frozen_lake")
    table: dict[int, dict[int, list[tuple[float, int, float, bool]]]] = toy_text.FrozenLakeEnv(
        desc=list(lake), is_slippery=rate < 1.0, success_rate=rate
    ).P
    return table


@given(seed=st.integers(0, 2**32), size=st.integers(2, 6), rate=RATES)
def test_transitions_are_those_of_gymnasium(seed: int, size: int, rate: float) -> None:
    """From every cell on the ice and in every direction, the same cells with the same probabilities."""
    lake = draw_lake(random.Random(seed), size, 0.8)
    table = neighbours(size, size)
    for cell, actions in gymnasium_table(lake, rate).items():
        if "".join(lake)[cell] in "HG":
            continue
        for action, transitions in actions.items():
            theirs: dict[int, float] = defaultdict(float)
            ours: dict[int, float] = defaultdict(float)
            for chance, there, _, _ in transitions:
                theirs[there] += chance
            for chance, way in outcomes(action, rate):
                ours[table[cell][way]] += chance
            assert {k: v for k, v in theirs.items() if v} == pytest.approx({k: v for k, v in ours.items() if v})


@given(seed=st.integers(0, 2**32), size=st.integers(2, 5), rate=RATES, turns=st.integers(1, 12))
def test_the_optimum_is_that_of_gymnasiums_table(seed: int, size: int, rate: float, turns: int) -> None:
    """Backward induction over their table gives the same probability to reach the goal from every cell."""
    lake = draw_lake(random.Random(seed), size, 0.8)
    table = gymnasium_table(lake, rate)
    theirs = dict.fromkeys(table, 0.0)
    for _ in range(turns):
        theirs = {
            cell: max(
                sum(p * (reward + (not over) * theirs[there]) for p, there, reward, over in transitions)
                for transitions in table[cell].values()
            )
            for cell in table
        }
    ours = frozen_lake_optimum(lake, rate, turns)[0][turns]
    for cell, symbol in enumerate("".join(lake)):
        if symbol in "SF":
            assert ours[cell] == pytest.approx(theirs[cell])


class FixedChance(random.Random):
    """A generator whose next number in [0, 1) is given."""

    chance = 0.0

    def random(self) -> float:
        return self.chance


@given(seed=st.integers(0, 1000), rate=RATES, direction=st.sampled_from(DIRECTIONS))
def test_a_step_goes_where_the_probabilities_say(seed: int, rate: float, direction: str) -> None:
    """Over a fine grid of random numbers, each outcome has its share, as far as the grid can tell."""
    env = FrozenLakeEnv(success_rate=rate)
    env.reset(seed=seed)
    state, number, steps = env.get_state(), DIRECTIONS.index(direction), 60
    start = env.position
    shares: dict[int, float] = defaultdict(float)
    for step in range(steps):
        env.set_state(state)
        env._rng = fixed = FixedChance()
        fixed.chance = (step + 0.5) / steps
        env.step(f"\\boxed{{{direction}}}")
        shares[env.position] += 1 / steps
    expected: dict[int, float] = defaultdict(float)
    for chance, way in outcomes(number, rate):
        expected[neighbours(4, 4)[start][way]] += chance
    assert {cell: share for cell, share in expected.items() if share} == pytest.approx(shares, abs=1.5 / steps)


def test_the_reference_policy_reaches_the_optimum_of_its_maps() -> None:
    """Its mean over episodes lies within five standard errors of the mean of the exact values."""
    env = gem.make("grid:FrozenLake-v0-level2")
    assert isinstance(env, FrozenLakeEnv)
    policy = gem.make_policy("reference", env)
    returns, values = [], []
    for seed in range(100):
        observation, info = env.reset(seed=seed)
        values.append(env.optimum)
        policy.reset(observation, info)
        over, reward = False, 0.0
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            over = terminated or truncated
        returns.append(reward)
    spread = sum(value * (1 - value) for value in values) ** 0.5
    assert abs(sum(returns) - sum(values)) < 5 * spread


def test_maps_do_not_depend_on_the_hash_seed() -> None:
    """Two processes with different PYTHONHASHSEED draw the same maps, rejected ones included."""
    script = (
        "import gem\nenv = gem.make('grid:FrozenLake-v0-level3')\n"
        "print([env.reset(seed=seed)[0] for seed in range(30)])"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in (1, 2)
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 1000


@given(seed=st.integers(0, 2**64), distance=st.integers(1, 5))
def test_every_map_has_a_way_of_the_least_length(seed: int, distance: int) -> None:
    """A search over Gymnasium's neighbours finds the goal after as many moves as way_length says, and no fewer."""
    env = FrozenLakeEnv(min_distance=distance)
    env.reset(seed=seed)
    cells = "".join(env.lake)
    reached = {cells.index("S")}
    length = 0
    while cells.index("G") not in reached:
        length += 1
        reached |= {there for cell in reached for there in neighbours(4, 4)[cell] if cells[there] != "H"}
    assert length == way_length(env.lake) >= distance


def test_a_hole_ends_the_episode_and_the_goal_pays() -> None:
    """With a picture of where one is."""
    env = FrozenLakeEnv(size=2, success_rate=1.0)
    env.reset(seed=0)
    state = env.get_state()
    env.set_state({**state, "episode": {"lake": ["SG", "HF"], "position": 0}})
    observation, reward, terminated, _, info = env.step("\\boxed{right}")
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    assert "_√\nO_" in observation
    env.set_state({**state, "episode": {"lake": ["SG", "HF"], "position": 0}})
    observation, reward, terminated, _, info = env.step("\\boxed{down}")
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    assert "_G\nX_" in observation
    env.set_state({**state, "episode": {"lake": ["SG", "HF"], "position": 0}})
    assert "you are where you were" in env.step("\\boxed{left}")[0]


@pytest.mark.parametrize("lake", [["SG", "H"], ["SS", "GF"], ["FF", "FG"], ["SG", "Hx"], []])
def test_a_state_with_another_lake_is_refused(lake: list[str]) -> None:
    """And changes nothing."""
    env = FrozenLakeEnv(size=2)
    env.reset(seed=0)
    state = env.get_state()
    with pytest.raises(StateError):
        env.set_state({**state, "episode": {"lake": lake, "position": 0}})
    assert env.get_state() == state


def test_a_distance_that_no_map_has_is_an_error_that_says_so() -> None:
    """Where all cells are frozen, the corners are the farthest apart; a way around holes may be longer."""
    assert FrozenLakeEnv(size=3, p=1.0, min_distance=4).reset(seed=0)
    with pytest.raises(ArgumentError, match="min_distance"):
        FrozenLakeEnv(size=3, min_distance=5)


@given(st.floats(0, 1))
def test_a_probability_survives_being_put_into_words(probability: float) -> None:
    """Exactly, so that the reference policy computes with the same number."""
    assert probability_from_words(probability_in_words(probability)) == probability


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9))
def test_the_value_of_a_longer_horizon_is_no_lower(sides: list[int]) -> None:
    """One more turn cannot hurt, on any lake."""
    lake = draw_lake(random.Random(repr(sides)), 4, 0.8)
    values = frozen_lake_optimum(lake, 1 / 3, 10)[0]
    assert all(
        low <= high + 1e-12 for before, after in pairwise(values) for low, high in zip(before, after, strict=True)
    )
