"""Crafting by a user's folder of recipes, as in TextCraft: :class:`RecipeFolderEnv` and its reference policy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from gem.arguments import boolean, choice, integer
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError
from gem.policies import Policy
from gem.state_fields import StateFields
from gem.text_env import MAX_TURNS
from gem_envs_craft.env import CraftingEnv
from gem_envs_craft.planner import Planner
from gem_envs_craft.recipe_files import read_recipe_folder
from gem_envs_craft.recipes import CraftingRecipe, RecipeBook

__all__ = ["RecipeFolderEnv", "RecipeFolderPolicy"]

_SPLITS = ("all", "train", "test")
_TEST_SHARE = 4
_MOST_PER_GET = 10**6


class _Folder(NamedTuple):
    book: RecipeBook
    planner: Planner
    depths: Mapping[str, float]
    lengths: Mapping[str, int]
    """Commands of the plan for each item that has one."""


class RecipeFolderEnv(CraftingEnv):
    """Craft an item by the recipes of a folder, such as ``data/recipes`` of TextCraft or of Minecraft's data.

    An ingredient may be a group of items, such as *planks*; a command names one of them. The recipes of the goal, of
    its ingredients and of the groups' items are listed, and some others that use the same ingredients.

    Args:
        folder: path of the folder; see :mod:`gem_envs_craft.recipe_files`. A process reads it once.
        min_depth, max_depth: the smallest and the largest number of recipes that must build on each other; None: any.
        distractors: the most recipes that are listed and lead elsewhere, 0 … 1000.
        max_turns: turns that the instructions announce. Items whose plan takes more are no goals.
        split: ``"train"`` or ``"test"``, which share no goal; ``"all"``.
        any_count: ignore the number of pieces that a crafting command says it makes, as TextCraft does.

    Reset options: ``goal``, the name of an item, such as ``"oak sign"``.

    Raises:
        ArgumentError: if the folder has no recipes, or no goal of that depth and split.
    """

    note = "Some ingredients are groups, such as planks: put an item of the group in their place, such as pine planks. "
    saved = StateFields(_shown=list[CraftingRecipe], goal=str, _inventory=dict[str, int])

    def __init__(
        self,
        folder: str | None = None,
        min_depth: int = 2,
        max_depth: int | None = None,
        distractors: int = 10,
        max_turns: int = 30,
        split: str = "all",
        any_count: bool = True,
    ) -> None:
        if folder is None:
            raise ArgumentError("folder must name a folder of recipes: gem.make('craft:Folder-v0', folder='…/recipes')")
        self._folder = _opened(str(Path(folder).expanduser().resolve()))
        self._book = self._folder.book
        low = integer("min_depth", min_depth, minimum=1)
        high = inf if max_depth is None else integer("max_depth", max_depth, minimum=low)
        self.distractors = integer("distractors", distractors, minimum=0, maximum=1000)
        self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)
        self.split = choice("split", split, _SPLITS)
        self.any_count = boolean("any_count", any_count)
        self.goals = tuple(
            item
            for item, depth in sorted(self._folder.depths.items())
            if low <= depth <= high and self._is_mine(item) and self._folder.lengths[item] <= self.max_turns
        )
        """The items that an episode may ask for, in alphabetical order."""
        if not self.goals:
            raise ArgumentError(
                f"{folder!r} has no goal of depth {low} to {high} within {counted(max_turns, 'turn')} in the "
                f"split {split!r}"
            )

    def depth_of(self, item: str) -> int:
        """Return the number of recipes that must build on each other for one of :attr:`goals`."""
        return int(self._folder.depths[item])

    def solution(self) -> list[str]:
        """Return commands that make the goal from nothing."""
        plan = self._folder.planner.plan(self.goal)
        assert plan is not None  # what cannot be made is no goal
        return plan.commands(_MOST_PER_GET)

    def _begin(self, goal: str | None = None) -> None:
        self.goal = self.rng.choice(self.goals) if goal is None else choice("goal", goal, self.goals)
        way = self._way()
        used = {name for recipe in way for _, name in recipe.ingredients}
        others = [
            recipe
            for recipe in self._book.recipes
            if recipe not in way and any(name in used for _, name in recipe.ingredients)
        ]
        self._shown = [*way, *self.rng.sample(others, min(self.distractors, len(others)))]
        self.rng.shuffle(self._shown)
        self._inventory = {}

    def _way(self) -> dict[CraftingRecipe, None]:
        """Return all recipes for the goal and for whatever they use."""
        way: dict[CraftingRecipe, None] = {}
        waiting, seen = [self.goal], {self.goal}
        while waiting:
            name = waiting.pop()
            for item in sorted(self._book.groups.get(name, (name,))):
                for recipe in self._book.by_output.get(item, ()):
                    way[recipe] = None
                    further = [used for _, used in recipe.ingredients if used not in seen]
                    seen.update(further)
                    waiting += further
        return way

    def _is_mine(self, item: str) -> bool:
        digest = blake2b(item.encode(), digest_size=8).digest()
        for_test = int.from_bytes(digest, "little") % _TEST_SHARE == 0
        return self.split == "all" or for_test is (self.split == "test")


class RecipeFolderPolicy(Policy[str, str]):
    """Carries out the plan of the environment, which knows the groups of items.

    Args:
        env: the environment that it plays.
    """

    def __init__(self, env: RecipeFolderEnv) -> None:
        self._env = env
        self._commands: list[str] = []

    def reset(self, observation: str, info: Info) -> None:
        self._commands = self._env.solution()[::-1]

    def act(self, observation: str, info: Info) -> str:
        """Return the next command of the plan."""
        return self._commands.pop() if self._commands else "inventory"


@lru_cache(maxsize=16)
def _opened(path: str) -> _Folder:
    book = read_recipe_folder(path)
    planner = Planner(book)
    plans = {item: plan for item in book.by_output if (plan := planner.plan(item)) is not None}
    depths = _depths(book)
    return _Folder(
        book,
        planner,
        {item: depths[item] for item in plans},
        {item: plan.length(_MOST_PER_GET) for item, plan in plans.items()},
    )


def _depths(book: RecipeBook) -> dict[str, Any]:
    """Return for each item that can be made the smallest number of recipes that must build on each other."""
    depths: dict[str, Any] = dict.fromkeys(book.base, 0)

    def of(name: str) -> float:
        return min((depths.get(item, inf) for item in book.groups.get(name, (name,))), default=inf)

    changed = True
    while changed:
        changed = False
        for recipe in book.recipes:
            depth = 1 + max(of(name) for _, name in recipe.ingredients)
            if depth < depths.get(recipe.output, inf):
                depths[recipe.output] = depth
                changed = True
    return depths
