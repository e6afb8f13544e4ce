"""Plans for crafting an item, and the number of commands that one takes: :class:`Planner`."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

from gem_envs_craft.recipes import CraftingRecipe, RecipeBook

__all__ = ["CraftingPlan", "Planner"]


class CraftingPlan(NamedTuple):
    """What must be got, and which recipes are then used, in an order that works."""

    gets: tuple[tuple[int, str], ...]
    crafts: tuple[tuple[int, CraftingRecipe, Mapping[str, str]], ...]
    """How often a recipe is used, and which item it uses for each group among its ingredients."""

    @property
    def depth(self) -> int:
        """The largest number of recipes that build on each other."""
        depths: dict[str, int] = {}
        for _, recipe, items in self.crafts:
            below = (depths.get(items.get(name, name), 0) for _, name in recipe.ingredients)
            depths[recipe.output] = 1 + max(below)
        return max(depths.values(), default=0)

    def length(self, most_per_get: int) -> int:
        """Return the number of commands, each of which gets at most so many pieces of an item or crafts once."""
        return sum(-(-count // most_per_get) for count, _ in self.gets) + sum(times for times, _, _ in self.crafts)

    def commands(self, most_per_get: int) -> list[str]:
        """Return the commands, first those that get something."""
        lines = []
        for count, item in self.gets:
            while count > 0:
                lines.append(f"get {min(count, most_per_get)} {item}")
                count -= most_per_get
        for times, recipe, items in self.crafts:
            used = tuple((count, items.get(name, name)) for count, name in recipe.ingredients)
            lines += [recipe._replace(ingredients=used).command] * times
        return lines


class Planner:
    """Plans with the recipes of one book.

    Args:
        book: the recipes.
    """

    def __init__(self, book: RecipeBook) -> None:
        self._ways = _ways_to_make(book)

    def plan(self, goal: str) -> CraftingPlan | None:
        """Return a plan for one piece of ``goal``; None if it cannot be made.

        Where the recipes that can contribute make each item in one way only, the plan is a shortest one: every item is
        made as often as the recipes above it need, and no plan manages with less. Recipes in a circle contribute only
        if they multiply an item. Where there are several ways, each item is made in one that is cheap for that item
        alone.
        """
        if goal not in self._ways:
            return None
        order: list[str] = []
        self._descend(goal, order, set())
        needs = {goal: 1}
        gets: list[tuple[int, str]] = []
        crafts: list[tuple[int, CraftingRecipe, Mapping[str, str]]] = []
        for item in reversed(order):
            recipe, items = self._ways[item]
            if recipe is None:
                gets.append((needs[item], item))
                continue
            times = -(-needs[item] // recipe.pieces)
            crafts.append((times, recipe, items))
            for count, name in recipe.ingredients:
                used = items.get(name, name)
                needs[used] = needs.get(used, 0) + times * count
        return CraftingPlan(tuple(reversed(gets)), tuple(reversed(crafts)))

    def _descend(self, item: str, order: list[str], seen: set[str]) -> None:
        """Append ``item`` to ``order`` after everything that it is made of."""
        if item in seen:
            return
        seen.add(item)
        recipe, items = self._ways[item]
        if recipe is not None:
            for _, name in recipe.ingredients:
                self._descend(items.get(name, name), order, seen)
        order.append(item)


_Way = tuple[CraftingRecipe | None, dict[str, str]]
"""The recipe that makes an item (None: it is got), and the item that it uses for each group."""


def _ways_to_make(book: RecipeBook) -> dict[str, _Way]:
    """Return one way for each item that can be made.

    A piece that is got costs 1; a recipe costs 1 and its ingredients, shared among the pieces that it makes. In each
    round the cheapest recipe whose ingredients have a way becomes the way of its item, so that no circle arises.
    """
    costs: dict[str, float] = dict.fromkeys(book.base, 1.0)
    ways: dict[str, _Way] = {item: (None, {}) for item in book.base}
    missing = dict(book.by_output)
    while True:
        found: dict[str, tuple[float, _Way]] = {}
        for output, recipes in missing.items():
            best = min((_price(book, recipe, costs) for recipe in recipes), key=lambda priced: priced[0])
            if best[0] < inf:
                found[output] = best
        if not found:
            return ways
        lowest = min(price for price, _ in found.values())
        for output, (price, way) in found.items():
            if price == lowest:
                costs[output], ways[output] = price, way
                del missing[output]


def _price(book: RecipeBook, recipe: CraftingRecipe, costs: Mapping[str, float]) -> tuple[float, _Way]:
    total, items = 1.0, {}
    taken: set[str] = set()
    for count, name in recipe.ingredients:
        item = name
        if name in book.groups:
            free = sorted(book.groups[name] - taken, key=lambda one: (costs.get(one, inf), one))
            if not free:
                return inf, (recipe, {})
            item = items[name] = free[0]
        taken.add(item)
        total += count * costs.get(item, inf)
    return total / recipe.pieces, (recipe, items)
