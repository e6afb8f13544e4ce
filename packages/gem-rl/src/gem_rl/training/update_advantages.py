"""The advantages of an update, as a recipe wants them, by the library's estimators and filters."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gem.entry_points import load, source_digest
from gem.errors import ArgumentError
from gem_rl.advantages.batch_wide import rebn, reinforce
from gem_rl.advantages.by_task import normalize_by_task
from gem_rl.advantages.group_wide import erpo, grpo, rloo
from gem_rl.advantages.step_groups import gigpo
from gem_rl.advantages.with_values import gae
from gem_rl.filters import most_varied_groups, signal_groups
from gem_rl.training.recipe import Recipe
from gem_rl.turn_batch import Floats, TurnBatch, finite
from gem_rollout.trajectory import Trajectory

__all__ = ["OwnAdvantage", "UpdateAdvantages", "kept_episodes"]


class OwnAdvantage:
    """A function of the user's own that estimates advantages: ``function(batch, episodes)`` returns ``(N,)`` numbers.

    ``batch`` is a :class:`gem_rl.TurnBatch` of N turns, ``episodes`` are the trajectories that it was made of.

    Args:
        name: ``"module:function"``; modules are also looked for in the working directory.

    Raises:
        ArgumentError: if there is no such function, or it does not take two arguments.
        EntryPointError: if the name cannot be loaded.
    """

    def __init__(self, name: str) -> None:
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.append(here)
        self.name = name
        self._function: Callable[..., Any] = load(name)
        try:
            inspect.signature(self._function).bind(None, None)
        except TypeError as error:
            raise ArgumentError(
                f"advantage {name!r} must be a function of a batch and its episodes: {error}"
            ) from error
        self.digest = source_digest(name)
        """Of the source, which decides the weights as the recipe does."""

    def __call__(self, batch: TurnBatch, episodes: Sequence[Trajectory]) -> Floats:
        """Return the function's advantages, 0 for turns of invalid episodes.

        Raises:
            ArgumentError: if it fails, or does not return a finite number for each turn.
        """
        try:
            found = self._function(batch, episodes)
        except Exception as error:  # of any kind: it is the user's code
            raise ArgumentError(f"advantage {self.name!r} failed: {type(error).__name__}: {error}") from error
        values = finite(found, f"what advantage {self.name!r} returned", batch.turns)
        return np.where(batch.valid_turns, values, 0.0)


def kept_episodes(recipe: Recipe, episodes: list[Trajectory]) -> list[Trajectory]:
    """Return the episodes of the groups that the recipe learns from."""
    if recipe.keep_groups == "all":
        return episodes
    choose = most_varied_groups if recipe.keep_groups == "most-varied" else signal_groups
    kept = choose(TurnBatch.from_trajectories(episodes), recipe.keep_share)
    return [episode for episode, keep in zip(episodes, kept, strict=True) if keep]


class UpdateAdvantages:
    """Computes the advantages of updates.

    Args:
        recipe: the settings.
        own: the function that the recipe names, if it does.
        final_values: returns the values of the states after the last turns of episodes, ``(E,)``; asked by ``ppo``.
    """

    def __init__(
        self, recipe: Recipe, own: OwnAdvantage | None, final_values: Callable[[Sequence[Trajectory]], Floats]
    ) -> None:
        self._recipe = recipe
        self._own = own
        self._final_values = final_values

    def __call__(self, batch: TurnBatch, episodes: Sequence[Trajectory], counts: ArrayLike) -> tuple[Floats, Floats]:
        """Return advantages and targets of the value head, ``(N,)`` each.

        Args:
            batch: of the episodes.
            episodes: those of the update that are learnt from.
            counts: ``(N,)``, the number of sampled tokens of each turn.
        """
        advantages, targets = self._estimated(batch, episodes)
        if self._recipe.normalize_tasks or any(episode.agents for episode in episodes):
            # One role of a game may win more often than another, whatever the policy does.
            advantages = normalize_by_task(batch, advantages, counts)
        return advantages, targets

    def _estimated(self, batch: TurnBatch, episodes: Sequence[Trajectory]) -> tuple[Floats, Floats]:
        recipe, nothing = self._recipe, np.zeros(batch.turns)
        turns = [turn for one in episodes for turn in one.transitions]
        if self._own is not None:
            return self._own(batch, episodes), nothing
        if recipe.algorithm == "reinforce":
            return reinforce(batch, recipe.gamma), nothing
        if recipe.algorithm == "rebn":
            return rebn(batch, recipe.gamma), nothing
        if recipe.algorithm == "grpo":
            return grpo(batch), nothing
        if recipe.algorithm == "rloo":
            return rloo(batch), nothing
        if recipe.algorithm == "erpo":
            return erpo(batch), nothing
        if recipe.algorithm == "gigpo":
            seen = [str(turn.observation) for turn in turns]
            return gigpo(batch, seen, recipe.gamma, weight=recipe.step_weight), nothing
        values = [turn.metadata["value"] for turn in turns]
        targets = gae(batch, values, self._final_values(episodes), recipe.gamma, recipe.lam)
        spread = targets.advantages[batch.valid_turns]
        if not spread.size or np.ptp(spread) == 0:
            return nothing, targets.returns
        normal = np.where(batch.valid_turns, (targets.advantages - spread.mean()) / (spread.std() + 1e-8), 0.0)
        return normal, targets.returns
