"""Runs that end in the middle, for tests of what goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gem_rl.training.recipe import Recipe
from gem_rl.training.trainer import Trainer

__all__ = ["resumed_run"]


class StoppedError(Exception):
    """Stands for the end of a process."""


def resumed_run(recipe: Recipe, folder: Path) -> Trainer:
    """Return a new trainer in the folder of a run that was stopped after its first update."""

    def stop(figures: dict[str, Any]) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        Trainer(recipe, 0, folder).train(stop)
    return Trainer(recipe, 0, folder)
