"""The reference policy of generated worlds, which plans from the first observation: :class:`CraftingPolicy`."""

from __future__ import annotations

import re

from gem.core import Info
from gem.policies import Policy
from gem_envs_craft.planner import Planner
from gem_envs_craft.recipes import CraftingRecipe, RecipeBook

__all__ = ["CraftingPolicy", "read_world"]

_RECIPE = re.compile(r"^craft (\d+) (.+?) using (.+)$", re.MULTILINE)
_GOAL = re.compile(r"^Goal: craft (.+)\.$", re.MULTILINE)
_MOST_PER_GET = re.compile(r"at most (\d+) at a time")


def read_world(observation: str) -> tuple[RecipeBook, str, int]:
    """Return the recipes, the goal and the most pieces of one ``get`` from the first observation of an episode."""
    listed = observation.partition("\nCrafting commands:\n")[2]
    recipes = []
    for made, output, used in _RECIPE.findall(listed):
        pieces = (part.split(" ", 1) for part in used.split(", "))
        recipes.append(CraftingRecipe(output, int(made), tuple((int(count), name) for count, name in pieces)))
    goal, most = _GOAL.search(listed), _MOST_PER_GET.search(observation)
    assert goal is not None, observation
    return RecipeBook(recipes), goal[1], int(most[1]) if most else 10**6


class CraftingPolicy(Policy[str, str]):
    """Carries out a shortest plan that it makes from the first observation.

    Only for worlds without groups of items, which observations do not explain.
    """

    def __init__(self) -> None:
        self._commands: list[str] = []

    def reset(self, observation: str, info: Info) -> None:
        book, goal, most = read_world(observation)
        plan = Planner(book).plan(goal)
        assert plan is not None, observation
        self._commands = plan.commands(most)[::-1]

    def act(self, observation: str, info: Info) -> str:
        """Return the next command of the plan."""
        return self._commands.pop() if self._commands else "inventory"
