"""Crafting worlds: their shortest plans, computed twice, their depths, their splits and their number."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from heapq import heappop, heappush

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem_envs_craft.env import RecipesEnv
from gem_envs_craft.generator import LEVELS, MAX_DEPTH, CraftingWorld, make_world
from gem_envs_craft.policy import CraftingPolicy, read_world
from gem_envs_craft.recipes import RecipeBook

SEEDS = st.integers(0, 2**32)


def world(seed: int, depth: int, distractors: int | None = None, loops: int | None = None) -> CraftingWorld:
    level = LEVELS[depth]
    return make_world(
        random.Random(seed),
        depth,
        level.distractors if distractors is None else distractors,
        level.loops if loops is None else loops,
        lambda digest: True,
    )


def searched_length(book: RecipeBook, goal: str, most: int) -> int | None:
    """The fewest commands that make the goal, by a search from the goal over all recipes, loops and distractors too.

    A node holds what is still missing and what was made too much (below zero); a recipe can be used for anything that
    is missing. A base item costs one command, however many pieces are needed. Returns None if there are more than
    ``most``. This is Dijkstra's algorithm and knows nothing of how worlds are made.
    """
    start = frozenset({(goal, 1)})
    queue: list[tuple[int, int, frozenset[tuple[str, int]], frozenset[str]]] = [(0, 0, start, frozenset())]
    seen: set[tuple[frozenset[tuple[str, int]], frozenset[str]]] = set()
    tie = 0
    while queue:
        cost, _, needs, got = heappop(queue)
        missing = sorted(item for item, count in needs if count > 0)
        if not missing:
            return cost
        if (needs, got) in seen:
            continue
        seen.add((needs, got))
        item = missing[0]  # everything missing must be made some time, so the order of choosing does not matter
        for recipe in book.by_output[item]:
            after = Counter(dict(needs))
            after[item] -= recipe.pieces
            bases = set(got)
            for count, name in recipe.ingredients:
                if name in book.base:
                    bases.add(name)
                else:
                    after[name] += count
            price = cost + 1 + len(bases) - len(got)
            if price <= most:
                tie += 1
                node = frozenset((name, count) for name, count in after.items() if count)
                heappush(queue, (price, tie, node, frozenset(bases)))
    return None


def depth_of(book: RecipeBook, item: str, above: frozenset[str] = frozenset()) -> float:
    """The smallest number of recipes that must build on each other to make an item."""
    if item in book.base:
        return 0
    if item in above:
        return float("inf")
    return min(
        1 + max(depth_of(book, name, above | {item}) for _, name in recipe.ingredients)
        for recipe in book.by_output[item]
    )


@pytest.mark.parametrize("depth", LEVELS)
def test_no_plan_is_shorter_than_the_shortest(depth: int) -> None:
    """A search over all recipes of a world finds the length that the planner has."""
    for seed in range(12):
        found = world(seed, depth)
        length = found.plan.length(64)
        assert searched_length(found.book, found.goal, length) == length, seed


@pytest.mark.nightly
@pytest.mark.parametrize("depth", LEVELS)
def test_no_plan_is_shorter_in_many_worlds(depth: int) -> None:
    """The same in 300 worlds of each depth, with twice the loops."""
    for seed in range(300):
        found = world(seed, depth, loops=2 * LEVELS[depth].loops + 1)
        length = found.plan.length(64)
        assert searched_length(found.book, found.goal, length) == length, seed


@given(seed=SEEDS, depth=st.integers(1, MAX_DEPTH))
def test_a_goal_has_its_depth(seed: int, depth: int) -> None:
    """Neither less by a detour nor more, as a walk through all recipes finds; the plan has the same depth."""
    found = world(seed, depth)
    assert depth_of(found.book, found.goal) == depth == found.plan.depth


@given(seed=SEEDS, depth=st.integers(1, MAX_DEPTH))
def test_a_plan_wins_when_it_is_replayed(seed: int, depth: int) -> None:
    """In exactly its number of commands, within three quarters of the turns, with no reward before the last."""
    env = RecipesEnv(depth)
    policy = CraftingPolicy()
    policy.reset(*env.reset(seed=seed))
    rewards, over = [], False
    while not over:
        _, reward, terminated, truncated, info = env.step(policy.act("", {}))
        rewards.append(reward)
        over = terminated or truncated
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]
    assert info == {"turn": len(rewards), "action_status": "legal", "success": True}
    assert len(rewards) <= 0.75 * env.max_turns


@given(seed=SEEDS, depth=st.integers(1, MAX_DEPTH), distractors=st.integers(0, 60), loops=st.integers(0, 10))
def test_further_recipes_change_no_plan(seed: int, depth: int, distractors: int, loops: int) -> None:
    """Distractors and loops change neither the length of the plan nor its amounts."""
    bare, full = world(seed, depth, 0, 0), world(seed, depth, distractors, loops)

    def amounts(found: CraftingWorld) -> tuple[list[int], list[int]]:
        return sorted(count for count, _ in found.plan.gets), sorted(times for times, _, _ in found.plan.crafts)

    assert amounts(bare) == amounts(full)
    made_astray = len(full.book.recipes) - len(bare.book.recipes)
    assert made_astray >= distractors


def ways(split: str, depth: int, seeds: range) -> Iterator[tuple[object, ...]]:
    """The way to the goal of each episode, as nested amounts: computed here from the text alone, without names."""
    env = RecipesEnv(depth, distractors=5, loops=0, split=split)
    for seed in seeds:
        book, goal, _ = read_world(env.reset(seed=seed)[0])

        def tree(item: str, book: RecipeBook = book) -> tuple[object, ...]:
            if item in book.base:
                return ()
            (recipe,) = book.by_output[item]
            parts = [(count, tree(name)) for count, name in recipe.ingredients]
            return (recipe.pieces, *sorted(parts, key=repr))

        yield tree(goal)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_no_way_is_in_both_splits(depth: int) -> None:
    """Of depth 1 there are few ways, so that any overlap would show at once."""
    train, test = (set(ways(split, depth, range(150))) for split in ("train", "test"))
    assert train
    assert test
    assert not train & test


def test_there_are_more_than_a_million_tasks() -> None:
    """Of 1,500 ways to a goal of depth 4, at most one pair is equal but for names.

    By the birthday problem, n draws with c equal pairs come from about n²/2c ways; distractors and names multiply them.
    """
    drawn = Counter(ways("train", 4, range(1500)))
    coincidences = sum(count * (count - 1) // 2 for count in drawn.values())
    assert 1500**2 / 2 / max(coincidences, 1) > 10**6


def test_sixty_four_threads_give_the_same_episodes() -> None:
    """Each of 64 environments in threads plays as it does alone."""

    def episode(seed: int) -> list[object]:
        env = gem.make("craft:Recipes-v0-d6")  # which eight random commands never end
        return [env.reset(seed=seed), *(env.step(env.sample_random_action()) for _ in range(8))]

    with ThreadPoolExecutor(64) as pool:
        assert list(pool.map(episode, range(64))) == [episode(seed) for seed in range(64)]
