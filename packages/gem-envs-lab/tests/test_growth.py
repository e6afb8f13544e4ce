"""Growth: inheritance by Mendel's ratios, the rules of the garden, and the messages."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem_envs_lab.growth.env import GrowthEnv
from gem_envs_lab.growth.policy import GrowthPolicy
from gem_envs_lab.growth.world import LEVELS, GrowthWorld, Trait, draw_growth, offspring


def test_offspring_come_in_mendels_ratios() -> None:
    """One to two to one for hybrids, one to one for a backcross, always alike for pure plants; within five errors."""
    trait = Trait(("red flowers", "red flowers", "white flowers"), False)
    world = GrowthWorld("pea", (trait,), ((1,),), (0,), 7, 0)
    ratios = {(1, 1): (1, 2, 1), (1, 0): (2, 2, 0), (1, 2): (0, 2, 2), (0, 2): (0, 4, 0), (2, 2): (0, 0, 4)}
    for (mother, father), parts in ratios.items():
        counts = Counter(
            genes[0] for number in range(400) for genes in offspring(world, (mother,), (father,), number, 5)
        )
        for copies, part in enumerate(parts):
            share = part / 4
            assert abs(counts[copies] - 2000 * share) <= 5 * (2000 * share * (1 - share)) ** 0.5


def test_traits_are_inherited_independently() -> None:
    """The four classes of gametes of a double hybrid come equally often."""
    traits = tuple(Trait((f"a{organ}", f"a{organ}", f"b{organ}"), False) for organ in "xy")
    world = GrowthWorld("pea", traits, ((1, 1),), (0, 0), 3, 0)
    counts = Counter(genes for number in range(400) for genes in offspring(world, (1, 1), (0, 0), number, 5))
    for pair in product((0, 1), repeat=2):
        assert abs(counts[pair] - 500) <= 5 * (2000 * 0.25 * 0.75) ** 0.5


@given(key=st.integers(0, 2**32), name=st.sampled_from(tuple(LEVELS)))
def test_both_forms_of_each_inherited_trait_are_in_the_first_plants(key: int, name: str) -> None:
    """So the goal can be bred, and it has to be: no first plant is wanted."""
    level = LEVELS[name]
    world = draw_growth(random.Random(key), level)
    assert not any(map(world.is_wanted, world.first))
    assert sum(trait.chance for trait in world.traits) == level.chance_traits
    assert sum(len(set(trait.looks)) == 3 for trait in world.traits if not trait.chance) == level.between
    for index, want in enumerate(world.wanted):
        column = {genes[index] for genes in world.first}
        assert want == -1 or 1 in column or {0, 2} <= column
        assert not level.pure or 1 not in column


def garden(level: str, seed: int = 3) -> GrowthEnv:
    env = gem.make("lab:Growth-v0", level=level).unwrapped
    assert isinstance(env, GrowthEnv)
    env.reset(seed=seed)
    return env


def test_what_grows_is_numbered_and_can_be_crossed_again() -> None:
    """The same cross twice gives other plants, and plants that are not there are refused."""
    env = garden("easy")
    first = env.step("cross 1 with 2")[0]
    assert [line.partition(":")[0] for line in first.splitlines()[1:-1]] == [str(n) for n in range(4, 12)]
    assert "From plant 4 alone grow:\n12: " in env.step("cross plant 4 and plant 4")[0]
    assert "There is no plant 20." in env.step("cross 1 with 20")[0]
    assert "There is no plant 0." in env.step("hand in 0")[0]


@pytest.mark.parametrize("change", [0, 1, 2])
def test_a_plant_must_have_the_looks_and_breed_true(change: int) -> None:
    """A hybrid that looks right is wrong, and the message says why."""
    env = garden("easy")
    world = env._world
    index = 0
    want = world.wanted[index]
    # The copies of the first trait: as wanted, a hybrid, and the other form; the second trait is as wanted.
    copies = [want, 1, 2 - want][change]
    state = env.get_state()
    state["episode"]["_plants"][0] = [copies, world.wanted[1]]
    env.set_state(state)
    observation, reward, terminated, _, info = env.step("hand in plant 1")
    assert (reward, terminated, info["success"]) == (float(change == 0), True, change == 0)
    looks_right = world.traits[index].looks[copies] == world.traits[index].looks[want]
    verdict = "It has the wanted looks and breeds true." if change == 0 else "It does not breed true."
    assert (verdict if looks_right else "It looks different from what is asked for.") in observation


@pytest.mark.nightly
def test_the_policy_is_as_sure_as_it_may_be() -> None:
    """Of the plants that are wanted with probability 0.5 to 0.95, about that share is; within four standard errors."""
    expected = variance = right = 0.0
    for seed in range(60):
        env = garden("hard", seed)
        policy = GrowthPolicy()
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        over = False
        while not over:
            action = policy.act(observation, info)
            number = len(env._plants)
            chance = policy._chance(number)
            if 0.5 <= chance <= 0.95:
                expected, variance = expected + chance, variance + chance * (1 - chance)
                right += env._world.is_wanted(env._plants[-1])
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
    assert expected > 10
    assert abs(right - expected) <= 4 * variance**0.5
