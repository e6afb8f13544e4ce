"""Recipes, and the books of them that make up a crafting world: :class:`CraftingRecipe`, :class:`RecipeBook`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gem.errors import ArgumentError

__all__ = ["CraftingRecipe", "RecipeBook"]


class CraftingRecipe(NamedTuple):
    """A way to make an item from others."""

    output: str
    pieces: int
    """The number that one use makes."""
    ingredients: tuple[tuple[int, str], ...]
    """Pieces and names, each name once. In a book with groups, a name may be that of a group."""

    @property
    def command(self) -> str:
        """The command that uses this recipe, as the agent sees and writes it."""
        used = ", ".join(f"{count} {name}" for count, name in self.ingredients)
        return f"craft {self.pieces} {self.output} using {used}"


class RecipeBook:
    """The recipes of a world, and what follows from them: which items can be got, and which recipe a command means.

    Args:
        recipes: any number; several may make the same item.
        groups: name of a group → its items; as an ingredient, it stands for any one of them.

    Raises:
        ArgumentError: for a recipe without ingredients, with a count below 1, or with an ingredient twice.
    """

    def __init__(self, recipes: Iterable[CraftingRecipe], groups: Mapping[str, frozenset[str]] | None = None) -> None:
        self.recipes = tuple(recipes)
        self.groups = dict(groups or {})
        self.by_output: dict[str, list[CraftingRecipe]] = {}
        self._by_command: dict[tuple[str, frozenset[tuple[str, int]]], CraftingRecipe] = {}
        names: set[str] = set()
        for recipe in self.recipes:
            _check(recipe)
            self.by_output.setdefault(recipe.output, []).append(recipe)
            uses = frozenset((name, count) for count, name in recipe.ingredients)
            self._by_command.setdefault((recipe.output, uses), recipe)
            names.update(name for _, name in recipe.ingredients)
        members = set[str]().union(*self.groups.values()) if self.groups else set()
        self.base = frozenset((names | members) - self.by_output.keys() - self.groups.keys())
        """The items that no recipe makes, which the agent gets as they are."""

    @property
    def items(self) -> frozenset[str]:
        """All items, without the groups."""
        return self.base | self.by_output.keys()

    def find(self, output: str, used: Mapping[str, int]) -> CraftingRecipe | None:
        """Return the recipe that makes ``output`` of exactly these items and counts; None if there is none."""
        recipe = self._by_command.get((output, frozenset(used.items())))
        if recipe is not None or not self.groups:
            return recipe
        return next((one for one in self.by_output.get(output, ()) if self._fits(one.ingredients, used)), None)

    def _fits(self, ingredients: tuple[tuple[int, str], ...], used: Mapping[str, int]) -> bool:
        if not ingredients:
            return not used
        (count, name), rest = ingredients[0], ingredients[1:]
        for item in self.groups.get(name, (name,)):
            if used.get(item) == count:
                others = {other: number for other, number in used.items() if other != item}
                if self._fits(rest, others):
                    return True
        return False


def _check(recipe: CraftingRecipe) -> None:
    names = [name for _, name in recipe.ingredients]
    counts = [recipe.pieces, *(count for count, _ in recipe.ingredients)]
    if not names or min(counts) < 1 or len(set(names)) < len(names):
        raise ArgumentError(f"a recipe has different ingredients and counts of at least 1, got {recipe.command!r}")
