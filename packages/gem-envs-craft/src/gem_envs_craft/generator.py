"""Crafting worlds from a generator of random numbers: :func:`make_world`.

A world has the recipes that its goal needs, and three kinds of recipes that it does not need:

* *leftovers* of the drawing, crafted items that nothing on the way to the goal uses;
* *distractors*, which use the goal's items to make something else;
* *loops*, which make an item of the way from a further one that can only be made from that item, at no gain, as
  a block of iron is made of nine ingots and gives nine back.

None of them can shorten a plan: the first two make nothing that the goal needs, and going around a loop gives back at
most what it took. So each item of the way has one recipe that counts, and the shortest plan is known.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

from gem_envs_craft.names import item_names
from gem_envs_craft.planner import CraftingPlan, Planner
from gem_envs_craft.recipes import CraftingRecipe, RecipeBook

__all__ = ["LEVELS", "MAX_DEPTH", "CraftingLevel", "CraftingWorld", "make_world"]

_PIECES_OF_BASE = (1, 1, 2, 2, 3, 4, 5)
_PIECES_OF_CRAFTED = (1, 1, 1, 2, 2, 3)
_YIELDS = (1, 1, 1, 2, 2, 3, 4)
_MOST_PIECES = 60
"""Of an item that is got, so that one command can get them all."""
_LARGEST_LOOP = 3
_SLACK = 0.75
"""The longest plan of a level, as a share of its turns."""
_TRIES = 10_000


class CraftingLevel(NamedTuple):
    """The size of the worlds of a depth, unless a caller chooses another."""

    distractors: int
    loops: int
    max_turns: int


LEVELS = {
    1: CraftingLevel(6, 0, 10),
    2: CraftingLevel(8, 0, 15),
    3: CraftingLevel(10, 1, 20),
    4: CraftingLevel(12, 1, 30),
    5: CraftingLevel(14, 2, 40),
    6: CraftingLevel(16, 2, 50),
}
"""By depth: the largest number of recipes that build on each other on the way to the goal."""

MAX_DEPTH = max(LEVELS)


class CraftingWorld(NamedTuple):
    """Recipes in the order in which they are shown, a goal, and the shortest plan for it."""

    book: RecipeBook
    goal: str
    plan: CraftingPlan


def make_world(
    rng: random.Random, depth: int, distractors: int, loops: int, wanted: Callable[[int], bool]
) -> CraftingWorld:
    """Return a world whose goal has this depth.

    Args:
        rng: the only source of randomness.
        depth: 1 … :data:`MAX_DEPTH`.
        distractors: number of recipes that use items of the way for something else.
        loops: number of loops, each through another crafted item, as far as there are so many.
        wanted: whether a way to the goal is wanted, from a digest of its recipes that ignores names.
    """
    longest = int(LEVELS[depth].max_turns * _SLACK)
    for _ in range(_TRIES):
        way, leftovers, goal = _draw_way(rng, depth)
        plan = Planner(RecipeBook(way)).plan(goal)
        assert plan is not None
        fits = plan.length(_MOST_PIECES) <= longest and all(count <= _MOST_PIECES for count, _ in plan.gets)
        if fits and wanted(_digest(way, goal)):
            break
    else:
        raise RuntimeError(f"no world of depth {depth} came up in {_TRIES} tries")
    recipes = [*way, *leftovers]
    recipes += _draw_distractors(rng, recipes, goal, distractors)
    for item in rng.sample([recipe.output for recipe in way], min(loops, len(way))):
        recipes += _draw_loop(rng, item, len(recipes))
    return _named(rng, recipes, goal)


def _draw_way(rng: random.Random, depth: int) -> tuple[list[CraftingRecipe], list[CraftingRecipe], str]:
    """Return the recipes on the way to a goal, further ones, and the goal; items have preliminary names."""
    depths = list(range(1, depth + 1))
    if depth > 1:
        depths += [rng.randint(1, depth - 1) for _ in range(rng.randint(0, depth // 2 + 1))]
    by_depth: list[list[str]] = [[] for _ in range(depth + 1)]
    recipes: list[CraftingRecipe] = []
    bases: list[str] = []
    unused: list[str] = []
    for number, own_depth in enumerate(sorted(depths)):
        below = [item for items in by_depth[1:own_depth] for item in items]
        chosen: dict[str, None] = {}
        if own_depth > 1:
            chosen[rng.choice(by_depth[own_depth - 1])] = None
        number_of_ingredients = rng.randint(2, 3)
        while len(chosen) < number_of_ingredients:
            waiting = [item for item in below if item in unused and item not in chosen]
            if waiting and rng.random() < 0.7:
                chosen[rng.choice(waiting)] = None
            elif below and rng.random() < 0.2:
                chosen[rng.choice(below)] = None
            else:
                chosen[_base(rng, bases)] = None
        output = f"crafted {number}"
        ingredients = [(rng.choice(_PIECES_OF_BASE if item in bases else _PIECES_OF_CRAFTED), item) for item in chosen]
        rng.shuffle(ingredients)
        count = rng.choice((1, 1, 1, 2)) if own_depth == depth else rng.choice(_YIELDS)
        recipes.append(CraftingRecipe(output, count, tuple(ingredients)))
        by_depth[own_depth].append(output)
        unused = [item for item in unused if item not in chosen] + [output]
    goal = recipes[-1].output
    needed = _needed(recipes, goal)
    way = [recipe for recipe in recipes if recipe.output in needed]
    return way, [recipe for recipe in recipes if recipe.output not in needed], goal


def _base(rng: random.Random, bases: list[str]) -> str:
    """Return an item that is got: one of before, or a new one."""
    if bases and rng.random() < 0.4:
        return rng.choice(bases)
    bases.append(f"base {len(bases)}")
    return bases[-1]


def _needed(recipes: list[CraftingRecipe], goal: str) -> set[str]:
    needed = {goal}
    for recipe in reversed(recipes):  # each is made of earlier ones
        if recipe.output in needed:
            needed.update(name for _, name in recipe.ingredients)
    return needed


def _draw_distractors(
    rng: random.Random, recipes: list[CraftingRecipe], goal: str, number: int
) -> list[CraftingRecipe]:
    known = [item for recipe in recipes for _, item in recipe.ingredients] + [goal]
    drawn: list[CraftingRecipe] = []
    for index in range(number):
        chosen = {rng.choice(known): None}
        for _ in range(rng.randint(0, 2)):
            astray = [recipe.output for recipe in drawn]
            if astray and rng.random() < 0.25:
                chosen[rng.choice(astray)] = None
            else:
                chosen[rng.choice(known) if rng.random() < 0.5 else f"other {index}"] = None
        ingredients = [(rng.choice(_PIECES_OF_BASE), item) for item in chosen]
        rng.shuffle(ingredients)
        drawn.append(CraftingRecipe(f"astray {index}", rng.choice(_YIELDS), tuple(ingredients)))
    return drawn


def _draw_loop(rng: random.Random, item: str, number: int) -> list[CraftingRecipe]:
    """Return recipes from an item to further ones and back; a round gives at most as many pieces as it takes."""
    pieces = rng.choice((2, 3, 4, 6, 9))
    further = [f"loop {number} {step}" for step in range(rng.randint(1, _LARGEST_LOOP - 1))]
    drawn = [CraftingRecipe(further[0], 1, ((pieces, item),))]
    drawn += [CraftingRecipe(after, 1, ((1, before),)) for before, after in pairwise(further)]
    drawn.append(CraftingRecipe(item, rng.choice((pieces, pieces, pieces - 1)), ((1, further[-1]),)))
    return drawn


def _named(rng: random.Random, recipes: list[CraftingRecipe], goal: str) -> CraftingWorld:
    items = dict.fromkeys(item for recipe in recipes for item in (recipe.output, *(name for _, name in recipe[2])))
    names = dict(zip(items, item_names(rng, len(items)), strict=True))
    shown = [
        CraftingRecipe(names[output], count, tuple((pieces, names[item]) for pieces, item in ingredients))
        for output, count, ingredients in recipes
    ]
    rng.shuffle(shown)
    book = RecipeBook(shown)
    plan = Planner(book).plan(names[goal])
    assert plan is not None
    return CraftingWorld(book, names[goal], plan)


def _digest(way: list[CraftingRecipe], goal: str) -> int:
    """Return a number that is the same for two ways that differ in the names or the order of ingredients alone."""
    made = {recipe.output: recipe for recipe in way}

    @cache
    def tree(item: str) -> str:
        recipe = made.get(item)
        if recipe is None:
            return ""
        parts = sorted(f"{count}*{tree(name)}" for count, name in recipe.ingredients)
        return f"({recipe.pieces}:{','.join(parts)})"

    return int.from_bytes(blake2b(tree(goal).encode(), digest_size=8).digest(), "little")
