"""Mixtures: the rules of reactions, the messages, and a second opinion on what can be made."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem_envs_lab.mixtures.env import MixturesEnv
from gem_envs_lab.mixtures.world import LEVELS, MixtureWorld, draw_mixtures

KEYS = st.integers(0, 2**32)


def steps_to(world: MixtureWorld) -> dict[int, int]:
    """The fewest reactions to each product, found by applying all reactions until nothing new comes up."""
    steps = dict.fromkeys(world.kinds, 0)
    for _ in range(10):
        for rules in (world.cold, world.hot):
            for (first, second), product in rules.items():
                if first in steps and second in steps:
                    ways = (steps.get(product, 99), 1 + max(steps[first], steps[second]))
                    steps[product] = min(ways)
    return steps


@given(key=KEYS, name=st.sampled_from(tuple(LEVELS)))
def test_the_goal_takes_the_announced_number_of_reactions(key: int, name: str) -> None:
    """No fewer and no more, and every other product can be made as well."""
    world = draw_mixtures(random.Random(key), LEVELS[name])
    steps = steps_to(world)
    assert steps[world.goal] == LEVELS[name].depth
    assert set(steps) == set(range(len(world.strips) + len(world.looks)))
    assert len(set(world.looks)) == len(world.looks)
    assert len(set(world.bottles)) == len(world.bottles)


@given(key=KEYS)
def test_one_note_is_right_and_two_are_wrong(key: int) -> None:
    """The instructions say that most are wrong."""
    world = draw_mixtures(random.Random(key), LEVELS["hard"])
    kinds = dict(zip(world.bottles, world.kinds, strict=True))
    right = []
    for note in world.notes:
        made = world.product(kinds[note.first], kinds[note.second], note.heated)
        right.append(made is not None and world.look(made) == note.look)
    assert sorted(right) == [False, False, True]


def test_what_can_be_done_at_the_bench() -> None:
    """Both orders of a mixture are the same, the flame matters, flasks are numbered, and one hand-in ends it."""
    env = gem.make("lab:Mixtures-v0").unwrapped
    assert isinstance(env, MixturesEnv)
    env.reset(seed=3)
    world = env._world
    (first, second), product = next(iter({**world.hot, **world.cold}.items()))
    one, other = (world.bottles[world.kinds.index(kind)] for kind in (first, second))
    look = world.look(product)

    def says(command: str) -> str:
        return env.step(command)[0].partition(". ")[2].partition("\n")[0]

    assert says("look").endswith("No flask is filled.")
    assert says(f"mix {one} with {other} over the flame").endswith(f"Flask 1 holds {look}.")
    assert says(f"mix the {other} and {one} over the flame").endswith(f"Flask 2 holds {look}.")
    assert says("look").endswith(f"On the bench: flask 1: {look}, flask 2: {look}.")
    assert says(f"mix {one} with {one}") == f"You mix {one} with {one}. Nothing happens."
    assert says("mix flask 1 with flask 2 over the flame").endswith("Nothing happens.")
    assert says(f"dip strip into {one}") == f"The strip in {one} turns {world.strips[first]}."
    assert says("dip strip into flask 1").startswith("The strip dissolves")
    assert says("dip strip into flask 3") == "There is no flask 3 here."
    assert says(f"mix {one} with lorane salt") == "There is no lorane salt here."
    assert says("hand in flask 3") == "There is no flask 3."
    _, reward, terminated, truncated, info = env.step("hand in flask 2")
    right = product == world.goal
    assert (reward, terminated, truncated, info["success"]) == (float(right), True, False, right)


@pytest.mark.parametrize("level", LEVELS)
def test_what_reacts_cold_and_has_no_other_product_reacts_the_same_over_the_flame(level: str) -> None:
    """As the instructions say; the other way round it need not."""
    world = draw_mixtures(random.Random(5), LEVELS[level])
    for (first, second), product in world.cold.items():
        assert world.product(second, first, False) == product
        assert world.product(first, second, True) == world.hot.get((first, second), product)
    for first, second in world.hot.keys() - world.cold.keys():
        assert world.product(first, second, False) is None
