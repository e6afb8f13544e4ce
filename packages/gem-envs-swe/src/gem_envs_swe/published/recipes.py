"""Recipes for images of published rows: where the sources of a repository can be had, and what its tests need."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from packaging.version import InvalidVersion, Version
from pydantic import BaseModel, ConfigDict

from gem.tables import read_table
from gem_envs_swe.row import SweRow

__all__ = ["ImageRecipe", "recipe_for"]


class ImageRecipe(BaseModel):
    """How the image of a repository is made from its source archive."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project: str
    """Its name in the package index."""
    since: str
    """The first version, as in a row's column ``version``, that runs on the Python of the image."""
    test_command: str
    """Runs the tests; names of test files follow."""
    requirements: tuple[str, ...] = ()
    """What its tests need beside its own requirements."""


@lru_cache(maxsize=1)
def _recipes() -> Mapping[str, ImageRecipe]:
    table: Mapping[str, Any] = read_table(__file__, "recipes.toml")["recipes"]
    return {repo: ImageRecipe.model_validate(values) for repo, values in table.items()}


def recipe_for(row: SweRow) -> ImageRecipe | None:
    """Return the recipe for the repository of a row at its version; None if there is none.

    A recipe says that an image can be tried: a row's commit lies between two releases, and whether its patches apply
    to a release is seen when the image is made.
    """
    recipe = _recipes().get(row.repo.lower())
    if recipe is None:
        return None
    try:
        return recipe if Version(row.version) >= Version(recipe.since) else None
    except InvalidVersion:
        return None
