"""Reads a folder of recipes in the format of Minecraft's data packs: :func:`read_recipe_folder`.

Of the files ``NAME.json``, those of the types ``crafting_shaped`` and ``crafting_shapeless`` are read; others, such as
smelting, are not. An ingredient is an item, a tag, or a list of items and tags, of which the first counts. The rest
follows TextCraft's reader, but for the order of the files, which here is that of their names:

* ``minecraft:oak_log`` is called ``oak log``.
* A recipe's ``group`` names the tag that its output belongs to. A tag that no recipe's output belongs to is an item.
* A recipe with a single ingredient that is a block is left out: it only undoes another.
* A recipe is left out if its output is already needed for one of its ingredients.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem.errors import ArgumentError
from gem_envs_craft.recipes import CraftingRecipe, RecipeBook

__all__ = ["read_recipe_folder"]

_SUBFOLDERS = ("recipes", "recipe", "data/minecraft/recipes", "data/minecraft/recipe")


def read_recipe_folder(folder: str | Path) -> RecipeBook:
    """Return the recipes of a folder, or of its subfolder ``recipes`` or ``recipe``.

    Raises:
        ArgumentError: if it has no crafting recipe, or a file is none; the message names the file and its fault.
    """
    root = Path(folder).expanduser()
    places = [root, *(root / name for name in _SUBFOLDERS)]
    files = next((found for place in places if (found := sorted(place.glob("*.json"), key=lambda one: one.name))), [])
    recipes: list[CraftingRecipe] = []
    groups: dict[str, set[str]] = {}
    needed_for: dict[str, set[str]] = {}
    for file in files:
        recipe, group = _read(file)
        if recipe is None or _undoes(recipe):
            continue
        used = {name for _, name in recipe.ingredients}
        if recipe.output in used or any(recipe.output in _all_of(name, needed_for) for name in used):
            continue
        needed_for.setdefault(recipe.output, set()).update(used)
        recipes.append(recipe)
        if group is not None and group != recipe.output:
            groups.setdefault(group, set()).add(recipe.output)
    if not recipes:
        raise ArgumentError(
            f"folder must hold JSON files with crafting recipes of Minecraft's format, got {str(root)!r}"
        )
    made = {recipe.output for recipe in recipes}
    named = {name for recipe in recipes for _, name in recipe.ingredients}
    return RecipeBook(
        recipes, {name: frozenset(items) for name, items in groups.items() if name in named and name not in made}
    )


def _undoes(recipe: CraftingRecipe) -> bool:
    return len(recipe.ingredients) == 1 and recipe.ingredients[0][1].endswith(" block")


def _all_of(name: str, needed_for: Mapping[str, set[str]]) -> set[str]:
    """Return everything that is needed for an item, at any depth."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for used in needed_for.get(waiting.pop(), ()):
            if used not in found:
                found.add(used)
                waiting.append(used)
    return found


def _read(file: Path) -> tuple[CraftingRecipe | None, str | None]:
    """Return the recipe of a file, None if it is of another type; and the group of its output."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        kind = content["type"].removeprefix("minecraft:")
        if kind == "crafting_shaped":
            pattern = "".join(content["pattern"])
            listed = [(pattern.count(key), _name(item)) for key, item in content["key"].items()]
        elif kind == "crafting_shapeless":
            listed = [(1, _name(item)) for item in content["ingredients"]]
        else:
            return None, None
        counts: dict[str, int] = {}
        for count, name in listed:
            counts[name] = counts.get(name, 0) + count
        result = content["result"]
        made, pieces = (result, 1) if isinstance(result, str) else (result, result.get("count", 1))
        recipe = CraftingRecipe(_name(made), int(pieces), tuple((count, name) for name, count in counts.items()))
        RecipeBook([recipe])  # validates it, while the name of its file is known
        group = content.get("group")
        return recipe, None if group is None else _words(group)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ArgumentError(f"{file}: not a recipe of Minecraft's format: {error!r}") from error


def _name(entry: Any) -> str:
    if isinstance(entry, list):
        entry = entry[0]
    if isinstance(entry, str):  # since Minecraft 1.21; a tag begins with #
        return _words(entry.removeprefix("#"))
    known = [entry[key] for key in ("item", "tag", "id") if key in entry]
    if not known:
        raise ValueError(f"neither item nor tag in {entry!r}")
    return _words(known[0])


def _words(name: str) -> str:
    return name.removeprefix("minecraft:").replace("_", " ")
